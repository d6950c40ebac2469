"""The whole board at its pins: the host's software runs tensor-core programs through the serial line."""

import random
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.task import bridge as in_thread
from cocotb.triggers import Event

from boards.gateware.board_config import BoardConfig
from boards.gateware.top import RESET_CYCLES, BoardTop
from boards.host.board_machine import BoardMachine
from boards.host.link import Link, LinkError
from cocotb_tests.boards.board_bench import TIMEOUT_BITS, BoardBench
from cocotb_tests.boards.board_models import plain_design
from cocotb_tests.boards.serial_line import CLOCK_PS, PinTransport, byte_errors
from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import reset
from golden.tables.commands import Command, Fill, Load, Mma, Move, Store
from golden.tables.faults import Cause, Fault
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.config import PAGE_BYTES, PRESETS

CORE = PRESETS["tiny"]
CONFIG = BoardConfig(
    core=CORE,
    memory_bytes=2 * PAGE_BYTES,
    clock_hz=40_000,
    baud=10_000,
    access_cycles=1000,
    gap_microseconds=10_000,
)
"""Four clocks of a bit, and lamps that go out within ten thousand."""

BASE, SIZE = CONFIG.memory_base, CONFIG.memory_bytes
SQUARE = Shape(16, 16, 16)
BLINK_CYCLES = CONFIG.clock_hz // 8


