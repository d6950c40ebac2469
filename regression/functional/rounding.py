"""Coverpoints of rounding: what becomes of the exact sum."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.explanation.explain import explain
from golden.explanation.record import FusedSum
from golden.tables.formats import FloatFormat, float_format
from golden.tables.instruction_set import ROUNDINGS, Use
from golden.tables.matrix_instructions import MmaInstruction
from regression.functional.decoded import Decoded, bit_lengths, decode
from regression.functional.model import Seen, bin_name, count_codes, coverpoint
from regression.functional.sums import ADDITIONS, SUMS, Sum, least_exponent

_DIRECTIONS: Final = ("towards zero", "away from zero", "tie towards zero", "tie away from zero")
_OUTCOMES: Final = (
    "exact, normal",
    "exact, subnormal",
    *(f"{direction}, {size}" for size in ("normal", "subnormal") for direction in _DIRECTIONS),
    "towards zero, to zero",
    "tie towards zero, to zero",
    "overflow to infinity",
    "overflow to the largest",
)


@dataclass(frozen=True)
class _Rounder:
    """Where something is rounded."""

    mode: str
    """Of `golden.tables.instruction_set.ROUNDINGS`, or ``rz``."""
    result: FloatFormat
    least: int
    bound: int
    """The terms are multiples of two to `least`, and together less than two to `bound`."""
    has_addend: bool = True
    """Whether there is an addend of the result's format beside them."""
    may_be_largest: bool = False
    """Whether an overflow may become the largest number."""


def _rounders() -> Iterator[tuple[str, _Rounder]]:
    half, single, double = (float_format(name) for name in ("f16", "f32", "f64"))
    for name, kind in SUMS.items():
        mode = "rz" if kind.result == single else "rn"
        least, has_addend = sum(map(least_exponent, kind.types)), kind.has_addend and not kind.addition
        yield name, _Rounder(mode, kind.result, least, kind.bound, has_addend)
    for name, kind in ADDITIONS.items():
        yield name, _Rounder("rn", kind.result, least_exponent(kind.result), kind.bound + 1)
    yield _CONVERSION, _Rounder("rn", half, -149, 128, has_addend=False)
    for mode in ROUNDINGS:
        yield f"f64 .{mode}", _Rounder(mode, double, -2148, 2048, may_be_largest=True)


_CONVERSION: Final = "f32 to f16"
_ROUNDERS: Final = dict(_rounders())


def _excluded(name: str, sign: str, outcome: str) -> str | None:
    rounder = _ROUNDERS[name]
    mode, format = rounder.mode, rounder.result
    outward = {"rn": True, "rz": False, "rm": sign == "-", "rp": sign == "+"}[mode]
    if "tie" in outcome and mode != "rn":
        return "only rounding to nearest knows ties"
    if outcome.startswith("away") and not outward:
        return "never away from zero in this mode and sign"
    if outcome.startswith("towards") and outward and mode != "rn":
        return "always away from zero in this mode and sign"
    if outcome == "overflow to the largest" and (outward or not rounder.may_be_largest):
        return "an infinity in this mode and sign" if outward else "the dot product overflows to an infinity"
    if outcome == "overflow to infinity":
        if not outward and rounder.may_be_largest:
            return "the largest number in this mode and sign"
        if rounder.bound < format.bias - format.fraction_bits:
            return f"the products are less than 2**{rounder.bound}, which does not change the largest numbers"
    return _not_below(rounder, outcome)


def _not_below(rounder: _Rounder, outcome: str) -> str | None:
    """Why a result is not subnormal, or not rounded there."""
    if "subnormal" not in outcome and "to zero" not in outcome:
        return None
    format, least = rounder.result, rounder.least
    place = least_exponent(format)
    if not rounder.has_addend and least >= format.minimum_exponent:
        return f"products of these types are multiples of 2**{least}"
    if outcome == "exact, subnormal":
        return None
    if least >= place:
        return f"the terms are multiples of 2**{max(least, place)}, and so of the least number, or cut to it"
    if least == place - 1 and "tie" not in outcome:
        return f"products of these types are multiples of 2**{least}, half of the least number"
    return None


def _no_sum(types: str, ending: str, place: str) -> str | None:
    if types == "b1" and ending == "saturated":
        return "single bits have no .satfinite"
    if place == "below" and types in ("u8", "u4", "b1"):
        return "nothing is subtracted"
    return None


POINTS: Final = (
    coverpoint(
        "rounding",
        "What each rounding did to a sum that was not zero, by its sign.",
        {"rounding": tuple(_ROUNDERS), "sign": ("+", "-"), "outcome": _OUTCOMES},
        _excluded,
    ),
    coverpoint(
        "cancellation",
        "Sums of which nothing is left although not all terms are zero.",
        {"sum": (*SUMS, *ADDITIONS, "f64")},
    ),
    coverpoint(
        "integer sum",
        "Where the exact sum lies, and what becomes of it.",
        {
            "types": ("s8", "u8", "s4", "u4", "s8.u8", "b1"),
            "ending": ("wrapped", "saturated"),
            "sum": ("in range", "above", "below"),
        },
        _no_sum,
    ),
)


def sample_rounding(seen: Seen, item: Sum) -> None:
    """Note what rounding does to a sum, and where the terms cancel."""
    kind, finite = item.kind, np.isfinite(item.total)
    sample_numbers(seen, kind.name, item.total[finite], item.unit[finite].astype(np.int64))
    cancelled = (item.total == 0) & np.any(item.products != 0, axis=1)
    seen["cancellation", kind.name] += int((finite & cancelled).sum())


