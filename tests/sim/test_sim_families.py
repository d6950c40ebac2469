"""Every family on the simulated core: captures from the chip."""

from dataclasses import replace

import numpy as np
import pytest
from golden_captures import captures, instruction_of

import golden
from golden.fragments import collect
from golden.programs.tiles import multiply_tiles
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import MmaInstruction, Shape
from hdl.config import PRESETS
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


def some_of_each_kind(arrays):
    """Up to `TILES` tiles of each input distribution."""
    kinds = arrays.get("kind")
    if kinds is None:
        return slice(0, 2 * TILES)
    return np.concatenate([np.flatnonzero(kinds == kind)[:TILES] for kind in np.unique(kinds)])


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


REGISTERS = [
    capture
    for capture in captures()
    if capture.is_raw and instruction_of(capture.name).family in CONFIG.families
]


def matrix_of(registers, use, element, shape):
    """Registers of mma.sync, (tiles, lanes, registers), as matrices."""
    words = np.ascontiguousarray(registers).view("<u4") if registers.dtype == np.uint64 else registers
    return collect(words.transpose(0, 2, 1).astype(np.uint32), use, element, shape)


@pytest.mark.parametrize("capture", REGISTERS, ids=str)
def test_captured_registers_equal_the_chip(capture):
    """mma.sync in every form but fp8."""
    instruction = instruction_of(capture.name)
    arrays = capture.arrays()
    chosen = some_of_each_kind(arrays)
    types = (instruction.a_type, instruction.b_type, instruction.c_type, instruction.d_type)
    a, b, c, d = (
        matrix_of(arrays[use][chosen], use, element, instruction.shape)
        for use, element in zip("abcd", types, strict=True)
    )
    run = multiply_tiles(
        instruction,
        (a, b, c),
        lambda size: open_machine(Backend.RTL, CONFIG, size),
        registers=CONFIG.registers,
    )
    np.testing.assert_array_equal(run.d.view(d.dtype), d)


def test_all_forms_of_mma_have_captures():
    """Every shape and every pair of types, on the core that has all formats."""
    captured = [instruction_of(capture.name) for capture in REGISTERS]
    assert len(REGISTERS) >= 81
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
