"""Every family on the simulated core: captures from the chip, and many random results of fp8."""

from dataclasses import replace

import numpy as np
import pytest
from golden_captures import captures, instruction_of

import golden
from golden.fragments import collect, distribute
from golden.programs.tiles import multiply_tiles
from golden.resolve import resolve_instruction
from golden.tables.commands import Mma
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Shape
from golden.tables.layouts import LANES, fragment
from golden.tables.matrix_instructions import MmaInstruction, warp_tile
from hdl.config import PRESETS
from regression.random_programs.operands import FLOAT_KINDS, draw_operands
from sim.machines import Backend, open_machine

CONFIG = PRESETS["small"]
TILES = 8
"""Of each kind of input."""

WMMA = [
    capture
    for capture in captures()
    if not capture.is_raw
    and "satfinite_legacy" not in capture.name
    and instruction_of(capture.name).family in CONFIG.families
]
WGMMA = [capture for capture in captures() if instruction_of(capture.name).mnemonic == "wgmma"]


def some_of_each_kind(arrays, count=TILES):
    """Up to so many tiles of each input distribution."""
    kinds = arrays.get("kind")
    if kinds is None:
        return slice(0, 2 * count)
    return np.concatenate([np.flatnonzero(kinds == kind)[:count] for kind in np.unique(kinds)])


@pytest.mark.parametrize("capture", WMMA, ids=str)
def test_captured_tiles_equal_the_chip(capture):
    arrays = capture.arrays()
    chosen = some_of_each_kind(arrays)
    a, b, c, d = (arrays[part][chosen] for part in "abcd")
    instruction = instruction_of(capture.name)
    if not instruction.family.fixed_layout:
        layouts = np.random.default_rng(len(a) + sum(capture.name.encode())).choice(["row", "col"], 2)
        instruction = replace(instruction, a_layout=str(layouts[0]), b_layout=str(layouts[1]))
    integers = FORMATS[instruction.c_type].name == "s32"
    run = multiply_tiles(
        instruction,
        (a, b, c.astype(np.int32) if integers else c),
        lambda size: open_machine(Backend.RTL, CONFIG, size),
        registers=CONFIG.registers,
    )
    np.testing.assert_array_equal(run.d.view(d.dtype), d)


def multiplied(instruction, a, b, c):
    """What the simulated core makes of a batch."""
    run = multiply_tiles(
        instruction,
        (a, b, c),
        lambda size: open_machine(Backend.RTL, CONFIG, size),
        registers=CONFIG.registers,
    )
    return run.d


@pytest.mark.parametrize("tiles", [1, pytest.param(10**6, marks=pytest.mark.long)], ids=["some", "all"])
@pytest.mark.parametrize("capture", WGMMA, ids=str)
def test_captured_wgmma_equals_the_chip(capture, tiles):
    """Every form of wgmma, in tiles of one warp."""
    arrays = capture.arrays()
    chosen = some_of_each_kind(arrays, tiles)
    d = arrays["d"][chosen]
    found = multiplied(instruction_of(capture.name), *(arrays[part][chosen] for part in "abc"))
    np.testing.assert_array_equal(found.view(d.dtype), d)


def test_all_types_of_wgmma_have_captures():
    captured = [instruction_of(capture.name) for capture in WGMMA]
    pairs = {(item.a_type, item.b_type, item.d_type) for item in captured}
    fp8 = ("e4m3", "e5m2")
    assert pairs >= {(a, b, d) for a in fp8 for b in fp8 for d in ("f16", "f32")}
    assert {item.a_type for item in captured} == {*fp8, "f16", "bf16", "tf32", "s8", "u8"}


REGISTERS = [
    capture
    for capture in captures()
    if capture.is_raw and instruction_of(capture.name).family in CONFIG.families
]


def matrix_of(registers, use, element, shape):
    """Registers of mma.sync, (tiles, lanes, registers), as matrices."""
    words = np.ascontiguousarray(registers).view("<u4") if registers.dtype == np.uint64 else registers
    return collect(words.transpose(0, 2, 1).astype(np.uint32), use, element, shape)


def is_fp8(instruction):
    return instruction.a_type in ("e4m3", "e5m2")


def registers_equal_the_chip(capture, tiles=TILES):
    instruction = instruction_of(capture.name)
    arrays = capture.arrays()
    chosen = some_of_each_kind(arrays, tiles)
    types = (instruction.a_type, instruction.b_type, instruction.c_type, instruction.d_type)
    a, b, c, d = (
        matrix_of(arrays[use][chosen], use, element, instruction.shape)
        for use, element in zip("abcd", types, strict=True)
    )
    np.testing.assert_array_equal(multiplied(instruction, a, b, c).view(d.dtype), d)


