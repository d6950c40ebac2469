"""One approximate result, step by step, and next to the correctly rounded one."""

from math import isnan
from typing import Any

from numpy.typing import ArrayLike

from golden.approximation import unit, upper_word
from golden.approximation.call import checked_operands
from golden.approximation.exact import correctly_rounded
from golden.approximation.instructions import ApproximateInstruction
from golden.approximation.interpolator import SQUARER_BITS, polynomial, table
from golden.approximation.operations import form, operation
from golden.approximation.scaled import BACK, GREAT, HALF, QUARTER, UP
from golden.approximation.steps import (
    ApproximateStep,
    Approximation,
    Arithmetic,
    Interpolation,
    Narrowing,
    Special,
)
from golden.approximation.unit import (
    INFINITY,
    LEAST_NORMAL,
    MAGNITUDE,
    NOT_SPECIAL,
    QUARTERS,
    RECIPROCAL_TAU,
    RULES,
    SIGN,
    Argument,
)
from golden.arithmetic.fma import add, multiply
from golden.arithmetic.number import float_value
from golden.arithmetic.round_pack import NEAREST, convert
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FloatFormat, float_format

_F32 = float_format("f32")
_UPPER_SIGNIFICAND = 21


def explain_approximation(instruction: str, *operands: ArrayLike) -> Approximation:
    """Every step of one result: argument, row, offset, truncated square, sum and cut.

    The instruction is as for `golden.approximate`, but for pairs (f16x2, bf16x2), whose elements can be
    explained. So are the operands, of shape (); a Python float is rounded to the type, with a note if that is
    inexact. InvalidArgument as of `golden.approximate`.
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
    if found.is_narrow:
        wide = convert(bits[0], float_format(found.element), _F32)
        last = _unit_step(found.function, wide)
        return [last, Narrowing(type=found.element, source=last.result, result=result)]
    if found.type == "f64":
        return [_upper_word_step(found.function, bits[0])]
    if found.flush or found.function in (*QUARTERS, "tanh"):
        return [*_reduction(found.function, bits[0]), _unit_step(found.function, bits[0])]
    return _scaled(found.function, bits[0])


def _product(left: int, right: int, reason: str, *, flush: bool = False) -> Arithmetic:
    """One f32 multiplication, rounded to nearest even; `flush` as in `golden.arithmetic.fma`."""
    result = multiply(left, right, _F32, NEAREST, flush)
    return Arithmetic(left=left, right=right, result=result, reason=reason)


def _difference(left: int, addend: int, reason: str) -> Arithmetic:
    """One f32 subtraction of a negative addend's magnitude."""
    result = add(left, addend, _F32, NEAREST)
    return Arithmetic(operation="-", left=left, right=addend & MAGNITUDE, result=result, reason=reason)


def _scaled(function: str, x: int) -> list[ApproximateStep]:
    """The f32 forms without ``.ftz``."""
    magnitude = x & MAGNITUDE
    if function == "ex2":
        if not 0xC2FC0000 < x <= 0xFF800000:  # -126 and -infinity
            return [_unit_step(function, x)]
        first = _product(x, HALF, "below -126: the square of the result for half the operand")
        root = _unit_step(function, first.result)
        return [first, root, _product(root.result, root.result, "the square")]
    small, great = magnitude < LEAST_NORMAL, function == "rcp" and magnitude > GREAT
    if not small and not great:
        return [_unit_step(function, x)]
    first = _product(x, UP if small else QUARTER, "the operand or its reciprocal is subnormal")
    middle = _unit_step(function, first.result)
    last = _difference if function == "lg2" else _product
    return [first, middle, last(middle.result, BACK[function] if small else QUARTER, "back")]


def _division(found: ApproximateInstruction, a: int, b: int) -> list[ApproximateStep]:
    scaled: list[Arithmetic] = []
    magnitude = b & MAGNITUDE
    small, great = magnitude < LEAST_NORMAL and not found.flush, magnitude > GREAT and found.full
    if small or great:
        reason = "the divisor or its reciprocal is subnormal"
        scaled = [_product(bits, UP if small else QUARTER, reason, flush=found.flush) for bits in (a, b)]
        a, b = (step.result for step in scaled)
    reciprocal = _unit_step("rcp", b)
    last = _product(a, reciprocal.result, "the quotient", flush=found.flush)
    return [*scaled, reciprocal, last]


