"""One approximate result, step by step, and next to the correctly rounded one."""

from math import isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from golden.approximation.call import checked_operands
from golden.approximation.exact import correctly_rounded, rounded, value_of
from golden.approximation.instructions import ApproximateInstruction
from golden.approximation.operations import form, operation
from golden.approximation.scaled import GREAT
from golden.approximation.single import F32, turns, unit_step, upper_word_step
from golden.approximation.steps import ApproximateStep, Approximation, Arithmetic, Narrowing
from golden.approximation.unit import RECIPROCAL_TAU
from golden.explanation.steps import float_value
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FloatFormat, float_format

__all__ = ["explain_approximation"]

_LEAST_NORMAL = 0x00800000
_MAGNITUDE = 0x7FFFFFFF


def explain_approximation(instruction: str, *operands: ArrayLike) -> Approximation:
    """Every step of one result: argument, row, offset, truncated square, sum and cut.

    Parameters
    ----------
    instruction : str
        As for `golden.approximate`; for a pair (f16x2, bf16x2), explain its elements.
    *operands : array_like, shape ()
        Values or bit patterns, as for `golden.approximate`; a Python float is rounded to the type, with a
        note if that is inexact.

    Returns
    -------
    golden.approximation.steps.Approximation
        Its `result` is the bit pattern of what `golden.approximate` returns.

    Raises
    ------
    golden.arguments.InvalidArgument
    """
    found = form(instruction)
    if found.packed:
        element = found.text.removesuffix("x2")
        raise InvalidArgument("instruction", repr(instruction), f"{element!r}, one element at a time")
    registers, _ = checked_operands(found, operands)
    for name, register in zip(("x",) if len(registers) == 1 else ("a", "b"), registers, strict=True):
        if register.ndim:
            raise InvalidArgument(name, f"shape {register.shape}", "shape (), one value")
    bits = tuple(int(register) for register in registers)
    result = int(operation(found.text)(*registers))
    steps = tuple(_steps(found, bits, result))
    format = float_format(found.element)
    correct = correctly_rounded(found, bits)
    return Approximation(
        instruction=found.text,
        operands=bits,
        notes=tuple(_notes(operands, bits, format)),
        steps=steps,
        result=steps[-1].result,
        value=float_value(result, format),
        correct=correct,
        difference=None if correct is None else _ordinal(result, format) - _ordinal(correct, format),
    )


def _notes(operands: tuple[Any, ...], bits: tuple[int, ...], format: FloatFormat) -> list[str]:
    """What rounding did to Python floats."""
    return [
        f"{given!r} was rounded to {format.name}: {float_value(pattern, format)!r}"
        for given, pattern in zip(operands, bits, strict=True)
        if type(given) is float and not isnan(given) and given != float_value(pattern, format)
    ]


def _ordinal(bits: int, format: FloatFormat) -> int:
    magnitude = bits & format.sign_mask - 1
    return -magnitude if bits & format.sign_mask else magnitude


def _steps(found: ApproximateInstruction, bits: tuple[int, ...], result: int) -> list[ApproximateStep]:
    if found.function == "div":
        return _division(found, *bits)
    if found.element in {"f16", "bf16"}:
        wide = _widened(bits[0], float_format(found.element))
        last = unit_step(found.function, wide)
        return [last, Narrowing(type=found.element, source=last.result, result=result)]
    if found.type == "f64":
        return [upper_word_step(found.function, bits[0])]
    if found.flush or found.function in {"sin", "cos", "tanh"}:
        return [*_reduction(found.function, bits[0]), unit_step(found.function, bits[0])]
    return _scaled(found.function, bits[0])


def _widened(bits: int, format: FloatFormat) -> int:
    """The f32 number of the same value."""
    value = value_of(bits, format)
    sign = 0x80000000 if bits & format.sign_mask else 0
    if value is None:
        nan = bits & format.sign_mask - 1 != format.infinity
        return sign | (0x7FC00000 if nan else 0x7F800000)
    return rounded(value, F32) | sign


def _multiplied(left: int, right: float, reason: str, *, flush: bool = False) -> Arithmetic:
    return _arithmetic("*", left, int(np.float32(right).view(np.uint32)), reason, flush=flush)


def _arithmetic(operator: Any, left: int, right: int, reason: str, *, flush: bool = False) -> Arithmetic:
    """One f32 operation, rounded to nearest even; `flush` as in `golden.approximation.scaled`."""
    with np.errstate(all="ignore"):
        x, y = (np.uint32(bits).view(np.float32).astype(np.float64) for bits in (left, right))
        if flush:
            x, y = (np.copysign(0.0, z) if abs(z) < 2.0**-126 else z for z in (x, y))
        exact = x * y if operator == "*" else x - y  # exact in f64 wherever it is used
        value = np.float32(exact)
        if flush and abs(exact) < 2.0**-126 * (1 - 2.0**-25):
            value = np.copysign(np.float32(0), value)
    result = 0x7FFFFFFF if np.isnan(value) else int(value.view(np.uint32))
    return Arithmetic(operation=operator, left=left, right=right, result=result, rounding="rn", reason=reason)


def _scaled(function: str, x: int) -> list[ApproximateStep]:
    """The f32 forms without ``.ftz``."""
    magnitude = x & _MAGNITUDE
    before, after = 1.0, 1.0
    if function == "ex2":
        if not 0xC2FC0000 < x <= 0xFF800000:  # -126 and -infinity
            return [unit_step(function, x)]
        first = _multiplied(x, 0.5, "below -126: the square of the result for half the operand")
        root = unit_step(function, first.result)
        return [first, root, _arithmetic("*", root.result, root.result, "the square")]
    if magnitude < _LEAST_NORMAL:
        before = 2.0**24
        after = {"rcp": 2.0**24, "rsqrt": 4096.0, "sqrt": 2.0**-12, "lg2": 24.0}[function]
    elif function == "rcp" and int(GREAT) < magnitude:
        before = after = 0.25
    if before == 1.0:
        return [unit_step(function, x)]
    first = _multiplied(x, before, "the operand or its reciprocal is subnormal")
    middle = unit_step(function, first.result)
    operator = "-" if function == "lg2" else "*"
    factor = int(np.float32(after).view(np.uint32))
    return [first, middle, _arithmetic(operator, middle.result, factor, "back")]


def _division(found: ApproximateInstruction, a: int, b: int) -> list[ApproximateStep]:
    steps: list[ApproximateStep] = []
    magnitude = b & _MAGNITUDE
    scale = 1.0
    if magnitude < _LEAST_NORMAL and not found.flush:
        scale = 2.0**24
    elif magnitude > int(GREAT) and found.full:
        scale = 0.25
    if scale != 1.0:
        reason = "the divisor or its reciprocal is subnormal"
        scaled = [_multiplied(bits, scale, reason, flush=found.flush) for bits in (a, b)]
        steps += scaled
        a, b = (step.result for step in scaled)
    reciprocal = unit_step("rcp", b)
    last = _arithmetic("*", a, reciprocal.result, "the quotient", flush=found.flush)
    return [*steps, reciprocal, last]


def _reduction(function: str, x: int) -> list[ApproximateStep]:
    """The product of sin and cos, rounded towards zero."""
    value = value_of(x, F32)
    if function not in {"sin", "cos"} or value is None or x & _MAGNITUDE < _LEAST_NORMAL:
        return []
    return [
        Arithmetic(
            operation="*",
            left=x,
            right=int(RECIPROCAL_TAU),
            result=turns(x),
            rounding="rz",
            reason="the operand in turns",
        )
    ]
