"""Random programs on cores with sparse multiplies, smaller elements or `wgmma`."""

import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from golden.matrix_descriptors import MatrixDescriptor
from golden.multiply import mma
from golden.tables.commands import Mma, Wgmma
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import USES
from golden.warpgroup_share import descriptors
from openwmma.usage_error import UsageError
from regression.campaign.kind import Task
from regression.campaign.kinds.functional_coverage import (
    SCALED_CORE,
    SMALL_CORE,
    SPARSE_CORE,
    WGMMA_CORE,
    FunctionalCoverage,
)
from regression.campaign.kinds.random_programs import RandomPrograms
from regression.random_programs.choices import multiplies_of
from regression.random_programs.failing import load_program, save_program
from regression.random_programs.faulting import FaultSession
from regression.random_programs.generator import make_program
from regression.random_programs.operands import (
    FLOAT_KINDS,
    INTEGER_KINDS,
    TWO_PRODUCTS,
    draw_operands,
    spare_bits,
)
from regression.random_programs.program import config_named
from regression.random_programs.running import difference
from regression.random_programs.shares import draw_descriptor, place_share, quiet_bytes, share_forms

sys.path.insert(0, str(Path(__file__).parents[1] / "sim"))
from rtl import OPTIONS

BOTH = "tiny sparse=true wgmma=true warps=8 formats=f16,tf32,i8 shared_bytes=32768"
SPARSE = [item for item in multiplies_of(config_named(SPARSE_CORE)) if item.is_sparse]
SMALL = [item for item in multiplies_of(config_named(SMALL_CORE)) if item.kind]


@pytest.mark.parametrize("core", [SPARSE_CORE, WGMMA_CORE, SMALL_CORE, SCALED_CORE, BOTH])
def test_programs_are_legal_and_have_what_the_core_has(core):
    """Metadata is defined when it is read, and descriptors stay in the memory: golden refuses nothing."""
    config, shares, multiplies = config_named(core), [], []
    for count, crowded in ((16, False), (3, True)):
        program = make_program(core, 11, multiplies=count, crowded=crowded)
        machine = program.golden()
        for command in program.commands:
            machine.execute(command)
        shares += [item for item in program.commands if isinstance(item, Wgmma)]
        multiplies += [item for item in program.commands if isinstance(item, Mma)]
    assert any(item.instruction.is_sparse for item in multiplies) == config.sparse
    assert any(item.instruction.kind for item in multiplies) == bool(config.dot_product.small)
    assert any(item.instruction.scales for item in multiplies) == (core == SCALED_CORE)
    warps = set(range(config.warps)) if config.wgmma else set()
    assert {item.warp for item in shares} == warps
    assert len({item.warp for item in multiplies} & warps) >= config.wgmma * 4


def test_warps_that_do_not_store_read_what_nobody_stores():
    program = make_program(WGMMA_CORE, 3, multiplies=24, crowded=True)
    quiet, seen = quiet_bytes(program.config), set()
    for command in program.commands:
        if isinstance(command, Wgmma) and command.warp:
            for found, rows, transposed in descriptors(command):
                places = found.chunks(rows, transposed)
                assert places.min() >= quiet.start
                assert places.max() < quiet.stop
                seen.add((found.span, transposed))
    assert len(seen) == 8


@pytest.mark.parametrize("transposed", [False, True])
def test_a_descriptor_stays_in_its_region(transposed):
    random = np.random.default_rng(2)
    for _ in range(300):
        region = range(128 * int(random.integers(8)), 4096 * int(random.integers(1, 9)))
        rows = 8 * int(random.integers(1, 33))
        found = MatrixDescriptor.from_bits(draw_descriptor(random, rows, transposed, region))
        places = found.chunks(rows, transposed)
        assert places.min() >= region.start
        assert places.max() < region.stop
        assert found.reach(rows, transposed) <= region.stop


def test_a_share_is_placed_anywhere_but_with_a_in_d():
    random, config = np.random.default_rng(2), config_named(WGMMA_CORE)
    forms = share_forms(config)[0]
    share = Wgmma(forms[3], 0, 0, 0, a_in_registers=True)
    size, places = forms[3].shape.n // 4, set()
    for _ in range(2000):
        placed = place_share(random, config, share, 2)
        held, a = range(placed.d, placed.d + size), range(placed.a, placed.a + 4)
        assert not set(held) & set(a)
        assert max(held[-1], a[-1]) < config.registers
        places.add(
            (held.start == 0, held.stop == config.registers, a.stop == held.start, a.start == held.stop)
        )
    assert {tuple(each) for each in np.eye(4, dtype=bool).tolist()} <= places


@pytest.mark.parametrize("instruction", SPARSE[::5], ids=str)
def test_operands_of_sparse_multiplies(instruction):
    """With metadata that is defined; few products are the same few in each row."""
    random = np.random.default_rng(1)
    for kind in INTEGER_KINDS if instruction.c_type == "s32" else FLOAT_KINDS:
        a, b, c, metadata = draw_operands(random, instruction, kind)
        assert [item.shape for item in (a, b, c)] == [instruction.extent(use) for use in USES[:3]]
        assert set(np.unique(metadata)) <= set(instruction.sparsity.nibbles)
        mma(instruction, a, b, c, metadata=metadata)
        if kind in ("ties", "special alone", *TWO_PRODUCTS):
            assert (metadata == metadata[0]).all()
            rows = (b & b.dtype.type((1 << FORMATS[instruction.b_type].bits - 1) - 1)).any(axis=1)
            assert rows.sum() <= 2


