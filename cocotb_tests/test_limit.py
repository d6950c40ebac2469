"""The limit of simulated time: a unit that never answers ends its test, and the tests behind it run."""

from typing import Any

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from cocotb_tests.conftest import Simulate
from sim.testbench.runner import BenchFailure
from sim.testbench.unit import unit_design

PERIOD_US = 10
"""A slow clock comes to the limit in few cycles."""


class Silent(wiring.Component):
    """Takes operands and never gives a result."""

    operands: In(stream.Signature(8))
    result: Out(stream.Signature(8))

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        m.d.sync += self.result.payload.eq(self.operands.payload)
        m.d.comb += self.operands.ready.eq(1)
        return m


@cocotb.test
async def an_answer_is_awaited(dut: Any) -> None:
    Clock(dut.aclk, PERIOD_US, "us").start()
    dut.operands_valid.value = 1
    while not dut.result_valid.value:
        await RisingEdge(dut.aclk)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_answer_is_awaited_for_a_shorter_time(dut: Any) -> None:
    await an_answer_is_awaited.func(dut)


@cocotb.test
async def the_tests_before_have_ended_in_time(dut: Any) -> None:
    assert get_sim_time("us") == pytest.approx(10_000 + 100, abs=1)


def test_a_silent_unit_ends_its_test(simulate: Simulate) -> None:
    with pytest.raises(BenchFailure, match="2 of 3 tests failed") as failure:
        simulate(unit_design("silent", Silent()), __name__)
    assert "SimTimeoutError" in str(failure.value)
