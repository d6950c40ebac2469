"""The serial core and its memory, beside the golden machine: all it can do, and all it refuses."""

from dataclasses import replace
from itertools import product
from typing import Any

import cocotb
import numpy as np

from cocotb_tests.boards.serial_core.serial_bench import (
    BASE,
    CONFIG,
    SIZE,
    SerialBench,
    every_multiply,
    serial_design,
)
from cocotb_tests.conftest import Simulate
from golden.tables.commands import Command, Fill, Load, Mma, Move, Store
from golden.tables.faults import Cause
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Shape
from golden.tables.layouts import LANES, fragment
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from hdl.control.host import REGISTERS
from hdl.memory.fragment_geometry import legal_fragments

CORE = CONFIG.core
SQUARE = Shape(16, 16, 16)
END = BASE + SIZE


def access(
    row: Any, register: int, address: int, stride: int | None = None, space: Any = "global"
) -> Command:
    """The load or store of a fragment."""
    use, name, shape, layout = row
    if use == "d":
        instruction = StoreInstruction(layout=layout, shape=shape, type=name, space=space)
        return Store(instruction, register, address, stride)
    load = LoadInstruction(use=use, layout=layout, shape=shape, type=name, space=space)
    return Load(load, register, address, stride)


def stride_step(row: Any) -> int:
    """The elements that every stride must be a multiple of, and no less than the default."""
    use, name, shape, _ = row
    return max(1, fragment(use, name, shape).size * 8 // FORMATS[name].bits)


def random_access(bench: SerialBench, row: Any) -> Command:
    """Of a legal stride, anywhere in memory, to any registers that have room."""
    use, name, shape, layout = row
    form = fragment(use, name, shape)
    default = shape.default_stride(use, layout)
    stride = bench.rng.choice([None, default + stride_step(row) * bench.rng.randrange(1, 4)])
    lines = shape.extent(use)[layout == "col"]
    extent = lines * (stride or default) * form.element_bits // 8
    address = BASE + form.size * bench.rng.randrange((SIZE - extent) // form.size + 1)
    register = bench.rng.randrange(CORE.registers - form.registers + 1)
    return access(row, register, address, stride, bench.rng.choice(["global", "generic"]))


@cocotb.test
async def every_load_and_store(dut: Any) -> None:
    """Every fragment in every layout, with the default and with longer strides."""
    bench = SerialBench(dut)

    def work() -> None:
        bench.randomize_memory()
        bench.randomize_registers()
        rows = list(legal_fragments(CORE))
        assert len(rows) == 50
        for row in rows:
            commands = [random_access(bench, row) for _ in range(3)]
            assert bench.execute(*commands) is None
            bench.compare_registers(commands)
            if row[0] == "d":
                bench.compare_memory(row)
        bench.compare_memory("all")

    await bench.run(work)


def extremes(bench: SerialBench, count: int) -> np.ndarray:
    """Words of noise, and of elements that are the least and the greatest of their type."""
    noise = bench.bits.integers(0, 1 << 32, (count, LANES), dtype=np.uint32)
    special = bench.bits.choice(
        np.array([0, 0xFFFFFFFF, 0x80808080, 0x7F7F7F7F, 0x88888888, 0x77777777], dtype=np.uint32),
        (count, LANES),
    )
    return np.where(bench.bits.random((count, LANES)) < 0.5, noise, special)


def addends(bench: SerialBench, count: int) -> np.ndarray:
    """Words near the ends of s32, so that sums are beyond them, and noise."""
    near = bench.bits.choice(np.array([0x7FFFFFFF, 0x80000000], dtype=np.uint32), (count, LANES))
    near = near + bench.bits.integers(0, 1 << 17, (count, LANES), dtype=np.uint32) - np.uint32(1 << 16)
    noise = bench.bits.integers(0, 1 << 32, (count, LANES), dtype=np.uint32)
    return np.where(bench.bits.random((count, LANES)) < 0.7, near, noise)


@cocotb.test
async def every_multiply_equals_golden(dut: Any) -> None:
    """Every multiply with every modifier, on extremes, with C close to where it is clamped."""
    bench = SerialBench(dut)

    def work() -> None:
        bench.randomize_registers()
        instructions = list(every_multiply())
        assert len(instructions) == 2 * (6 + 2 + 4) + 2
        for instruction in instructions:
            registers = np.concatenate([extremes(bench, 8), addends(bench, 8)])
            bench.write_registers(0, registers)
            for d in (16, 8):
                assert bench.execute(Mma(instruction, d=d, a=0, b=4, c=8)) is None
            bench.compare_registers(instruction)

    await bench.run(work)


@cocotb.test
async def results_over_operands(dut: Any) -> None:
    """D anywhere on A, B and C: operands count as they were before."""
    bench = SerialBench(dut)

    def work() -> None:
        chosen = [item for item in every_multiply() if item.shape.m + item.shape.n > 16 and not item.saturate]
        for other, offset in product("abc", (-7, -3, -1, 0, 1, 2, 5)):
            places = {"a": 10, "b": 18, "c": 24}
            d = min(max(places[other] + offset, 0), CORE.registers - 8)
            bench.randomize_registers()
            command = Mma(bench.rng.choice(chosen), d=d, **places)
            assert bench.execute(command) is None
            bench.compare_registers(command)

    await bench.run(work)


@cocotb.test
async def fills_and_moves(dut: Any) -> None:
    """Ranges of every length, none and all among them; moves that overlap both ways."""
    bench = SerialBench(dut)
    count = CORE.registers

    def work() -> None:
        bench.randomize_registers()
        commands: list[Command] = [
            *(Fill(0, 0, 1), Fill(count, 0, 1), Move(3, 3, 0), Move(5, 5, 4), Move(1, 0, 9)),
            *(Move(0, 1, count - 1), Fill(count - 1, 1, 0xFFFF_FFFF), Move(9, 8, 8), Move(8, 9, 8)),
        ]
        for command in commands:
            assert bench.execute(command) is None
            bench.compare_registers(command)
        for command in (Fill(7, 3, 0x1234_5678), Move(20, 7, 12), Fill(0, count, 0x89AB_CDEF)):
            assert bench.execute(command) is None
            bench.compare_registers(command)

    await bench.run(work)


LOAD = ("a", "s8", SQUARE, "row")
COLUMNS = ("a", "s8", SQUARE, "col")
BITS = ("a", "b1", Shape(8, 8, 128), "row")
NIBBLES = ("b", "u4", Shape(8, 8, 32), "col")
STORE = ("d", "s32", SQUARE, "row")
SMALL_STORE = ("d", "s32", Shape(8, 8, 32), "col")
TOP = 1 << CORE.address_bits


def refused(registers: int) -> list[tuple[Command, Cause]]:
    """Commands and why they are refused; where several causes apply, the warp, or the smallest."""
    multiply = next(item for item in every_multiply() if item.shape == SQUARE)
    last = registers - 1
    return [
        (access(LOAD, 0, BASE, space="shared"), Cause.ILLEGAL_INSTRUCTION),
        (access(("a", "f16", SQUARE, "row"), 0, BASE), Cause.ILLEGAL_INSTRUCTION),
        (access(("d", "f32", SQUARE, "row"), last, BASE + 1), Cause.ILLEGAL_INSTRUCTION),
        (access(LOAD, last, BASE), Cause.REGISTER_RANGE),
        (access(LOAD, 255, BASE + 1, 3), Cause.REGISTER_RANGE),
        (access(STORE, registers - 7, BASE), Cause.REGISTER_RANGE),
        (Mma(multiply, d=registers - 7, a=0, b=2, c=4), Cause.REGISTER_RANGE),
        (Mma(multiply, d=0, a=last, b=2, c=4), Cause.REGISTER_RANGE),
        (Mma(multiply, d=0, a=0, b=last, c=4), Cause.REGISTER_RANGE),
        (Mma(multiply, d=0, a=0, b=2, c=registers - 7), Cause.REGISTER_RANGE),
        (Fill(last, 2, 0), Cause.REGISTER_RANGE),
        (Fill(0, 0xFFF, 0), Cause.REGISTER_RANGE),
        (Fill(registers + 1, 0, 0), Cause.REGISTER_RANGE),
        (Move(last, 0, 2), Cause.REGISTER_RANGE),
        (Move(0, last, 2), Cause.REGISTER_RANGE),
        (access(LOAD, 0, BASE + 4), Cause.MISALIGNED_ADDRESS),
        (access(LOAD, 0, BASE + 1, 3), Cause.MISALIGNED_ADDRESS),
        (access(STORE, 0, BASE + 16), Cause.MISALIGNED_ADDRESS),
        (access(STORE, 0, (1 << 63) + 1, 1), Cause.MISALIGNED_ADDRESS),
        (access(BITS, 0, BASE + 2), Cause.MISALIGNED_ADDRESS),
        (access(LOAD, 0, BASE, 15), Cause.SHORT_STRIDE),
        (access(LOAD, 0, BASE, 0), Cause.SHORT_STRIDE),
        (access(BITS, 0, 1 << 40, 127), Cause.SHORT_STRIDE),
        (access(STORE, 0, BASE, 15), Cause.SHORT_STRIDE),
        (access(LOAD, 0, BASE, 20), Cause.MISALIGNED_STRIDE),
        (access(BITS, 0, BASE, 129), Cause.MISALIGNED_STRIDE),
        (access(BITS, 0, BASE, 128 + 16), Cause.MISALIGNED_STRIDE),
        (access(NIBBLES, 0, BASE, 33), Cause.MISALIGNED_STRIDE),
        (access(NIBBLES, 0, BASE, 34), Cause.MISALIGNED_STRIDE),
        (access(STORE, 0, 1 << 32, 17), Cause.MISALIGNED_STRIDE),
        (access(LOAD, 0, TOP), Cause.ADDRESS_RANGE),
        (access(LOAD, 0, TOP - 8), Cause.ADDRESS_RANGE),
        (access(LOAD, 0, TOP - 248), Cause.ADDRESS_RANGE),
        (access(COLUMNS, 0, TOP - 248), Cause.ADDRESS_RANGE),
        (access(LOAD, 0, BASE + (1 << 32)), Cause.ADDRESS_RANGE),
        (access(LOAD, 0, BASE + (1 << 63)), Cause.ADDRESS_RANGE),
        (access(LOAD, 0, BASE, 1 << 31), Cause.ADDRESS_RANGE),
        (access(LOAD, 0, BASE, TOP), Cause.ADDRESS_RANGE),
        (access(LOAD, 0, BASE, 0xFFFF_FFF8), Cause.ADDRESS_RANGE),
        (access(STORE, 0, BASE, 0xFFFF_FFF8), Cause.ADDRESS_RANGE),
        (access(STORE, 0, BASE, TOP // 4), Cause.ADDRESS_RANGE),
        (access(BITS, 0, BASE, 0xFFFF_FF80), Cause.ADDRESS_RANGE),
        (access(LOAD, 0, TOP - 256), Cause.READ_DECODE_ERROR),
        (access(LOAD, 0, 0), Cause.READ_DECODE_ERROR),
        (access(LOAD, 0, BASE - 8), Cause.READ_DECODE_ERROR),
        (access(LOAD, 0, END - 248), Cause.READ_DECODE_ERROR),
        (access(COLUMNS, 0, END - 248), Cause.READ_DECODE_ERROR),
        (access(LOAD, 0, BASE, SIZE // 8), Cause.READ_DECODE_ERROR),
        (access(SMALL_STORE, 0, END), Cause.WRITE_DECODE_ERROR),
        (access(STORE, 0, BASE - 32), Cause.WRITE_DECODE_ERROR),
        (access(STORE, 0, END - 32), Cause.WRITE_DECODE_ERROR),
        (access(STORE, 0, BASE, SIZE // 16), Cause.WRITE_DECODE_ERROR),
        (replace(access(LOAD, 0, BASE), warp=1), Cause.WARP_RANGE),
        (Fill(registers, 1, 0, warp=15), Cause.WARP_RANGE),
    ]


@cocotb.test
async def refusals(dut: Any) -> None:
    """Every way to be refused: cause and index, nothing changed but by a store that has a part in memory."""
    bench = SerialBench(dut)

    def work() -> None:
        bench.randomize_memory()
        bench.randomize_registers()
        cases = refused(CORE.registers)
        reachable = set(Cause) - {Cause.READ_SLAVE_ERROR, Cause.WRITE_SLAVE_ERROR}
        assert {cause for _, cause in cases} == reachable
        for command, cause in cases:
            fault = bench.execute(Fill(3, 1, bench.rng.getrandbits(32)), command, Fill(0, 32, 0))
            assert fault is not None
            assert fault.cause == cause, f"{command}: {fault}"
        bench.compare_registers("after all refusals")
        bench.compare_memory("after all refusals")

    await bench.run(work)


@cocotb.test
async def progress(dut: Any) -> None:
    """How many words of a store memory took before the first that is missing."""
    bench = SerialBench(dut)

    def work() -> None:
        bench.randomize_memory()
        bench.randomize_registers()
        for address, stride, words in (
            *((BASE - 32, None, 0), (END, None, 0), (END - 32, None, 8), (END - 1024 + 32, None, 248)),
            *((END - 10 * 96, 24, 10 * 16), (BASE - 64, None, 0)),
        ):
            fault = bench.execute(access(STORE, 0, address, stride))
            assert fault is not None
            assert fault.cause == Cause.WRITE_DECODE_ERROR
            (found,) = bench.link.read_host(REGISTERS["FAULT_PROGRESS"], 1)
            assert found == words, hex(address)
        bench.compare_memory("all")

    await bench.run(work)


@cocotb.test
async def random_programs(dut: Any) -> None:
    """Programs at random: loads, multiplies, stores, fills and moves of all families, now and then faulty."""
    bench = SerialBench(dut)
    rows = list(legal_fragments(CORE))
    multiplies = list(every_multiply())
    bad = refused(CORE.registers)

    def random_command() -> Command:
        rng = bench.rng
        match rng.randrange(8):
            case 0 | 1:
                return Mma(rng.choice(multiplies), *(rng.randrange(CORE.registers - 7) for _ in range(4)))
            case 2:
                return Fill(rng.randrange(16), rng.randrange(16), rng.getrandbits(32))
            case 3:
                return Move(rng.randrange(16), rng.randrange(16), rng.randrange(16))
            case 4 if rng.random() < 0.3:
                return rng.choice(bad)[0]
            case _:
                return random_access(bench, rng.choice(rows))

    def work() -> None:
        bench.randomize_memory()
        bench.randomize_registers()
        faults = 0
        for _ in range(25):
            program = [random_command() for _ in range(bench.rng.randrange(1, 12))]
            faults += bench.execute(*program) is not None
            bench.compare_registers(program)
        bench.compare_memory("all")
        assert faults

    await bench.run(work)


def test_serial_core(simulate: Simulate) -> None:
    simulate(serial_design(), __name__)
