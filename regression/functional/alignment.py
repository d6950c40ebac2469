"""Coverpoints of the alignment: how far the terms of a sum lie below the largest of them."""

from functools import cache
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.tables.formats import float_format
from golden.tables.profiles import HOPPER
from regression.functional.decoded import Decoded
from regression.functional.model import Seen, count_codes, coverpoint
from regression.functional.sums import ADDITIONS, SUMS, Sum

_WINDOW: Final = HOPPER.fraction_bits
_DISTANCES: Final = ("0", "1", "2 to 7", "8 to 15", "16 to 23", "24", "25", "26", "27 and more", "zero")
_EDGES: Final = (0, 1, 2, 8, 16, _WINDOW - 1, _WINDOW, _WINDOW + 1, _WINDOW + 2)
"""The first distance of each bucket; the last has no end."""

_TILE_WINDOW: Final = HOPPER.fp8_fraction_bits or 0
_FAR: Final = _TILE_WINDOW + 3
"""From this distance on nothing is left of any term: a product is less than 4 times its power of two."""

_TILE_DISTANCES: Final = (*(str(distance) for distance in range(_FAR)), f"{_FAR} and more", "zero")
_FATES: Final = ("whole", "cut", "nothing left")
_GAPS: Final = (
    *("less than -2p-2", "-2p-2 to -p-1", "-p to -2", "-1", "0", "1"),
    *("2 to p", "p+1 to 2p+1", "more than 2p+1"),
)
_TERMS: Final = ("product", "addend f16", "addend f32")
_KINDS: Final = {kind.terms: kind for kind in SUMS.values()}
_TILES: Final = tuple(terms for terms in _KINDS if terms.startswith("wgmma"))


def _no_term(terms: str, term: str) -> str | None:
    if term == "product":
        return None
    kind = SUMS.get(f"{terms} to {term.rpartition(' ')[2]}")
    if kind is None:
        return "no such sum"
    return None if kind.has_addend else "the first addend is zero"


@cache
def _fates(terms: str, term: str, distance: int) -> frozenset[str]:
    """What can become of a term so far below the greatest exponent."""
    if term == "product":
        formats = _KINDS[terms].types
        numbers = [range(1, 2 << item.fraction_bits) for item in formats]
        significands = {x * y for x, y in product(*numbers)}
        fraction = sum(item.fraction_bits for item in formats)
    else:
        format = float_format(term.rpartition(" ")[2])
        fraction = format.fraction_bits
        # Products of fp8 are never near a subnormal f32; without any, its distance is 0.
        near = format.bits == 16 or distance in (0, _FAR)
        powers = [1 << place for place in range(0 if near else fraction, fraction + 1)]
        significands = {power | low for power in powers for low in (0, 1)}
    codes = _fate_codes(np.array(list(significands)), np.array(distance + fraction - _TILE_WINDOW))
    return frozenset(_FATES[code] for code in codes)


def _fate_codes(terms: NDArray[Any], unit: NDArray[Any]) -> NDArray[Any]:
    """The places in `_FATES` of what becomes of terms of which whole multiples of two to `unit` are kept."""
    in_units = np.ldexp(np.abs(terms), -unit.astype(np.int32))
    left = np.trunc(in_units)
    return np.where(left == in_units, 0, np.where(left > 0, 1, 2))


def _no_fate(terms: str, term: str, distance: str, fate: str) -> str | None:
    if distance == "zero":
        return None if fate == "whole" else "a zero has no bits to cut"
    if fate in _fates(terms, term, int(distance.split(maxsplit=1)[0])):
        return None
    return f"no such term has the bits to be {fate} at this distance"


_FLOORS: Final = {name: HOPPER.least_exponent(kind.result) or 0 for name, kind in SUMS.items()}


def _above_floor(name: str) -> str | None:
    floor = _FLOORS[name]
    if SUMS[name].least_exponent < floor:
        return None
    return f"no product of these types has an exponent below {floor}, nor has an addend"


POINTS: Final = (
    coverpoint(
        "alignment distance",
        "How far the exponent of a term is below the largest of its sum, to beyond the bits that are kept.",
        {"sum": [name for name in _KINDS if name not in _TILES], "term": _TERMS, "distance": _DISTANCES},
        lambda terms, term, distance: _no_term(terms, term),
    ),
    coverpoint(
        "tile distance",
        "How far a term of wgmma is below the largest of its sum, and whether bits of it are cut.",
        {"sum": _TILES, "term": _TERMS, "distance": _TILE_DISTANCES, "bits": _FATES},
        _no_fate,
    ),
    coverpoint(
        "exponent floor",
        "Sums whose terms are all below the least exponent that the alignment takes for the largest.",
        {"sum": tuple(SUMS)},
        _above_floor,
    ),
    coverpoint(
        "addend distance",
        "Exponent of C less the product's in f64, or the sum's in fp8; p is a significand's length.",
        {"addition": ("f64", *ADDITIONS), "distance": _GAPS, "signs": ("alike", "opposite")},
    ),
)


def sample_alignment(seen: Seen, item: Sum) -> None:
    """Note the distances in a sum, of the elements whose terms are finite."""
    kind = item.kind
    is_tile = kind.terms in _TILES
    edges, names = (range(_FAR + 1), _TILE_DISTANCES) if is_tile else (_EDGES, _DISTANCES)
    finite = np.isfinite(item.total)
    addend = item.addend.float64(), item.addend.alignment_exponent(), item.largest, finite
    products = item.products, item.product_exponents, item.largest[:, None, :], finite[:, None, :]
    for term, parts in (("product", products), (f"addend {kind.result.name}", addend)):
        if _no_term(kind.terms, term) is None:
            values, exponents, largest, where = np.broadcast_arrays(*parts)
            values, exponents, largest = values[where], exponents[where], largest[where]
            distance = largest - exponents
            places = np.where(values == 0, len(edges), np.searchsorted(edges, distance, side="right") - 1)
            if is_tile:
                places = len(_FATES) * places + _fate_codes(values, largest - _TILE_WINDOW)
            axes = (names, _FATES) if is_tile else (names,)
            point = "tile distance" if is_tile else "alignment distance"
            count_codes(seen, point, places, kind.terms, term, *axes)
    exponents = np.where(item.products == 0, np.iinfo(np.int16).min, item.product_exponents).max(axis=1)
    greatest = np.maximum(exponents, item.addend.alignment_exponent())
    some = np.any(item.products != 0, axis=1) | (item.addend.significand != 0)
    below = finite & some & (greatest < _FLOORS[kind.name])
    if below.any():
        seen["exponent floor", kind.name] += int(below.sum())


def sample_gaps(seen: Seen, addition: str, c: Decoded, *others: Decoded) -> None:
    """Note the distances between C and one number or the product of two, where all are finite and not 0."""
    usable = ~c.special & (c.significand != 0)
    gap, opposite = c.exponent.astype(np.int64), c.negative
    for number in others:
        usable = usable & ~number.special & (number.significand != 0)
        gap, opposite = gap - number.exponent, opposite ^ number.negative
    length = c.format.significand_bits
    edges = (-2 * length - 2, -length, -1, 0, 1, 2, length + 1, 2 * length + 2)
    codes = np.searchsorted(edges, gap, side="right")
    for signs, where in (("alike", usable & ~opposite), ("opposite", usable & opposite)):
        count_codes(seen, "addend distance", codes[where], addition, _GAPS, signs)
