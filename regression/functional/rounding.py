"""Coverpoints of rounding: what becomes of the exact sum."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.arrays import bit_lengths, convert, decode
from golden.arithmetic.decode import ZERO
from golden.arithmetic.rules import fused_rules
from golden.arithmetic.tiles import block_sums
from golden.explanation.explain import explain
from golden.explanation.record import FusedSum, Rounding
from golden.tables.formats import FloatFormat, float_format
from golden.tables.instruction_set import ROUNDINGS, Use
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import HOPPER
from regression.functional.alignment import first_block
from regression.functional.model import Seen, bin_name, count_codes, coverpoint

__all__ = ["OUTCOMES", "POINTS", "outcome_of", "sample_numbers", "sample_rounding"]

_DIRECTIONS: Final = ("towards zero", "away from zero", "tie towards zero", "tie away from zero")
OUTCOMES: Final = (
    "exact, normal",
    "exact, subnormal",
    *(f"{direction}, {size}" for size in ("normal", "subnormal") for direction in _DIRECTIONS),
    "towards zero, to zero",
    "tie towards zero, to zero",
    "overflow to infinity",
    "overflow to the largest",
)
_CONVERSION: Final = "f32 to f16"
_ROUNDERS: Final = (
    *("f16 to f32", "bf16 to f32", "tf32 to f32", "f16 to f16", _CONVERSION),
    *(f"f64 .{mode}" for mode in ROUNDINGS),
)


def _modes(rounder: str) -> str:
    """The rounding mode."""
    if rounder.startswith("f64"):
        return rounder[-2:]
    return "rz" if rounder.endswith("to f32") else "rn"


def _excluded(rounder: str, sign: str, outcome: str) -> str | None:
    mode = _modes(rounder)
    outward = {"rn": True, "rz": False, "rm": sign == "-", "rp": sign == "+"}[mode]
    if "tie" in outcome and mode != "rn":
        return "only rounding to nearest knows ties"
    if outcome.startswith("away") and not outward:
        return "never away from zero in this mode and sign"
    if outcome.startswith("towards") and outward and mode != "rn":
        return "always away from zero in this mode and sign"
    if outcome == "overflow to the largest" and (outward or not rounder.startswith("f64")):
        return "an infinity in this mode and sign" if outward else "the dot product overflows to an infinity"
    if outcome == "overflow to infinity" and not outward and rounder.startswith("f64"):
        return "the largest number in this mode and sign"
    if rounder == "f16 to f32":
        if "overflow" in outcome:
            return "products of f16 are cut off beside an addend near 2**128"
        if ("subnormal" in outcome and "exact" not in outcome) or "to zero" in outcome:
            return "sums with products of f16 are multiples of 2**-53"
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
        {"rounding": _ROUNDERS, "sign": ("+", "-"), "outcome": OUTCOMES},
        _excluded,
    ),
    coverpoint(
        "cancellation",
        "Sums of which nothing is left although not all terms are zero.",
        {"types": ("f16", "bf16", "tf32", "f64")},
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


def sample_rounding(seen: Seen, instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]]) -> None:
    """Note the roundings of a multiply of another type than fp8: of all elements, or of f64 of eight."""
    if instruction.a_type == "f64":
        _sample_double(seen, instruction, matrices)
    elif instruction.c_type == "s32":
        _sample_integers(seen, instruction, matrices)
    else:
        _sample_sums(seen, instruction, matrices)


def _sample_sums(seen: Seen, instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]]) -> None:
    """The sum of the first block of products."""
    multiplicand, c_format = float_format(instruction.a_type), float_format(instruction.c_type)
    d_format = float_format(instruction.d_type)
    fused = d_format if c_format == d_format else float_format("f32")
    c = matrices["c"] if c_format == fused else convert(matrices["c"], c_format, fused)
    block = first_block(instruction)
    a, b = matrices["a"][:, :block], matrices["b"][:block]
    rules, _ = fused_rules(multiplicand, multiplicand, fused, HOPPER, instruction.mnemonic)
    total, unit, sums = block_sums(a, b, c, multiplicand, multiplicand, rules)
    mode = "rz" if fused.name == "f32" else "rn"
    finite = np.isfinite(total)
    sample_numbers(
        seen,
        "rounding",
        f"{multiplicand.name} to {fused.name}",
        total[finite],
        unit[finite].astype(np.int64),
        fused,
        mode,
    )
    first = (decode(a, multiplicand).kind != ZERO) @ (decode(b, multiplicand).kind != ZERO)
    cancelled = finite & (total == 0) & first
    seen["cancellation", multiplicand.name] += int(cancelled.sum())
    if d_format != fused:
        exponent = (sums >> 23 & 0xFF).astype(np.int64)
        magnitude = np.where(exponent == 0, sums & 0x7FFFFF, sums & 0x7FFFFF | 0x800000).astype(np.float64)
        signed = np.where(sums >> 31 != 0, -magnitude, magnitude)
        usable = exponent < 0xFF
        place = np.maximum(exponent, 1) - 150
        sample_numbers(seen, "rounding", _CONVERSION, signed[usable], place[usable], d_format, "rn")


def sample_numbers(
    seen: Seen,
    point: str,
    rounder: str,
    values: NDArray[Any],
    unit: NDArray[Any],
    format: FloatFormat,
    mode: str,
) -> None:
    """Note what rounding does to some numbers.

    Parameters
    ----------
    seen : Counter
    point : str
        Name of the coverpoint; its bins end with a sign and one of `OUTCOMES`.
    rounder : str
        With what its bins begin.
    values : ndarray of float64 or int64
        Whole numbers of less than 62 bits; zeros do not count.
    unit : ndarray of int64
        Exponent of the weight of one.
    format : FloatFormat
    mode : {"rn", "rz"}
    """
    use = values != 0
    values, unit = values[use], unit[use]
    if not values.size:
        return
    magnitude = np.abs(values).astype(np.int64)
    leading = bit_lengths(magnitude) - 1 + unit
    normal = np.maximum(leading, format.minimum_exponent)
    bits = np.clip(normal - format.fraction_bits - unit, 0, 62)
    kept = magnitude >> bits
    dropped = magnitude - (kept << bits)
    half = np.where(bits > 0, np.int64(1) << np.maximum(bits - 1, 0), 1 << 62)
    tie = (dropped == half) & (mode == "rn")
    up = ((dropped > half) | (tie & (kept & 1 == 1))) & (mode == "rn")
    subnormal = leading < format.minimum_exponent
    greatest = 2 * (1 << format.fraction_bits) - 1
    overflow = (leading > format.bias) | ((leading == format.bias) & (kept + up > greatest))
    zero = (kept == 0) & ~up
    codes = np.where(dropped == 0, 1 * subnormal, 2 + up + 2 * tie + 4 * subnormal)
    codes = np.where(overflow, 12, np.where(zero, 10 + tie, codes))
    for sign, mine in (("+", values > 0), ("-", values < 0)):
        count_codes(seen, point, [bin_name(rounder, sign, outcome) for outcome in OUTCOMES], codes[mine])


def _sample_double(seen: Seen, instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]]) -> None:
    mode = instruction.rounding or "rn"
    for row in range(instruction.shape.m):
        column = (3 * row + int(matrices["c"][0, 0]) % 8) % instruction.shape.n
        steps = explain(
            instruction, matrices["a"][row], matrices["b"][:, column], matrices["c"][row, column]
        ).steps
        for step in steps:
            if isinstance(step, FusedSum) and step.rounding is not None:
                if step.total == 0:
                    seen["cancellation", "f64"] += any(term.aligned for term in step.terms)
                else:
                    outcome = outcome_of(step.rounding, mode)
                    sign = "-" if step.rounding.negative else "+"
                    seen["rounding", bin_name(f"f64 .{mode}", sign, outcome)] += 1


def outcome_of(rounding: Rounding, mode: str) -> str:
    """One of `OUTCOMES`, for a number that is not zero.

    Parameters
    ----------
    rounding : Rounding
        As golden explains it.
    mode : str
        ``"rn"`` to nearest, ties to even, or ``"rz"`` towards zero.
    """
    if rounding.overflow:
        largest = rounding.bits & (1 << 63) - 1 == float_format("f64").largest_finite
        return "overflow to the largest" if largest else "overflow to infinity"
    size = "subnormal" if rounding.subnormal else "normal"
    if not rounding.dropped:
        return f"exact, {size}"
    tie = mode == "rn" and rounding.dropped << 1 == 1 << rounding.dropped_bits
    direction = ("tie " if tie else "") + ("away from zero" if rounding.up else "towards zero")
    if not rounding.kept and not rounding.up:
        size = "to zero"
    return f"{direction}, {size}"


def _sample_integers(seen: Seen, instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]]) -> None:
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
