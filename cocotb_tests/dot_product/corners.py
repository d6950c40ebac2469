"""Directed operations: what random operands meet too rarely."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from golden.tables.formats import FORMATS, FloatFormat
from sim.testbench.dot_product_operands import Batch, Mode

__all__ = [
    "alignment_distances",
    "boundary_values",
    "cancellations",
    "floating_corners",
    "least_maximum",
    "least_products",
    "special_values",
    "thresholds",
]


def floating_corners(mode: Mode, products: int) -> Iterator[tuple[str, Batch]]:
    """Every directed set of a floating-point mode, with its name."""
    yield "special values", special_values(mode, products)
    yield "alignment distances", alignment_distances(mode, products)
    yield "cancellations", cancellations(mode, products)
    yield "thresholds", thresholds(mode, products)
    if mode.a_type == "f16":
        yield "least Emax", least_maximum(mode, products)
    else:
        yield "least products", least_products(mode, products)


def _formats(mode: Mode) -> tuple[FloatFormat, FloatFormat]:
    a_format, c_format = FORMATS[mode.a_type], FORMATS[mode.c_type]
    assert isinstance(a_format, FloatFormat)
    assert isinstance(c_format, FloatFormat)
    return a_format, c_format


def _word(format: FloatFormat, exponent: int, fraction: int = 0, sign: int = 0) -> int:
    """The bits of ``(1 + fraction / 2**fraction_bits) * 2**exponent``, subnormal where that is too small."""
    biased = exponent + format.bias
    significand = (1 << format.fraction_bits) | fraction
    if biased < 1:
        magnitude = significand >> min(1 - biased, 63)
    else:
        magnitude = (biased << format.fraction_bits) | fraction
    return (magnitude << format.ignored_bits) | (format.sign_mask if sign else 0)


def boundary_values(format: FloatFormat) -> list[int]:
    """Zeros, subnormals, the ends of the normal range, ones, infinities, NaNs; of both signs."""
    unit = 1 << format.ignored_bits
    least_normal = unit << format.fraction_bits
    one = format.bias << (format.fraction_bits + format.ignored_bits)
    positive = [0, unit, least_normal - unit, least_normal, one - unit, one, format.largest_finite]
    positive += [format.infinity, format.infinity + unit, format.infinity + (least_normal >> 1)]
    positive.append(format.sign_mask - 1)
    if format.ignored_bits:
        positive += [format.infinity + 1, 1, unit - 1]
    return positive + [value | format.sign_mask for value in positive]


def _batch(mode: Mode, rows: list[tuple[list[int], list[int], int]]) -> Batch:
    a_format, c_format = _formats(mode)
    kinds: dict[int, type[np.unsignedinteger]] = {16: np.uint16, 32: np.uint32}
    a, b, c = zip(*rows, strict=True)
    kind = kinds[a_format.bits]
    return Batch(mode=mode, a=np.array(a, kind), b=np.array(b, kind), c=np.array(c, kinds[c_format.bits]))


def special_values(mode: Mode, products: int) -> Batch:
    """Every special value in every position, against every other on the other side, with every C."""
    format, c_format = _formats(mode)
    values, cboundary_values = boundary_values(format), boundary_values(c_format)
    one = _word(format, 0)
    rows = []
    for position in range(products):
        for index, x in enumerate(values):
            for y in values:
                a, b = [one] * products, [one | format.sign_mask] * products
                a[position], b[position] = x, y
                rows.append((a, b, cboundary_values[(index + position) % len(cboundary_values)]))
    zeros = [0] * products
    rows += [(zeros, zeros, c) for c in cboundary_values]
    rows += [([format.sign_mask] * products, zeros, c) for c in cboundary_values]
    for c in cboundary_values:
        for x in values:
            rows.append(([x, *zeros[1:]], [one, *zeros[1:]], c))
            rows.append(([x] * products, [one] * products, c))
    # Infinities of both signs in every pair of positions.
    for first in range(products):
        for second in range(products):
            a = [one] * products
            a[first], a[second] = format.infinity, format.infinity | format.sign_mask
            rows.append((a, [one] * products, 0))
    return _batch(mode, rows)


def _split(format: FloatFormat, exponent: int) -> tuple[int, int]:
    """Two exponents of normal numbers whose sum is `exponent`."""
    low, high = format.minimum_exponent, format.bias
    first = min(max(exponent // 2, low), high)
    return first, min(max(exponent - first, low), high)


def alignment_distances(mode: Mode, products: int) -> Batch:
    """Each term in turn 0 to 40 places below another, all-ones and single-bit significands, both signs."""
    format, c_format = _formats(mode)
    full = (1 << format.fraction_bits) - 1
    top = 12 if format.exponent_bits == 5 else 60
    rows = []
    for position in range(products + 1):
        for distance in range(41):
            for fraction in (0, full):
                for sign in (0, 1):
                    for top_fraction in (0, full):
                        a, b = [0] * products, [0] * products
                        c = 0
                        leader = (position + 1) % products
                        first, second = _split(format, top)
                        a[leader], b[leader] = (_word(format, e, top_fraction) for e in (first, second))
                        if position == products:
                            c = _word(
                                c_format,
                                top - distance,
                                (1 << c_format.fraction_bits) - 1 if fraction else 0,
                                sign,
                            )
                        else:
                            first, second = _split(format, top - distance)
                            a[position] = _word(format, first, fraction, sign)
                            b[position] = _word(format, second, fraction)
                        rows.append((a, b, c))
    # C leads, one product follows.
    for distance in range(41):
        for sign in (0, 1):
            a, b = [0] * products, [0] * products
            first, second = _split(format, top - distance)
            at = distance % products
            a[at], b[at] = _word(format, first, full, sign), _word(format, second, full)
            rows.append((a, b, _word(c_format, top)))
    return _batch(mode, rows)


def cancellations(mode: Mode, products: int) -> Batch:
    """Sums that come to zero, or leave one bit at every height."""
    format, c_format = _formats(mode)
    one, minus = _word(format, 0), _word(format, 0, sign=1)
    rows = []
    for exponent in range(-12, 13):
        x = _word(format, exponent, 5)
        for rest in range(-28, 29):
            a = [one, minus] + [0] * (products - 2)
            b = [x, x] + [0] * (products - 2)
            rows.append((a, b, _word(c_format, rest)))
            first, second = _split(format, rest)
            a, b = list(a), list(b)
            a[2], b[2] = _word(format, first), _word(format, second, 0, 1)
            rows.append((a, b, 0))
            rows.append((a, b, c_format.sign_mask))
    rows += [
        ([one, minus] * (products // 2), [x] * products, 0) for x in (one, minus, 1 << format.ignored_bits)
    ]
    return _batch(mode, rows)


def thresholds(mode: Mode, products: int) -> Batch:
    """Around overflow, the smallest normal, the smallest subnormal, half of it, and the least Emax."""
    format, c_format = _formats(mode)
    d_format = FORMATS[mode.d_type]
    assert isinstance(d_format, FloatFormat)
    edges: set[int] = set()
    for d in (d_format, FORMATS["f32"]):
        assert isinstance(d, FloatFormat)
        least = d.minimum_exponent
        edges |= {d.bias + step for step in range(-2, 3)}
        edges |= set(range(least - 2, least + 3))
        edges |= set(range(least - d.fraction_bits - 4, least - d.fraction_bits + 3))
        edges |= set(range(least - 10, least - 4))
    rows = []
    fractions = (0, 1, (1 << format.fraction_bits) - 1)
    rng = np.random.default_rng(len(mode.d_type))
    for edge in sorted(edges):
        for fraction in fractions:
            for sign in (0, 1):
                for below in range(0, 30, 3):
                    for c_below in (None, 0, 1, 13, 24, 25, 26):
                        a, b = [0] * products, [0] * products
                        first, second = _split(format, edge)
                        order: NDArray[np.int64] = rng.permutation(products)
                        a[order[0]] = _word(format, first, fraction, sign)
                        b[order[0]] = _word(format, second)
                        first, second = _split(format, edge - below)
                        a[order[1]] = _word(format, first, fraction, int(rng.integers(2)))
                        b[order[1]] = _word(format, second)
                        c = 0
                        if c_below is not None:
                            exponent = min(max(edge - c_below, -200), c_format.bias)
                            c_fraction = int(rng.integers(1 << c_format.fraction_bits))
                            c = _word(c_format, exponent, c_fraction, int(rng.integers(2)))
                        rows.append((a, b, c))
    return _batch(mode, rows)


def least_maximum(mode: Mode, products: int) -> Batch:
    """Ties of the smallest f16 numbers, and one product that lies around the last place of the least Emax.

    Half of the smallest f16 is 2**-25; with no exponent above -21 the last place is 2**-46, and what lies
    below it must not decide the tie.
    """
    format, _ = _formats(mode)
    rows = []
    for odd in (1, 3, 5, 7):
        significand = odd << (format.fraction_bits - odd.bit_length() + 1)
        fraction = significand - (1 << format.fraction_bits)
        tie = _word(format, -12 + odd.bit_length() - 1, fraction)
        for last in range(43, 49):
            for sign in (0, 1):
                for tiny_sign in (0, 1):
                    for raise_maximum in range(4):
                        a, b = [0] * products, [0] * products
                        a[0], b[0] = tie, _word(format, -13, 0, sign)
                        # Subnormals count with exponent -14, so this product has exponent -28.
                        a[1], b[1] = _word(format, -24), _word(format, 24 - last, 0, tiny_sign)
                        # Two products that cancel set Emax to -22 .. -19.
                        exponent = -22 + raise_maximum
                        for at, cancel in ((2, 0), (3, 1)):
                            a[at], b[at] = _word(format, -11), _word(format, exponent + 11, 0, cancel)
                        rows.append((a, b, 0))
    return _batch(mode, rows)


def least_products(mode: Mode, products: int) -> Batch:
    """Products from the least there is up to the smallest normal f32: alone, all alike, and two of them.

    Without a least Emax their sums lie at, or up to 117 places below, the smallest subnormal f32.
    """
    format, c_format = _formats(mode)
    least = format.minimum_exponent - format.fraction_bits
    full = (1 << format.fraction_bits) - 1
    smallest_c = [0, 1, c_format.sign_mask | 1]
    rows = []
    for exponent in range(2 * least, c_format.minimum_exponent + 4):
        first = max(exponent // 2, least)
        for fraction in (0, full):
            for sign in (0, 1):
                x, y = _word(format, first, fraction, sign), _word(format, exponent - first, fraction)
                for count in (1, products):
                    a, b = ([word] * count + [0] * (products - count) for word in (x, y))
                    rows += [(a, b, c) for c in smallest_c]
                for below in (0, 1, 2, 11, 23, 24, 25):
                    low = max(exponent - below, 2 * least)
                    small = _word(format, max(low // 2, least), full, 1 - sign)
                    a, b = [0] * products, [0] * products
                    a[0], b[0], a[-1], b[-1] = x, y, small, _word(format, low - max(low // 2, least))
                    rows.append((a, b, 0))
    return _batch(mode, rows)
