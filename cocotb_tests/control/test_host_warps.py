"""The host interface of several warps: which of them its registers, queues and window are of."""

import random
from dataclasses import replace
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiResp

from cocotb_tests.conftest import Simulate
from cocotb_tests.host_port import HostPort
from cocotb_tests.register_ports import RegisterPorts
from cocotb_tests.streams import StreamSink, pauses, start
from golden.tables.layouts import LANES
from hdl.command import COMMAND_WORDS
from hdl.config import PRESETS
from hdl.control.host import REGISTERS, HostInterface
from hdl.control.warps import STALLS
from hdl.memory.beats import CAUSE_BITS
from sim.testbench.unit import unit_design

WARPS = 5
"""Not a power of two."""
CONFIG = replace(PRESETS["small"], warps=WARPS, queue_depth=4)
COUNT_FROM = (1 << 63) - 100
"""The counters start with this, so that a carry passes through all their bits."""
INPUTS = (
    *("busy", "cause", "executed", "progress", "busy_units", "read_beat", "write_beat"),
    *STALLS,
    *("shared_ready", "read_ready", "write_ready", *(f"commands_{warp}_ready" for warp in range(WARPS))),
)


async def host_of(dut: Any) -> tuple[HostPort, random.Random]:
    """The host port, with every input of the unit at rest and random waits."""
    rng = random.Random(cocotb.RANDOM_SEED)
    for name in INPUTS:
        getattr(dut, name).value = 0
    host = HostPort(dut)
    host.pause(rng, 0.2)
    await start(dut)
    return host, rng


def by_warp(values: list[int], bits: int) -> int:
    """A port with a field for each warp."""
    return sum(value << bits * warp for warp, value in enumerate(values))


@cocotb.test
async def every_warp_number(dut: Any) -> None:
    """Warps that exist can be selected; another number is refused and selects nothing."""
    host, rng = await host_of(dut)
    assert await host.get("UNITS") >> 16 & 0xFF == WARPS
    selected = 0
    for number in [*range(16), *rng.choices(range(16), k=16)]:
        answer = await host.write_word(REGISTERS["WARP"], number)
        assert (answer == AxiResp.OKAY) == (number < WARPS), number
        selected = number if number < WARPS else selected
        assert await host.get("WARP") == selected


@cocotb.test
async def reports_are_of_the_selected_warp(dut: Any) -> None:
    """Cause, index, progress and count of the warp that is selected; FAULTS and STATUS speak of all."""
    host, rng = await host_of(dut)
    for _ in range(20):
        causes = [rng.choice([0, rng.randrange(1, 12)]) for _ in range(WARPS)]
        counts = [rng.getrandbits(64) for _ in range(WARPS)]
        bursts = [rng.getrandbits(16) for _ in range(WARPS)]
        dut.cause.value = by_warp(causes, CAUSE_BITS)
        dut.executed.value = by_warp(counts, 64)
        dut.progress.value = by_warp(bursts, 16)
        assert await host.get("FAULTS") == by_warp([cause != 0 for cause in causes], 1)
        assert await host.get("STATUS") >> 1 & 1 == any(causes)
        for warp in rng.sample(range(WARPS), WARPS):
            await host.set("WARP", warp)
            assert await host.get("FAULT_CAUSE") == causes[warp]
            assert await host.get("FAULT_INDEX") == counts[warp] & 0xFFFF_FFFF
            assert await host.get("FAULT_PROGRESS") == bursts[warp]
            assert await host.counter("INSTRUCTIONS") == counts[warp]


@cocotb.test
async def commands_reach_their_warp(dut: Any) -> None:
    """Each queue holds its depth; what is for no warp that exists goes to warp 0; a full queue refuses."""
    host, rng = await host_of(dut)
    for _ in range(12):
        expected: list[list[int]] = [[] for _ in range(WARPS)]
        refused = 0
        for _ in range(4 * WARPS):
            words = [rng.getrandbits(32) for _ in range(COMMAND_WORDS)]
            warp = words[0] >> 28 if words[0] >> 28 < WARPS else 0
            await host.set("WARP", warp)
            assert await host.get("STATUS") >> 8 == CONFIG.queue_depth - len(expected[warp])
            answer = await host.push(words)
            assert (answer == AxiResp.OKAY) == (len(expected[warp]) < CONFIG.queue_depth)
            if answer == AxiResp.OKAY:
                expected[warp].append(sum(word << 32 * index for index, word in enumerate(words)))
            refused += answer != AxiResp.OKAY
        assert refused, "a queue must be full"
        assert await host.get("STATUS") & 1
        sinks = [StreamSink(dut, f"commands_{warp}", pauses(rng, 0.5)) for warp in range(WARPS)]
        for sink, commands in zip(sinks, expected, strict=True):
            assert await sink.take(len(commands)) == commands
        for sink in sinks:
            sink.stop()
            assert not sink.received
        assert not await host.get("STATUS") & 1


