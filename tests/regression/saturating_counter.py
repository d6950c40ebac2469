"""A unit made up to be mutated, with a test that checks what it claims and one that does not."""

import random
from typing import Any

import cocotb
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from cocotb.triggers import FallingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import reset, start
from sim.testbench.unit import unit_design

MOST = 11


class SaturatingCounter(wiring.Component):
    """Counts up and down between 0 and `MOST`, and stays there."""

    up: In(1)
    down: In(1)
    count: Out(range(MOST + 1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.up & ~self.down & (self.count != MOST)):
            m.d.sync += self.count.eq(self.count + 1)
        with m.Elif(self.down & ~self.up & (self.count != 0)):
            m.d.sync += self.count.eq(self.count - 1)
        return m


async def walk(dut: Any, steps: list[int]) -> None:
    """Go up (1), down (-1) or stay, and compare."""
    await start(dut)
    count = 0
    for step in steps:
        await FallingEdge(dut.aclk)
        assert int(dut.count.value) == count
        both = random.getrandbits(1) if step == 0 else 0
        dut.up.value, dut.down.value = int(step == 1 or both), int(step == -1 or both)
        count = min(max(count + step, 0), MOST)


@cocotb.test
async def walks_everywhere(dut: Any) -> None:
    """Beyond both ends, at random in between, and back to nothing by a reset."""
    await walk(dut, [-1, *[1] * (MOST + 3), *[-1] * (MOST + 3), *random.choices((-1, 0, 1), k=300), 1, 1, 1])
    dut.up.value = dut.down.value = 0
    await reset(dut)
    assert int(dut.count.value) == 0


@cocotb.test
async def counts_to_three(dut: Any) -> None:
    """Never as far as the upper end, never down."""
    await walk(dut, [1, 0, 1, 1, 0])


def strong(simulate: Simulate) -> None:
    simulate(unit_design("saturating_counter", SaturatingCounter()), __name__, cases=("walks_everywhere",))


def weak(simulate: Simulate) -> None:
    simulate(unit_design("saturating_counter", SaturatingCounter()), __name__, cases=("counts_to_three",))
