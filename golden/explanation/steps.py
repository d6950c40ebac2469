"""Single steps of floating-point arithmetic on one result, in Python integers, every detail kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from golden.arithmetic import round_pack
from golden.arithmetic.exact import zero_is_negative
from golden.arithmetic.fdpa import align
from golden.arithmetic.fma import fused_multiply_add
from golden.arithmetic.number import Number
from golden.arithmetic.round_pack import ROUNDINGS, pack, round_significand
from golden.explanation.record import Conversion, FusedSum, Rounding, Term
from golden.tables.formats import FloatFormat


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How sums are formed; with a format alone, one by the rules of IEEE 754, to nearest even."""

    format: FloatFormat
    """Of the sums' results."""
    block: int = 1
    """Products in one sum."""
    rounding: int = round_pack.NEAREST
    """Place in `golden.arithmetic.round_pack.ROUNDINGS`."""
    propagate_nan: bool = False
    """Whether a NaN operand comes back made quiet; otherwise NaN is canonical."""
    fraction_bits: int | None = None
    """Alignment keeps multiples of ``2**(Emax - fraction_bits)``, and what is too large becomes an infinity
    and every zero +0, as in the fused dot-product-add; None for all bits, and the rules of IEEE 754."""
    least_exponent: int | None = None
    """Lower limit of Emax."""
    discarded_bits: int = 0
    """Lowest fraction bits that are zero in every result."""


def fused_sum(factors: Sequence[tuple[Number, ...]], c: Number, rules: Rules) -> FusedSum:
    """Align, add and round the products and c."""
    operands: list[tuple[Number, ...]] = [*factors, (c,)]
    nonzero = [numbers for numbers in operands if _kind(numbers) == "finite"]
    largest: int | None = None
    if rules.fraction_bits is None:
        places = [sum(number.exponent - number.fraction_bits for number in numbers) for numbers in nonzero]
        unit = min(places, default=0)
    else:
        exponents = [sum(number.exponent for number in numbers) for numbers in nonzero]
        limit = [] if rules.least_exponent is None else [rules.least_exponent]
        largest = max([*exponents, *limit], default=rules.format.minimum_exponent)
        unit = largest - rules.fraction_bits
    terms = tuple(_aligned(numbers, unit) for numbers in operands)
    total = sum(-term.aligned if term.negative else term.aligned for term in terms)

    special = _special(terms)
    rounding: Rounding | None = None
    if special is None:
        signs = {int(term.negative) for term in terms}
        negative = total < 0 or (total == 0 and zero_is_negative(signs, rules.rounding))
        rounding = _rounded(negative, abs(total), unit, rules)
        result = rounding.bits
        if rules.fraction_bits is not None and result == rules.format.sign_mask:
            result = 0
    elif special == "nan":
        result = rules.format.canonical_nan
        if rules.propagate_nan:
            (a, b), (c,) = operands
            result = fused_multiply_add(a.bits, b.bits, c.bits, rules.format, round_pack.NEAREST)
    else:
        result = rules.format.infinity | (rules.format.sign_mask if special == "-infinity" else 0)
    return FusedSum(
        terms=terms,
        largest_exponent=largest,
        least_exponent=rules.least_exponent,
        unit_exponent=unit,
        total=total,
        special=special,
        rounding=rounding,
        result_format=rules.format.name,
        result=result,
    )


def convert(number: Number, target: FloatFormat) -> Conversion:
    """To nearest even; a NaN becomes the canonical one."""
    rounding: Rounding | None = None
    if number.kind == "nan":
        result = target.canonical_nan
    elif number.kind == "infinity":
        result = target.infinity | (target.sign_mask if number.negative else 0)
    else:
        unit = number.exponent - number.fraction_bits
        rounding = _rounded(number.negative, number.significand, unit, Rules(format=target))
        result = rounding.bits
    return Conversion(source=number, rounding=rounding, result_format=target.name, result=result)


def _kind(numbers: tuple[Number, ...]) -> Literal["zero", "finite", "infinity", "nan"]:
    kinds = {number.kind for number in numbers}
    if "nan" in kinds or {"infinity", "zero"} <= kinds:
        return "nan"
    if "infinity" in kinds:
        return "infinity"
    return "zero" if "zero" in kinds else "finite"


def _aligned(numbers: tuple[Number, ...], unit: int) -> Term:
    kind = _kind(numbers)
    significand, exponent, fraction_bits, negative = 1, 0, 0, False
    for number in numbers:
        significand *= number.significand
        exponent += number.exponent
        fraction_bits += number.fraction_bits
        negative ^= number.negative
    if kind != "finite":
        significand = 0
    cut = unit - (exponent - fraction_bits)
    aligned = align(significand << max(-cut, 0), max(cut, 0)) if significand else 0
    return Term(
        factors=numbers,
        kind=kind,
        negative=negative,
        exponent=exponent,
        significand=significand,
        fraction_bits=fraction_bits,
        aligned=aligned,
        cut_bits=max(cut, 0),
        lost=significand - (aligned << cut) if cut > 0 else 0,
    )


def _special(terms: tuple[Term, ...]) -> Literal["nan", "infinity", "-infinity"] | None:
    infinities = {term.negative for term in terms if term.kind == "infinity"}
    if any(term.kind == "nan" for term in terms) or len(infinities) == 2:
        return "nan"
    if not infinities:
        return None
    return "-infinity" if infinities.pop() else "infinity"


def _rounded(negative: bool, magnitude: int, exponent: int, rules: Rules) -> Rounding:
    """One rounding, of ``magnitude * 2**exponent``."""
    format, mode, discarded_bits = rules.format, rules.rounding, rules.discarded_bits
    normal, dropped_bits, kept, up = round_significand(
        int(negative), magnitude, exponent, format, mode, discarded_bits
    )
    always_infinity = rules.fraction_bits is not None
    bits = pack(int(negative), kept + up << discarded_bits, normal, format, mode, always_infinity)
    leading = exponent + magnitude.bit_length() - 1 if magnitude else None
    largest = 2 * (1 << format.fraction_bits - discarded_bits) - 1
    return Rounding(
        format=format.name,
        mode=ROUNDINGS[mode],
        negative=negative,
        significand=magnitude,
        exponent=exponent,
        leading_exponent=leading,
        last_place=normal - format.fraction_bits + discarded_bits,
        kept=kept,
        dropped_bits=dropped_bits,
        dropped=magnitude - (kept << dropped_bits) if dropped_bits > 0 else 0,
        up=up,
        subnormal=leading is not None and leading < format.minimum_exponent,
        overflow=normal > format.bias or (normal == format.bias and kept + up > largest),
        bits=bits,
    )