@pytest.mark.parametrize("instruction", [item for item in SPARSE if item.c_type != "s32"], ids=str)
def test_products_of_a_sparse_multiply_cancel(instruction):
    """All of them but where the last bit of B differs, which few elements have."""
    random, total = np.random.default_rng(1), 0
    for _ in range(8):
        a, b, c, metadata = draw_operands(random, instruction, "cancelling")
        d = mma(instruction, a, b, np.zeros_like(c), metadata=metadata)
        total += int((d == 0).sum())
    assert total > 8 * 16


@pytest.mark.parametrize("instruction", SMALL[::7], ids=str)
def test_operands_of_smaller_elements(instruction):
    random = np.random.default_rng(1)
    for kind in FLOAT_KINDS:
        a, b, c = draw_operands(random, instruction, kind)
        for use, matrix in zip("abc", (a, b, c), strict=True):
            assert matrix.max() <= FORMATS[instruction.types[use]].maximum
        mma(instruction, a, b, c, profile="blackwell")


def test_bits_of_containers_that_no_element_uses_are_zero_or_anything():
    random = np.random.default_rng(1)
    (form,) = [item for item in SMALL if (item.a_type, item.b_type, item.d_type) == ("e2m1", "e3m2", "f16")]
    for use, count in (("a", 4), ("b", 2)):
        spare = [spare_bits(random, form, use) for _ in range(40)]
        some = np.bitwise_or.reduce([item for item in spare if item.any()])
        assert sum(not item.any() for item in spare) in range(8, 33)
        assert some.shape == (count, 32)
        # Four of eight bits, and two.
        assert {int(word).bit_count() for word in some.reshape(-1)} == {16 if use == "a" else 8}
    assert not spare_bits(random, form, "c").any()


LONG = tuple(
    pytest.param(core, marks=pytest.mark.long) for core in (SPARSE_CORE, WGMMA_CORE, SMALL_CORE, BOTH)
)


@pytest.mark.parametrize("core", [OPTIONS, SCALED_CORE, *LONG])
def test_random_programs_end_as_on_the_golden_machine(core):
    assert difference(make_program(core, 1, multiplies=24)) is None
    assert difference(make_program(core, 2, multiplies=2), lockstep=True) is None


@pytest.mark.long
@pytest.mark.parametrize("core", [SPARSE_CORE, WGMMA_CORE, SMALL_CORE, SCALED_CORE, BOTH])
def test_many_random_programs_end_as_on_the_golden_machine(core):
    for number in range(60):
        crowded = number % 20 == 19
        program = make_program(core, 2026, number, multiplies=12 if crowded else 48, crowded=crowded)
        assert difference(program) is None, number


@pytest.mark.parametrize("core", [OPTIONS, *LONG[:2]])
@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=pytest.mark.long)])
def test_the_core_refuses_illegal_commands_and_changes_nothing(core, count):
    verdicts = list(islice(FaultSession(core, 5).run(), count))
    assert [(illegal, mode, found) for illegal, mode, found in verdicts if found] == []
    kinds = {name for name in ("sparse", "wgmma") if f"{name}=true" in core}
    assert sum(illegal.kind in kinds for illegal, _, _ in verdicts) > count // 20 * (count < 1000)


def test_a_saved_program_keeps_its_on_chip_memory(tmp_path):
    program = make_program(OPTIONS, 1, multiplies=2)
    save_program(tmp_path, program, "")
    again = load_program(tmp_path)
    assert (again.commands, again.config) == (program.commands, program.config)
    np.testing.assert_array_equal(again.quiet, program.quiet)
    shared = again.golden().shared
    base = shared.base + quiet_bytes(program.config).start
    np.testing.assert_array_equal(shared.read(base, program.quiet.size), program.quiet)
    assert difference(replace(again, commands=again.commands[:8])) is None


def test_a_campaign_takes_settings_of_its_core():
    kind = RandomPrograms(1, {"preset": "tiny", "set": ["sparse=true", "registers=64"], "type": "f16"})
    kind.require()
    command = kind.command(Task(key="program 00000000", arguments={"first": 0}))
    settings = "--preset tiny --set sparse=true --set registers=64 --type f16"
    assert command == f"openwmma campaign random --seed 1 {settings} --only 'program 00000000'"


@pytest.mark.parametrize(
    ("kind", "settings", "sentence"),
    [
        (RandomPrograms, ["sparsity=true"], "setting sparsity: expected one of"),
        (RandomPrograms, ["sparse"], "--set sparse: expected NAME=VALUE"),
        (
            RandomPrograms,
            ["shared_bytes=4096"],
            "core tiny shared_bytes=4096: expected no shared bytes or at least 16384, not 4096",
        ),
        (
            FunctionalCoverage,
            ["sparse=true"],
            "--set: expected formats with i8 and i4, whose loads bring addresses, not f16, sparse",
        ),
    ],
)
def test_settings_are_checked_before_anything_runs(kind, settings, sentence):
    with pytest.raises(UsageError, match=sentence):
        kind(1, {**kind.options, "preset": "tiny", "set": settings}).require()