class Bench(BoardBench):
    """A board with a core that multiplies f16."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut, CONFIG)

    def fill_memory(self, machine: BoardMachine) -> None:
        """The same finite f16 numbers in both memories."""
        bits = np.random.default_rng(cocotb.RANDOM_SEED)
        values = bits.uniform(-4, 4, SIZE // 2).astype(np.float16).view(np.uint8)
        for memory in (machine.memory, self.golden.memory):
            memory.write(BASE, values)


def program() -> list[Command]:
    """D = A * B + C in f16 with f32 C and D, of layouts and strides of all kinds, and then D moved about."""
    a = LoadInstruction(use="a", layout="col", shape=SQUARE, type="f16")
    b = LoadInstruction(use="b", layout="row", shape=SQUARE, type="f16")
    c = LoadInstruction(use="c", layout="row", shape=SQUARE, type="f16")
    multiply = MmaInstruction(
        shape=SQUARE,
        a_layout="col",
        b_layout="row",
        a_type="f16",
        b_type="f16",
        c_type="f16",
        d_type="f32",
    )
    store = StoreInstruction(layout="col", shape=SQUARE, type="f32")
    return [
        Load(a, 0, BASE),
        Load(b, 8, BASE + 0x400, 32),
        Load(c, 16, BASE + 0x1000 - 0x40, 48),
        Mma(multiply, 24, 0, 8, 16),
        Store(store, 24, BASE + 0x1800, 24),
        Move(16, 24, 8),
        Fill(20, 1, 0x3C00_BC00),
        Store(store, 16, BASE + 0x1000 - 0x100),
    ]


@cocotb.test
async def power_on(dut: Any) -> None:
    """The first of the tests: a clock, and no reset but the board's own. Dark until then, and then alive."""
    bench = Bench(dut)
    dut.aresetn.value = 1
    Clock(dut.aclk, CLOCK_PS, "ps").start()
    await bench.cycles(RESET_CYCLES // 2)
    assert bench.lit() == set()
    assert dut.tx.value
    await bench.cycles(RESET_CYCLES)
    assert bench.lit() == {"alive"}
    await bench.with_machine(lambda machine: None)


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def wmma_program(dut: Any) -> None:
    """A program, first as a batch and then command by command; registers and memory equal to golden."""
    bench = Bench(dut)
    await bench.begin()

    def work(machine: BoardMachine) -> None:
        assert (machine.identity.memory_base, machine.identity.memory_bytes) == (BASE, SIZE)
        bench.fill_memory(machine)
        registers = np.random.default_rng(3).integers(0, 1 << 32, (CORE.registers, 32), dtype=np.uint32)
        for each in (machine, bench.golden):
            each.write_registers(0, registers)
        before = bench.golden.memory.data.copy()
        for command in program():
            bench.golden.execute(command)
        assert np.count_nonzero(bench.golden.memory.data != before) > 1500
        machine.execute_batch(program())
        bench.compare(machine)
        assert machine.counters.instructions == len(program())
        assert machine.counters.read_beats == 3 * 32
        for command in program():
            machine.execute(command)
            bench.golden.execute(command)
        bench.compare(machine)
        assert machine.counters.instructions == 2 * len(program())

    link = await bench.with_machine(work)
    assert link.repeated == 0


@cocotb.test
async def bytes_anywhere(dut: Any) -> None:
    """The memory as the host's programs see it: ranges that begin and end within words, and ends."""
    bench = Bench(dut)
    await bench.begin()

    def work(machine: BoardMachine) -> None:
        expected = np.zeros(128, dtype=np.uint8)
        machine.memory.write(BASE + SIZE - 128, expected)
        for _ in range(25):
            first = bench.rng.randrange(128)
            values = np.frombuffer(bench.rng.randbytes(bench.rng.randrange(129 - first)), dtype=np.uint8)
            machine.memory.write(BASE + SIZE - 128 + first, values)
            expected[first : first + values.size] = values
            start = bench.rng.randrange(128)
            found = machine.memory.read(BASE + SIZE - 128 + start, 128 - start)
            np.testing.assert_array_equal(found, expected[start:])
        for address, count in ((BASE - 1, 1), (BASE + SIZE - 3, 4), (BASE + SIZE, 1)):
            with pytest.raises(IndexError, match="outside the memory"):
                machine.memory.read(address, count)
            with pytest.raises(IndexError, match="outside the memory"):
                machine.memory.write(address, np.zeros(count, dtype=np.uint8))

    await bench.with_machine(work)


@cocotb.test
async def faults(dut: Any) -> None:
    """Faults come as golden's, with cause and index; the lamp says so, and the machine goes on."""
    bench = Bench(dut)
    await bench.begin()
    load = LoadInstruction(use="a", layout="row", shape=SQUARE, type="f16")
    store = StoreInstruction(layout="row", shape=SQUARE, type="f32")
    bad = [
        (Load(load, 0, BASE + 16), Cause.MISALIGNED_ADDRESS),
        (Load(load, CORE.registers - 7, BASE), Cause.REGISTER_RANGE),
        (Load(load, 0, BASE - 512), Cause.READ_DECODE_ERROR),
        (Store(store, 0, BASE + SIZE), Cause.WRITE_DECODE_ERROR),
    ]

    def work(machine: BoardMachine) -> None:
        assert "fault" not in bench.lit()
        bench.fill_memory(machine)
        for command, cause in bad:
            fill = Fill(3, 1, bench.rng.getrandbits(32))
            found = []
            for each in (machine, bench.golden):
                each.execute(fill)
                with pytest.raises(Fault) as caught:
                    each.execute(command)
                found.append((caught.value.cause, caught.value.index))
            assert found == [(cause, bench.golden.counters.instructions)] * 2
            assert "fault" in bench.lit()
        after = Fill(5, 2, 0x1234_5678)
        with pytest.raises(Fault) as caught:
            machine.execute_batch([after, bad[0][0], Fill(6, 1, 0)])
        bench.golden.execute(after)
        assert caught.value.index == bench.golden.counters.instructions
        written = [3, 5, 6]
        np.testing.assert_array_equal(
            machine.read_registers()[written], bench.golden.read_registers()[written]
        )

    await bench.with_machine(work)
    await bench.cycles(2 * BLINK_CYCLES + 10)
    assert bench.lit() == {"alive"}


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def program_over_a_bad_line(dut: Any) -> None:
    """The same program with bytes lost and changed both ways: no command runs twice."""
    bench = Bench(dut)
    await bench.begin()
    errors = byte_errors(random.Random(cocotb.RANDOM_SEED + 1), 3000)
    await bench.program_over_a_bad_line(
        program(), errors, fill=bench.fill_memory, compare=bench.compare_memory
    )


@cocotb.test
async def lamps(dut: Any) -> None:
    """Activity at a request, line at a frame that is given up; a reset puts out all, time all but alive."""
    bench = Bench(dut)
    await bench.begin()
    assert bench.lit() == {"alive"}
    await bench.line.send(bytes([0xA5, 1, 2, 3]))
    await bench.line.idle(CONFIG.gap_cycles / CONFIG.divider + 5)
    assert bench.lit() == {"alive", "line"}
    await bench.with_machine(lambda machine: None)
    assert "activity" in bench.lit()
    dut.aresetn.value = 0
    await bench.cycles(3)
    assert bench.lit() == set()
    dut.aresetn.value = 1
    await bench.cycles(RESET_CYCLES + 10)
    await bench.with_machine(lambda machine: None)
    assert bench.lit() == {"alive", "activity"}
    await bench.cycles(2 * BLINK_CYCLES + 10)
    assert bench.lit() == {"alive"}


@cocotb.test
async def another_core(dut: Any) -> None:
    """A configuration that is not the core's is refused."""
    bench = Bench(dut)
    await bench.begin()
    link = Link(PinTransport(bench.line, TIMEOUT_BITS))

    def work() -> None:
        with pytest.raises(RuntimeError, match=r"^the core has .*, but the configuration says "):
            BoardMachine(PRESETS["small"], link)

    await in_thread(work)()


@cocotb.test
async def reset_while_running(dut: Any) -> None:
    """A reset in the middle of a program is noticed, and the next session finds a working board."""
    bench = Bench(dut)
    await bench.begin()
    noticed = 0
    for _ in range(4):
        running = Event()

        def interrupted(machine: BoardMachine, running: Event = running) -> None:
            nonlocal noticed
            running.set()
            with pytest.raises(LinkError, match="must have executed 8 commands"):
                machine.execute_batch(program())
            noticed += 1

        session = cocotb.start_soon(bench.with_machine(interrupted))
        await running.wait()
        # Its first half has been queued by then, its end not yet been seen.
        await bench.cycles(bench.rng.randrange(6500, 10_000))
        await reset(dut)
        await session

    def work(machine: BoardMachine) -> None:
        bench.fill_memory(machine)
        for command in program():
            bench.golden.execute(command)
        machine.execute_batch(program())
        bench.compare_memory(machine)

    await bench.with_machine(work)
    assert noticed == 4


def test_board(simulate: Simulate) -> None:
    simulate(plain_design("board", BoardTop(CONFIG)), __name__)