@pytest.mark.parametrize("capture", REGISTERS, ids=str)
def test_captured_registers_equal_the_chip(capture):
    """mma.sync in every form."""
    registers_equal_the_chip(capture)


@pytest.mark.long
@pytest.mark.parametrize(
    "capture", [item for item in REGISTERS if is_fp8(instruction_of(item.name))], ids=str
)
def test_all_captured_registers_of_fp8_equal_the_chip(capture):
    registers_equal_the_chip(capture, 10**6)


def test_all_forms_of_mma_have_captures():
    """Every shape and every pair of types, on the core that has all formats."""
    captured = [instruction_of(capture.name) for capture in REGISTERS]
    assert len(REGISTERS) >= 97
    for family in CONFIG.families:
        if family.mnemonic == "mma":
            for shape in family.shapes:
                assert any(item.family == family and item.shape == shape for item in captured), (
                    family,
                    shape,
                )


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("types", [("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")])
def test_m8n8k16_on_raw_registers(types, saturate):
    instruction = MmaInstruction(
        mnemonic="mma",
        shape=Shape(8, 8, 16),
        a_layout="row",
        b_layout="col",
        a_type=types[0],
        b_type=types[1],
        c_type="s32",
        d_type="s32",
        saturate=saturate,
    )
    random = np.random.default_rng(sum(map(ord, str(instruction))))
    a, b = (
        random.integers(FORMATS[name].minimum, FORMATS[name].maximum + 1, (3, 5, *extent))
        for name, extent in zip(types, ((8, 16), (16, 8)), strict=True)
    )
    c = random.choice([-(2**31), 2**31 - 1, 0, 77], (3, 5, 8, 8)).astype(np.int32)
    run = multiply_tiles(instruction, (a, b, c), lambda size: open_machine(Backend.RTL, CONFIG, size))
    np.testing.assert_array_equal(run.d, golden.mma(instruction, a, b, c))


FP8 = {
    "mma": "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32",
    "mma, f16": "mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e4m3.f16",
    "wgmma": "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2",
    "wgmma, f16": "wgmma.mma_async.sync.aligned.m64n8k32.f16.e5m2.e4m3",
}
"""A multiply of each family and result."""

BATCH = 5000
"""The most tiles whose operands are there at once."""


def random_results_equal_golden(text, count, seed):
    """Tiles of every kind of operands, several at a time in the registers of the simulated core."""
    instruction = warp_tile(resolve_instruction(text))
    types = instruction.types
    uses = {use: types[use] for use in "abcd"}
    sizes = {use: fragment(use, name, instruction.shape).registers for use, name in uses.items()}
    size = sum(sizes.values())
    places = {use: sum(list(sizes.values())[:index]) for index, use in enumerate(sizes)}
    together = CONFIG.registers // size
    multiplies = [
        Mma(instruction, **{use: place + size * tile for use, place in places.items()})
        for tile in range(together)
    ]
    random = np.random.default_rng(seed)
    machine = open_machine(Backend.RTL, CONFIG, 4096)
    compared = 0
    while compared < count:
        runs = min(BATCH // together, -(-(count - compared) // (128 * together)))
        tiles = runs * together
        drawn = [draw_operands(random, instruction, FLOAT_KINDS[i % len(FLOAT_KINDS)]) for i in range(tiles)]
        a, b, c = (np.stack(matrices) for matrices in zip(*drawn, strict=True))
        wanted = golden.mma(instruction, a, b, c)
        words = [
            distribute(matrix, use, uses[use], instruction.shape)
            for use, matrix in zip("abcd", (a, b, c, np.zeros_like(wanted)), strict=True)
        ]
        registers = np.concatenate(words, axis=1).reshape(-1, together * size, LANES)
        found = np.empty_like(registers)
        for index, some in enumerate(registers):
            machine.write_registers(0, some)
            machine.queue(multiplies)
            machine.finish()
            found[index] = machine.inspect_registers()[: together * size]
        results = found.reshape(-1, size, LANES)[:, places["d"] :]
        np.testing.assert_array_equal(collect(results, "d", uses["d"], instruction.shape), wanted)
        compared += wanted.size
    machine.close()


@pytest.mark.parametrize("name", FP8)
def test_random_fp8_equals_golden(name):
    random_results_equal_golden(FP8[name], 20_000, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("name", FP8)
def test_ten_million_results_of_fp8_equal_golden(name):
    """Ten million of `mma` and ten million of `wgmma`."""
    random_results_equal_golden(FP8[name], 5_000_000, seed=2)
