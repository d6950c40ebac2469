"""The whole core, from its generated Verilog, between cocotbext-axi's host and memory: programs."""

import re
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
import pytest
from numpy.typing import NDArray

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.core_bench import BASE, SCRATCH, SIZE, SQUARE, CoreBench, start_bench
from cocotb_tests.core_commands import SHAPES, TYPES, multiply_of, random_stride
from cocotb_tests.core_design import core_design
from golden.tables.commands import Command, Fill, Load, Mma, Move, Store
from golden.tables.instruction_set import LAYOUTS, Shape
from golden.tables.layouts import fragment
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from sim.testbench.parameters import parameters

COUNT_FROM = (1 << 63) - 100
"""The counters start with this, so that a carry passes through all their bits."""

CAPTURES = Path(__file__).parents[1] / "tests" / "data" / "float16.npz"


def captured_tiles() -> list[tuple[MmaInstruction, list[NDArray[Any]]]]:
    """Every f16 multiply that was captured from the chip: the instruction and a, b, c, d of each tile."""
    found = []
    with np.load(CAPTURES) as loaded:
        for name in sorted({key.rpartition("/")[0] for key in loaded.files}):
            match = re.fullmatch(r"m(\d+)n(\d+)k(\d+)_(f16|f32)_f16_(f16|f32)", name.rpartition("/")[2])
            if not match:
                continue
            instruction = multiply_of(Shape(*map(int, match.group(1, 2, 3))), match[5], match[4])
            arrays = [loaded[f"{name}/{part}"] for part in "abcd"]
            found += [(instruction, list(tile)) for tile in zip(*arrays, strict=True)]
    return found


@cocotb.test
async def captured_multiplies(dut: Any) -> None:
    """What the chip computed: loaded, multiplied and stored by the core, every bit equal.

    All combinations of D and C and all shapes; layouts, strides and registers at random.
    """
    made = await start_bench(dut)
    rng = made.rng
    tiles = captured_tiles()
    instructions = {str(instruction) for instruction, _ in tiles}
    assert len(instructions) == 12, "three shapes, four combinations of D and C"
    chosen = tiles[:: parameters()["every"]]
    assert {str(instruction) for instruction, _ in chosen} == instructions
    for instruction, (a, b, c, d) in chosen:
        made.pause(rng.choice([0, 0, 0.3]))
        shape = instruction.shape
        layouts = [rng.choice(LAYOUTS) for _ in range(4)]
        registers = made.config.registers
        first = dict(zip("abc", rng.sample(range(0, registers - 7, 8), 3), strict=True))
        first["d"] = first["c"] if rng.random() < 0.5 else rng.randrange(registers - 7)
        commands: list[Command] = []
        for use, matrix, name, address, layout in (
            ("a", a, "f16", BASE + 0x20 * rng.randrange(8), layouts[0]),
            ("b", b, "f16", BASE + 0xFE0, layouts[1]),
            ("c", c, instruction.c_type, BASE + 0x2000 + 0x20 * rng.randrange(8), layouts[2]),
        ):
            stride = random_stride(rng, use, layout, shape, name)
            load = made.place(matrix, use, layout, shape, name, address, stride)
            commands.append(Load(load.instruction, first[use], address, stride))
        commands.append(Mma(instruction, first["d"], first["a"], first["b"], first["c"]))
        store = Store(
            StoreInstruction(layout=layouts[3], shape=shape, type=instruction.d_type),
            first["d"],
            BASE + 0x4FC0,
            random_stride(rng, "d", layouts[3], shape, instruction.d_type),
        )
        assert await made.run(*commands, store) is None
        assert np.array_equal(made.stored(store), d), instruction
        made.compare_memory(instruction)


@cocotb.test
async def random_programs(dut: Any) -> None:
    """Commands at random, some of them faulty, one after the other without waiting for the end."""
    made = await start_bench(dut)
    faults = 0
    for round_number in range(parameters()["rounds"]):
        made.pause(made.rng.choice([0, 0.2, 0.5]))
        for length in (*(made.rng.randrange(1, 6) for _ in range(6)), 40):
            commands = [random_command(made, faulty=length < 6) for _ in range(length)]
            faults += await made.run(*commands) is not None
            made.compare_memory(commands)
        await made.compare()
        if round_number % 3 == 2:
            await made.randomize()
    assert faults, "some of them are to be faulty"


