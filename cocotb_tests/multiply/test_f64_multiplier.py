# amaranth: UnusedElaboratable=no
"""The f64 tile multiplier with Python for the fused multiply-adds: which operands meet, and in which order.

The stand-in for the arithmetic tells a, b, c and the rounding from each other and is not associative, so
that no other order of k gives the same result.
"""

import random
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge
from numpy.typing import NDArray

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.packing import Packing
from cocotb_tests.register_ports import RegisterPorts
from cocotb_tests.streams import StreamSink, StreamSource, never, pauses, reset, start
from golden.fragments import distribute
from golden.tables.instruction_set import Shape, Use
from golden.tables.layouts import fragment
from hdl.config import CoreConfig
from hdl.fma64.fma64_operands import FusedMultiplyAdd64Operands, FusedMultiplyAdd64Result
from hdl.multiply.f64.multiplier import F64Multiplier
from hdl.multiply.f64.request import F64Request
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

SHAPE = Shape(8, 8, 4)
SHAPES = (SHAPE, Shape(16, 8, 4), Shape(16, 8, 8), Shape(16, 8, 16))
INPUTS: tuple[Use, ...] = ("a", "b", "c")
OPERANDS, RESULT = Packing(FusedMultiplyAdd64Operands), Packing(FusedMultiplyAdd64Result)
MASK = (1 << 64) - 1
LATENCY = CoreConfig().f64_depth


def core_config() -> CoreConfig:
    return CoreConfig(f64_units=parameters()["units"], dot_product_units=parameters()["words"])


def registers_of(use: Use, shape: Shape) -> int:
    """32-bit registers of a fragment."""
    return fragment(use, "f64", shape).registers


def payload_of(first: dict[str, int], rounding: int, shape: Shape) -> int:
    """The request for a tile."""
    tile = {
        "two_blocks": shape.m == 16,
        "k_blocks_log2": {4: 0, 8: 1, 16: 2}[shape.k],
        "rounding": rounding,
    }
    return int(F64Request.const({"tile": tile, **first}).as_bits())


def stand_in(a: int, b: int, c: int, rounding: int) -> int:
    """Some function of all four."""
    mixed = (3 * a + 5 * b * b + 7 * (c ^ c >> 29) + 11 * rounding) & MASK
    return mixed ^ mixed >> 17


class Unit:
    """Takes operands, and offers the stand-in's result `latency` cycles later; holds at most 32."""

    def __init__(
        self, dut: Any, index: int, latency: int, pause: Iterator[bool], late: Iterator[bool]
    ) -> None:
        self.operations = 0
        self._sink = StreamSink(dut, f"operands_{index}", pause)
        self._source = StreamSource(dut, f"result_{index}", late)
        self._latency = latency
        self._pipeline: deque[int | None] = deque()
        self.clear()
        cocotb.start_soon(self._compute(dut))

    def clear(self) -> None:
        """Forget everything, as in reset."""
        self._sink.received.clear()
        self._source.drop()
        # One cycle passes in the monitor, one in the driver.
        self._pipeline = deque([None] * (self._latency - 2))

    async def _compute(self, dut: Any) -> None:
        edge = RisingEdge(dut.aclk)
        while True:
            await edge
            results = []
            for payload in self._sink.received:
                item = OPERANDS.unpack(payload)
                results.append(stand_in(item.a, item.b, item.c, item.rounding))
            self._sink.received.clear()
            self.operations += len(results)
            self._pipeline.extend(results or [None])
            result = self._pipeline.popleft()
            if result is not None:
                self._source.put(RESULT.pack({"d": result}))


