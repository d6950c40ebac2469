"""Results of mma.sync on the core, family by family; and that a wrong one is found."""

import re
from itertools import islice

import pytest

from golden.multiply import mma
from golden.tables.commands import Load, Mma, Store
from golden.tables.instruction_set import CORE_FAMILIES
from hdl.config import PRESETS
from openwmma.usage_error import UsageError
from regression.campaign.kinds import results
from regression.campaign.kinds.results import (
    F64_CORE,
    FAMILIES,
    NARROW,
    SPARSE,
    Batch,
    WrongResult,
    compare,
    core_of,
)
from regression.random_programs.choices import multiplies_of

SMALL = PRESETS["small"]
FORMS = [item for item in multiplies_of(SMALL) if item.mnemonic == "mma"]


def test_families_are_those_of_mma_sync_that_the_core_has():
    assert {item.family.name for item in FORMS} == set(FAMILIES)
    assert set(FAMILIES) == {family.name for family in CORE_FAMILIES if family.mnemonic == "mma"}
    assert core_of("mma.f64") == F64_CORE
    for family in FAMILIES + SPARSE + NARROW:
        assert family in {item.name for item in core_of(family).families}


@pytest.mark.parametrize("instruction", FORMS[::7], ids=str)
@pytest.mark.parametrize("registers", [64, 128])
def test_a_batch_multiplies_each_tile_once_and_keeps_its_operands(instruction, registers):
    batch = Batch(instruction=instruction, sets=5, registers=registers)
    commands = list(batch.commands())
    assert sum(isinstance(item, Mma) for item in commands) == batch.tiles
    ends = [item.address + 1024 for item in commands if isinstance(item, Load)]
    assert max(ends) == min(item.address for item in commands if isinstance(item, Store))
    assert (
        max(item.address for item in commands if isinstance(item, Store)) + 1024
        <= 0x1000 + batch.memory_bytes
    )


def test_a_form_that_does_not_fit_is_refused():
    form = next(item for item in FORMS if str(item.shape) == "m16n8k16" and item.a_type == "f64")
    with pytest.raises(ValueError, match=r"m16n8k16\.row\.col.* needs 40 registers, not 32"):
        Batch(instruction=form, sets=1, registers=32)


@pytest.mark.parametrize("family", FAMILIES)
def test_results_equal_golden(family):
    assert sum(compare(family, 4000, config=SMALL, seed=5, sets=4)) >= 4000


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_ten_million_results_equal_golden(family):
    assert sum(compare(family, 10_000_000, config=core_of(family), seed=2026)) >= 10_000_000


def test_a_wrong_bit_is_found(monkeypatch):
    def wrong(*arguments, **options):
        result = mma(*arguments, **options)
        result[2, 3, 4] ^= 1
        return result

    monkeypatch.setattr(results, "mma", wrong)
    # Row 3, column 4 of m16n8: lane 14, element 0.
    with pytest.raises(WrongResult, match="tile 2, register 0 of D, lane 14: core") as found:
        next(compare("mma.integer", 4000, config=SMALL, sets=4))
    core, golden = (int(word, 16) for word in re.findall(r"0x[0-9a-f]{8}", str(found.value)))
    assert core ^ golden == 1


def test_what_a_core_has_not_is_refused():
    with pytest.raises(ValueError, match=r"the core has no mma\.bf16"):
        next(compare("mma.bf16", 1, config=PRESETS["tiny"]))
    with pytest.raises(ValueError, match=r"family must be one of .*, not wgmma\.fp8"):
        next(compare("wgmma.fp8", 1, config=SMALL))


def test_a_campaign_has_the_families_of_its_core_and_refuses_others_by_name():
    kind = results.Results(1, {**results.Results.options, "preset": "tiny"})
    kind.require()
    assert {task.arguments["family"] for task in islice(kind.tasks(), 10)} == {"mma.f16", "mma.f64"}
    sentence = (
        f"--family: expected one of {', '.join(('mma.f16', 'mma.f64', *SPARSE, *NARROW))}, not mma.bf16"
    )
    with pytest.raises(UsageError, match=sentence):
        results.Results(1, {"preset": "tiny", "family": ["mma.bf16"]}).require()