@cocotb.test
async def clear_is_of_the_selected_warp(dut: Any) -> None:
    """Clear tells one warp, once, and empties its queue alone."""
    host, rng = await host_of(dut)
    clears: list[int] = []

    async def watch() -> None:
        while True:
            await RisingEdge(dut.aclk)
            if dut.clear.value:
                clears.append(int(dut.clear.value))

    cocotb.start_soon(watch())
    for cleared in rng.sample(range(WARPS), WARPS):
        for warp in range(WARPS):
            await host.set("WARP", warp)
            if await host.get("STATUS") >> 8 == CONFIG.queue_depth:
                await host.push([warp << 28 | 7, 0, 0, 0, 0])
        await host.set("WARP", cleared)
        await host.set("CONTROL", 0)
        assert not clears
        await host.set("CONTROL", 1)
        assert clears == [1 << cleared]
        clears.clear()
        for warp in range(WARPS):
            await host.set("WARP", warp)
            assert await host.get("STATUS") >> 8 == CONFIG.queue_depth - (warp != cleared)
            assert getattr(dut, f"commands_{warp}_valid").value == (warp != cleared)


@cocotb.test
async def idle_when_all_are(dut: Any) -> None:
    """Idle when no warp works and none has a command queued, except behind its own fault."""
    host, rng = await host_of(dut)
    for enables in (1, 2, 3):
        await host.set("INTERRUPT_ENABLE", enables)
        for _ in range(12):
            queued = rng.getrandbits(WARPS) & rng.getrandbits(WARPS)
            busy = rng.getrandbits(WARPS) & rng.getrandbits(WARPS) & rng.getrandbits(WARPS)
            faults = rng.choice([0, queued, rng.getrandbits(WARPS)])
            dut.busy.value = dut.cause.value = 0
            for warp in range(WARPS):
                if queued >> warp & 1:
                    await host.push([warp << 28, 0, 0, 0, 0])
            dut.busy.value = busy
            dut.cause.value = by_warp([5 * (faults >> warp & 1) for warp in range(WARPS)], CAUSE_BITS)
            idle = not busy and not queued & ~faults
            assert await host.get("STATUS") & 3 == (not idle) | bool(faults) << 1, (busy, queued, faults)
            assert bool(dut.irq.value) == bool((enables & 1 and idle) or (enables & 2 and faults))
            for warp in range(WARPS):
                await host.set("WARP", warp)
                await host.set("CONTROL", 1)


@cocotb.test
async def window_of_the_selected_warp(dut: Any) -> None:
    """The window shows the registers of the selected warp, and no others."""
    host, rng = await host_of(dut)
    registers = RegisterPorts(dut, CONFIG)
    expected = registers.values.copy()
    for _ in range(30):
        warp = rng.randrange(WARPS)
        await host.set("WARP", warp)
        for register in (0, CONFIG.registers - 1, rng.randrange(CONFIG.registers)):
            lane, value = rng.randrange(LANES), rng.getrandbits(32)
            place = warp * CONFIG.registers + register
            assert await host.read_lane(register, lane) == (int(expected[place, lane]), AxiResp.OKAY)
            assert await host.write_lane(register, lane, value) == AxiResp.OKAY
            expected[place, lane] = value
            assert await host.read_lane(register, lane) == (value, AxiResp.OKAY)
        assert (await host.read_lane(CONFIG.registers, 0))[1] == AxiResp.SLVERR
    assert (registers.values == expected).all()


@cocotb.test
async def stalls_of_all_warps_count(dut: Any) -> None:
    """A cycle adds as many stalls as warps stall, to the others one; carries pass through all bits."""
    host, rng = await host_of(dut)
    single = {"CYCLES": "busy", "READ_BEATS": "read_beat", "WRITE_BEATS": "write_beat"}
    ports = {
        **{name.upper(): name for name in STALLS if name != "queue_empty"},
        "QUEUE_EMPTY_CYCLES": "queue_empty",
        **single,
    }
    expected = dict.fromkeys(ports, COUNT_FROM)
    for cycle in range(300):
        for name, port in ports.items():
            width = len(getattr(dut, port))
            bits = rng.getrandbits(width) & rng.getrandbits(width) if cycle % 100 < 50 else (1 << width) - 1
            getattr(dut, port).value = bits
            expected[name] += bits != 0 if name in single else bits.bit_count()
        most = CONFIG.dot_product_units
        dut.busy_units.value = units = rng.randint(0, most) if cycle % 100 < 50 else most
        expected["DOT_PRODUCT_CYCLES"] = expected.get("DOT_PRODUCT_CYCLES", COUNT_FROM) + units
        await RisingEdge(dut.aclk)
    for port in (*ports.values(), "busy_units"):
        getattr(dut, port).value = 0
    for name, count in expected.items():
        assert await host.counter(name) == count, name


def test_host_warps(simulate: Simulate) -> None:
    simulate(unit_design("host-warps", HostInterface(CONFIG, count_from=COUNT_FROM)), __name__)
