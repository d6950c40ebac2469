"""One function per form, on bit patterns.

The forms of f16 and bf16 give the f32 result for the same value, truncated to the format. A format has 65 536
numbers, so each of these functions is a table, made on first use.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.approximation import scaled, unit, upper_word
from golden.approximation.instructions import FORMS, ApproximateInstruction
from golden.approximation.interpolator import Table, table
from golden.arithmetic.arrays import elementwise, look_up
from golden.arithmetic.compiled import compiled
from golden.arithmetic.decode import FINITE, Format, decode, layout
from golden.arithmetic.round_pack import TOWARDS_ZERO, convert, round_pack
from golden.integers import quoted
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import float_format

Operation = Callable[..., NDArray[Any]]
"""From one array of bit patterns per operand, all of the register's unsigned dtype, to one of results."""

_TABLES = {"div": "rcp", "cos": "sin"}
"""Tables that have not the function's name."""


def form(instruction: str) -> ApproximateInstruction:
    """The form of that text; for any other an InvalidArgument whose message lists the forms."""
    found = FORMS.get(instruction) if isinstance(instruction, str) else None
    if found is None:
        raise InvalidArgument("instruction", quoted(instruction), ", ".join(FORMS))
    return found


def operation(instruction: str) -> Operation:
    """The function that computes a form, a key of `golden.approximation.instructions.FORMS`, on bit patterns.

    It takes one array per operand, of dtype uint16, uint32 or uint64 as the register is wide; the arrays of a
    division broadcast. It returns a new array. Neither dtype nor number of the operands is checked. For any
    other text, the InvalidArgument of `form`.
    """
    found = form(instruction)
    return partial(_look_up if found.is_narrow else _compute, found)


def _compute(found: ApproximateInstruction, *operands: NDArray[Any]) -> NDArray[Any]:
    element, (*constants, coefficients) = scalar(found)
    dtype = operands[0].dtype
    return elementwise(element, operands, tuple(constants), dtype, arguments=(coefficients,))


def _look_up(found: ApproximateInstruction, x: NDArray[Any]) -> NDArray[Any]:
    halves = np.ascontiguousarray(x).reshape(-1).view(np.uint16)
    results = look_up(_every_result(found.text.removesuffix("x2")), halves)
    return results.view(x.dtype).reshape(x.shape)


@cache
def _every_result(text: str) -> NDArray[np.uint16]:
    """The results of a form of f16 or bf16 for all bit patterns in their order; read-only."""
    results = _compute(FORMS[text], np.arange(1 << 16, dtype=np.uint16))
    results.flags.writeable = False
    return results


def scalar(found: ApproximateInstruction) -> tuple[Callable[..., int], tuple[Any, ...]]:
    """The function of one element, on its operands and these constants."""
    function, f32 = found.function, layout(float_format("f32"))
    coefficients = table(_TABLES.get(function, function))
    if found.is_narrow:
        element = {"ex2": ex2_narrow, "tanh": tanh_narrow}[function]
        return element, (f32, layout(float_format(found.element)), coefficients)
    if found.type == "f64":
        return upper_word.RESULTS[function], (coefficients,)
    if function in unit.QUARTERS:
        return unit.wave, (unit.QUARTERS[function], coefficients)
    if function == "div":
        return scaled.div, (f32, found.full, found.flush, coefficients)
    if found.flush or function == "tanh":  # which has one f32 form
        return unit.RULES[function].result, (coefficients,)
    return scaled.RESULTS[function], (f32, coefficients)


@compiled
def ex2_narrow(x: int, f32: Format, narrow: Format, table: Table) -> int:
    """Two to the power x; of bf16, with ``.ftz``."""
    return truncate(unit.ex2(convert(x, narrow, f32), table), f32, narrow)


@compiled
def tanh_narrow(x: int, f32: Format, narrow: Format, table: Table) -> int:
    """The hyperbolic tangent of x."""
    return truncate(unit.tanh(convert(x, narrow, f32), table), f32, narrow)


@compiled
def truncate(bits: int, source: Format, target: Format) -> int:
    """Convert towards zero; beyond the largest number, infinity."""
    negative, significand, exponent, kind = decode(bits, source)
    if kind > FINITE:
        return convert(bits, source, target)
    unit = exponent - source.fraction_bits
    return round_pack(negative, significand, unit, target, TOWARDS_ZERO, True)
