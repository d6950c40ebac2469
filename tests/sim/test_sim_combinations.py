"""Every legal combination of qualifiers, in lockstep: loads, multiply and store, in every space."""

from dataclasses import replace

import numpy as np
import pytest
from random_commands import (
    FRAGMENTS,
    MULTIPLIES,
    SPACES,
    access,
    fragment_instruction,
    machines_of_noise,
    seeded,
)

from golden.tables.commands import Mma
from golden.tables.instruction_set import LAYOUTS, USES
from golden.tables.layouts import fragment
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from hdl.config import PRESETS
from sim.lockstep import LockstepMachine

CONFIG = PRESETS["small"]


@pytest.fixture(scope="module")
def machines():
    machine = LockstepMachine(*machines_of_noise(CONFIG))
    yield machine
    machine.finish()
    machine.close()


def odd_registers(random, counts):
    """Places for fragments of these sizes, in random order, each beginning at an odd register."""
    places = {}
    next_free = 1
    for use in random.permutation(list(counts)):
        places[str(use)] = next_free
        next_free += counts[use] + counts[use] % 2
    shift = 2 * int(random.integers(0, (CONFIG.registers - next_free) // 2 + 1))
    return {use: place + shift for use, place in places.items()}


def test_the_combinations_are_all_there():
    """Counted by hand from the tables of the instruction set."""
    counts = {}
    for instruction in MULTIPLIES:
        counts[instruction.family.name] = counts.get(instruction.family.name, 0) + 1
    assert counts == {
        "f16": 3 * 4 * 4 * 2,
        "bf16": 3 * 4 * 2,
        "tf32": 4 * 2,
        "f64": 4 * 5,
        "integer": 3 * 4 * 2 * 2,
        "sub-byte": 2 * 2,
        "single-bit": 2,
        "mma.m8n8k16": 4 * 2,
        "mma.f16": 2 * 2,
        "mma.bf16": 2,
        "mma.tf32": 2,
        "mma.f64": 4 * 5,
        "mma.integer": 2 * 4 * 2,
        "mma.sub-byte": 3 * 4 * 2,
        "mma.single-bit": 3 * 2,
        "mma.fp8": 2 * 4 * 2,
        "wgmma.fp8.tile": 4 * 2,
    }
    assert len(set(map(str, MULTIPLIES))) == len(MULTIPLIES) == 308
    assert len(FRAGMENTS) == 114


@pytest.mark.parametrize("instruction", MULTIPLIES, ids=str)
def test_every_multiply_in_lockstep(machines, instruction):
    random = seeded(instruction, instruction.saturate)
    types = dict(
        zip(
            USES,
            (instruction.a_type, instruction.b_type, instruction.c_type, instruction.d_type),
            strict=True,
        )
    )
    shape = instruction.shape
    counts = {use: fragment(use, types[use], shape).registers for use in USES}
    places = odd_registers(random, counts)
    multiply = Mma(instruction, **places)
    if instruction.mnemonic != "wmma":
        for use in "abc":
            values = random.integers(0, 1 << 32, (counts[use], 32), dtype=np.uint32)
            machines.write_registers(places[use], values)
        machines.execute(multiply)
        return
    layouts = {"a": instruction.a_layout, "b": instruction.b_layout, "c": LAYOUTS[random.integers(2)]}
    for use, layout in layouts.items():
        load = LoadInstruction(use=use, layout=layout, shape=shape, type=types[use])
        machines.execute(access(load, random, CONFIG, SPACES[random.integers(4)], places[use]))
    machines.execute(multiply)
    store = StoreInstruction(layout=LAYOUTS[random.integers(2)], shape=shape, type=types["d"])
    machines.execute(access(store, random, CONFIG, SPACES[random.integers(4)], places["d"]))
    machines.execute(replace(multiply, d=places["c"]) if counts["c"] == counts["d"] else multiply)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("row", FRAGMENTS, ids=lambda row: "-".join(map(str, row)))
def test_every_load_and_store_in_lockstep(machines, row, space):
    use, name, shape, _ = row
    random = seeded(row, space)
    form = fragment(use, name, shape)
    place = odd_registers(random, {use: form.registers})[use]
    command = access(fragment_instruction(row), random, CONFIG, space, place)
    machines.execute(command)
    # An even register, and none that the first command has written.
    other = 0 if place >= form.registers else place + form.registers + 1
    machines.execute(replace(command, stride=None, register=other))
