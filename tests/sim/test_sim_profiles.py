"""Cores of other generations: whole tiles, chains of sums among them, against the golden model.

Quickly, the cores with small formats are of another generation.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from golden.tables.profiles import PROFILES
from hdl.config import PRESETS
from openwmma.modules import Module
from regression.campaign.kinds.results import FAMILIES, compare

EXAMPLES = Path(__file__).parents[2] / "examples"
CHAINED = "ampere"
pytestmark = pytest.mark.long


def core(preset, profile):
    config = PRESETS[preset]
    return replace(config, dot_product=replace(config.dot_product, profile=PROFILES[profile]))


def compared(family, results, config):
    return sum(compare(family, results, config=config, sets=8))


@pytest.mark.parametrize("profile", ["volta", "turing", "ampere", "ada", "blackwell"])
def test_forms_of_mma_sync_with_f16(profile):
    assert compared("mma.f16", 20_000, core("tiny", profile)) >= 20_000


@pytest.mark.parametrize("profile", ["volta", "ampere"])
@pytest.mark.parametrize("name", ["tile_f16", "shapes_f16", "mixed_accumulators"])
def test_programs_in_lockstep(profile, name):
    kernel = Module(EXAMPLES / f"{name}.ptx").kernel()
    random = np.random.default_rng(8)
    arguments = {
        item: random.integers(0, 256, 2048, dtype=np.uint8).view(np.uint16) for item in kernel.parameters
    }
    before = arguments["D"].copy()
    run = kernel.launch(1, 32, arguments, on="lockstep", preset="tiny", profile=profile)
    assert run.counters.instructions > 3
    assert not np.array_equal(arguments["D"], before)


@pytest.mark.parametrize("family", FAMILIES)
def test_all_families_of_ampere(family):
    """tf32 in blocks of 4, f16 and bf16 in blocks of 8."""
    assert compared(family, 100_000, core("small", CHAINED)) >= 100_000
