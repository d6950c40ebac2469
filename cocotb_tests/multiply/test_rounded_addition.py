"""The addition of C to fp8 that became f16: corners, every distance, and in bulk millions of random sums."""

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import cocotb
import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage
from golden.tables.formats import FloatFormat, float_format
from hdl.multiply.tile.addition import RoundedAddition
from hdl.stream.elastic import CreditQueue
from sim.testbench.bulk import BulkUnit
from sim.testbench.unit import unit_design

FORMATS = {name: float_format(name) for name in ("f32", "f16")}
CHUNK = 500_000


class Operands(data.Struct):
    """What the addition takes."""

    x: unsigned(32)
    y: unsigned(32)
    is_f16: unsigned(1)


class StreamedAddition(wiring.Component):
    """The addition between two streams."""

    operands: In(stream.Signature(Operands))
    result: Out(stream.Signature(32))

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        m.submodules.addition = addition = RoundedAddition()
        m.submodules.queue = queue = CreditQueue(32, depth=16)
        under_way = Signal(RoundedAddition.latency)
        m.d.sync += under_way.eq(Cat(queue.enter, under_way))
        m.d.comb += [
            addition.input.x.eq(self.operands.payload.x),
            addition.input.y.eq(self.operands.payload.y),
            addition.input.is_f16.eq(self.operands.payload.is_f16),
            self.operands.ready.eq(queue.ready),
            queue.enter.eq(self.operands.valid & self.operands.ready),
            queue.push.eq(under_way[-1]),
            queue.payload.eq(addition.output.d),
        ]
        wiring.connect(m, queue.output, wiring.flipped(self.result))
        return m


@cache
def unit() -> BulkUnit:
    return BulkUnit(StreamedAddition())


def expected(x: NDArray[Any], y: NDArray[Any], format: FloatFormat) -> NDArray[np.uint32]:
    """The sum by numpy; its f16 is rounded twice, which is innocuous from 24 to 11 bits."""
    values = np.dtype(f"f{format.bits // 8}")
    with np.errstate(all="ignore"):
        total = x.view(values) + y.view(values)
    bits = total.view(x.dtype).copy()
    bits[np.isnan(total)] = format.canonical_nan
    return bits.astype(np.uint32)


def compare(x: NDArray[Any], y: NDArray[Any], name: str, **pauses: int) -> None:
    format = FORMATS[name]
    dtype = np.dtype(f"u{format.bits // 8}")
    x, y = (np.asarray(operand).astype(dtype) for operand in (x, y))
    words = np.zeros((len(x), 3), dtype=np.uint32)
    words[:, 0], words[:, 1], words[:, 2] = x, y, name == "f16"
    if name == "f16":  # what lies above an f16 has no meaning
        words[:, :2] |= np.random.default_rng(len(x)).integers(0, 1 << 16, (len(x), 2), np.uint32) << 16
    results, wanted = unit().run(words, **pauses)[:, 0], expected(x, y, format)
    wrong = np.flatnonzero(results != wanted)
    if wrong.size:
        at = int(wrong[0])
        pytest.fail(
            f"{wrong.size} of {len(x)} sums of {name} differ; the first is {int(x[at]):#x} + {int(y[at]):#x} "
            f"= {int(results[at]):#x}, not {int(wanted[at]):#x}"
        )


