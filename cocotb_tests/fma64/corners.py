"""Directed operands of the f64 unit: every place where its arithmetic changes its way."""

import random
from collections.abc import Iterator
from itertools import product

from cocotb_tests.fma64.exact import CANONICAL_NAN, INFINITY, LARGEST, SIGN, round_to_f64
from cocotb_tests.fma64.operands import Case

__all__ = ["CORNERS"]

LEAST = 1
LEAST_NORMAL = 1 << 52
ONE = 1023 << 52
ALL_ONES = (1 << 52) - 1


def power(exponent: int) -> int:
    """The bit pattern of ``2**exponent``."""
    return round_to_f64(1, exponent, "rz")


def signed(*patterns: int) -> list[int]:
    """Each of them with either sign."""
    return [pattern | sign for pattern in patterns for sign in (0, SIGN)]


def in_each_mode(a: int, b: int, c: int) -> Iterator[Case]:
    for mode in range(4):
        yield Case(a, b, c, mode)


def specials() -> Iterator[Case]:
    """Each special value, and some plain ones, in each position."""
    values = signed(
        0,
        LEAST,
        ALL_ONES,
        LEAST_NORMAL,
        ONE - 1,
        ONE,
        ONE + 1,
        LARGEST,
        INFINITY,
        INFINITY + 1,
        CANONICAL_NAN,
    )
    for triple in product(values, repeat=3):
        yield from in_each_mode(*triple)


def nans() -> Iterator[Case]:
    """NaNs whose sign, payload and quiet bit tell which operand a result was made of."""
    payloads = (0x0_0000_0000_0001, 0x8_0000_0000_0002, 0x7_FFFF_FFFF_FFFC, 0xF_0F0F_0F0F_0F08)
    choices = [
        [
            0,
            ONE,
            INFINITY,
            SIGN | LARGEST,
            *signed(*(INFINITY | (payload ^ tag << 20) for payload in payloads)),
        ]
        for tag in (0xA, 0xB, 0xC)
    ]
    for triple in product(*choices):
        yield from in_each_mode(*triple)


