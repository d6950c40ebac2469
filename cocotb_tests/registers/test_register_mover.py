"""Fill, move and transposition against the golden machine."""

import random
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.register_ports import RegisterPorts
from cocotb_tests.streams import StreamSource, pauses, start
from golden.memory import Memory
from golden.tables.commands import Fill, Move, MoveMatrix
from golden.tables.layouts import LANES
from golden.warp import GoldenMachine
from hdl.config import QUADS, CoreConfig
from hdl.registers.mover import MoveRequest, RegisterMover
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

FILES = {1: (32, 1), 4: (256, 8), 8: (256, 1)}
"""Registers and warps by the number of units: with one unit, a register takes eight words."""


def config_of(units: int) -> CoreConfig:
    registers, warps = FILES[units]
    return CoreConfig(registers=registers, warps=warps, dot_product_units=units)


def payload(command: Fill | Move | MoveMatrix) -> int:
    if isinstance(command, Fill):
        fields = {"destination": command.register, "count": command.count, "value": command.value}
    elif isinstance(command, MoveMatrix):
        ignored = {"count": 0x155, "value": 0xDEAD_BEEF}
        fields = {"transposes": 1, "destination": command.destination, "source": command.source, **ignored}
    else:
        fields = {
            "is_move": 1,
            "destination": command.destination,
            "source": command.source,
            "count": command.count,
        }
    return MoveRequest.const(fields).as_bits()


@cocotb.test
@cocotb.parametrize(share=[0.0, 0.4])
async def random_commands(dut: Any, share: float) -> None:
    """Ranges of every length, none and all registers among them; moves that overlap both ways; matrices."""
    config = config_of(parameters()["units"])
    size = config.registers
    rng = random.Random(cocotb.RANDOM_SEED)
    bits = np.random.default_rng(cocotb.RANDOM_SEED)
    total = config.all_registers
    golden = GoldenMachine(registers=total, memory=Memory(64), shared=Memory(64))
    waits = pauses(rng, share), pauses(rng, share)
    registers = RegisterPorts(dut, config, *waits, on_demand=share > 0)
    start_values = bits.integers(0, 1 << 32, (total, LANES), dtype=np.uint32)
    golden.write_registers(0, start_values)
    registers.values[:] = start_values
    await start(dut)
    source = StreamSource(dut, "request")
    commands: list[Fill | Move | MoveMatrix] = [
        *(
            Fill(0, 0, 1),
            Move(3, 3, 0),
            Move(5, 5, 4),
            Move(1, 0, size - 1),
            Move(0, 1, size - 1),
            Fill(total - 1, 1, 2**32 - 1),
        ),
        *(Move(0, 0, size), Fill(0, size, 3), Move(9, 8, 8), Move(8, 9, 8), MoveMatrix(7, 7)),
    ]
    for _ in range(200):
        count = rng.choice([0, 1, 2, rng.randrange(size + 1)])
        first, second = (rng.randrange(total - count + 1) for _ in range(2))
        if rng.random() < 0.3:
            second = min(total - count, first + rng.randrange(3))
        refill = bits.integers(0, 1 << 32, (2, LANES), dtype=np.uint32)
        place = rng.randrange(total - 1)
        new = Fill(first, count, rng.getrandbits(32)), Move(first, second, count)
        commands.append(rng.choice([*new, MoveMatrix(*(rng.randrange(total) for _ in range(2)))]))
        golden.write_registers(place, refill)
        registers.values[place : place + 2] = refill
        command = commands.pop(0)
        golden.execute(command)
        written = registers.writes
        source.put(payload(command))
        cycles = await until_done(dut)
        await RisingEdge(dut.aclk)
        assert np.array_equal(registers.values, golden.read_registers()), command
        if isinstance(command, Fill):
            lanes, writes = 4 * config.word_quads, QUADS // config.word_quads * command.count
            busy = writes
        elif isinstance(command, Move):
            lanes, writes = 4, QUADS * command.count * (command.source != command.destination)
            busy = 13 * writes // QUADS
        else:
            lanes, writes, busy = 1, LANES, 77
        assert registers.writes - written == writes
        assert {enables.bit_count() for _, enables in registers.written[written:]} <= {lanes}
        if share == 0:
            assert cycles == busy + 1, command


