"""Multiplies with block scales on the simulated core, against the golden machine."""

from dataclasses import replace

import numpy as np
import pytest
from rtl import BASE

from golden.fragments import distribute
from golden.memory import Memory
from golden.random_operands import random_metadata, random_operand
from golden.sparsity import pack_metadata
from golden.tables.commands import Fill, Mma, Move
from golden.tables.faults import Cause, Fault
from golden.tables.formats import FORMATS, float_format
from golden.tables.instruction_set import CORE_NARROW_FAMILIES, SCALES
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import multiplies_of
from golden.tables.scales import BYTE_IDS, THREAD_IDS
from openwmma.core_settings import adjusted_config
from sim.lockstep import LockstepMachine
from sim.rtl_machine import RtlMachine
from sim.testbench.reference import golden_machine

SETTINGS = {
    "formats": "f16,fp8,fp6,fp4",
    "profile": "blackwell",
    "block_scale": True,
    "mxf4": True,
    "sparse": True,
}
"""What makes `CONFIG` of preset tiny."""
CONFIG = adjusted_config("tiny", SETTINGS)
WIDE = replace(CONFIG, dot_product_units=4, warps=2, shared_bytes=1 << 12)
"""Two rows of A meet two of B; moves of matrices also read registers before they start."""
FORMS = [item for family in CORE_NARROW_FAMILIES for item in multiplies_of(family)]
SCALED = [item for item in FORMS if item.scales]
PLACES = {"a": 0, "b": 4, "c": 8, "d": 12}
SIDE = {"metadata": 20, "scale_a": 21, "scale_b": 22}


def machines(config):
    memories = [Memory(1 << 12, BASE) for _ in range(2)]
    return golden_machine(config, memories[0]), RtlMachine(config, memories[1])


@pytest.fixture(scope="module")
def tiny():
    golden, rtl = machines(CONFIG)
    yield LockstepMachine(golden, rtl)
    rtl.close()


def one_of(kind, scale_vec="", scale_type="", *, mnemonic="mma"):
    return next(
        item
        for item in FORMS
        if (item.kind, item.scale_vec, item.mnemonic) == (kind, scale_vec, mnemonic)
        and item.scale_type == (scale_type or item.scale_type)
    )


def random_scales(random, scale_type):
    """A register of scales: all bytes, bytes around one, zeros, or one byte that is NaN."""
    one = 0x38 if scale_type == "ue4m3" else 127
    kind = random.integers(4)
    values = random.integers(0, 256, (LANES, 4), np.uint8)
    if kind:
        values = (one + random.integers(-6, 7, (LANES, 4))).astype(np.uint8)
    if kind == 2:
        values[random.random((LANES, 4)) < 0.3] = random.choice([0, 0x80])
    if kind == 3:
        values[random.integers(LANES), random.integers(4)] = random.choice([0x7F, 0xFF])
    return values.view("<u4").reshape(LANES)


def random_matrix(random, instruction, use):
    """Bits of any kind; of A and B often zeros, and rows that cancel."""
    extent = instruction.extent(use)
    if use == "c":
        return random_operand(random, instruction.c_type, (12, *extent), addend=True)[random.integers(12)]
    matrix = random.integers(0, 1 << FORMATS[instruction.types[use]].bits, extent, np.uint8)
    match random.integers(4):
        case 0:
            matrix[random.random(extent) < 0.7] = 0
        case 1:
            half = extent[1] // 2 if use == "a" else extent[0] // 2
            sign = np.uint8(float_format(instruction.types[use]).sign_mask if use == "a" else 0)
            lines = matrix if use == "a" else matrix.T
            lines[:, half:] = lines[:, :half] ^ sign
    return matrix


def random_selectors(random, instruction):
    chosen = {}
    for use in "ab" if instruction.scales else "":
        chosen[f"byte_{use}"] = int(random.choice(BYTE_IDS[instruction.scale_vec]))
        chosen[f"thread_{use}"] = int(random.choice(THREAD_IDS[use]))
    return chosen


def fill_operands(machine, random, instruction, warp=0):
    """Write fragments, whose containers have bits that no element uses, and side operands."""
    for use in "abc":
        kind = instruction.types[use], instruction.shape
        matrix = random_matrix(random, instruction, use)
        words = np.ascontiguousarray(distribute(matrix, use, *kind, sparse=instruction.is_sparse))
        machine.write_registers(PLACES[use], words, warp=warp)
    for name in instruction.side_registers:
        if name == "metadata":
            words = pack_metadata(instruction, random_metadata(random, instruction, 1)[0])
        else:
            words = random_scales(random, instruction.scale_type)
        machine.write_registers(SIDE[name], words[None], warp=warp)


def execute(machine, random, instruction, warp=0):
    side = {name: SIDE[name] for name in instruction.side_registers}
    selectors = random_selectors(random, instruction)
    machine.execute(Mma(instruction, **PLACES, **side, **selectors, warp=warp))


def every_form(machine, forms, rounds=1):
    random = np.random.default_rng(67)
    for number, instruction in enumerate(forms * rounds):
        warp = number % machine.warp_count
        fill_operands(machine, random, instruction, warp)
        execute(machine, random, instruction, warp)
    machine.finish()


def test_every_form_with_scales_equals_golden(tiny):
    assert len(SCALED) == 2 * (25 + 1 + 3)
    every_form(tiny, SCALED, rounds=3)


def test_forms_without_scales_equal_golden_between_others(tiny):
    mixed = [item for pair in zip(FORMS, reversed(FORMS), strict=True) for item in pair if not item.kind or item.is_sparse]
    every_form(tiny, mixed)