def single_bits() -> Iterator[Case]:
    """Each bit alone in a fraction or exponent, missing in an exponent, and left alone of a product."""
    for base, bit in product((0, INFINITY), range(63)):
        x = base ^ 1 << bit
        for operands in ((x, ONE, 0), (ONE, x, 0), (0, ONE, x)):
            yield Case(*operands, bit % 4)
    for bit in range(2, 105):
        # (1 + x) (1 + y) less 1 + x + y is the positive or negative product of x and y.
        x = 1 << 53 - bit // 2
        for y in (1 << 53 - (bit - bit // 2), -1 << 53 - (bit - bit // 2)):
            a, b, c = (round_to_f64(number + (1 << 53), -53, "rn") for number in (x, y, x + y))
            yield Case(a, b, c | SIGN, bit % 4)


def distances() -> Iterator[Case]:
    """Every distance between product and addend at which anything can depend on it, and some beyond."""
    rng = random.Random(1)
    for distance in range(-240, 241):
        for negative in (0, SIGN):
            significands = [(0, 0, 0), (1, 0, 0), (0, 0, ALL_ONES), (0, ALL_ONES, 0), (ALL_ONES, 1, 1)]
            # The largest products, just below a power of two, and addends that nearly cancel them.
            significands += [(ALL_ONES, ALL_ONES, z) for z in (0, 1, ALL_ONES - 2, ALL_ONES)]
            significands += [(ALL_ONES, ALL_ONES - 1, z) for z in (0, ALL_ONES - 1)]
            significands += [tuple(rng.getrandbits(52) for _ in range(3)) for _ in range(3)]  # type: ignore[misc]
            for x, y, z in significands:
                a, b = x | 900 << 52, y | 1100 << 52
                yield from in_each_mode(a, b, z | 977 + distance << 52 | negative)


def subnormal_distances() -> Iterator[Case]:
    """The same with a subnormal factor, or a subnormal addend, in place of the normal ones."""
    rng = random.Random(2)
    for distance in range(-200, 201):
        for negative in (0, SIGN):
            for x in (LEAST, 2, 3, 1 << 51, ALL_ONES, rng.getrandbits(rng.randrange(1, 53))):
                for y, z in ((0, 0), (rng.getrandbits(52), rng.getrandbits(52)), (1, ALL_ONES)):
                    field = 300 + distance
                    yield from in_each_mode(y | 1322 << 52, x, z | field << 52 | negative)
                    yield from in_each_mode(y | 500 << 52, z | 522 + distance << 52, x | negative)


def overflow() -> Iterator[Case]:
    """Sums and products at the largest finite number and around it."""
    quarters = [round_to_f64(count, 971 - 2, "rz") for count in (1, 2, 3, 4, 5, 6, 7, 8)]
    neighbours = [x + step for x in quarters for step in (-1, 0, 1)]
    for a, c in product(signed(LARGEST, LARGEST - 1), signed(0, LEAST, *neighbours, LARGEST)):
        yield from in_each_mode(a, ONE, c)
        yield from in_each_mode(ONE, c, a)
    for x, y in product((0, 1, 2, ALL_ONES - 1, ALL_ONES), repeat=2):
        for field in range(1020, 1026):
            for c in signed(0, LEAST, power(970), power(971), power(972), power(918), LARGEST):
                for a in signed(x | field << 52):
                    yield from in_each_mode(a, y | 2045 << 52, c)
    # A difference of exactly 2**1024, made of two numbers that are larger and smaller.
    for step in range(1, 54):
        a = round_to_f64((1 << 53) + 1, 512 - 53, "rp") if step == 53 else (1 << 52 - step) | power(512)
        for sign in (0, SIGN):
            yield from in_each_mode(a | sign, power(512), power(1024 - min(step, 52)) | (sign ^ SIGN))


def underflow() -> Iterator[Case]:
    """Quarters of the least subnormal, around zero, small subnormals and the least normal number."""
    for quarters in range(17):
        a = round_to_f64(quarters, -600, "rz") if quarters else 0
        b = power(-476)
        for c in (*range(4), *(LEAST_NORMAL + step for step in range(-4, 5))):
            for factor, addend in product(signed(a), signed(c)):
                yield from in_each_mode(factor, b, addend)
    # Products alone, whose leading one passes from normal to subnormal, and down to nothing.
    for exponent in range(-1100, -1015):
        for x in (0, 1, ALL_ONES, 1 << 51, (1 << 51) - 1, (1 << 51) + 1):
            for a in signed(x | 500 << 52):
                b = power(exponent - (500 - 1023))
                yield from in_each_mode(a, b, 0)
                yield from in_each_mode(a, b | ALL_ONES, LEAST | SIGN)


def cancellation() -> Iterator[Case]:
    """Differences that are exactly zero, and those one last place beside it."""
    rng = random.Random(3)
    for x in (LEAST, 2, ALL_ONES, LEAST_NORMAL, ONE, LARGEST, *(rng.randrange(LARGEST) for _ in range(40))):
        for a in signed(x):
            for c in {x, max(x - 1, 0), min(x + 1, LARGEST)}:
                yield from in_each_mode(a, ONE, c | (~a & SIGN))
    # Both factors have few bits, so the product is exact in f64 and can cancel at any place.
    for exponent in range(-1074, 1023, 13):
        for _ in range(4):
            m, n = rng.getrandbits(26) | 1, rng.getrandbits(26) | 1
            half = exponent // 2
            a, b = round_to_f64(m, half, "rz"), round_to_f64(n, exponent - half, "rz")
            c = round_to_f64(m * n, exponent, "rz")
            for step in (-1, 0, 1):
                yield from in_each_mode(a, b, (c + step) | SIGN)
                yield from in_each_mode(a | SIGN, b, c + step)


def powers() -> Iterator[Case]:
    """A power of two less almost nothing: the unit that a positive difference lacks goes through all bits."""
    for step in range(1, 120):
        for x, y in ((0, 0), (1, 0), (ALL_ONES, 1)):
            for sign in (0, SIGN):
                yield from in_each_mode(x | 1023 << 52 | sign, y | 1023 << 52, power(-step) | (sign ^ SIGN))
                yield from in_each_mode(x | 1023 - step << 52 | sign, y | 1023 << 52, ONE | (sign ^ SIGN))
    # (1 + 2**-52) x 1 - 2**-52 and the like: exactly the power of two.
    for step in range(53):
        for exponent in (-1021, -1000, 0, 900):
            a = (power(exponent) | 1 << step) if step < 52 else power(exponent)
            lost = step - 52 + exponent
            if lost >= -1074:
                yield from in_each_mode(a, ONE, power(lost) | SIGN)


CORNERS = {
    corner.__name__: corner
    for corner in (
        *(specials, nans, single_bits, distances, subnormal_distances),
        *(overflow, underflow, cancellation, powers),
    )
}
"""Name to generator of cases."""
