"""Arithmetic of single elements as PTX defines it: add, multiply, fused multiply-add, minimum and maximum."""

from types import MappingProxyType
from typing import Any, Final

from numpy.typing import NDArray

from golden.scalar import operation as scalar_operation
from golden.tables.commands import ElementOperation, ElementType

Patterns = NDArray[Any]
"""Elements as unsigned integers of their width."""

_INTEGERS: Final = MappingProxyType[ElementOperation, str]({"mul": "mul.lo", "fma": "mad.lo"})
"""Opcodes of integers, where they are not the operation's name."""


def compute(
    operation: ElementOperation, type: ElementType, *operands: Patterns, flush: bool = False
) -> Patterns:
    """The result for each element, to the bit as an H200 gives it.

    Floating point is rounded once, to nearest even. A NaN comes out as the canonical one of f16 and f32; in
    f64 a NaN operand comes back made quiet, looked for in the order second, third, first. `min` and `max`
    give the number where one operand is NaN, and take -0 for less than +0. Integers wrap.

    Parameters
    ----------
    operation : {"add", "sub", "mul", "fma", "min", "max"}
    type : {"f16", "f32", "f64", "s32", "u32"}
    *operands : ndarray of the unsigned integer of the type's width
        As many as `OPERAND_COUNTS` says; they broadcast.
    flush : bool
        Subnormal operands and results become zeros of their sign (``.ftz``), in f16 and f32.

    Returns
    -------
    ndarray of the same dtype
    """
    floats = type[0] == "f"
    opcode = operation if floats else _INTEGERS.get(operation, operation)
    rounding = ".rn" if operation == "fma" and floats else ""
    ftz = ".ftz" if flush and floats else ""
    result: Patterns = scalar_operation(f"{opcode}{rounding}{ftz}.{type}").evaluate(*operands)
    return result
