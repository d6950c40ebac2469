"""A board with a serial core at its pins: the host's software runs a program through the serial line."""

import random
from typing import Any

import cocotb
import numpy as np
import pytest

from boards.gateware.board_config import BoardConfig
from boards.gateware.top import BoardTop
from boards.host.board_machine import BoardMachine
from boards.serial_core.serial_config import SerialConfig
from cocotb_tests.boards.board_bench import BoardBench
from cocotb_tests.boards.board_models import plain_design
from cocotb_tests.boards.serial_core.serial_bench import with_spram_model
from cocotb_tests.boards.serial_line import byte_errors
from cocotb_tests.conftest import Simulate
from golden.tables.commands import Command, Fill, Load, Mma, Move, Store
from golden.tables.faults import Cause, Fault
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.config import PAGE_BYTES

CORE = SerialConfig(registers=32, queue_depth=4, address_bits=16)
CONFIG = BoardConfig(
    core=CORE,
    memory_bytes=PAGE_BYTES,
    clock_hz=40_000,
    baud=10_000,
    access_cycles=1000,
    gap_microseconds=10_000,
)
BASE, SIZE = CONFIG.memory_base, CONFIG.memory_bytes
SQUARE, NIBBLES, BITS = Shape(16, 16, 16), Shape(8, 8, 32), Shape(8, 8, 128)


class Bench(BoardBench):
    """A board with a serial core."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut, CONFIG)

    def randomize(self, machine: BoardMachine) -> None:
        """The same noise in both machines."""
        noise = np.random.default_rng(cocotb.RANDOM_SEED)
        registers = noise.integers(0, 1 << 32, (CORE.registers, 32), dtype=np.uint32)
        memory = noise.integers(0, 256, SIZE, dtype=np.uint8)
        for each in (machine, self.golden):
            each.write_registers(0, registers)
            each.memory.write(BASE, memory)


def load(use: Any, layout: Any, name: str, shape: Shape, register: int, *place: int) -> Load:
    return Load(LoadInstruction(use=use, layout=layout, shape=shape, type=name), register, *place)


def multiply(name: str, shape: Shape, d: int, a: int, b: int, c: int, **modifiers: Any) -> Mma:
    instruction = MmaInstruction(
        shape=shape,
        a_layout="row",
        b_layout="col",
        a_type=name,
        b_type=name,
        c_type="s32",
        d_type="s32",
        **modifiers,
    )
    return Mma(instruction, d=d, a=a, b=b, c=c)


def program() -> list[Command]:
    """A multiply of each family with its loads and a store, of layouts and strides of all kinds."""
    return [
        load("a", "col", "s8", SQUARE, 0, BASE + 8, 24),
        load("b", "col", "s8", SQUARE, 2, BASE + 0x400),
        load("c", "row", "s32", SQUARE, 8, BASE + 0x200, 24),
        multiply("s8", SQUARE, 16, 0, 2, 8, saturate=True),
        Store(StoreInstruction(layout="col", shape=SQUARE, type="s32"), 16, BASE + 0x800, 24),
        load("a", "row", "u4", NIBBLES, 4, BASE + 0x100, 40),
        load("b", "col", "u4", NIBBLES, 5, BASE + 0x300),
        multiply("u4", NIBBLES, 8, 4, 5, 10),
        load("a", "row", "b1", BITS, 6, BASE + 4),
        load("b", "col", "b1", BITS, 7, BASE + 0x600, 160),
        multiply("b1", BITS, 12, 6, 7, 8, operation="and"),
        Store(StoreInstruction(layout="row", shape=BITS, type="s32"), 12, BASE + 0x40),
        Move(24, 16, 8),
        Fill(30, 1, 0x1234_5678),
    ]


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def wmma_program(dut: Any) -> None:
    """A program as a batch and then command by command; registers and memory equal to golden."""
    bench = Bench(dut)
    await bench.begin()

    def work(machine: BoardMachine) -> None:
        assert (machine.identity.memory_base, machine.identity.memory_bytes) == (BASE, SIZE)
        bench.randomize(machine)
        before = bench.golden.memory.data.copy()
        for command in program():
            bench.golden.execute(command)
        assert np.count_nonzero(bench.golden.memory.data != before) > 1000
        machine.execute_batch(program())
        bench.compare(machine)
        for command in program():
            machine.execute(command)
            bench.golden.execute(command)
        bench.compare(machine)
        assert machine.counters.instructions == 2 * len(program())

    link = await bench.with_machine(work)
    assert link.repeated == 0


@cocotb.test
async def faults(dut: Any) -> None:
    """Faults come as golden's, with cause and index; the lamp says so, and the machine goes on."""
    bench = Bench(dut)
    await bench.begin()
    bad = [
        (load("a", "row", "s8", SQUARE, 0, BASE + 4), Cause.MISALIGNED_ADDRESS),
        (load("a", "row", "s8", SQUARE, CORE.registers - 1, BASE), Cause.REGISTER_RANGE),
        (load("a", "row", "s8", SQUARE, 0, BASE - 256), Cause.READ_DECODE_ERROR),
        (load("a", "row", "s8", SQUARE, 0, (1 << 16) - 8), Cause.ADDRESS_RANGE),
        (load("a", "row", "f16", SQUARE, 0, BASE), Cause.ILLEGAL_INSTRUCTION),
    ]

    def work(machine: BoardMachine) -> None:
        assert "fault" not in bench.lit()
        bench.randomize(machine)
        for number, (command, cause) in enumerate(bad):
            found = []
            for each in (machine, bench.golden):
                each.execute(Fill(3, 1, number))
                with pytest.raises(Fault) as caught:
                    each.execute(command)
                found.append((caught.value.cause, caught.value.index))
            assert found == [(cause, number + 1)] * 2
            assert "fault" in bench.lit()
        bench.compare(machine)

    await bench.with_machine(work)


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def program_over_a_bad_line(dut: Any) -> None:
    """The same program with bytes lost and changed both ways: no command runs twice."""
    bench = Bench(dut)
    await bench.begin()
    errors = byte_errors(random.Random(cocotb.RANDOM_SEED), 2000)
    await bench.program_over_a_bad_line(program(), errors, fill=bench.randomize, compare=bench.compare)


def test_serial_board(simulate: Simulate) -> None:
    simulate(with_spram_model(plain_design("serial_board", BoardTop(CONFIG))), __name__)
