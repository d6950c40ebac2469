"""Operands of the f64 unit: packing, and random ones of each kind."""

import random
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["KINDS", "WORDS", "Case", "pack", "pack_all", "random_arrays", "random_cases"]

WORDS = 7
"""32-bit words of one packed operation."""

SIGN = np.uint64(1 << 63)
FRACTION = np.uint64((1 << 52) - 1)

SPECIAL = (
    0,
    1,
    1 << 52,
    0x3FF << 52,
    (1 << 62) - 1,
    (0x7FF << 52) - 1,
    0x7FF << 52,
    0x7FF8 << 48,
    0x7FF4_0000_0000_1234,
)
EDGE = (0, 1, 2, 3, (1 << 52) - 1, 1 << 52, (1 << 52) + 1, 0x3CA << 52, 0x3FE << 52, 0x3FF << 52, 0x400 << 52)


class Case(NamedTuple):
    """Bit patterns of the operands, and the index of the rounding mode."""

    a: int
    b: int
    c: int
    mode: int


def pack(case: Case) -> int:
    """One operation as the stream's payload."""
    return case.a | case.b << 64 | case.c << 128 | case.mode << 192


def pack_all(
    a: NDArray[np.uint64], b: NDArray[np.uint64], c: NDArray[np.uint64], mode: NDArray[np.uint64] | int
) -> NDArray[np.uint32]:
    """Many operations, shape (count, WORDS), low words first."""
    packed = np.zeros((len(a), WORDS), np.uint32)
    for column, operand in enumerate((a, b, c)):
        packed[:, 2 * column] = operand & np.uint64(0xFFFF_FFFF)
        packed[:, 2 * column + 1] = operand >> np.uint64(32)
    packed[:, 6] = mode
    return packed


Arrays = tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]


class _Source:
    """Random bit patterns, `count` at a time."""

    def __init__(self, rng: np.random.Generator, count: int) -> None:
        self.rng, self.count = rng, count

    def bits(self) -> NDArray[np.uint64]:
        return self.rng.integers(0, 1 << 64, self.count, dtype=np.uint64)

    def fields(self, low: int, high: int) -> NDArray[np.uint64]:
        """Biased exponents from low to high, both included."""
        field = self.rng.integers(low, high + 1, self.count).astype(np.uint64)
        return self.bits() & (SIGN | FRACTION) | field << np.uint64(52)

    def few_bits(self, low: int, high: int) -> NDArray[np.uint64]:
        """Significands that end in many zeros."""
        zeros = self.rng.integers(0, 53, self.count).astype(np.uint64)
        return self.fields(low, high) >> zeros << zeros

    def pick(self, values: tuple[int, ...]) -> NDArray[np.uint64]:
        signs = self.rng.integers(0, 2, self.count).astype(np.uint64) << np.uint64(63)
        return self.rng.choice(np.array(values, np.uint64), self.count) | signs

    def near(self, a: NDArray[np.uint64], b: NDArray[np.uint64], step: int) -> NDArray[np.uint64]:
        """Minus the product, at most `step` last places off."""
        with np.errstate(all="ignore"):
            product = (a.view(np.float64) * b.view(np.float64)).view(np.uint64)
        off = self.rng.integers(-step, step + 1, self.count)
        return (product ^ SIGN) + off.astype(np.int64).view(np.uint64)

    def beside(self, a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """An addend at most 120 binary orders from the product."""
        field = [(x >> np.uint64(52) & np.uint64(0x7FF)).astype(np.int64) for x in (a, b)]
        exponent = field[0] + field[1] - 1023 + self.rng.integers(-120, 121, self.count)
        return self.fields(0, 0) | np.clip(exponent, 0, 2046).astype(np.uint64) << np.uint64(52)


def _cancel(source: _Source) -> Arrays:
    a, b = source.fields(500, 1500), source.fields(500, 1500)
    return a, b, source.near(a, b, 2)


def _cancel_few(source: _Source) -> Arrays:
    a, b = source.few_bits(500, 1500), source.few_bits(500, 1500)
    return a, b, source.near(a, b, 1)


def _cancel_subnormal(source: _Source) -> Arrays:
    a, b = source.fields(0, 0), source.fields(1023, 1100)
    return a, b, source.near(a, b, 1)


def _wide(source: _Source) -> Arrays:
    a, b = source.fields(300, 1700), source.fields(300, 1700)
    return a, b, source.beside(a, b)


KINDS: dict[str, Callable[[_Source], Arrays]] = {
    "bits": lambda source: (source.bits(), source.bits(), source.bits()),
    "normal": lambda source: (
        source.fields(1000, 1046),
        source.fields(1000, 1046),
        source.fields(1000, 1046),
    ),
    "wide": _wide,
    "cancel": _cancel,
    "cancel, few bits": _cancel_few,
    "cancel, subnormal": _cancel_subnormal,
    "tiny": lambda source: (source.fields(0, 3), source.fields(960, 1100), source.fields(0, 60)),
    "under": lambda source: (source.fields(400, 620), source.fields(400, 620), source.fields(0, 120)),
    "subnormal": lambda source: (source.fields(0, 0), source.fields(0, 2046), source.fields(0, 2046)),
    "few bits": lambda source: (source.few_bits(1, 2046), source.few_bits(1, 2046), source.few_bits(1, 2046)),
    "huge": lambda source: (source.fields(1500, 1560), source.fields(1500, 1560), source.fields(1980, 2046)),
    "special": lambda source: (source.pick(SPECIAL), source.pick(SPECIAL), source.pick(SPECIAL)),
    "edge": lambda source: (source.pick(EDGE), source.pick(EDGE), source.pick(EDGE)),
    "zeros": lambda source: (source.pick((0, 0x3FF << 52)), source.pick((0, 1)), source.pick((0, 1))),
}
"""Ways to draw operands."""


def random_arrays(kind: str, count: int, seed: int) -> Arrays:
    """`count` operations of one kind, as arrays a, b, c."""
    return KINDS[kind](_Source(np.random.default_rng(seed), count))


def random_cases(count: int, seed: int) -> list[Case]:
    """Operations of every kind, in random order and mode."""
    rng = random.Random(seed)
    cases = []
    for index, kind in enumerate(KINDS):
        arrays = random_arrays(kind, -(-count // len(KINDS)), seed * len(KINDS) + index)
        cases += [
            Case(a, b, c, rng.randrange(4)) for a, b, c in zip(*(x.tolist() for x in arrays), strict=True)
        ]
    rng.shuffle(cases)
    return cases[:count]