def corners(format: FloatFormat) -> NDArray[np.uint64]:
    """Magnitudes at which anything changes, with either sign."""
    ulp, one = 1 << format.fraction_bits, format.bias << format.fraction_bits
    magnitudes = {0, 1, 2, 3, format.infinity, format.infinity + 1, format.infinity + ulp // 2}
    magnitudes |= {format.sign_mask - 1, format.largest_finite, format.largest_finite - 1}
    for near in (ulp, 2 * ulp, one, one + ulp, format.infinity - ulp):
        magnitudes |= {near - 1, near, near + 1, near + ulp // 2}
    for step in (*range(format.fraction_bits + 4),):
        magnitudes |= {one - step * ulp, one - step * ulp + 1, one - step * ulp - 1, max(0, ulp >> step)}
    kept = np.array(sorted(item for item in magnitudes if 0 <= item < format.sign_mask), np.uint64)
    return np.concatenate((kept, kept | np.uint64(format.sign_mask)))


def random_bits(rng: np.random.Generator, format: FloatFormat, count: int) -> NDArray[np.uint64]:
    return rng.integers(0, 1 << format.bits, count, dtype=np.uint64)


def kinds(rng: np.random.Generator, format: FloatFormat, count: int) -> Iterator[tuple[Any, Any]]:
    """Pairs of operands of each distribution."""
    fraction, sign = format.fraction_bits, np.uint64(format.sign_mask)
    top = (1 << format.exponent_bits) - 2
    x = random_bits(rng, format, count)
    yield x, random_bits(rng, format, count)
    # Near each other, and near zero: cancellation, and subnormal results.
    for low, high in ((1, top), (0, 3)):
        exponent = rng.integers(low, high + 1, count, dtype=np.int64)
        other = np.clip(exponent + rng.integers(-fraction - 3, fraction + 4, count), 0, top)
        parts = [rng.integers(0, 1 << fraction, count, dtype=np.uint64) for _ in "xy"]
        signs = [rng.integers(0, 2, count, dtype=np.uint64) * sign for _ in "xy"]
        # Half of the fractions have few ones: ties.
        for part in parts:
            few = rng.random(count) < 0.5
            part[few] &= np.uint64(0) - (
                np.uint64(1) << rng.integers(0, fraction + 1, int(few.sum()), dtype=np.uint64)
            )
        x, y = (
            part | place.astype(np.uint64) << np.uint64(fraction) | its
            for part, place, its in zip(parts, (exponent, other), signs, strict=True)
        )
        yield x, y
    # Differences of a few units in the last place.
    magnitude = x & ~sign
    step = rng.integers(-3, 4, count)
    yield x, np.clip(magnitude.astype(np.int64) + step, 0, int(sign) - 1).astype(np.uint64) | (~x & sign)


def random_sums(name: str, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for start in range(0, count, CHUNK):
        for x, y in kinds(rng, FORMATS[name], min(CHUNK, count - start) // 4):
            compare(x, y, name)


@pytest.mark.parametrize("name", FORMATS)
def test_corners(name: str) -> None:
    """Every corner with every other one."""
    values = corners(FORMATS[name])
    assert len(values) > 80
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    compare(x, y, name)


def random_number(rng: random.Random, format: FloatFormat, exponent: int) -> int:
    """A number whose fraction is random, all zeros or ones but for one bit, or all of one kind."""
    ones = (1 << format.fraction_bits) - 1
    bit = 1 << rng.randrange(format.fraction_bits)
    fraction = rng.choice((0, ones, bit, ones ^ bit, rng.getrandbits(format.fraction_bits)))
    return rng.choice((0, format.sign_mask)) | exponent << format.fraction_bits | fraction


def nearly_half(rng: random.Random, format: FloatFormat) -> tuple[int, int]:
    """A number, and one of which half a unit in its last place is lost, or nothing, and any one bit below."""
    distance = rng.randrange(1, format.fraction_bits + 3)
    exponent = rng.randrange(distance + 1, (1 << format.exponent_bits) - 1)
    lost = rng.choice((0, 1 << distance - 1)) | rng.choice((0, 1 << rng.randrange(distance)))
    fraction = lost & (1 << format.fraction_bits) - 1
    smaller = rng.choice((0, format.sign_mask)) | exponent - distance << format.fraction_bits | fraction
    return random_number(rng, format, exponent), smaller


def nearly_opposite(rng: random.Random, format: FloatFormat) -> tuple[int, int]:
    """Two numbers of which all leading bits cancel, where a sum may thereby become subnormal."""
    x = random_number(rng, format, rng.randrange(1, format.fraction_bits + 5))
    bits = rng.randrange(format.fraction_bits)
    return x, x ^ format.sign_mask ^ rng.choice((1 << bits, rng.getrandbits(bits)))


def every_exponent(rng: random.Random, format: FloatFormat) -> Iterator[tuple[int, int]]:
    """A difference of half a unit and of one in the last place of any exponent, and operands at any distance.

    With an exponent up to the bits of a significand, the differences are subnormal.
    """
    top = (1 << format.exponent_bits) - 1
    for exponent in range(1, top):
        power = exponent << format.fraction_bits
        x = random_number(rng, format, exponent)
        for pair in ((power, power - 1 | format.sign_mask), (x, x ^ format.sign_mask ^ 1)):
            yield from (pair, pair[::-1])
        pair = random_number(rng, format, top - 1), random_number(rng, format, exponent)
        yield from (pair, pair[::-1])


def random_pairs(rng: random.Random) -> Iterator[tuple[FloatFormat, int, int]]:
    """Exponents at their ends, and as far apart as a sum can tell."""
    for _ in range(10_000):
        format = FORMATS[rng.choice(("f32", "f16"))]
        top = (1 << format.exponent_bits) - 1
        near = rng.choice((0, 1, 2, top - 1, top - 1, top, rng.randrange(top)))
        far = near + rng.choice((0, 0, 1, -1, rng.randint(-1, 1) * rng.randrange(format.fraction_bits + 5)))
        kind = rng.random()
        if kind < 0.2:
            x, y = nearly_opposite(rng, format)
        elif kind < 0.5:
            x, y = nearly_half(rng, format)
        else:
            x, y = (random_number(rng, format, exponent) for exponent in (near, min(max(far, 0), top)))
        yield format, x, y


@cocotb.test
async def sums(dut: Any) -> None:
    """Sums of random operands and of every exponent; f32 and f16 mixed."""
    rng = random.Random(cocotb.RANDOM_SEED)
    inputs: list[dict[str, int]] = []
    expected_sums: list[dict[str, int | tuple[int, int]]] = []
    pairs = list(random_pairs(rng))
    for format in FORMATS.values():
        pairs += [(format, *pair) for pair in every_exponent(rng, format)]
    rng.shuffle(pairs)
    for format, x, y in pairs:
        words = [np.array([word], np.dtype(f"u{format.bits // 8}")) for word in (x, y)]
        noise = [rng.getrandbits(32) >> format.bits << format.bits for _ in "xy"]
        inputs.append({"x": x | noise[0], "y": y | noise[1], "is_f16": int(format.bits == 16)})
        expected_sums.append({"d": int(expected(*words, format)[0])})
    await check_stage(dut, inputs, expected_sums, RoundedAddition.latency)


def test_rounded_addition(simulate: Simulate) -> None:
    simulate(unit_design("rounded_addition", RoundedAddition()), __name__)


@pytest.mark.parametrize("name", FORMATS)
def test_every_distance(name: str) -> None:
    """Exponents as far apart as they can be, with fractions at and around the halves."""
    format = FORMATS[name]
    ulp = 1 << format.fraction_bits
    fractions = np.array([0, 1, 2, ulp // 2 - 1, ulp // 2, ulp // 2 + 1, ulp - 2, ulp - 1], np.uint64)
    exponents = np.arange((1 << format.exponent_bits) - 1, dtype=np.uint64)
    middle = np.array([0, 1, 2, format.bias, exponents[-1]], np.uint64)
    for near in middle:
        a, b, far, negative = (
            grid.ravel()
            for grid in np.meshgrid(
                fractions, fractions, exponents, np.array([0, format.sign_mask], np.uint64)
            )
        )
        x = a | near << np.uint64(format.fraction_bits)
        y = b | far << np.uint64(format.fraction_bits) | negative
        compare(x, y, name)
        compare(y, x, name)


@pytest.mark.parametrize("step", [16, pytest.param(1, marks=pytest.mark.long)])
def test_every_f16_with_the_corners(step: int) -> None:
    """All of them, or every so many."""
    values = corners(FORMATS["f16"])[::step]
    everything = np.arange(1 << 16, dtype=np.uint64)
    for some in np.array_split(values, -(-len(values) // 8)):
        x, y = (grid.ravel() for grid in np.meshgrid(everything, some))
        compare(x, y, "f16")


@pytest.mark.parametrize("name", FORMATS)
def test_random_sums(name: str) -> None:
    random_sums(name, 2_000_000, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
def test_many_random_sums(name: str) -> None:
    random_sums(name, 100_000_000, seed=2)


def test_one_sum_per_cycle_in_any_order() -> None:
    """f32 and f16 mixed, with pauses and without."""
    rng = np.random.default_rng(3)
    count = 20_000
    words = rng.integers(0, 1 << 32, (count, 3), dtype=np.uint32)
    words[:, 2] &= 1
    half = words[:, 2] == 1
    wanted = expected(words[:, 0].copy(), words[:, 1].copy(), FORMATS["f32"])
    x, y = (words[half, column].astype(np.uint16) for column in range(2))
    wanted[half] = expected(x, y, FORMATS["f16"])
    assert np.array_equal(unit().run(words)[:, 0], wanted)
    assert unit().cycles == count + RoundedAddition.latency
    assert np.array_equal(unit().run(words, input_pause=60, output_pause=60, seed=4)[:, 0], wanted)
