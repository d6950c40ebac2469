"""Directed operations on fp8: what random operands meet too rarely."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from golden.tables.formats import FloatFormat, float_format
from sim.testbench.dot_product_operands import Batch, Mode

__all__ = ["fp8_corners"]

PRODUCTS = 32
_C_KINDS = {16: np.uint16, 32: np.uint32}


def fp8_corners(mode: Mode) -> Iterator[tuple[str, Batch]]:
    """Every directed set of a mode of fp8, with its name."""
    yield "every pair of elements", every_pair(mode)
    yield "alignment distances", alignment_distances(mode)
    yield "C against products", c_distances(mode)
    yield "infinities", infinities(mode)
    yield "C alone", c_alone(mode)


def _batch(mode: Mode, a: NDArray[np.int64], b: NDArray[np.int64], c: NDArray[np.int64]) -> Batch:
    kind = _C_KINDS[float_format(mode.c_type).bits]
    return Batch(mode=mode, a=a.astype(np.uint8), b=b.astype(np.uint8), c=c.astype(kind))


def _powers(format: FloatFormat, exponents: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bits of powers of two, subnormal where they are too small; the exponents have to be in range."""
    biased = exponents + format.bias
    normal = biased << format.fraction_bits
    subnormal = 1 << np.clip(format.fraction_bits - 1 + biased, 0, None)
    return np.where(biased > 0, normal, subnormal)


def _values(format: FloatFormat) -> list[int]:
    """Zeros, infinities, NaN, subnormals and ends of the normal numbers, of both signs."""
    least = 1 << format.fraction_bits
    one = format.bias << format.fraction_bits
    positive = [0, 1, least - 1, least, one, one + 1, format.largest_finite, format.infinity]
    positive += [min(format.infinity + 1, 0x7F), 0x7F]
    return positive + [value | format.sign_mask for value in positive]


def every_pair(mode: Mode) -> Batch:
    """Every element of A times every element of B, each in its turn at one of the 32 places, next to ones."""
    pairs = np.arange(1 << 16)
    a = np.zeros((len(pairs), PRODUCTS), np.int64)
    b = np.zeros_like(a)
    place = (pairs ^ pairs >> 5 ^ pairs >> 10) % PRODUCTS
    # The neighbour shares its multiplier.
    rows = np.arange(len(pairs))
    a[rows, place ^ 1] = np.random.default_rng(1).integers(0, 0x70, len(pairs))
    b[rows, place ^ 1] = np.random.default_rng(2).integers(0, 0x70, len(pairs))
    a[rows, place], b[rows, place] = pairs >> 8, pairs & 0xFF
    return _batch(mode, a, b, np.zeros(len(pairs), np.int64))


def alignment_distances(mode: Mode) -> Batch:
    """A leader, and a product 0 to 22 places below it at each of the 32 places, of every significand."""
    a_format, b_format, c_format = (float_format(name) for name in (mode.a_type, mode.b_type, mode.c_type))
    axes = np.meshgrid(
        np.arange(PRODUCTS),
        np.arange(23),
        np.arange(1 << (a_format.fraction_bits + b_format.fraction_bits)),
        np.arange(2),
        indexing="ij",
    )
    place, distance, fractions, sign = (axis.reshape(-1) for axis in axes)
    rows = np.arange(len(place))
    a = np.zeros((len(rows), PRODUCTS), np.int64)
    b = np.zeros_like(a)
    top = a_format.bias + b_format.bias - 2
    leader = (place + 1 + rows % (PRODUCTS - 1)) % PRODUCTS
    a[rows, leader] = _powers(a_format, np.full(len(rows), a_format.bias - 1))
    b[rows, leader] = _powers(b_format, np.full(len(rows), b_format.bias - 1))
    # As much of the exponent in a as there can be; the rest, if normal, in b.
    low = np.maximum(top - distance - (b_format.bias - 1), a_format.minimum_exponent)
    rest = np.maximum(top - distance - low, b_format.minimum_exponent)
    a[rows, place] = _powers(a_format, low) | fractions >> b_format.fraction_bits | sign << 7
    b[rows, place] = _powers(b_format, rest) | fractions & ((1 << b_format.fraction_bits) - 1)
    c = np.where(rows % 3 == 0, c_format.sign_mask, 0)
    return _batch(mode, a, b, c)


def c_distances(mode: Mode) -> Batch:
    """C from 40 places above to 40 below a product, with all fraction bits or one; terms of both signs."""
    a_format, b_format, c_format = (float_format(name) for name in (mode.a_type, mode.b_type, mode.c_type))
    rng = np.random.default_rng(3)
    axes = np.meshgrid(np.arange(-10, 12), np.arange(-40, 41), np.arange(24), indexing="ij")
    exponent, distance, trial = (axis.reshape(-1) for axis in axes)
    rows = np.arange(len(trial))
    a = np.zeros((len(rows), PRODUCTS), np.int64)
    b = np.zeros_like(a)
    for place in (rng.integers(0, PRODUCTS, len(rows)), trial):
        low = np.clip(exponent // 2, a_format.minimum_exponent, a_format.bias - 1)
        rest = np.clip(exponent - low, b_format.minimum_exponent, b_format.bias - 1)
        a[rows, place] = _powers(a_format, low) | rng.integers(0, 1 << a_format.fraction_bits, len(rows))
        a[rows, place] |= rng.integers(0, 2, len(rows)) << 7
        b[rows, place] = _powers(b_format, rest) | rng.integers(0, 1 << b_format.fraction_bits, len(rows))
    biased = np.clip(exponent + distance + c_format.bias, 0, 2 * c_format.bias)
    full = (1 << c_format.fraction_bits) - 1
    fractions = np.where(
        trial % 4 == 0, full, np.where(trial % 4 == 1, 0, rng.integers(0, full + 1, len(rows)))
    )
    sign = (trial >> 2 & 1) << (c_format.bits - 1)
    return _batch(mode, a, b, sign | biased << c_format.fraction_bits | fractions)


def infinities(mode: Mode) -> Batch:
    """Special values at any two places, against all kinds of elements, with special and ordinary C."""
    a_format, b_format, c_format = (float_format(name) for name in (mode.a_type, mode.b_type, mode.c_type))
    rng = np.random.default_rng(4)
    count = 8000
    rows = np.arange(count)
    a, b = (rng.integers(0x30, 0x40, (count, PRODUCTS)) for _ in range(2))
    a |= rng.integers(0, 2, a.shape) << 7
    for place in (rng.integers(0, PRODUCTS, count), rng.integers(0, PRODUCTS, count)):
        a[rows, place] = rng.choice(_values(a_format), count)
        b[rows, place] = rng.choice(_values(b_format), count)
    one = c_format.bias << c_format.fraction_bits
    cs = [0, one, c_format.infinity, c_format.infinity + 1, c_format.largest_finite]
    return _batch(mode, a, b, rng.choice([*cs, *(c | c_format.sign_mask for c in cs)], count))


def c_alone(mode: Mode) -> Batch:
    """C of every exponent and zero products: what the alignment alone makes of C."""
    c_format = float_format(mode.c_type)
    rng = np.random.default_rng(5)
    biased = np.repeat(np.arange(1 << c_format.exponent_bits), 16)
    c = biased << c_format.fraction_bits | rng.integers(0, 1 << c_format.fraction_bits, len(biased))
    c |= rng.integers(0, 2, len(biased)) << (c_format.bits - 1)
    a = rng.integers(0, 2, (len(biased), PRODUCTS)) << 7
    return _batch(mode, a, rng.integers(0, 0x70, a.shape), c)
