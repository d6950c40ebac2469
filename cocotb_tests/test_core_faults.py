"""The whole core: commands that are refused, and memories that refuse."""

from typing import Any

import cocotb
import numpy as np
from cocotbext.axi import AxiResp

from cocotb_tests.conftest import Simulate
from cocotb_tests.core_bench import BASE, SIZE, SQUARE, CoreBench, start_bench
from cocotb_tests.core_commands import multiply_of, random_load, random_load_to, random_stride
from cocotb_tests.core_design import core_design
from golden.lines import gather_lines
from golden.tables.commands import Command, Fill, Load, Mma, Move, Store
from golden.tables.faults import Cause
from golden.tables.instruction_set import LAYOUTS
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction


@cocotb.test
async def refused_commands(dut: Any) -> None:
    """Each way to be refused: cause and index right, nothing changed, the queue dropped, the core usable."""
    made = await start_bench(dut)
    registers = made.config.registers
    load = LoadInstruction(use="a", layout="row", shape=SQUARE, type="f16")
    store = StoreInstruction(layout="row", shape=SQUARE, type="f32")
    shared = LoadInstruction(use="a", layout="row", shape=SQUARE, type="f16", space="shared")
    multiply = multiply_of(SQUARE, "f32", "f32")
    end = 1 << made.config.address_bits
    bad: list[tuple[Command, Cause]] = [
        (Load(load, 0, BASE + 2), Cause.MISALIGNED_ADDRESS),
        (Store(store, 0, BASE + 4), Cause.MISALIGNED_ADDRESS),
        (Load(load, 0, BASE, 15), Cause.MISALIGNED_STRIDE),
        (Store(store, 0, BASE, 19), Cause.MISALIGNED_STRIDE),
        (Load(load, registers - 7, BASE), Cause.REGISTER_RANGE),
        (Store(store, registers - 7, BASE), Cause.REGISTER_RANGE),
        (Mma(multiply, registers - 7, 0, 8, 16), Cause.REGISTER_RANGE),
        (Mma(multiply, 0, registers - 7, 8, 16), Cause.REGISTER_RANGE),
        (Mma(multiply, 0, 8, registers - 7, 16), Cause.REGISTER_RANGE),
        (Mma(multiply, 0, 8, 16, registers - 7), Cause.REGISTER_RANGE),
        (Fill(registers - 1, 2, 0), Cause.REGISTER_RANGE),
        (Move(0, registers - 1, 2), Cause.REGISTER_RANGE),
        (Move(registers - 1, 0, 2), Cause.REGISTER_RANGE),
        (Load(load, 0, end - 256), Cause.ADDRESS_RANGE),
        (Load(load, 0, end), Cause.ADDRESS_RANGE),
        (Store(store, 0, BASE, 0xFFFF_FFF8), Cause.ADDRESS_RANGE),
        (Load(load, registers - 1, BASE + 1, 3), Cause.REGISTER_RANGE),
        (Load(load, 0, BASE + 1, 3), Cause.MISALIGNED_ADDRESS),
    ]
    if not made.config.shared_bytes:
        bad.append((Load(shared, 0, BASE), Cause.ILLEGAL_INSTRUCTION))
    made.checker.read_bursts.clear()
    made.checker.write_bursts.clear()
    for command, cause in bad:
        before = [Fill(1, 1, made.rng.getrandbits(32)) for _ in range(made.rng.randrange(3))]
        after = Fill(0, 8, 0xDEAD_BEEF)
        fault = await made.run(*before, command, after)
        assert fault is not None
        assert fault.cause == cause, command
        await made.cycles(made.rng.randrange(30))
        assert await made.host.get("STATUS") == made.config.queue_depth << 8, "the queue is to be empty"
    assert not made.checker.read_bursts
    assert not made.checker.write_bursts
    await made.compare()


@cocotb.test
async def unknown_words(dut: Any) -> None:
    """Words that are no command stop the core."""
    made = await start_bench(dut)
    illegal, warp = Cause.ILLEGAL_INSTRUCTION, Cause.WARP_RANGE
    for words, cause in (
        ([0] * 5, illegal),
        ([6, 0, 0, 0, 0], illegal),
        ([7, 1, 2, 3, 4], illegal),
        ([0x0FFF_FFFF] * 5, illegal),
        ([0x0FFF_FFF9, 0, BASE, 0, 0], illegal),
        ([0xFFFF_FFFF] * 5, warp),
        ([0x1000_0004, 0, 0, 0, 0], warp),
    ):
        await made.push(words)
        assert await made.wait() == cause
        assert await made.host.get("FAULT_INDEX") == made.index_of(made.golden.counters.instructions)
        await made.clear()
        assert await made.run(Fill(3, 1, made.rng.getrandbits(32))) is None
    await made.compare()


@cocotb.test
async def bus_errors(dut: Any) -> None:
    """SLVERR and DECERR of one beat, wherever it is: loads change nothing, stores write the other beats."""
    made = await start_bench(dut)
    for use, name in (("a", "f16"), ("c", "f32"), ("d", "f16"), ("d", "f32")):
        for response in (AxiResp.SLVERR, AxiResp.DECERR):
            for where in range(3):
                await one_bus_error(made, use, name, response, where)
                assert await made.run(Fill(2, 3, made.rng.getrandbits(32)), random_load(made)) is None
        await made.compare()


