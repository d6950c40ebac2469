"""Coverpoints of rounding of fp8: of the sums of `wgmma` and `mma`, and of the addition of C in `mma`."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.arrays import Decoded, decode
from golden.tables.formats import float_format
from regression.functional.fp8_alignment import least_product
from regression.functional.fp8_sums import F16, PAIRS, RESULTS, STAGES, Fp8Sum, kept_format
from regression.functional.model import Seen, bin_name, coverpoint
from regression.functional.rounding import OUTCOMES, sample_numbers

__all__ = ["POINTS", "sample_fp8_addition", "sample_fp8_rounding"]

_LEAST_F16: Final = F16.minimum_exponent - F16.fraction_bits
_ROOM: Final = 36
"""Places below the larger operand of an addition that are kept exactly; below them there is a sticky bit."""


def _excluded(stage: str, pair: str, result: str, sign: str, outcome: str) -> str | None:
    del sign
    if outcome == "overflow to the largest":
        return "the dot product overflows to an infinity"
    place = least_product(stage, pair)[1]
    below = "subnormal" in outcome or "to zero" in outcome
    if result == "f32":
        return _excluded_f32(stage, outcome, below=below, place=place)
    if below and outcome != "exact, subnormal":
        if place >= _LEAST_F16:
            return f"products of these types are multiples of 2**{place}, and so of the least f16"
        if place == _LEAST_F16 - 1 and "tie" not in outcome:
            return f"products of these types are multiples of 2**{place}, half of the least f16"
    return None


def _excluded_f32(stage: str, outcome: str, *, below: bool, place: int) -> str | None:
    if "tie" in outcome or outcome.startswith("away"):
        return "the sum is cut off towards zero"
    if stage == "wgmma":
        if "overflow" in outcome:
            return "products of fp8 are cut off beside an addend near 2**128"
        if below and outcome != "exact, subnormal":
            return "a subnormal sum is of the addend alone, which the alignment has cut at the same place"
        return None
    if "overflow" in outcome:
        return "sums of products of fp8 are less than 2**37"
    return f"products of these types are multiples of 2**{place}" if below else None


def _excluded_addition(result: str, sign: str, outcome: str) -> str | None:
    del sign
    if outcome == "overflow to the largest":
        return "an infinity in rounding to nearest"
    if outcome != "exact, subnormal" and ("subnormal" in outcome or "to zero" in outcome):
        return "both operands are multiples of the least number of their type"
    if result == "f32" and "overflow" in outcome:
        return "a sum of fp8 is less than half of the last place beside an addend near 2**128"
    return None


POINTS: Final = (
    coverpoint(
        "fp8 rounding",
        "What each rounding of a sum of fp8 did to it where it was not zero, by its sign.",
        {"sum": STAGES, "types": PAIRS, "result": RESULTS, "sign": ("+", "-"), "outcome": OUTCOMES},
        _excluded,
    ),
    coverpoint(
        "fp8 addition",
        "What the rounding of C and the sums of mma did, by the sign of the result.",
        {"result": RESULTS, "sign": ("+", "-"), "outcome": OUTCOMES},
        _excluded_addition,
    ),
    coverpoint(
        "fp8 cancellation",
        "Sums of fp8 of which nothing is left although not all terms are zero, and additions.",
        {"sum": (*STAGES, "mma addition"), "types": PAIRS, "result": RESULTS},
    ),
)


def sample_fp8_rounding(seen: Seen, pair: str, result: str, item: Fp8Sum) -> None:
    """Note what rounding does to a sum, and where the terms cancel."""
    finite = np.isfinite(item.total)
    sample_numbers(
        seen,
        "fp8 rounding",
        bin_name(item.stage, pair, result),
        item.total[finite],
        item.unit[finite].astype(np.int64),
        kept_format(item.stage, result),
        "rz" if result == "f32" else "rn",
    )
    some = np.any(item.products != 0, axis=1)
    cancelled = finite & (item.total == 0) & some
    if cancelled.any():
        seen["fp8 cancellation", bin_name(item.stage, pair, result)] += int(cancelled.sum())


def sample_fp8_addition(seen: Seen, pair: str, result: str, c: NDArray[Any], total: NDArray[Any]) -> None:
    """Note what rounding does to the sum of two bit patterns of the result's type."""
    format = float_format(result)
    x, y = decode(c, format), decode(total, format)
    finite = ~(x.special | y.special)
    values, unit = _exact_sum(x, y)
    sample_numbers(seen, "fp8 addition", result, values[finite], unit[finite], format, "rn")
    cancelled = finite & (values == 0) & (x.significand != 0)
    if cancelled.any():
        seen["fp8 cancellation", bin_name("mma addition", pair, result)] += int(cancelled.sum())


def _exact_sum(x: Decoded, y: Decoded) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sum in units of two to an exponent; what lies far below the larger operand becomes a sticky bit."""
    top = np.maximum(x.exponent, y.exponent).astype(np.int64)
    total = np.zeros_like(top)
    for number in (x, y):
        shift = _ROOM - (top - number.exponent)
        significand = number.significand.astype(np.int64)
        down = np.clip(-shift, 0, 62)
        kept = significand >> down
        kept |= (kept << down) != significand
        kept <<= np.maximum(shift, 0)
        total += np.where(number.negative, -kept, kept)
    return total, top - x.format.fraction_bits - _ROOM
