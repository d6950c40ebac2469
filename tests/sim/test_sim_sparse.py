"""`mma.sp` on the simulated core, against the golden machine."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rtl import BASE, CONFIG, OPTIONS, TINY, WIDE

import openwmma
from golden.fragments import distribute
from golden.memory import Memory
from golden.random_operands import random_metadata, random_operands
from golden.sparsity import pack_metadata
from golden.tables.commands import Fill, Mma, Move
from golden.tables.faults import Cause, Fault
from golden.tables.instruction_set import SPARSE_FAMILIES
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import multiplies_of
from openwmma.core_settings import parse_settings
from regression.campaign.kinds.results import SPARSE as SPARSE_NAMES
from regression.campaign.kinds.results import SPARSE_CORE, compare
from sim.lockstep import LockstepMachine
from sim.rtl_machine import RtlMachine
from sim.testbench.reference import golden_machine

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))
from fragment_kernels import fragment_source
from test_golden_sparse import CAPTURES

CORES = [WIDE, pytest.param(SPARSE_CORE, marks=pytest.mark.long)]
"""In the first, two rows of A meet two of B, and moves of matrices also read registers before they start."""
INSTRUCTIONS = tuple(
    item for family in SPARSE_FAMILIES if "fp8" not in family.formats for item in multiplies_of(family)
)
SETTINGS = parse_settings(OPTIONS.split()[1:])
"""What makes `WIDE` of preset small."""
PLACES = {"a": 0, "b": 4, "c": 8, "d": 12}
METADATA = 20
EVERYWHERE = (0x4444_4444, 0xEEEE_EEEE, 0x4E4E_E4E4)
"""Metadata that every type takes."""


def machines(config):
    memories = [Memory(1 << 12, BASE) for _ in range(2)]
    return golden_machine(config, memories[0]), RtlMachine(config, memories[1])


@pytest.fixture(params=CORES, ids=["wide", "small"])
def pair(request):
    golden, rtl = machines(request.param)
    yield golden, rtl
    rtl.close()


@pytest.fixture
def lockstep(pair):
    return LockstepMachine(*pair)


def one_of(shape, name):
    return next(item for item in INSTRUCTIONS if (str(item.shape), item.a_type) == (shape, name))


def fill_operands(lockstep, random, instruction, selector, warp=0):
    """Write fragments and metadata; what the selector does not choose of the register is noise."""
    tiles = random_operands(random, instruction, 1)
    for use, tile in zip("abc", tiles, strict=True):
        words = distribute(tile[0], use, instruction.types[use], instruction.shape, sparse=True)
        lockstep.write_registers(PLACES[use], np.ascontiguousarray(words), warp=warp)
    noise = random.integers(0, 1 << 32, 32, dtype=np.uint32)
    for lane, nibble, _, _ in instruction.sparsity.positions(selector):
        noise[lane] &= ~np.uint32(15 << 4 * nibble)
    metadata = pack_metadata(instruction, random_metadata(random, instruction, 1)[0], selector) | noise
    lockstep.write_registers(METADATA, metadata[None], warp=warp)
    return metadata


@pytest.mark.parametrize("part", range(3))
def test_core_equals_the_chip(pair, part):
    """Registers of an H200, with every form and selector."""
    _, rtl = pair
    for name in list(CAPTURES)[part::3]:
        instruction, selector, words, metadata = CAPTURES[name]
        for tile, register in enumerate(metadata):
            for use in "abc":
                rtl.write_registers(PLACES[use], words[use][tile])
            rtl.write_registers(METADATA, register[None])
            rtl.execute(Mma(instruction, **PLACES, metadata=METADATA, selector=selector))
            found = rtl.read_registers(PLACES["d"], words["d"].shape[1])
            np.testing.assert_array_equal(found, words["d"][tile], err_msg=f"{name}, tile {tile}")


@pytest.mark.parametrize(
    "name", ["m16n8k32_f32_f16_f16_1", "m16n8k32_s32_s8_u8_1", "m16n8k8_f32_tf32_tf32_3"]
)
def test_kernel_in_lockstep_equals_the_chip(name):
    instruction, selector, words, metadata = CAPTURES[f"mmasp_{name}"]
    d = np.zeros_like(words["d"])
    kernel = openwmma.Module(fragment_source(instruction, f"%e0, {selector}")).kernel()
    arguments = [d, *(words[use] for use in "abc"), metadata]
    run = kernel.launch(1, LANES * len(d), arguments, on="lockstep", config=SETTINGS)
    np.testing.assert_array_equal(d, words["d"])
    assert run.counters.dot_product_cycles > 0


def test_kernel_on_a_core_without_the_option_is_refused():
    instruction, selector, words, metadata = CAPTURES["mmasp_m16n8k16_f32_f16_f16_0"]
    kernel = openwmma.Module(fragment_source(instruction, f"%e0, {selector}")).kernel()
    with pytest.raises(openwmma.LaunchError, match=r"has no sparse \.f16 multiply"):
        kernel.launch(1, LANES, [words["d"], *(words[use] for use in "abc"), metadata], on="rtl")


def every_form(lockstep, rounds=1):
    random = np.random.default_rng(67)
    for number, instruction in enumerate(INSTRUCTIONS * rounds):
        for selector in instruction.sparsity.selectors:
            warp = number % lockstep.warp_count
            fill_operands(lockstep, random, instruction, selector, warp)
            lockstep.execute(Mma(instruction, **PLACES, metadata=METADATA, selector=selector, warp=warp))
    lockstep.finish()


def test_every_form_and_selector_equals_golden(lockstep):
    assert len(INSTRUCTIONS) == 2 * (2 + 1 + 1 + 8 + 8)
    every_form(lockstep)


@pytest.mark.parametrize("family", SPARSE_NAMES)
def test_random_results_equal_golden(family):
    assert sum(compare(family, 4000, config=WIDE, sets=4)) >= 4000


@pytest.mark.long
@pytest.mark.parametrize("family", SPARSE_NAMES)
def test_ten_million_results_equal_golden(family):
    assert sum(compare(family, 10_000_000, config=SPARSE_CORE, seed=2026)) >= 10_000_000


@pytest.mark.long
def test_rows_that_share_elements_of_b_equal_golden():
    golden, rtl = machines(WIDE)
    every_form(LockstepMachine(golden, rtl), rounds=4)
    rtl.close()


@pytest.mark.parametrize("form", [("m16n8k32", "f16"), ("m16n8k8", "tf32"), ("m16n8k128", "s4")])
def test_undefined_nibble_is_a_precise_fault(lockstep, form):
    random = np.random.default_rng(3)
    instruction = one_of(*form)
    undefined = sorted(set(range(16)) - set(instruction.sparsity.nibbles))
    for nibble in undefined:
        selector = int(random.choice(instruction.sparsity.selectors))
        metadata = fill_operands(lockstep, random, instruction, selector)
        places = list(instruction.sparsity.positions(selector))
        lane, place, row, group = places[random.integers(len(places))]
        metadata[lane] &= ~np.uint32(15 << 4 * place)
        metadata[lane] |= np.uint32(nibble << 4 * place)
        lockstep.write_registers(METADATA, metadata[None])
        executed = lockstep.executed()
        command = Mma(instruction, **PLACES, metadata=METADATA, selector=selector)
        with pytest.raises(Fault, match=f"got {nibble:04b} in row {row}, group {group};") as raised:
            lockstep.execute(command)
        assert (raised.value.cause, raised.value.index) == (Cause.UNDEFINED_METADATA, executed)


def test_commands_behind_an_undefined_nibble_are_not_executed(pair):
    _, rtl = pair
    rtl.queue([Fill(METADATA, 1, 0x4444_4440), Mma(one_of("m16n8k32", "f16"), **PLACES, metadata=METADATA)])
    rtl.queue([Fill(0, 32, 7)])
    with pytest.raises(Fault) as raised:
        rtl.finish()
    assert (raised.value.cause, raised.value.index) == (Cause.UNDEFINED_METADATA, 1)
    assert not rtl.read_registers(0, METADATA).any()


@pytest.mark.parametrize(
    ("shape", "name", "selector", "cause"),
    [
        ("m16n8k16", "f16", 3, None),
        ("m16n8k32", "f16", 1, None),
        ("m16n8k32", "f16", 2, Cause.ILLEGAL_INSTRUCTION),
        ("m16n8k16", "tf32", 2, Cause.ILLEGAL_INSTRUCTION),
        ("m16n8k32", "s8", 2, Cause.ILLEGAL_INSTRUCTION),
        ("m16n8k128", "u4", 1, Cause.ILLEGAL_INSTRUCTION),
    ],
)
def test_selector_is_checked(lockstep, shape, name, selector, cause):
    instruction = one_of(shape, name)
    lockstep.execute(Fill(METADATA, 1, EVERYWHERE[0]))
    command = Mma(instruction, **PLACES, metadata=METADATA, selector=selector)
    if cause is None:
        lockstep.execute(command)
        return
    most = instruction.sparsity.selectors[-1]
    with pytest.raises(Fault, match=f"the selector must be from 0 to {most}, not {selector}") as raised:
        lockstep.execute(command)
    assert raised.value.cause == cause


def test_metadata_register_must_exist(lockstep):
    with pytest.raises(Fault, match="the metadata, 1 registers from 128 on") as raised:
        lockstep.execute(Mma(one_of("m16n8k16", "f16"), **PLACES, metadata=WIDE.registers))
    assert raised.value.cause == Cause.REGISTER_RANGE


@pytest.mark.parametrize("form", [("m16n8k16", "f16"), ("m16n8k32", "f16")])
def test_core_without_the_option_refuses_sparse_multiplies(form):
    """m16n8k16 is a dense multiply too, with the same types."""
    golden, rtl = machines(TINY)
    with pytest.raises(Fault, match=r"this machine has no sparse \.f16 multiply") as raised:
        LockstepMachine(golden, rtl).execute(Mma(one_of(*form), **PLACES, metadata=METADATA))
    assert raised.value.cause == Cause.ILLEGAL_INSTRUCTION
    rtl.close()


def test_metadata_waits_for_its_writer(pair):
    """Fills, moves and multiplies write metadata right before it is read, and right behind."""
    random = np.random.default_rng(5)
    golden, rtl = pair
    values = random.integers(0, 1 << 32, (WIDE.registers, 32), dtype=np.uint32)
    values[:32] = 0
    values[32:40] = random.choice(np.array(EVERYWHERE, np.uint32), (8, 32))
    for machine in (golden, rtl):
        machine.write_registers(0, values)
    copies = replace(one_of("m16n8k32", "s8"), saturate=False)
    """Of A without elements: D is C."""
    commands = []
    for _ in range(400):
        register = 32 + int(random.integers(8))
        match random.integers(5):
            case 0:
                commands.append(Fill(register, 1, int(random.choice(EVERYWHERE))))
            case 1:
                commands.append(Move(register, 32 + int(random.integers(8)), 1))
            case 2:
                first, other = 4 * random.permutation(2)
                places = {"a": 0, "b": 64, "c": 32 + int(first), "d": 32 + int(other)}
                commands.append(Mma(copies, **places, metadata=register))
            case _:
                instruction = INSTRUCTIONS[random.integers(len(INSTRUCTIONS))]
                a, b, c, d = (40 + 4 * int(place) for place in random.integers(21, size=4))
                commands.append(Mma(instruction, d=d, a=a, b=b, c=c, metadata=register))
    golden.queue(commands)
    rtl.queue(commands)
    rtl.finish()
    assert np.array_equal(golden.read_registers(), rtl.read_registers())


@pytest.mark.long
def test_units_of_standard_are_busy():
    """64 multiplies in registers, each of twice the depth of a dense one that takes as long."""
    config = replace(CONFIG, sparse=True, dot_product_units=4, registers=128, queue_depth=64)
    _, rtl = machines(config)
    rtl.execute(Fill(METADATA, 1, EVERYWHERE[0]))
    instruction = one_of("m16n8k32", "f16")
    before = rtl.counters
    rtl.queue(
        Mma(instruction, a=0, b=4, c=24 + 4 * (n % 16), d=24 + 4 * (n % 16), metadata=METADATA)
        for n in range(64)
    )
    rtl.finish()
    share = (rtl.counters - before).utilisation(config.dot_product_units)
    assert share >= 0.95, share
    rtl.close()