async def one_bus_error(made: CoreBench, use: Any, name: str, response: AxiResp, where: int) -> None:
    """Refuse the first, the last or another beat of an access."""
    layout = made.rng.choice(LAYOUTS)
    stride = random_stride(made.rng, use, layout, SQUARE, name, overlapping=True)
    address = BASE + 32 * made.rng.randrange(0x3000 // 32)
    is_store = use == "d"
    register = made.rng.randrange(made.config.registers - 7)
    command: Load | Store
    if is_store:
        instruction = StoreInstruction(layout=layout, shape=SQUARE, type=name)
        command = Store(instruction, register, address, stride)
    else:
        command = Load(
            LoadInstruction(use=use, layout=layout, shape=SQUARE, type=name), register, address, stride
        )
    lines = gather_lines(command.instruction, address, stride)
    beats = [beat for line, count in lines for beat in range(line // 16 * 16, line + count, 16)]
    bad = beats[(0, -1, made.rng.randrange(len(beats)))[where]]
    made.bus.faults = {bad: response}
    slave = response == AxiResp.SLVERR
    if is_store:
        kept = made.bus.memory.data[bad - BASE : bad - BASE + 16].copy()
        await made.fail(command, Cause.WRITE_SLAVE_ERROR if slave else Cause.WRITE_DECODE_ERROR)
        refused = [
            at
            for at, (first, count) in enumerate(_last_bursts(made, len(beats)))
            if 0 <= bad - first < 16 * count
        ]
        assert await made.host.get("FAULT_PROGRESS") == refused[0]
        made.golden.memory.data[:] = made.memory_after(command)
        made.golden.memory.data[bad - BASE : bad - BASE + 16] = kept
    else:
        await made.fail(command, Cause.READ_SLAVE_ERROR if slave else Cause.READ_DECODE_ERROR)
    made.compare_memory(command)
    made.bus.faults = {}


def _last_bursts(made: CoreBench, beats: int) -> list[tuple[int, int]]:
    """The bursts of the last store, which has so many beats."""
    bursts: list[tuple[int, int]] = []
    for burst in reversed(made.checker.write_bursts):
        if sum(count for _, count in bursts) == beats:
            break
        bursts.insert(0, burst)
    return bursts


@cocotb.test
async def errors_among_others(dut: Any) -> None:
    """A load or store that a memory refuses while other commands run beside it.

    What came before has ended, what needs its registers has not begun, the rest is all or nothing.
    """
    made = await start_bench(dut)
    started = 0
    for round_number in range(40):
        made.pause(made.rng.choice([0, 0, 0.3]))
        is_store = round_number % 2 == 1
        address = BASE + 0x2800 + 32 * made.rng.randrange(0x800 // 32)
        before = [Fill(0, 8, made.rng.getrandbits(32)), random_load_to(made, 8)]
        bad: Command = (
            Store(StoreInstruction(layout="row", shape=SQUARE, type="f32"), 8, address)
            if is_store
            else Load(LoadInstruction(use="c", layout="row", shape=SQUARE, type="f32"), 16, address)
        )
        dependent = Move(24, 16, 1)
        free = Fill(25, 1, made.rng.getrandbits(32))
        for command in before:
            made.golden.execute(command)
        index = made.golden.counters.instructions
        made.bus.faults = {address + 16 * made.rng.randrange(64): AxiResp.SLVERR}
        stored = made.memory_after(bad) if is_store else None
        for command in (*before, bad, free, *(() if is_store else (dependent,))):
            await made.push(command)
        assert await made.wait() == (Cause.WRITE_SLAVE_ERROR if is_store else Cause.READ_SLAVE_ERROR)
        assert await made.host.get("FAULT_INDEX") == made.index_of(index)
        await made.clear()
        if stored is not None:
            (kept,) = made.bus.faults
            stored[kept - BASE : kept - BASE + 16] = made.golden.memory.data[kept - BASE : kept - BASE + 16]
            made.golden.memory.data[:] = stored
            made.compare_memory(bad)
        made.bus.faults = {}
        value, _ = await made.host.read_lane(25, 0)
        if value == free.value:
            started += 1
            made.golden.write_registers(25, np.full((1, LANES), free.value, dtype=np.uint32))
        await made.compare()
    assert started, "some of the commands behind are to have been started"


@cocotb.test
async def memory_ends(dut: Any) -> None:
    """Accesses across either end of memory, against the golden machine's idea of what exists."""
    made = await start_bench(dut)
    for use, name in (("a", "f16"), ("b", "f16"), ("c", "f32"), ("d", "f16"), ("d", "f32")):
        for address in (BASE - 256, BASE + SIZE - 256, BASE + SIZE - 32, 0):
            layout = made.rng.choice(LAYOUTS)
            stride = random_stride(made.rng, use, layout, SQUARE, name)
            if use == "d":
                command: Command = Store(
                    StoreInstruction(layout=layout, shape=SQUARE, type=name), 5, address, stride
                )
                expected = Cause.WRITE_DECODE_ERROR
            else:
                command = Load(
                    LoadInstruction(use=use, layout=layout, shape=SQUARE, type=name), 5, address, stride
                )
                expected = Cause.READ_DECODE_ERROR
            fault = await made.run(command, Fill(0, 8, 1))
            assert fault is not None
            assert fault.cause == expected
            made.compare_memory(command)
    await made.compare()


def test_core_faults(simulate: Simulate) -> None:
    simulate(core_design("tiny"), __name__, values={"preset": "tiny"})