def sample_conversion(seen: Seen, sums: NDArray[Any]) -> None:
    """Note what the conversion of bit patterns of f32 to f16 does."""
    number = decode(sums, float_format("f32"))
    usable = ~number.special
    place = number.exponent.astype(np.int64) - number.format.fraction_bits
    sample_numbers(seen, _CONVERSION, _signed(number)[usable], place[usable])


def sample_addition(seen: Seen, addition: str, x: Decoded, y: Decoded) -> None:
    """Note what rounding does to the sum of C and of the sum before."""
    finite = ~(x.special | y.special)
    least = np.minimum(x.exponent, y.exponent).astype(np.int64)
    # Whole numbers of any length, of Python.
    total = sum(_signed(number).astype(object) << number.exponent - least for number in (x, y))
    shortened = np.frompyfunc(_shortened, 2, 2)(total, least - x.format.fraction_bits)
    values, unit = (part.astype(np.int64) for part in shortened)
    sample_numbers(seen, addition, values[finite], unit[finite])
    seen["cancellation", addition] += int((finite & (values == 0) & (x.significand != 0)).sum())


def _signed(number: Decoded) -> NDArray[np.int64]:
    return np.where(number.negative, -number.significand, number.significand)


def sample_numbers(seen: Seen, rounder: str, values: NDArray[Any], unit: NDArray[Any]) -> None:
    """Note what rounding does to some whole numbers of less than 62 bits; zeros do not count.

    `rounder` is the first part of the bins. `unit` is the exponent of the weight of one.
    """
    mode, may_be_largest = _ROUNDERS[rounder].mode, _ROUNDERS[rounder].may_be_largest
    format = SUMS[rounder].kept if rounder in SUMS else _ROUNDERS[rounder].result
    to_nearest = mode == "rn"
    use = values != 0
    values, unit = values[use], unit[use]
    magnitude = np.abs(values).astype(np.int64)
    leading = bit_lengths(magnitude) - 1 + unit
    normal = np.maximum(leading, format.minimum_exponent)
    bits = np.clip(normal - format.fraction_bits - unit, 0, 62)
    kept = magnitude >> bits
    dropped = magnitude - (kept << bits)
    half = np.where(bits > 0, np.int64(1) << np.maximum(bits - 1, 0), 1 << 62)
    tie = (dropped == half) & to_nearest
    outward = {"rm": values < 0, "rp": values > 0}.get(mode, np.zeros(values.shape, bool))
    up = ((dropped > half) | (tie & (kept & 1 == 1))) if to_nearest else (dropped > 0) & outward
    subnormal = leading < format.minimum_exponent
    greatest = 2 * (1 << format.fraction_bits) - 1
    overflow = (leading > format.bias) | ((leading == format.bias) & (kept + up > greatest))
    zero = (kept == 0) & ~up
    codes = np.where(dropped == 0, 1 * subnormal, 2 + up + 2 * tie + 4 * subnormal)
    largest = may_be_largest and not to_nearest
    codes = np.where(overflow, 12 + (largest & ~outward), np.where(zero, 10 + tie, codes))
    for sign, mine in (("+", values > 0), ("-", values < 0)):
        count_codes(seen, "rounding", codes[mine], rounder, sign, _OUTCOMES)


def sample_double(seen: Seen, instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]]) -> None:
    """Note the roundings of a multiply of f64, of eight elements."""
    sums = []
    for row in range(instruction.shape.m):
        column = (3 * row + int(matrices["c"][0, 0]) % 8) % instruction.shape.n
        operands = matrices["a"][row], matrices["b"][:, column], matrices["c"][row, column]
        for step in explain(instruction, *operands).steps:
            if isinstance(step, FusedSum) and step.rounding is not None:
                seen["cancellation", "f64"] += not step.total and any(term.aligned for term in step.terms)
                sums.append(_shortened(step.total, step.unit_exponent))
    values, units = np.array(sums, np.int64).reshape(-1, 2).T
    sample_numbers(seen, f"f64 .{instruction.rounding or 'rn'}", values, units)


def _shortened(total: int, unit: int) -> tuple[int, int]:
    """A sum of less than 62 bits and its unit; what lies below them becomes a sticky bit."""
    below = max(0, total.bit_length() - 61)
    magnitude = abs(total) >> below | bool(abs(total) & (1 << below) - 1)
    return -magnitude if total < 0 else magnitude, unit + below


def sample_integers(seen: Seen, instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]]) -> None:
    """Note where the exact sums of integers lie."""
    a, b = matrices["a"].astype(np.int64), matrices["b"].astype(np.int64)
    different = instruction.operation == "xor"
    sums = (a[:, :, None] ^ b[None, :, :]).sum(axis=1) if different else a @ b
    sums += matrices["c"]
    mixed = instruction.a_type != instruction.b_type
    types = "s8.u8" if mixed else instruction.a_type
    ending = "saturated" if instruction.saturate else "wrapped"
    above, below = int((sums > 2**31 - 1).sum()), int((sums < -(2**31)).sum())
    for place, count in (("in range", sums.size - above - below), ("above", above), ("below", below)):
        if count:
            seen["integer sum", bin_name(types, ending, place)] += count