def _reduction(function: str, x: int) -> list[ApproximateStep]:
    """The product of sin and cos, rounded towards zero; a subnormal one is zero."""
    if function not in QUARTERS or not LEAST_NORMAL <= x & MAGNITUDE < _F32.infinity:
        return []
    turns = unit.assemble(*unit.truncated_turns(x), x >> 31)
    reason = "the operand in turns"
    return [Arithmetic(left=x, right=RECIPROCAL_TAU, result=turns, rounding="rz", reason=reason)]


def _unit_step(function: str, x: int) -> Interpolation | Special:
    """The unit's result for an f32 operand."""
    quarter = [QUARTERS[function]] if function in QUARTERS else []
    rule, name = RULES[function], "sin" if quarter else function
    special = rule.special(x, *quarter)
    if special != NOT_SPECIAL:
        return Special(operand=x, result=special, reason=_reason(function, x))
    argument = rule.argument(x, *quarter, table(name))
    result = rule.result(x, *quarter, table(name))
    return _interpolated(name, x, argument, result, unit.SIGNIFICAND)


def _upper_word_step(function: str, x: int) -> Interpolation | Special:
    """The result of rcp or rsqrt for an f64 operand."""
    operand = upper_word.upper_word_as_f32(x)
    result = upper_word.RESULTS[function](x, table(function))
    if RULES[function].special(operand) != NOT_SPECIAL:
        return Special(operand=x, result=result, reason=_reason(function, operand))
    row, offset, _, negative = RULES[function].argument(operand, table(function))
    exponent = upper_word.upper_word_exponent(x)
    argument = row, offset, -(exponent >> 1) if function == "rsqrt" else -exponent, negative
    return _interpolated(function, x, argument, result, _UPPER_SIGNIFICAND)


def _reason(function: str, x: int) -> str:
    """Why the result does not come from the polynomial."""
    magnitude = x & MAGNITUDE
    if magnitude > INFINITY:
        return "a NaN gives the canonical NaN"
    if function == "tanh":
        return "below 2**-8: the operand itself" if magnitude < 0x3B800000 else "from 8 on: 1"
    if function == "ex2":
        return "below -126: 0" if x >= SIGN else "from 128 on: infinity"
    if magnitude == INFINITY:
        return "an infinity"
    if function in QUARTERS:
        return "a whole number of quarter turns"
    if magnitude < LEAST_NORMAL:
        return "zero, or subnormal and taken as zero"
    if x >= SIGN:
        return "a negative operand"
    return "a power of 4: exact" if function == "rsqrt" else "the operand 1"


def _interpolated(name: str, x: int, argument: Argument, result: int, significand: int) -> Interpolation:
    """The polynomial of a table, the cut, and the number that they give with this exponent."""
    combined = table(name)
    row, offset, exponent, negative = argument
    c0, c1, c2 = (int(coefficient) for coefficient in combined.rows[row])
    total = polynomial(combined, row, offset)
    function = name
    if name in {"rsqrt", "sqrt"}:
        parity, row = divmod(row, len(combined.rows) // 2)
        function = f"{name}_{('odd', 'even')[parity]}"
    position = row << combined.offset_bits | offset
    if name == "tanh":
        start, width = (int(value) for value in combined.starts[row])
        position = start + (offset << width >> combined.offset_bits)
    magnitude, unit_exponent = total, exponent - combined.fraction_bits
    if name == "lg2":
        unit_exponent = -unit.LG2_FRACTION_BITS
        magnitude, negative = unit.lg2_sum(total, exponent)
    cut = max(0, magnitude.bit_length() - significand)
    kept = magnitude >> cut
    return Interpolation(
        function=function,
        operand=x,
        argument=position,
        row=row,
        offset=offset,
        offset_bits=combined.offset_bits,
        c0=c0,
        c1=c1,
        c2=c2,
        square=int(combined.squares[offset >> combined.offset_bits - SQUARER_BITS]),
        total=total,
        fraction_bits=combined.fraction_bits,
        magnitude=magnitude,
        unit_exponent=unit_exponent,
        cut_bits=cut,
        kept=kept,
        lost=magnitude - (kept << cut),
        negative=negative == 1,
        result=result,
    )
