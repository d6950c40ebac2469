"""The host interface: cocotbext-axi's AXI4-Lite master in front, the core's signals behind."""

import random
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiResp

from cocotb_tests.conftest import Simulate
from cocotb_tests.host_port import HostPort
from cocotb_tests.register_model import RegisterModel
from cocotb_tests.runner import parameters
from cocotb_tests.streams import StreamSink, start
from cocotb_tests.unit import unit_design
from golden.layouts import LANES
from hdl.command import COMMAND_WORDS
from hdl.config import PRESETS
from hdl.control.host import IDENTITY, REGISTERS, VERSION, WINDOW, HostInterface
from hdl.dot_product.interface import Multiplicand

INPUTS = ("busy", "cause", "executed", "progress", "read_beat", "write_beat", "busy_units")
COUNTERS = ("INSTRUCTIONS", "CYCLES", "DOT_PRODUCT_CYCLES", "READ_BEATS", "WRITE_BEATS")


async def host_of(dut: Any, pause: float = 0.2) -> tuple[HostPort, random.Random]:
    """The host port, with every input of the unit at rest and random waits."""
    rng = random.Random(cocotb.RANDOM_SEED)
    for name in INPUTS:
        getattr(dut, name).value = 0
    dut.commands_ready.value = 0
    host = HostPort(dut)
    host.pause(rng, pause)
    await start(dut)
    return host, rng


@cocotb.test
async def constants(dut: Any) -> None:
    """What never changes."""
    host, _ = await host_of(dut)
    config = PRESETS[parameters()["preset"]]
    assert await host.get("IDENTITY") == IDENTITY == int.from_bytes(b"OWMM", "big")
    assert await host.get("VERSION") == VERSION
    formats = await host.get("FORMATS")
    assert {
        item.name.lower() for item in Multiplicand if formats >> item.value & 1
    } == config.dot_product.formats
    sizes = await host.get("CONFIGURATION")
    assert sizes & 0xFFFF == config.registers
    assert sizes >> 16 & 0xFF == config.dot_product_units
    assert sizes >> 24 == config.queue_depth - 1
    assert await host.get("CONTROL") == 0
    assert await host.get("STATUS") == config.queue_depth << 8


@cocotb.test
async def every_address(dut: Any) -> None:
    """Addresses without a register, misaligned ones and partial writes are refused and change nothing."""
    host, rng = await host_of(dut, 0)
    registers = RegisterModel(dut, PRESETS[parameters()["preset"]].registers)
    readable = {address for name, address in REGISTERS.items() if name != "COMMAND"}
    readable |= {REGISTERS[name] + 4 for name in COUNTERS}
    writable = {REGISTERS[name] for name in ("CONTROL", "INTERRUPT_ENABLE")}
    writable |= {REGISTERS["COMMAND"] + 4 * index for index in range(COMMAND_WORDS)}
    for address in [*range(0, 0x100, 4), *(4 * rng.randrange(0x40, 0x2000) for _ in range(40))]:
        _, response = await host.read_word(address)
        assert (response == AxiResp.OKAY) == (address in readable), f"read {address:#x}"
        assert response in (AxiResp.OKAY, AxiResp.SLVERR)
        if address == REGISTERS["COMMAND"]:
            continue
        response = await host.write_word(address, 0)
        assert (response == AxiResp.OKAY) == (address in writable), f"write {address:#x}"
    for address in sorted(writable | {WINDOW, WINDOW + 4}):
        for offset, count in ((0, 1), (0, 2), (1, 3), (3, 1)):
            answer = await host.master.write(address + offset, b"\xff" * count)
            assert answer.resp == AxiResp.SLVERR, f"{count} bytes at {address + offset:#x}"
    assert await host.get("INTERRUPT_ENABLE") == 0
    assert await host.get("STATUS") & 1 == 0
    assert registers.writes == 0


