"""The f64 tile multiplier with Python for the fused multiply-add: which operands meet, in which order.

The stand-in for the arithmetic tells a, b, c and the rounding from each other and is not associative, so
that no other order of k gives the same result.
"""

import random
from collections import deque
from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
from amaranth.lib import data
from cocotb.triggers import RisingEdge

from cocotb_tests.configurations import ALL_FORMATS
from cocotb_tests.conftest import Simulate
from cocotb_tests.register_model import RegisterModel
from cocotb_tests.streams import StreamSink, StreamSource, never, pauses, start
from cocotb_tests.unit import unit_design
from golden.fragments import distribute
from golden.instruction_set import Shape
from hdl.fma64.interface import FusedMultiplyAdd64Operands, FusedMultiplyAdd64Result
from hdl.multiply.double_multiplier import DoubleMultiplier, DoubleRequest

SHAPE = Shape(8, 8, 4)
COUNTS = {"a": 2, "b": 2, "c": 4, "d": 4}
OPERANDS = data.Layout.cast(FusedMultiplyAdd64Operands)
MASK = (1 << 64) - 1


def stand_in(a: int, b: int, c: int, rounding: int) -> int:
    """Some function of all four."""
    mixed = (3 * a + 5 * b * b + 7 * (c ^ c >> 29) + 11 * rounding) & MASK
    return mixed ^ mixed >> 17


class Unit:
    """Takes operands, keeps them for `delay` cycles, and gives the stand-in's result."""

    def __init__(self, dut: Any, delay: int, pause: Iterator[bool]) -> None:
        self.operations = 0
        self._sink = StreamSink(dut, "operands", pause)
        self._source = StreamSource(dut, "result")
        cocotb.start_soon(self._compute(dut, delay))

    async def _compute(self, dut: Any, delay: int) -> None:
        pipeline: deque[int | None] = deque([None] * delay)
        edge = RisingEdge(dut.aclk)
        while True:
            await edge
            received = list(self._sink.received)
            self._sink.received.clear()
            results = []
            for payload in received:
                item = OPERANDS.from_bits(payload)
                results.append(stand_in(item.a, item.b, item.c, item.rounding))
            self.operations += len(results)
            pipeline.extend(results or [None])
            result = pipeline.popleft()
            if result is not None:
                self._source.put(FusedMultiplyAdd64Result.const({"d": result}).as_bits())


async def multiply(
    dut: Any, registers: RegisterModel, source: StreamSource, first: dict[str, int], rounding: int, seed: int
) -> int:
    """Multiply random matrices in the given registers, and compare; returns the cycles it took.

    A, B and C may not overlap each other; D may lie anywhere.
    """
    bits = np.random.default_rng(seed)
    registers.values[:] = bits.integers(0, 1 << 32, registers.values.shape, dtype=np.uint32)
    matrices = {}
    for use in ("a", "b", "c"):
        matrices[use] = bits.integers(0, 1 << 64, SHAPE.extent(use), dtype=np.uint64)
        registers.values[first[use] : first[use] + COUNTS[use]] = distribute(matrices[use], use, "f64", SHAPE)
    d = np.zeros((SHAPE.m, SHAPE.n), dtype=np.uint64)
    for row in range(SHAPE.m):
        for column in range(SHAPE.n):
            result = int(matrices["c"][row, column])
            for k in range(SHAPE.k):
                a, b = int(matrices["a"][row, k]), int(matrices["b"][k, column])
                result = stand_in(a, b, result, rounding)
            d[row, column] = result
    expected = registers.values.copy()
    expected[first["d"] : first["d"] + COUNTS["d"]] = distribute(d, "d", "f64", SHAPE)

    source.put(DoubleRequest.const({"rounding": rounding, **first}).as_bits())
    cycles = 0
    done = False
    while not done:
        await RisingEdge(dut.aclk)
        done = bool(dut.done.value)
        cycles += 1
        assert cycles < 20_000, f"no end of {first}"
    wrong = np.argwhere(registers.values != expected)
    assert not len(wrong), f"{first}: register, lane {wrong[:4].tolist()}"
    return cycles


@cocotb.test
async def everywhere(dut: Any) -> None:
    """D anywhere and over each operand at every offset, every rounding, a unit that waits."""
    rng = random.Random(cocotb.RANDOM_SEED)
    registers = RegisterModel(dut, ALL_FORMATS.registers)
    unit = Unit(dut, 26, pauses(rng, 0.2))
    await start(dut)
    source = StreamSource(dut, "request")
    places = [rng.randrange(60) for _ in range(6)]
    for over in (7, 12, 19):
        places += [over + offset for offset in range(-3, 5)]
    for index, place in enumerate(places):
        first = {"a": 7, "b": 12, "c": 19, "d": place}
        await multiply(dut, registers, source, first, index % 4, index)
    assert unit.operations == len(places) * SHAPE.m * SHAPE.n * SHAPE.k


@cocotb.test
async def a_full_pipeline(dut: Any) -> None:
    """A unit that never waits gets operands in every cycle, at any latency below 60."""
    registers = RegisterModel(dut, ALL_FORMATS.registers)
    delay = 50
    Unit(dut, delay, never())
    await start(dut)
    source = StreamSource(dut, "request")
    first = {"a": 1, "b": 3, "c": 20, "d": 20}
    cycles = await multiply(dut, registers, source, first, 0, 1)
    assert cycles <= 64 + 256 + delay + 12


@cocotb.test
async def a_slow_pipeline(dut: Any) -> None:
    """A latency above the 64 elements under way costs time, not results."""
    registers = RegisterModel(dut, ALL_FORMATS.registers)
    Unit(dut, 90, never())
    await start(dut)
    source = StreamSource(dut, "request")
    await multiply(dut, registers, source, {"a": 1, "b": 3, "c": 20, "d": 24}, 2, 2)


def test_double_multiplier(simulate: Simulate) -> None:
    simulate(unit_design("double_multiplier", DoubleMultiplier(ALL_FORMATS)), __name__)
