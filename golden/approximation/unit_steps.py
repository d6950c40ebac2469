"""The unit's result for one operand, with everything on the way: the functions of `unit`, uncompiled."""

from golden.approximation import unit, upper_word, wave
from golden.approximation.interpolator import SQUARER_BITS, polynomial, table
from golden.approximation.steps import Interpolation, Special
from golden.approximation.unit import INFINITY, LEAST_NORMAL, MAGNITUDE, NOT_SPECIAL, SIGN, Argument

_QUARTERS = {"sin": 0, "cos": 1}
_UPPER_SIGNIFICAND = 21


def turns(x: int) -> int:
    """1 / (2 pi) times x, rounded towards zero, subnormal products as zero."""
    return unit.assemble(*wave.truncated_turns(x), x >> 31)


def unit_step(function: str, x: int) -> Interpolation | Special:
    """The unit's result for an f32 operand."""
    coefficients = table("sin" if function == "cos" else function)
    if function in _QUARTERS:
        quarter = _QUARTERS[function]
        special = wave.wave_special(x, quarter)
        result = getattr(wave, function)(x, coefficients)
        argument = wave.wave_argument(x, quarter, coefficients)
    else:
        special = getattr(unit, f"{function}_special")(x)
        result = getattr(unit, function)(x, coefficients)
        argument = 0, 0, 0, 0
        if special == NOT_SPECIAL:
            argument = getattr(unit, f"{function}_argument")(x, coefficients)
    if special != NOT_SPECIAL:
        return Special(operand=x, result=special, reason=_reason(function, x))
    return _interpolated(function, x, argument, result, unit.SIGNIFICAND)


def upper_word_step(function: str, x: int) -> Interpolation | Special:
    """The result of rcp or rsqrt for an f64 operand."""
    operand = upper_word.upper_word_as_f32(x)
    result = getattr(upper_word, f"{function}_upper_word")(x, table(function))
    if getattr(unit, f"{function}_special")(operand) != NOT_SPECIAL:
        return Special(operand=x, result=result, reason=_reason(function, operand))
    row, offset, _, negative = getattr(unit, f"{function}_argument")(operand, table(function))
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
    if function in _QUARTERS:
        return "a whole number of quarter turns"
    if magnitude < LEAST_NORMAL:
        return "zero, or subnormal and taken as zero"
    if x >= SIGN:
        return "a negative operand"
    return "a power of 4: exact" if function == "rsqrt" else "the operand 1"


def _interpolated(function: str, x: int, argument: Argument, result: int, significand: int) -> Interpolation:
    """The polynomial, the cut, and the number that they give with this exponent."""
    combined = table("sin" if function == "cos" else function)
    row, offset, exponent, negative = argument
    name = "sin" if function == "cos" else function
    c0, c1, c2 = (int(coefficient) for coefficient in combined.rows[row])
    total = polynomial(combined, row, offset)
    if function in {"rsqrt", "sqrt"}:
        parity, row = divmod(row, len(combined.rows) // 2)
        name = f"{function}_{('odd', 'even')[parity]}"
    position = row << combined.offset_bits | offset
    if function == "tanh":
        start, width = (int(value) for value in combined.starts[row])
        position = start + (offset << width >> combined.offset_bits)
    magnitude, unit_exponent = total, exponent - combined.fraction_bits
    if function == "lg2":
        unit_exponent = -unit.LG2_FRACTION_BITS
        magnitude, negative = unit.lg2_sum(total, exponent)
    cut = max(0, magnitude.bit_length() - significand)
    kept = magnitude >> cut
    return Interpolation(
        function=name,
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