@cocotb.test
async def commands_pass_in_order(dut: Any) -> None:
    """The queue holds its depth and no more, and gives commands back in order, whole."""
    host, rng = await host_of(dut)
    depth = PRESETS[parameters()["preset"]].queue_depth
    for _ in range(3):
        pushed = []
        for place in range(depth):
            assert await host.get("STATUS") >> 8 == depth - place
            words = [rng.getrandbits(32) for _ in range(COMMAND_WORDS)]
            assert await host.push(words) == AxiResp.OKAY
            pushed.append(sum(word << 32 * index for index, word in enumerate(words)))
        assert await host.push([rng.getrandbits(32) for _ in range(COMMAND_WORDS)]) == AxiResp.SLVERR
        status = await host.get("STATUS")
        assert status >> 8 == 0
        assert status & 1
        sink = StreamSink(dut, "commands")
        assert await sink.take(depth) == pushed
        for _ in range(5):
            await RisingEdge(dut.aclk)
        assert not sink.received
        assert await host.get("STATUS") == depth << 8
        sink.stop()


@cocotb.test
async def words_stay(dut: Any) -> None:
    """Words 1 to 4 keep their values, so that a command may differ from the last one in word 0 alone."""
    host, rng = await host_of(dut)
    sink = StreamSink(dut, "commands")
    words = [rng.getrandbits(32) for _ in range(COMMAND_WORDS)]
    await host.push(words)
    words[0] ^= 0x1234
    await host.set("COMMAND", words[0])
    words[3] ^= 0xFFFF
    await host.write_word(REGISTERS["COMMAND"] + 12, words[3])
    await host.set("COMMAND", words[0])
    expected = sum(word << 32 * index for index, word in enumerate(words))
    taken = await sink.take(3)
    assert taken[2] == expected
    assert taken[1] == expected ^ 0xFFFF << 96
    assert taken[0] == taken[1] ^ 0x1234


@cocotb.test
async def faults_and_clear(dut: Any) -> None:
    """A fault shows with index and progress and holds the queue; clear drops what is queued, once."""
    host, rng = await host_of(dut)
    depth = PRESETS[parameters()["preset"]].queue_depth
    clears = 0

    async def count_clears() -> None:
        nonlocal clears
        while True:
            await RisingEdge(dut.aclk)
            clears += bool(dut.clear.value)
            if dut.clear.value:
                dut.cause.value = 0

    counting = cocotb.start_soon(count_clears())
    for round_number in range(1, 6):
        await host.push([rng.getrandbits(32) for _ in range(COMMAND_WORDS)])
        cause, index, progress = rng.randrange(1, 11), rng.getrandbits(32), rng.getrandbits(16)
        dut.cause.value, dut.executed.value, dut.progress.value = cause, index, progress
        await RisingEdge(dut.aclk)
        await RisingEdge(dut.aclk)
        assert not dut.commands_valid.value, "a command during a fault"
        await host.push([rng.getrandbits(32) for _ in range(COMMAND_WORDS)])
        status = await host.get("STATUS")
        assert status >> 1 & 1
        assert status >> 8 == depth - 2
        assert await host.get("FAULT_CAUSE") == cause
        assert await host.get("FAULT_INDEX") == index
        assert await host.get("FAULT_PROGRESS") == progress
        await host.set("CONTROL", 0)
        assert clears == round_number - 1
        await host.set("CONTROL", 1)
        assert clears == round_number
        assert await host.get("STATUS") == depth << 8
        assert not dut.commands_valid.value
    counting.cancel()


@cocotb.test
async def interrupt(dut: Any) -> None:
    """Raised while idle, while at fault, or not at all, as enabled."""
    host, _ = await host_of(dut)
    for enables in range(4):
        await host.set("INTERRUPT_ENABLE", enables)
        assert await host.get("INTERRUPT_ENABLE") == enables
        for busy in (0, 1):
            for cause in (0, 5):
                dut.busy.value, dut.cause.value = busy, cause
                await RisingEdge(dut.aclk)
                await RisingEdge(dut.aclk)
                expected = bool(enables & 1 and not busy) or bool(enables & 2 and cause)
                assert bool(dut.irq.value) == expected, (enables, busy, cause)
    dut.busy.value, dut.cause.value = 0, 0


