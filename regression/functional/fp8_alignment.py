"""Coverpoints of the alignment of fp8: in a tile of `wgmma`, and in the sums and the addition of `mma`."""

from functools import cache
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.arrays import decode
from golden.tables.formats import float_format
from golden.tables.profiles import HOPPER
from regression.functional.alignment import DISTANCES, EDGES
from regression.functional.fp8_sums import F16, PAIRS, RESULTS, STAGES, Fp8Sum
from regression.functional.model import Seen, bin_name, count_codes, coverpoint

__all__ = ["POINTS", "least_product", "sample_fp8_addition", "sample_fp8_alignment"]

_BITS: Final = HOPPER.fp8_fraction_bits or 0
_FAR: Final = _BITS + 3
"""From this distance on nothing is left of any term: a product is less than 4 times its power of two."""

_TILE_DISTANCES: Final = (*(str(distance) for distance in range(_FAR)), f"{_FAR} and more", "zero")
_FATES: Final = ("whole", "cut", "nothing left")
_TILE_TERMS: Final = ("product", *(f"addend {name}" for name in RESULTS))
_SUM_TERMS: Final = ("first product", "second product", *(f"second addend {name}" for name in RESULTS))
_GAPS: Final = ("less than -p", "-p to -2", "-1", "0", "1", "2 to p", "more than p")
"""Exponent of C less that of the sum; p is the length of the significand."""


@cache
def _fates(pair: str, term: str, distance: int) -> frozenset[str]:
    """What can become of a term so far below the greatest exponent."""
    if term == "product":
        formats = [float_format(name) for name in pair.split(".")]
        numbers = [range(1, 2 << item.fraction_bits) for item in formats]
        significands = {x * y for x, y in product(*numbers)}
        fraction = sum(item.fraction_bits for item in formats)
    else:
        format = float_format(term.rsplit(maxsplit=1)[-1])
        fraction = format.fraction_bits
        # Products of fp8 are never near a subnormal f32; without any, its distance is 0.
        near = format == F16 or distance in (0, _FAR)
        powers = [1 << place for place in range(0 if near else fraction, fraction + 1)]
        significands = {power | low for power in powers for low in (0, 1)}
    return frozenset(_fate(item, distance + fraction - _BITS) for item in significands)


def _fate(significand: int, cut: int) -> str:
    left = significand >> max(cut, 0)
    if left << max(cut, 0) == significand:
        return "whole"
    return "cut" if left else "nothing left"


def _no_fate(pair: str, term: str, distance: str, fate: str) -> str | None:
    if distance == "zero":
        return None if fate == "whole" else "a zero has no bits to cut"
    if fate in _fates(pair, term, int(distance.split(maxsplit=1)[0])):
        return None
    return f"no such term has the bits to be {fate} at this distance"


def least_product(stage: str, pair: str) -> tuple[int, int]:
    """The alignment exponent of the least product, and the exponent of its value, a power of two."""
    exponent = place = 0
    for name in pair.split("."):
        format = float_format(name)
        least = format.minimum_exponent - format.fraction_bits
        place += least
        exponent += format.minimum_exponent if stage == "wgmma" else max(least, F16.minimum_exponent)
    return exponent, place


def _above_floor(stage: str, pair: str, result: str) -> str | None:
    floor = HOPPER.least_exponent(float_format(result))
    assert floor is not None
    if least_product(stage, pair)[0] < floor:
        return None
    return f"no product of these types has an exponent below {floor}, nor has an addend"


POINTS: Final = (
    coverpoint(
        "fp8 tile distance",
        "How far a term of wgmma is below the largest of its sum, and whether bits of it are cut.",
        {"types": PAIRS, "term": _TILE_TERMS, "distance": _TILE_DISTANCES, "bits": _FATES},
        _no_fate,
    ),
    coverpoint(
        "fp8 sum distance",
        "How far a term of the two sums of mma is below the largest; the first addend is zero.",
        {"types": PAIRS, "term": _SUM_TERMS, "distance": DISTANCES},
    ),
    coverpoint(
        "fp8 exponent floor",
        "Sums of fp8 whose terms are all below the least exponent that the alignment takes for the largest.",
        {"sum": STAGES, "types": PAIRS, "result": RESULTS},
        _above_floor,
    ),
    coverpoint(
        "fp8 addition distance",
        "Exponent of C less that of the sum to which mma adds it; p is the length of the significand.",
        {"result": RESULTS, "distance": _GAPS, "signs": ("alike", "opposite")},
    ),
)


