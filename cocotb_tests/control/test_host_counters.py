"""The counters of the host interface, read through cocotbext-axi's AXI4-Lite master and by the pins."""

from typing import Any

import cocotb
import pytest
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiResp

from cocotb_tests.conftest import Simulate
from cocotb_tests.control.host_bench import (
    CLOCK_PS,
    CONFIGS,
    COUNT_FROM,
    INCREMENTS,
    at_rest,
    configuration,
    host_design,
    host_of,
    read_by_hand,
)
from cocotb_tests.host_port import HostPort
from cocotb_tests.streams import reset, start
from hdl.control.host import REGISTERS


@cocotb.test
async def counters(dut: Any) -> None:
    """Exact counts of what happened in each cycle; a low word read latches its high word."""
    host, rng = await host_of(dut)
    await host.set("CONTROL", 1)
    units = configuration().dot_product_units
    for idle in range(4):
        for _ in range(idle):
            await RisingEdge(dut.aclk)
        before = {name: await host.counter(name) for name in INCREMENTS}
        assert all(count == COUNT_FROM for count in before.values()), before
    expected = dict.fromkeys(INCREMENTS, 0)
    for _ in range(500):
        for name, port in INCREMENTS.items():
            count = rng.randrange(units + 1) if name == "DOT_PRODUCT_CYCLES" else rng.getrandbits(1)
            getattr(dut, port).value = count
            expected[name] += count
        await RisingEdge(dut.aclk)
    for port in INCREMENTS.values():
        getattr(dut, port).value = 0
    for name, count in expected.items():
        for idle in range(4):
            for _ in range(idle):
                await RisingEdge(dut.aclk)
            assert await host.counter(name) - before[name] == count, name
    dut.executed.value = 0x1234_5678_9ABC_DEF0
    await RisingEdge(dut.aclk)
    assert await host.get("INSTRUCTIONS") == 0x9ABC_DEF0
    dut.executed.value = 0xFFFF_FFFF_0000_0000
    high, _ = await host.read_word(REGISTERS["INSTRUCTIONS"] + 4)
    assert high == 0x1234_5678, "the high word is the one of the low word read before it"
    assert await host.counter("INSTRUCTIONS") == 0xFFFF_FFFF_0000_0000


@cocotb.test
async def long_counts(dut: Any) -> None:
    """Counters carry: thousands of everything that can happen in a cycle, from the first one after reset."""
    most = configuration().dot_product_units
    cycles = (1 << 12) + 3
    at_rest(dut)
    for name, port in INCREMENTS.items():
        getattr(dut, port).value = most if name == "DOT_PRODUCT_CYCLES" else 1
    await start(dut)  # and the first cycle
    await FallingEdge(dut.aclk)
    await Timer((cycles - 1) * CLOCK_PS, "ps")  # wakes nobody in between: the bus model comes afterwards
    for port in INCREMENTS.values():
        getattr(dut, port).value = 0
    host = HostPort(dut)
    await RisingEdge(dut.aclk)
    for name in INCREMENTS:
        expected = cycles * most if name == "DOT_PRODUCT_CYCLES" else cycles
        # Nothing pauses the host here, so these are odd and even cycles.
        for idle in range(4):
            for _ in range(idle):
                await RisingEdge(dut.aclk)
            assert await host.counter(name) == COUNT_FROM + expected, name


@cocotb.test
async def counters_read_while_they_count(dut: Any) -> None:
    """Between two reads, as many events as can happen in the cycles between them."""
    at_rest(dut)
    most = dict.fromkeys(INCREMENTS.values(), 1) | {"busy_units": configuration().dot_product_units}
    for port in INCREMENTS.values():
        getattr(dut, port).value = most[port]
    await start(dut)
    for _ in range(2 * len(INCREMENTS)):  # until all of them have begun
        await RisingEdge(dut.aclk)
    for name, port in INCREMENTS.items():
        starts = set()
        for idle in range(2, 20):
            for _ in range(idle):
                await RisingEdge(dut.aclk)
            cycle = round(get_sim_time("ps") / CLOCK_PS)
            response, low = await read_by_hand(dut, REGISTERS[name])
            assert response == AxiResp.OKAY
            starts.add((low - most[port] * cycle) % (1 << 32))
        assert len(starts) == 1, (name, starts)


@cocotb.test
async def counters_after_a_reset(dut: Any) -> None:
    """In the first cycles too, a counter has the value with which it begins, whatever it had before."""
    at_rest(dut)
    await start(dut)
    for name in INCREMENTS:
        await reset(dut)
        words = [await read_by_hand(dut, REGISTERS[name] + place) for place in (0, 4)]
        values = [COUNT_FROM & 0xFFFF_FFFF, COUNT_FROM >> 32]
        assert words == [(AxiResp.OKAY, value) for value in values], name


@pytest.mark.parametrize("preset", list(CONFIGS))
def test_host_counters(simulate: Simulate, preset: str) -> None:
    simulate(host_design(preset), __name__, values={"preset": preset})