@cocotb.test
async def counters(dut: Any) -> None:
    """Exact counts of what happened in each cycle; a low word read latches its high word."""
    host, rng = await host_of(dut)
    await host.set("CONTROL", 1)
    units = PRESETS[parameters()["preset"]].dot_product_units
    before = {name: await host.counter(name) for name in COUNTERS[1:]}
    expected = dict.fromkeys(COUNTERS[1:], 0)
    for _ in range(500):
        drive = {
            "CYCLES": rng.getrandbits(1),
            "DOT_PRODUCT_CYCLES": rng.randrange(units + 1),
            "READ_BEATS": rng.getrandbits(1),
            "WRITE_BEATS": rng.getrandbits(1),
        }
        dut.busy.value = drive["CYCLES"]
        dut.busy_units.value = drive["DOT_PRODUCT_CYCLES"]
        dut.read_beat.value = drive["READ_BEATS"]
        dut.write_beat.value = drive["WRITE_BEATS"]
        for name, count in drive.items():
            expected[name] += count
        await RisingEdge(dut.aclk)
    for name in ("busy", "busy_units", "read_beat", "write_beat"):
        getattr(dut, name).value = 0
    for name, count in expected.items():
        assert await host.counter(name) - before[name] == count, name
    dut.executed.value = 0x1234_5678_9ABC_DEF0
    await RisingEdge(dut.aclk)
    assert await host.get("INSTRUCTIONS") == 0x9ABC_DEF0
    dut.executed.value = 0xFFFF_FFFF_0000_0000
    high, _ = await host.read_word(REGISTERS["INSTRUCTIONS"] + 4)
    assert high == 0x1234_5678, "the high word is the one of the low word read before it"
    assert await host.counter("INSTRUCTIONS") == 0xFFFF_FFFF_0000_0000


@cocotb.test
async def window(dut: Any) -> None:
    """Each lane of each register in its place while idle; refused while busy and beyond the last register."""
    host, rng = await host_of(dut, 0.1)
    count = PRESETS[parameters()["preset"]].registers
    registers = RegisterModel(dut, count)
    registers.values[:] = np.random.default_rng(cocotb.RANDOM_SEED).integers(
        0, 1 << 32, (count, LANES), dtype=np.uint32
    )
    expected = registers.values.copy()
    places = [(0, 0), (0, 31), (count - 1, 0), (count - 1, 31)]
    places += [(rng.randrange(count), rng.randrange(LANES)) for _ in range(100)]
    places += [(register, 7) for register in range(count)] + [(5, lane) for lane in range(LANES)]
    for register, lane in places:
        if rng.random() < 0.5:
            value = rng.getrandbits(32)
            assert await host.write_lane(register, lane, value) == AxiResp.OKAY
            expected[register, lane] = value
        assert await host.read_lane(register, lane) == (int(expected[register, lane]), AxiResp.OKAY)
    assert np.array_equal(registers.values, expected)

    if count < 256:
        for register in (count, 2 * count - 1, 255):
            assert (await host.read_lane(register, 0))[1] == AxiResp.SLVERR
            assert await host.write_lane(register, 0, 1) == AxiResp.SLVERR
    dut.busy.value = 1
    await RisingEdge(dut.aclk)
    assert (await host.read_lane(1, 1))[1] == AxiResp.SLVERR
    assert await host.write_lane(1, 1, 1) == AxiResp.SLVERR
    dut.busy.value = 0
    await host.push([0] * COMMAND_WORDS)
    assert (await host.read_lane(1, 1))[1] == AxiResp.SLVERR, "a queued command is about to run"
    assert await host.write_lane(1, 1, 1) == AxiResp.SLVERR
    await host.set("CONTROL", 1)
    assert np.array_equal(registers.values, expected)
    assert await host.read_lane(1, 1) == (int(expected[1, 1]), AxiResp.OKAY)


@pytest.mark.parametrize("preset", ["tiny", "standard"])
def test_host(simulate: Simulate, preset: str) -> None:
    design = unit_design(f"host-{preset}", HostInterface(PRESETS[preset]))
    simulate(design, __name__, values={"preset": preset})