class Bench:
    """A unit under test, with all that stands around it."""

    def __init__(self, dut: Any, rng: random.Random, share: float, latency: int = LATENCY) -> None:
        self.dut = dut
        self.config = core_config()

        def pause() -> Iterator[bool]:
            return pauses(random.Random(rng.random()), share) if share else never()

        self.registers = RegisterPorts(dut, self.config, pause(), pause())
        self.units = [Unit(dut, index, latency, pause(), pause()) for index in range(self.config.f64_units)]
        self.source = StreamSource(dut, "request", pause())

    async def multiply(self, tiles: Sequence[tuple[dict[str, int], int, Shape]]) -> list[int]:
        """Offer tiles one after the other and compare all registers; returns the cycles of each `done`.

        A tile's A, B and C may be anything but what an earlier one writes; D may lie anywhere.
        """
        cycles, fetched, busy = 0, 0, 0
        done: list[int] = []
        operations = sum(unit.operations for unit in self.units)
        reads, writes = self.registers.reads, self.registers.writes
        expected = self.registers.values.copy()
        for first, rounding, shape in tiles:
            expected = after(expected, first, rounding, shape)
            self.source.put(payload_of(first, rounding, shape))
        while len(done) < len(tiles):
            await RisingEdge(self.dut.aclk)
            cycles += 1
            fetched += int(self.dut.fetched.value)
            busy += int(self.dut.busy_units.value)
            if self.dut.done.value:
                done.append(cycles)
            assert fetched >= len(done), "done before fetched"
            assert cycles < 30_000 * len(tiles), f"no end of {tiles}"
        wrong = np.argwhere(self.registers.values != expected)
        assert not len(wrong), f"{tiles}: register, lane {wrong[:4].tolist()}"
        assert fetched == len(tiles)
        shapes = [shape for _, _, shape in tiles]
        products = sum(shape.m * shape.n * shape.k for shape in shapes)
        assert sum(unit.operations for unit in self.units) - operations == busy == products
        read = sum(registers_of(use, shape) for use in INPUTS for shape in shapes)
        assert self.registers.reads - reads == 8 * read
        written = sum(registers_of("d", shape) for shape in shapes)
        assert self.registers.writes - writes == 8 * written
        # Each lane once: another one would get a wrong value until its own write.
        lanes = [lanes.bit_count() for _, lanes in self.registers.written[writes:]]
        assert lanes == [4] * 8 * written
        return done


def after(
    values: NDArray[np.uint32], first: dict[str, int], rounding: int, shape: Shape
) -> NDArray[np.uint32]:
    """The registers after a tile."""
    a_matrix, b_matrix, c_matrix = (gathered(values, first[use], use, shape) for use in INPUTS)
    d = np.zeros((shape.m, shape.n), dtype=np.uint64)
    for row in range(shape.m):
        for column in range(shape.n):
            result = int(c_matrix[row, column])
            for k in range(shape.k):
                a, b = int(a_matrix[row, k]), int(b_matrix[k, column])
                result = stand_in(a, b, result, rounding)
            d[row, column] = result
    changed = values.copy()
    changed[first["d"] : first["d"] + registers_of("d", shape)] = distribute(d, "d", "f64", shape)
    return changed


def gathered(values: NDArray[np.uint32], first: int, use: Use, shape: Shape) -> NDArray[np.uint64]:
    """The matrix of a fragment: where `distribute` puts each element's number is where the element is."""
    extent = shape.extent(use)
    numbers = np.arange(extent[0] * extent[1], dtype=np.uint64).reshape(extent)
    places = distribute(numbers, use, "f64", shape)[0::2]
    words = values[first : first + registers_of(use, shape)].astype(np.uint64)
    matrix = np.zeros(extent[0] * extent[1], dtype=np.uint64)
    matrix[places] = words[0::2] | words[1::2] << np.uint64(32)
    return matrix.reshape(extent)


def fill(bench: Bench, rng: random.Random) -> None:
    bits = np.random.default_rng(rng.getrandbits(32))
    bench.registers.values[:] = bits.integers(0, 1 << 32, bench.registers.values.shape, dtype=np.uint32)


@cocotb.test
async def everywhere(dut: Any) -> None:
    """D anywhere and over each operand at every offset, every rounding, waits on every port."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut, rng, 0.25)
    await start(dut)
    fill(bench, rng)
    places = [rng.randrange(60) for _ in range(2)]
    for over in (7, 12, 19):
        places += [over + offset for offset in range(-3, 5)]
    for index, place in enumerate(places):
        await bench.multiply([({"a": 7, "b": 12, "c": 19, "d": place}, index % 4, SHAPE)])


@cocotb.test
async def every_shape(dut: Any) -> None:
    """Tiles of all shapes one after the other, D apart and over each operand, waits on every port."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut, rng, 0.1)
    await start(dut)
    fill(bench, rng)
    for before in SHAPES:
        for shape in SHAPES:
            tiles = [({"a": 0, "b": 16, "c": 24, "d": 40}, rng.randrange(4), before)]
            tiles.append(({"a": 1, "b": 17, "c": 25, "d": 49}, rng.randrange(4), shape))
            await bench.multiply(tiles)
    for over in (0, 16, 24):
        for shape in SHAPES[1:]:
            place = over + rng.randrange(4)
            await bench.multiply([({"a": 0, "b": 16, "c": 24, "d": place}, rng.randrange(4), shape)])


