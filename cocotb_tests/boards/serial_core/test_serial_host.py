"""The host interface of a serial core: the register map of every core, and the window onto the registers."""

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from boards.serial_core.host import COUNTED
from cocotb_tests.boards.serial_core.serial_bench import BASE, CONFIG, PortLink, serial_design
from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import start
from golden.tables.commands import Command, Fill, Load, Mma, Move, Store
from golden.tables.faults import Cause
from golden.tables.instruction_set import Layout, Shape, Use
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.command import COMMAND_WORDS, encode
from hdl.control.host import IDENTITY, REGISTERS, SHARED_WINDOW, VERSION, WINDOW
from hdl.control.host.register_map import COUNTERS

CORE = CONFIG.core
DEPTH = CORE.queue_depth
BUSY, FAULT = 1, 2
SQUARE = Shape(16, 16, 16)
ILLEGAL = (0, 0, 0, 0, 0)
MMA = Mma(
    MmaInstruction(
        shape=SQUARE,
        a_layout="row",
        b_layout="col",
        a_type="s8",
        b_type="s8",
        c_type="s32",
        d_type="s32",
    ),
    d=24,
    a=0,
    b=2,
    c=4,
)
"""Long enough to be found at work."""
LOADS: list[tuple[str, Layout, int]] = [("s8", "row", 2 * 64 + 16 + 10), ("u8", "col", 2 * 256 + 16 + 10)]
"""Of A, and the cycles of each: two for a word or byte, and one for each line."""


def load_of(use: Use, name: str, layout: Layout) -> LoadInstruction:
    return LoadInstruction(use=use, layout=layout, shape=SQUARE, type=name)


