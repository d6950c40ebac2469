"""Every family on the simulated core: captures from the chip, and all loads and stores in lockstep."""

from dataclasses import replace

import numpy as np
import pytest
from golden_captures import captures, instruction_of

import golden
from golden.commands import Load, Store
from golden.faults import Fault
from golden.formats import FORMATS
from golden.instruction_set import LoadInstruction, MmaInstruction, Shape, StoreInstruction
from golden.layouts import fragment
from golden.memory import Memory
from golden.warp import GoldenMachine
from hdl.config import PRESETS
from hdl.memory.geometry import legal_fragments
from sim.lockstep import LockstepMachine
from sim.machine import RtlMachine
from sim.machines import Backend, open_machine
from sim.tiles import multiply_tiles

CONFIG = PRESETS["small"]
TILES = 8
"""Of each kind of input."""

WMMA = [
    capture
    for capture in captures()
    if not capture.is_raw and "satfinite_legacy" not in capture.name and "_fp8" not in capture.name
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
    )
    np.testing.assert_array_equal(run.d.view(d.dtype), d)


@pytest.fixture(scope="module")
def machines():
    """Golden and RTL beside each other, with the same bytes in memory."""
    bytes_ = np.random.default_rng(8).integers(0, 256, 1 << 16, dtype=np.uint8)
    memories = (Memory(1 << 16), Memory(1 << 16))
    for memory in memories:
        memory.data[:] = bytes_
    golden_machine = GoldenMachine(registers=CONFIG.registers, memory=memories[0], formats=CONFIG.formats)
    machine = LockstepMachine(golden_machine, RtlMachine(CONFIG, memories[1]))
    yield machine
    machine.close()


@pytest.mark.parametrize("row", list(legal_fragments(CONFIG)), ids=lambda row: "-".join(map(str, row)))
def test_loads_and_stores_in_lockstep(machines, row):
    use, name, shape, layout = row
    form = fragment(use, name, shape)
    unit = max(1, form.size * 8 // FORMATS[name].bits)
    least = -(-shape.default_stride(use, layout) // unit) * unit
    random = np.random.default_rng(sum(map(ord, str(row))))
    executed = 0
    for stride in (None, *(least + unit * int(extra) for extra in random.integers(0, 6, 5))):
        register = int(random.integers(0, CONFIG.registers - form.registers + 1))
        address = form.size * int(random.integers(0, 500))
        if use == "d":
            store = StoreInstruction(layout=layout, shape=shape, type=name)
            command = Store(store, register, address, stride)
        else:
            load = LoadInstruction(use=use, layout=layout, shape=shape, type=name)
            command = Load(load, register, address, stride)
        try:
            machines.execute(command)
            executed += 1
        except Fault:
            assert stride is None, "only a default stride may break a rule here"
    assert executed >= 5


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
    run = multiply_tiles(instruction, (a, b, c), lambda size: open_machine(Backend.LOCKSTEP, CONFIG, size))
    np.testing.assert_array_equal(run.d, golden.mma(instruction, a, b, c))