def random_command(made: CoreBench, *, faulty: bool) -> Command:
    """Mostly legal, always if not `faulty`; operands may overlap in any way."""
    rng = made.rng
    registers = made.config.registers
    first = [rng.randrange(registers - 7) for _ in range(4)]
    if faulty and rng.random() < 0.02:
        first[rng.randrange(4)] = registers - 1
    shape, (c_type, d_type) = rng.choice(SHAPES), rng.choice(TYPES)
    kind = rng.randrange(6)
    if kind < 2:
        return Mma(multiply_of(shape, c_type, d_type, saturate=rng.random() < 0.3), *first)
    if kind == 2:
        return Fill(first[0], rng.randrange(8), 0x3C00_3C00 + rng.getrandbits(9))
    if kind == 3:
        return Move(first[0], first[1], rng.randrange(8))
    layout = rng.choice(LAYOUTS)
    use, name = rng.choice([("a", "f16"), ("b", "f16"), ("c", c_type), ("d", d_type)])
    size = fragment(use, name, shape).core_alignment(layout, "global")
    stride = random_stride(rng, use, layout, shape, name, overlapping=True)
    address = BASE + size * rng.randrange(0x4000 // size)
    fault = rng.random() if faulty else 1.0
    if fault < 0.05:
        address += rng.choice([1, 2, 8])
    elif fault < 0.1:
        stride = rng.choice([0, 1, 7])
    elif fault < 0.15:
        address = rng.choice([0, BASE - 64, BASE + SIZE - 128, (1 << made.config.address_bits) - 64])
    elif fault < 0.2:
        address ^= 1 << rng.randrange(16, 64)
    elif fault < 0.25:
        stride += 1 << rng.randrange(7, 32)
    if use == "d":
        instruction = StoreInstruction(layout=layout, shape=shape, type=name)
        return Store(instruction, first[0], address, stride)
    load = LoadInstruction(use=use, layout=layout, shape=shape, type=name)
    return Load(load, first[0], address, stride)


@cocotb.test
async def hazards(dut: Any) -> None:
    """D over C, A and B at every offset, C and D of mixed types: operands count as they were before."""
    made = await start_bench(dut, 0)
    registers = made.config.registers
    for other in "cab":
        for offset in range(-8, 9):
            for c_type, d_type in TYPES if other == "c" else made.rng.sample(TYPES, 1):
                shape = made.rng.choice(SHAPES)
                places = {"c": 33, "a": 12, "b": 23}
                first_d = min(max(places[other] + offset, 0), registers - 8)
                await reload(made, shape, places, c_type)
                multiply = Mma(
                    multiply_of(shape, c_type, d_type), first_d, places["a"], places["b"], places["c"]
                )
                store = Store(
                    StoreInstruction(layout="row", shape=SQUARE, type="f32"),
                    made.rng.choice([max(first_d - 4, 0), min(first_d + 4, registers - 8)]),
                    SCRATCH,
                )
                whole = Store(
                    StoreInstruction(layout="row", shape=SQUARE, type="f32"), first_d, SCRATCH + 0x400
                )
                assert await made.run(multiply, store, whole) is None
                made.compare_memory(multiply)
    await made.compare()


async def reload(made: CoreBench, shape: Shape, places: dict[str, int], c_type: str) -> None:
    """Load A, B and C anew from random places."""
    commands = []
    for use, name in (("a", "f16"), ("b", "f16"), ("c", c_type)):
        layout = made.rng.choice(LAYOUTS)
        stride = random_stride(made.rng, use, layout, shape, name)
        instruction = LoadInstruction(use=use, layout=layout, shape=shape, type=name)
        address = BASE + 32 * made.rng.randrange(0x4000 // 32)
        commands.append(Load(instruction, places[use], address, stride))
    assert await made.run(*commands) is None


@pytest.mark.parametrize(
    ("preset", "warps", "rounds"),
    [
        pytest.param("tiny", 2, 3, marks=SLOW),
        pytest.param("small", 1, 8, marks=SLOW),
        pytest.param("tiny", 1, 3, marks=SLOW),
        pytest.param("tiny", 1, 40, marks=pytest.mark.long),
        pytest.param("tiny", 8, 3, marks=pytest.mark.long),
        pytest.param("standard", 1, 3, marks=SLOW),
    ],
)
def test_core(simulate: Simulate, preset: str, warps: int, rounds: int) -> None:
    # `small` is the core as it is generated, which other tests simulate too.
    count_from = 0 if preset == "small" else COUNT_FROM
    design = core_design(preset, warps, count_from=count_from)
    values = {"preset": preset, "warps": warps, "rounds": rounds, "count_from": count_from}
    smoke = () if preset == "small" else ("captured_multiplies", "random_programs")
    simulate(design, __name__, values={**values, "every": 5 if smoke else 1}, cases=smoke)
