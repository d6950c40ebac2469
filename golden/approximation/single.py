"""The unit's result for one operand, in Python integers: the rules of `unit` and `f64` without arrays."""

from fractions import Fraction

import numpy as np

from golden.approximation.exact import rounded, value_of
from golden.approximation.interpolator import SQUARER_BITS, Table, squares, table, tanh_table
from golden.approximation.operations import operation
from golden.approximation.steps import Interpolation, Special
from golden.approximation.unit import RECIPROCAL_TAU
from golden.tables.formats import FloatFormat, float_format

__all__ = ["F32", "turns", "unit_step", "upper_word_step"]

F32 = float_format("f32")
F64 = float_format("f64")
_LEAST_NORMAL = 0x00800000
_MAGNITUDE = 0x7FFFFFFF
_FRACTION = (1 << 23) - 1
_CUT = {"ex2": 15, "rcp": 15, "rsqrt": 16, "sqrt": 17}


def turns(x: int) -> int:
    """1 / (2 pi) times x, rounded towards zero, subnormal products as zero."""
    factor = value_of(int(RECIPROCAL_TAU), F32)
    value = value_of(x, F32)
    if value is None or factor is None:
        raise ValueError(f"0x{x:08x} is not finite")
    product = abs(value * factor)
    nearest = rounded(product, F32)
    below = value_of(nearest, F32)
    if below is None or below > product:
        nearest -= 1
    return (nearest if nearest >= _LEAST_NORMAL else 0) | x & 0x80000000


def unit_step(function: str, x: int) -> Interpolation | Special:
    """The unit's result for an f32 operand."""
    magnitude, negative = x & _MAGNITUDE, x >= 0x80000000
    exponent, u = (magnitude >> 23) - 127, magnitude & _FRACTION
    reason = _special(function, x)
    if reason:
        text = f"{function}.approx.f32" if function == "tanh" else f"{function}.approx.ftz.f32"
        result = int(operation(text)(np.array([x], np.uint32))[0])
        return Special(operand=x, result=result, reason=reason)
    value = abs(value_of(x, F32) or Fraction(0))
    if function == "ex2":
        fixed = int(value * 2**23)
        if negative:
            fixed = ~fixed if fixed & _FRACTION else -fixed
        return _interpolated("ex2", x, fixed & _FRACTION, fixed >> 23, False)
    if function == "rcp":
        return _interpolated("rcp", x, u, -exponent, negative)
    if function in {"rsqrt", "sqrt"}:
        half = -(exponent >> 1) if function == "rsqrt" else exponent >> 1
        return _interpolated(f"{function}_{'odd' if exponent & 1 else 'even'}", x, u, half, False)
    if function == "lg2":
        return _interpolated("lg2", x, u, exponent, False)
    if function == "tanh":
        return _interpolated("tanh", x, int(value * 2**31), 0, negative)
    turn = int(abs(value_of(turns(x), F32) or Fraction(0)) * 2**25) & (1 << 25) - 1
    quarter, u = turn >> 23, turn & _FRACTION
    folded = u ^ _FRACTION if (quarter & 1) == (function == "sin") else u
    sign = (quarter >= 2) != negative if function == "sin" else quarter in {1, 2}
    return _interpolated("sin", x, folded, 0, sign)