async def offered_at_once(dut: Any, share: float) -> None:
    """Tiles with registers and a rounding of their own, then tiles with D over the sources of older ones."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut, rng, share)
    await start(dut)
    fill(bench, rng)
    tiles = []
    for _ in range(10):
        first = {"a": rng.randrange(15), "b": rng.randrange(15), "c": rng.randrange(24)}
        tiles.append((first | {"d": rng.randrange(28, 61)}, rng.randrange(4), SHAPE))
    await bench.multiply(tiles)
    first = {"a": 30, "b": 34, "c": 40, "d": 50}
    places = [(1, {}), (2, {"a": 2, "d": 30}), (3, {"a": 0, "b": 4, "d": 40})]
    await bench.multiply([(first | other, rounding, SHAPE) for rounding, other in places])


@cocotb.test
async def side_by_side(dut: Any) -> None:
    await offered_at_once(dut, 0.0)


@cocotb.test
async def side_by_side_with_waits(dut: Any) -> None:
    await offered_at_once(dut, 0.3)


@cocotb.test
async def throughput(dut: Any) -> None:
    """Tiles in the cycles the docstring names, with units of the real latency that never wait."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut, rng, 0.0)
    await start(dut)
    fill(bench, rng)
    tiles = [({"a": 0, "b": 2, "c": 4, "d": 20 + 4 * index}, index % 4, SHAPE) for index in range(8)]
    done = await bench.multiply(tiles)
    units, words = parameters()["units"], parameters()["words"]
    periods = [later - earlier for earlier, later in pairwise(done)]
    dut._log.info(f"{units} units, words of {words} quads: first {done[0]}, then {periods}")
    # The last round needs to wait for nothing: results of the next tile's first one come later.
    period = 3 * max(64 // units, LATENCY + 3) + 64 // units
    assert max(periods) <= period, periods
    # Fetching is the quads of a tile; of the writes, two for each quad, as many as results are left over.
    writes = max(2 * units, 32 - 64 // units)
    assert done[0] <= 64 + period + LATENCY + writes + 12


@cocotb.test
async def throughput_of_the_largest(dut: Any) -> None:
    """A step per cycle in tiles of m16n8k16."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut, rng, 0.0)
    await start(dut)
    fill(bench, rng)
    shape = Shape(16, 8, 16)
    done = await bench.multiply([({"a": 0, "b": 16, "c": 24, "d": 32}, 0, shape)] * 2)
    units = parameters()["units"]
    dut._log.info(f"{units} units: first {done[0]}, then {done[1] - done[0]}")
    # Four units make the 32 quads of D in half the cycles that their writes take, and 16 may wait.
    waits = 2 if units == 4 else 0
    assert done[1] - done[0] <= 15 * max(128 // units, LATENCY + 3) + 128 // units + waits


@cocotb.test
async def slow_units(dut: Any) -> None:
    """A latency above a round costs time, not results; the first round of a tile waits for none before."""
    rng = random.Random(cocotb.RANDOM_SEED)
    latency = 90
    bench = Bench(dut, rng, 0.0, latency)
    await start(dut)
    fill(bench, rng)
    done = await bench.multiply(
        [({"a": 0, "b": 2, "c": 4, "d": 20 + 4 * index}, index, SHAPE) for index in range(3)]
    )
    periods = [later - earlier for earlier, later in pairwise(done)]
    assert max(periods) <= 3 * (latency + 3) + 64 // parameters()["units"], periods


@cocotb.test
async def reset_in_the_middle(dut: Any) -> None:
    """After a reset at any moment the unit is as new."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut, rng, 0.1)
    await start(dut)
    for cycles in (5, 40, 90, 150, 260, 300):
        for index in range(3):
            bench.source.put(payload_of({"a": 0, "b": 2, "c": 4, "d": 20 + 4 * index}, 1, SHAPE))
        for _ in range(cycles):
            await RisingEdge(dut.aclk)
        bench.source.drop()
        dut.aresetn.value = 0
        for _ in range(3):
            await RisingEdge(dut.aclk)
            for unit in bench.units:
                unit.clear()
        await reset(dut)
        for unit in bench.units:
            unit.clear()
        fill(bench, rng)
        first = {"a": rng.randrange(8), "b": rng.randrange(8), "c": rng.randrange(8), "d": 30}
        await bench.multiply([(first, 2, SHAPE), (first | {"d": 40}, 3, SHAPE)])


@pytest.mark.parametrize(
    ("units", "words"),
    [(1, 1), (4, 8), *(pytest.param(*few, marks=SLOW) for few in ((2, 2), (1, 4), (4, 1)))],
)
def test_f64_multiplier(simulate: Simulate, units: int, words: int) -> None:
    config = CoreConfig(f64_units=units, dot_product_units=words)
    design = unit_design(f"f64-{units}-{words}", F64Multiplier(config))
    simulate(design, __name__, values={"units": units, "words": words})


def test_no_units() -> None:
    with pytest.raises(ValueError, match="needs 1, 2 or 4 f64 units, not 0"):
        F64Multiplier(CoreConfig(dot_product_units=1))