@cocotb.test
async def one_waits_for_another(dut: Any) -> None:
    """A request that is offered all the time is taken when the one before it has ended, and not sooner."""
    config = config_of(parameters()["units"])
    rng = random.Random(cocotb.RANDOM_SEED)
    bits = np.random.default_rng(cocotb.RANDOM_SEED)
    golden = GoldenMachine(registers=config.all_registers, memory=Memory(64), shared=Memory(64))
    registers = RegisterPorts(dut, config, pauses(rng, 0.2), pauses(rng, 0.2))
    start_values = bits.integers(0, 1 << 32, (config.all_registers, LANES), dtype=np.uint32)
    golden.write_registers(0, start_values)
    registers.values[:] = start_values
    await start(dut)
    commands = [
        rng.choice(
            [
                Fill(first, 3, rng.getrandbits(32)),
                Move(first, rng.randrange(8), 3),
                MoveMatrix(first, rng.randrange(8)),
            ]
        )
        for first in (rng.randrange(8) for _ in range(60))
    ]
    source = StreamSource(dut, "request")
    source.put(*map(payload, commands))
    for command in commands:
        await until_done(dut)
        golden.execute(command)
    await RisingEdge(dut.aclk)
    assert np.array_equal(registers.values, golden.read_registers())


@cocotb.test
async def words_of_the_host(dut: Any) -> None:
    """Words for registers that no command writes, offered at any time: each is written."""
    config = config_of(parameters()["units"])
    rng = random.Random(cocotb.RANDOM_SEED)
    golden = GoldenMachine(registers=config.all_registers, memory=Memory(64), shared=Memory(64))
    # A word of the host that waits is replaced by what the mover writes.
    registers = RegisterPorts(dut, config, pauses(rng, 0.2), pauses(rng, 0.2), holds=False)
    await start(dut)
    source = StreamSource(dut, "request")
    half = config.registers // 2
    for number in range(120):
        count, first = rng.randrange(3), rng.randrange(half - 3)
        command: Fill | Move | MoveMatrix = rng.choice(
            [Fill(first, count, rng.getrandbits(32)), Move(first, rng.randrange(half - 3), count)]
        )
        if number % 8 == 7:
            command = MoveMatrix(first, rng.randrange(half))
        source.put(payload(command))
        golden.execute(command)
        finished = cocotb.start_soon(until_done(dut))
        for _ in range(rng.randrange(6)):
            register, lane, value = (
                rng.randrange(half, config.registers),
                rng.randrange(LANES),
                rng.getrandbits(32),
            )
            await write_of_host(dut, config, register, lane, value)
            changed = golden.read_registers()[register]
            changed[lane] = value
            golden.write_registers(register, changed[np.newaxis])
        await finished
        await RisingEdge(dut.aclk)
        assert np.array_equal(registers.values, golden.read_registers()), command


async def write_of_host(dut: Any, config: CoreConfig, register: int, lane: int, value: int) -> None:
    """Hold a word until it is taken."""
    lanes = 4 * config.word_quads
    dut.host_address.value = register * (LANES // lanes) + lane // lanes
    dut.host_data.value = sum(value << 32 * each for each in range(lanes))
    dut.host_lanes.value = 1 << lane % lanes
    dut.host_enable.value = 1
    for _ in range(1000):
        await RisingEdge(dut.aclk)
        if dut.host_ready.value:
            break
    else:
        raise AssertionError("the word was never taken")
    dut.host_enable.value = 0
    await RisingEdge(dut.aclk)


async def until_done(dut: Any) -> int:
    """Cycles from the acceptance of a request to its end."""
    while not (dut.request_valid.value and dut.request_ready.value):
        await RisingEdge(dut.aclk)
    for cycle in range(1, 10_000):
        await RisingEdge(dut.aclk)
        if dut.done.value:
            return cycle
    raise AssertionError("no end")


@pytest.mark.parametrize("units", [1, 8, pytest.param(4, marks=SLOW)])
def test_register_mover(simulate: Simulate, units: int) -> None:
    design = unit_design(f"register_mover_{units}", RegisterMover(config_of(units)))
    simulate(design, __name__, values={"units": units})