def _special(function: str, x: int) -> str | None:
    """Why the result does not come from the polynomial."""
    magnitude, negative = x & _MAGNITUDE, x >= 0x80000000
    if magnitude > 0x7F800000:
        return "a NaN gives the canonical NaN"
    if function == "tanh":
        if magnitude < 0x3B800000:
            return "below 2**-8: the operand itself"
        return "from 8 on: 1" if magnitude >= 0x41000000 else None
    if function == "ex2":
        value = float(np.uint32(x).view(np.float32))
        if value < -126:
            return "below -126: 0"
        return "from 128 on: infinity" if value >= 128 else None
    if magnitude == 0x7F800000:
        return "an infinity"
    if function in {"sin", "cos"}:
        turn = int(abs(value_of(turns(x), F32) or Fraction(0)) * 2**25)
        if magnitude < _LEAST_NORMAL:
            turn = 0
        return "a whole number of quarter turns" if turn & _FRACTION == 0 else None
    if magnitude < _LEAST_NORMAL:
        return "zero, or subnormal and taken as zero"
    if function != "rcp" and negative:
        return "a negative operand"
    if function == "rsqrt" and magnitude & (_FRACTION | 1 << 23) == 1 << 23:
        return "a power of 4: exact"
    return "the operand 1" if function == "lg2" and x == 0x3F800000 else None


def _interpolated(
    name: str, x: int, argument: int, exponent: int, negative: bool, *, format: FloatFormat = F32
) -> Interpolation:
    """The polynomial, the cut, and the number that they give with this exponent."""
    coefficients: Table
    if name == "tanh":
        found = coefficients = tanh_table()
        row = int(np.flatnonzero(found.start * 2**31 <= argument)[-1])
        start, width = int(found.start[row] * 2**31), int(found.width[row] * 2**31)
        offset = (argument - start << coefficients.offset_bits) // width
    else:
        coefficients = table(name)
        row, offset = divmod(argument, 1 << coefficients.offset_bits)
    c0, c1, c2 = (int(column[row]) for column in (coefficients.c0, coefficients.c1, coefficients.c2))
    square = int(squares()[offset >> coefficients.offset_bits - SQUARER_BITS])
    total = c0 + c1 * offset + c2 * square
    magnitude, unit = total, exponent - coefficients.fraction_bits
    if name == "lg2":
        magnitude, unit = (exponent << 36) + (total >> 2), -36
        negative = magnitude < 0
        magnitude = ~magnitude if negative else magnitude
    cut = _CUT.get(name.split("_", maxsplit=1)[0], max(0, magnitude.bit_length() - 24))
    if format.bits == 64:
        cut += 3  # 20 significand bits of 23
    kept = magnitude >> cut
    result = rounded(Fraction(kept) * Fraction(2) ** (unit + cut), format)
    if not result & format.infinity:
        result = 0
    return Interpolation(
        function=name,
        operand=x,
        argument=argument,
        row=row,
        offset=offset,
        offset_bits=coefficients.offset_bits,
        c0=c0,
        c1=c1,
        c2=c2,
        square=square,
        total=total,
        fraction_bits=coefficients.fraction_bits,
        magnitude=magnitude,
        unit_exponent=unit,
        cut_bits=cut,
        kept=kept,
        lost=magnitude - (kept << cut),
        negative=negative,
        result=result | (format.sign_mask if negative else 0),
    )


def upper_word_step(function: str, x: int) -> Interpolation | Special:
    """The result of rcp or rsqrt for an f64 operand."""
    upper = x >> 32
    exponent, u = (upper >> 20 & 0x7FF) - 1023, (upper & (1 << 20) - 1) << 3
    negative = upper >= 0x80000000
    reason = None
    if exponent == 1024:
        reason = "an upper word of NaN gives the canonical NaN" if u else "an infinity"
    elif exponent == -1023:
        reason = "zero, or subnormal and taken as zero"
    elif function == "rsqrt" and negative:
        reason = "a negative operand"
    elif function == "rsqrt" and u == 0 and exponent % 2 == 0:
        reason = "a power of 4: exact"
    if reason:
        result = int(operation(f"{function}.approx.ftz.f64")(np.array([x], np.uint64))[0])
        return Special(operand=x, result=result, reason=reason)
    if function == "rcp":
        return _interpolated("rcp", x, u, -exponent, negative, format=F64)
    name = f"rsqrt_{'odd' if exponent & 1 else 'even'}"
    return _interpolated(name, x, u, -(exponent >> 1), False, format=F64)