def sample_fp8_alignment(seen: Seen, pair: str, result: str, item: Fp8Sum) -> None:
    """Note the distances in a sum, of the elements whose terms are finite."""
    finite = np.isfinite(item.total)
    largest = item.unit + item.fraction_bits
    every = np.broadcast_to(finite[:, None, :], item.products.shape)
    values = {"product": item.products[every], f"addend {result}": item.addend.float64()[finite]}
    exponents = {
        "product": item.product_exponents[every],
        f"addend {result}": item.addend.alignment_exponent()[finite],
    }
    references = {
        "product": np.broadcast_to(largest[:, None, :], every.shape)[every],
        f"addend {result}": largest[finite],
    }
    for term, terms in values.items():
        distance = references[term] - exponents[term]
        if item.stage == "wgmma":
            _sample_tile_terms(seen, bin_name(pair, term), terms, distance, references[term] - _BITS)
        elif (item.stage, term) != ("mma first", f"addend {result}"):
            codes = np.searchsorted(EDGES, distance, side="right") - 1
            codes = np.where(terms == 0, len(EDGES), codes)
            name = f"{item.stage.split()[1]} {term}"
            bins = [bin_name(pair, name, distance) for distance in DISTANCES]
            count_codes(seen, "fp8 sum distance", bins, codes)
    _sample_floor(seen, pair, result, item, finite)


def _sample_tile_terms(
    seen: Seen, prefix: str, terms: NDArray[Any], distance: NDArray[Any], unit: NDArray[Any]
) -> None:
    in_units = np.ldexp(np.abs(terms), -unit.astype(np.int32))
    left = np.trunc(in_units)
    fates = np.where(left == in_units, 0, np.where(left > 0, 1, 2))
    places = np.where(terms == 0, len(_TILE_DISTANCES) - 1, np.minimum(distance, _FAR))
    bins = [bin_name(prefix, *parts) for parts in product(_TILE_DISTANCES, _FATES)]
    count_codes(seen, "fp8 tile distance", bins, len(_FATES) * places + fates)


def _sample_floor(seen: Seen, pair: str, result: str, item: Fp8Sum, finite: NDArray[np.bool_]) -> None:
    """Sums in which even the largest term that is not zero lies below the greatest exponent."""
    floor = HOPPER.least_exponent(float_format(result))
    products = np.where(item.products == 0, np.iinfo(np.int16).min, item.product_exponents).max(axis=1)
    greatest = np.maximum(products, item.addend.alignment_exponent())
    some = np.any(item.products != 0, axis=1) | (item.addend.float64() != 0)
    below = finite & some & (greatest < floor)
    if below.any():
        seen["fp8 exponent floor", bin_name(item.stage, pair, result)] += int(below.sum())


def sample_fp8_addition(seen: Seen, result: str, c: NDArray[Any], total: NDArray[Any]) -> None:
    """Note the distances between C and the sum of `mma`, where both are finite and not zero."""
    format = float_format(result)
    addend, other = decode(c, format), decode(total, format)
    usable = ~(addend.special | other.special) & (addend.significand != 0) & (other.significand != 0)
    length = format.significand_bits
    gap = addend.exponent - other.exponent
    codes = np.searchsorted((-length, -1, 0, 1, 2, length + 1), gap, side="right")
    opposite = addend.negative ^ other.negative
    for signs, where in (("alike", usable & ~opposite), ("opposite", usable & opposite)):
        bins = [bin_name(result, gap, signs) for gap in _GAPS]
        count_codes(seen, "fp8 addition distance", bins, codes[where])
