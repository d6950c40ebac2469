"""Arithmetic of single elements as PTX defines it: add, multiply, fused multiply-add, minimum and maximum."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.fma64 import fma64

__all__ = ["ELEMENT_BITS", "OPERAND_COUNTS", "ElementOperation", "ElementType", "compute"]

ElementOperation = Literal["add", "sub", "mul", "fma", "min", "max"]
ElementType = Literal["f16", "f32", "f64", "s32", "u32"]

OPERAND_COUNTS: Final = MappingProxyType[ElementOperation, int](
    {"add": 2, "sub": 2, "mul": 2, "fma": 3, "min": 2, "max": 2}
)
"""Operands of each operation; fma multiplies the first two and adds the third."""

ELEMENT_BITS: Final = MappingProxyType[ElementType, int](
    {"f16": 16, "f32": 32, "f64": 64, "s32": 32, "u32": 32}
)
"""Width of each type."""

Patterns = NDArray[Any]
"""Elements as unsigned integers of their width."""


@dataclass(frozen=True)
class _Float:
    """A floating-point format that numpy computes in; `wider` holds its products exactly, where there is one."""

    value: type[np.floating[Any]]
    wider: type[np.floating[Any]] | None
    canonical_nan: int


_FLOATS: Final = MappingProxyType[str, _Float](
    {
        "f16": _Float(np.float16, np.float64, 0x7FFF),
        "f32": _Float(np.float32, np.float64, 0x7FFFFFFF),
        "f64": _Float(np.float64, None, 0xFFF8_0000_0000_0000),
    }
)

_INTEGERS: Final = MappingProxyType[str, Callable[..., Patterns]](
    {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "fma": lambda a, b, c: a * b + c,
        "min": np.minimum,
        "max": np.maximum,
    }
)


def compute(
    operation: ElementOperation, type: ElementType, *operands: Patterns, flush: bool = False
) -> Patterns:
    """The result for each element, to the bit as an H200 gives it.

    Floating point is rounded once, to nearest even. A NaN comes out as the canonical one of its format, but
    for f64, where the first NaN among the operands comes back quiet. `min` and `max` return the number where one
    operand is NaN, and take -0 for less than +0. Integers wrap.

    Parameters
    ----------
    operation : {"add", "sub", "mul", "fma", "min", "max"}
    type : {"f16", "f32", "f64", "s32", "u32"}
    *operands : ndarray of the unsigned integer of the type's width
        As many as `OPERAND_COUNTS` says; they broadcast.
    flush : bool
        Subnormal operands and results become zeros of their sign (``.ftz``); f16 and f32 alone.

    Returns
    -------
    ndarray of the same dtype
    """
    raw = operands[0].dtype
    if type not in _FLOATS:
        number = np.dtype(np.int32 if type == "s32" else np.uint32)
        return np.asarray(_INTEGERS[operation](*(operand.view(number) for operand in operands))).view(raw)
    form = _FLOATS[type]
    if flush:
        operands = tuple(_flushed(operand, form) for operand in operands)
    result = _float_result(operation, form, operands)
    return _flushed(result, form) if flush else result