class Host:
    """Accesses by name."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.link = PortLink(dut)

    async def read(self, address: int) -> int | None:
        """A word, or None if refused."""
        values, done = await self.link.read_host_words(address, 1)
        return int(values[0]) if done else None

    async def write(self, address: int, value: int, strobes: int = 0b1111) -> bool:
        """Whether a word was accepted."""
        return await self.link.write_host_word(address, value, strobes)

    async def get(self, name: str) -> int:
        """A register, which must exist."""
        value = await self.read(REGISTERS[name])
        assert value is not None, name
        return value

    async def set(self, name: str, value: int) -> None:
        """Write a register, which must accept it."""
        assert await self.write(REGISTERS[name], value), name

    async def push(self, command: Command | tuple[int, ...]) -> bool:
        """Queue a command; whether its last word was accepted."""
        words = command if isinstance(command, tuple) else encode(command)
        for index in range(COMMAND_WORDS - 1, 0, -1):
            assert await self.write(REGISTERS["COMMAND"] + 4 * index, words[index])
        return await self.write(REGISTERS["COMMAND"], words[0])

    async def wait(self) -> int:
        """The status when the core is idle."""
        for _ in range(1000):
            status = await self.get("STATUS")
            if not status & BUSY:
                return status
        raise AssertionError("the core never came to rest")

    async def counter(self, name: str) -> int:
        """A 64-bit counter."""
        low = await self.get(name)
        high = await self.read(REGISTERS[name] + 4)
        assert high is not None
        return high << 32 | low


async def host_of(dut: Any) -> Host:
    host = Host(dut)
    await start(dut)
    return host


@cocotb.test
async def constants(dut: Any) -> None:
    """What the core says of itself, and that it begins with an empty queue and nothing counted."""
    host = await host_of(dut)
    assert (await host.get("IDENTITY"), await host.get("VERSION")) == (IDENTITY, VERSION)
    assert await host.get("FORMATS") == 0b111000, "i8, i4 and b1"
    assert await host.get("CONFIGURATION") == CORE.registers | 1 << 16 | (DEPTH - 1) << 24
    assert await host.get("UNITS") == 1 << 16 | 1 << 8
    assert await host.get("MEMORY") == CORE.address_bits | 4 << 8 | 1 << 16
    assert await host.get("STATUS") == DEPTH << 8
    for name in ("SHARED_SIZE", "SHARED_BASE", "SHARED_BASE_HIGH", "CONTROL", "INTERRUPT_ENABLE"):
        assert await host.get(name) == 0, name
    assert await host.get("MODE") == 1
    for name in COUNTERS:
        assert await host.counter(name) == 0, name


@cocotb.test
async def every_address(dut: Any) -> None:
    """Addresses without a register, misaligned ones and partial writes are refused."""
    host = await host_of(dut)
    readable = {address for name, address in REGISTERS.items() if name != "COMMAND"}
    readable |= {REGISTERS[name] + 4 for name in COUNTERS}
    writable = {REGISTERS[name] for name in ("CONTROL", "INTERRUPT_ENABLE", "WARP")}
    writable |= {REGISTERS["COMMAND"] + 4 * index for index in range(1, COMMAND_WORDS)}
    end = WINDOW + 4 * LANES * CORE.registers
    window = {WINDOW, end - 4}
    addresses = [*range(0, 0x200, 4), WINDOW - 4, WINDOW, end - 4, end, 2 * WINDOW, 3 * WINDOW]
    addresses += [SHARED_WINDOW, SHARED_WINDOW + WINDOW, SHARED_WINDOW + REGISTERS["STATUS"]]
    for address in addresses:
        found = await host.read(address)
        assert (found is not None) == (address in readable | window), hex(address)
        if address != REGISTERS["COMMAND"]:
            assert await host.write(address, 0) == (address in writable | window), hex(address)
    for address in writable | window | {REGISTERS["COMMAND"], REGISTERS["MODE"]}:
        for strobes in (0, 1, 0b0111, 0b1110):
            assert not await host.write(address, 0xFFFF_FFFF, strobes)
        for odd in (1, 2, 3):
            assert not await host.write(address + odd, 0xFFFF_FFFF)
    for address in (REGISTERS["STATUS"] + 1, WINDOW + 2):
        assert await host.read(address) is None
    assert await host.get("STATUS") == DEPTH << 8
    assert await host.get("INTERRUPT_ENABLE") == 0


@cocotb.test
async def window(dut: Any) -> None:
    """Every lane of every register; while a command is at work the window is closed."""
    host = await host_of(dut)
    values = {}
    for register in range(CORE.registers):
        for lane in range(LANES):
            address = WINDOW + 128 * register + 4 * lane
            values[address] = host.rng.getrandbits(32)
            assert await host.write(address, values[address])
    for address in host.rng.sample(sorted(values), len(values)):
        assert await host.read(address) == values[address], hex(address)
    assert await host.push(MMA)
    assert await host.get("STATUS") & BUSY
    closed = WINDOW + 4
    assert await host.read(closed) is None
    assert not await host.write(closed, 0)
    assert not await host.write(REGISTERS["MODE"], 1)
    await host.wait()
    assert await host.read(closed) == values[closed]


@cocotb.test
async def one_warp(dut: Any) -> None:
    """Warp 0 alone can be selected."""
    host = await host_of(dut)
    for warp in range(16):
        assert await host.write(REGISTERS["WARP"], warp) is (warp == 0)
        assert await host.get("WARP") == 0


@cocotb.test
async def always_serial(dut: Any) -> None:
    """MODE.serial reads 1: writing 1 is accepted, writing 0 refused, and at work every write is refused."""
    host = await host_of(dut)
    reserved = 0xFFFF_FFFE
    for _ in range(2):
        for value, accepted in ((0, False), (reserved, False), (1, True), (reserved | 1, True), (0, False)):
            assert await host.write(REGISTERS["MODE"], value) is accepted, hex(value)
            assert await host.get("MODE") == 1
        assert await host.push(MMA)
        assert not await host.write(REGISTERS["MODE"], 1)
        assert await host.get("MODE") == 1
        await host.wait()


@cocotb.test
async def queue(dut: Any) -> None:
    """It holds its depth beside the command at work; a further one is refused, all others are executed."""
    host = await host_of(dut)
    for _ in range(3):
        executed = await host.counter("INSTRUCTIONS")
        assert await host.push(MMA)
        for place in range(DEPTH):
            assert await host.get("STATUS") == BUSY | DEPTH - place << 8
            assert await host.push(Fill(place, 1, 0x100 + place))
        assert await host.get("STATUS") == BUSY
        assert not await host.push(Fill(0, 32, 0xDEAD))
        assert await host.wait() == DEPTH << 8
        assert await host.counter("INSTRUCTIONS") == executed + 1 + DEPTH
        for place in range(DEPTH):
            assert await host.read(WINDOW + 128 * place) == 0x100 + place


@cocotb.test
async def dropped(dut: Any) -> None:
    """CONTROL drops what is queued; the command at work goes on, also when it has just been taken."""
    host = await host_of(dut)
    for delay in range(12):
        executed = await host.counter("INSTRUCTIONS")
        assert await host.write(WINDOW + 128 * 7, 0x777)
        assert await host.write(WINDOW + 128 * 8, 0x888)
        assert await host.push(Fill(7, 1, 1))
        for _ in range(delay):
            await RisingEdge(dut.aclk)
        await host.set("CONTROL", 1)
        await host.wait()
        assert await host.counter("INSTRUCTIONS") == executed + 1
        assert await host.read(WINDOW + 128 * 7) == 1
        assert await host.push(MMA)
        assert await host.push(Fill(8, 1, 2))
        await host.set("CONTROL", 0)
        assert (await host.get("STATUS")) >> 8 == DEPTH - 1, "writing 0 drops nothing"
        await host.set("CONTROL", 1)
        assert await host.wait() == DEPTH << 8
        assert await host.counter("INSTRUCTIONS") == executed + 2
        assert await host.read(WINDOW + 128 * 8) == 0x888
        assert await host.push(Fill(8, 1, 3))
        await host.wait()
        assert await host.read(WINDOW + 128 * 8) == 3


@cocotb.test
async def faults_and_interrupts(dut: Any) -> None:
    """A fault stops the core until it is cleared; the interrupt comes as it is enabled."""
    host = await host_of(dut)
    assert not dut.irq.value
    await host.set("INTERRUPT_ENABLE", 2)
    assert not dut.irq.value
    assert await host.push(Fill(1, 1, 5))
    assert await host.push(ILLEGAL)
    assert await host.push(Fill(1, 1, 6))
    status = await host.wait()
    assert status & FAULT
    assert dut.irq.value
    assert await host.get("FAULT_CAUSE") == Cause.ILLEGAL_INSTRUCTION
    assert await host.get("FAULT_INDEX") == await host.counter("INSTRUCTIONS")
    assert await host.get("FAULTS") == 1
    assert await host.read(WINDOW + 128) == 5
    assert await host.push(Fill(2, 1, 7)), "there is room"
    assert await host.get("FAULT_CAUSE") == Cause.ILLEGAL_INSTRUCTION
    await host.set("CONTROL", 1)
    assert await host.get("STATUS") == DEPTH << 8
    assert await host.get("FAULT_CAUSE") == await host.get("FAULTS") == 0
    assert not dut.irq.value
    assert await host.read(WINDOW + 128) == 5
    await host.set("INTERRUPT_ENABLE", 1)
    assert dut.irq.value, "idle"
    assert await host.push(MMA)
    await host.get("STATUS")
    assert not dut.irq.value
    await host.wait()
    assert dut.irq.value


@cocotb.test
async def cycles(dut: Any) -> None:
    """CYCLES counts those of a command at work, as the documents say them; what is not counted reads 0."""
    host = await host_of(dut)
    commands: list[tuple[Command, int]] = [
        (Fill(0, 4, 1), 2 * 128 + 5),
        (Move(8, 0, 8), 2 * 256 + 5),
        (MMA, 13 * 256 + 2 * 256 + 5),
        *((Load(load_of("a", name, layout), 0, BASE), count) for name, layout, count in LOADS),
        (Load(load_of("c", "s32", "row"), 8, BASE), 2 * 256 + 16 + 10),
        (Store(StoreInstruction(layout="col", shape=SQUARE, type="s32"), 8, BASE), 2 * 256 + 16 + 10),
    ]
    for command, count in commands:
        before = await host.counter("CYCLES")
        assert await host.push(command)
        assert not await host.wait() & FAULT
        assert await host.counter("CYCLES") - before == count, command
    assert await host.counter("INSTRUCTIONS") == len(commands)
    for name in set(COUNTERS) - set(COUNTED):
        assert await host.counter(name) == 0, name


def test_serial_host(simulate: Simulate) -> None:
    simulate(serial_design(), __name__)
