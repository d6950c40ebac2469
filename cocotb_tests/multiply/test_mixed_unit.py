"""A dot-product unit and a unit for sums of groups behind one port; the bench is the dot-product unit."""

import random
from collections import deque
from dataclasses import replace
from typing import Any

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import ClockCycles, RisingEdge

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.omma.test_omma_unit import operations
from cocotb_tests.packing import Packing
from cocotb_tests.streams import StreamSink, StreamSource, never, pauses, start
from golden.tables.profiles import PROFILES
from hdl.component import Component
from hdl.config import PRESETS, CoreConfig
from hdl.dot_product.operands import GROUPS, DotProductResult, operand_layout
from hdl.multiply.tile.mixed_unit import MixedUnit
from hdl.multiply.tile.scales import SCALES, unit_operands
from hdl.omma.operands import GroupSumOperands
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

OPERANDS = Packing(GroupSumOperands)


def config_of(depth: int) -> CoreConfig:
    """A core with both units, of a depth."""
    unit = replace(
        PRESETS["tiny"].dot_product,
        formats=frozenset({"f16", "fp8"}),
        profile=PROFILES["blackwell"],
        block_scale=True,
        depth=depth,
    )
    return replace(PRESETS["tiny"], dot_product=unit, mxf4=True)


class Socket(Component):
    """Stands for the dot-product unit, whose work is done outside."""

    def __init__(self, config: CoreConfig) -> None:
        operands = stream.Signature(operand_layout(config.dot_product))
        result = stream.Signature(DotProductResult)
        super().__init__(
            {"operands": In(operands), "result": Out(result), "given": Out(operands), "made": In(result)}
        )

    def _logic(self, m: Module) -> None:
        connect(m, flipped(self.operands), flipped(self.given))
        connect(m, flipped(self.made), flipped(self.result))


class MixedPath(Component):
    """The unit with a socket; ``given`` and ``made`` are the socket's."""

    def __init__(self, config: CoreConfig) -> None:
        self._socket = Socket(config)
        self._unit = MixedUnit(config, self._socket)
        ends = {name: self._socket.signature.members[name] for name in ("given", "made")}
        super().__init__({**self._unit.signature.members, **ends})

    def _logic(self, m: Module) -> None:
        m.submodules.unit = unit = self._unit
        connect(m, flipped(self.operands), unit.operands)
        connect(m, unit.result, flipped(self.result))
        connect(m, self._socket.given, flipped(self.given))
        connect(m, flipped(self.made), self._socket.made)


class Bench:
    """Operands of both kinds, their results, and the dot-product unit."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        config = config_of(parameters()["depth"])
        self.layout = unit_operands(config)
        self.mixed, self.plain = Packing(self.layout), Packing(operand_layout(config.dot_product))
        self.given: deque[int] = deque()
        """What the dot-product unit must get."""
        self.results: deque[int] = deque()
        """What it gives back."""
        self.expected: list[int] = []

    async def begin(self, share: float) -> None:
        """Reset; every side pauses in such a share of the cycles."""
        dut, rng = self.dut, self.rng
        for name in ("operands_valid", "result_ready", "made_valid", "given_ready"):
            getattr(dut, name).value = 0
        await start(dut)
        waits = [pauses(rng, share) if share else never() for _ in range(4)]
        self.source, self.made = (
            StreamSource(dut, name, wait) for name, wait in zip(("operands", "made"), waits[:2], strict=True)
        )
        self.sink, self.units = (
            StreamSink(dut, name, wait) for name, wait in zip(("result", "given"), waits[2:], strict=True)
        )
        cocotb.start_soon(self.work())

    def put(self, kinds: list[bool]) -> None:
        """Queue operands, each for a sum of groups or not."""
        sums = iter(zip(*operations(len(kinds), self.rng.getrandbits(30)), strict=True))
        for is_group in kinds:
            fields = self.mixed.unpack(self.rng.getrandbits(self.layout.size))
            fields.is_group = is_group
            if is_group:
                bits, result = next(sums)
                operands = OPERANDS.unpack(bits)
                for name in ("a", "b", "c", *SCALES):
                    setattr(fields, name, getattr(operands, name))
                fields.operation.multiplicand = GROUPS
                fields.operation.a_e5m2 = operands.ue4m3
            else:
                result = self.rng.getrandbits(32)
                fields.operation.multiplicand = GROUPS ^ 1 << self.rng.randrange(7)
                plain = {name: value for name, value in vars(fields).items() if name != "is_group"}
                self.given.append(self.plain.pack(plain))
                self.results.append(result)
            self.expected.append(result)
            self.source.put(self.mixed.pack(fields))

    async def work(self) -> None:
        """Be the dot-product unit: compare what comes, and give back some result."""
        while True:
            await RisingEdge(self.dut.aclk)
            while self.units.received:
                assert self.units.received.pop(0) == self.given.popleft()
                self.made.put(self.results.popleft())

    async def cycles(self) -> int:
        """Take all results; how many cycles that took."""
        taken = 0
        while len(self.sink.received) < len(self.expected):
            await RisingEdge(self.dut.aclk)
            taken += 1
            assert taken < 10_000, f"{len(self.sink.received)} of {len(self.expected)} results"
        await ClockCycles(self.dut.aclk, 60)
        assert self.sink.received == self.expected
        self.sink.received.clear()
        self.expected.clear()
        return taken


@cocotb.test
@cocotb.parametrize(share=[0.0, 0.3, 0.8])
async def results_in_order(dut: Any, share: float) -> None:
    """Runs of operands for either unit while every side pauses as it likes."""
    bench = Bench(dut)
    await bench.begin(share)
    kinds = [False]
    while len(kinds) < 300:
        kinds.append(kinds[-1] ^ (bench.rng.random() < 0.4))
    bench.put(kinds)
    await bench.cycles()


@cocotb.test
async def as_fast_as_the_unit(dut: Any) -> None:
    """A dot product in each cycle, a sum of groups in every other one; also of those in turn."""
    bench = Bench(dut)
    await bench.begin(0.0)
    for kinds, cycles in (([False] * 100, 100), ([True] * 100, 200), ([False, True] * 50, 150)):
        bench.put(kinds)
        taken = await bench.cycles()
        assert taken < cycles + 2 * parameters()["depth"] + 10, (kinds[:2], taken)


@pytest.mark.parametrize("depth", [14, pytest.param(1, marks=SLOW)])
def test_mixed_unit(simulate: Simulate, depth: int) -> None:
    design = unit_design(f"mixed_unit_{depth}", MixedPath(config_of(depth)))
    simulate(design, __name__, values={"depth": depth})
