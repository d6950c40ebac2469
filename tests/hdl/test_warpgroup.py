"""What a configuration without `wgmma` has not, and what one with it needs."""

from dataclasses import replace

import pytest

from hdl.config import PRESETS
from hdl.verilog.core_verilog import core_top

SIZE = 4096
TINY = PRESETS["tiny"]


def test_a_core_without_wgmma_has_nothing_of_it():
    text = core_top(TINY).rtlil("core")
    assert not {
        name for name in ("warpgroup", "chunk", "share_check", "stored_read", "bank_conflict") if name in text
    }


@pytest.mark.parametrize("changed", [{"warps": 6}, {"shared_bytes": 0}])
def test_wgmma_needs_whole_groups_of_warps_and_on_chip_memory(changed):
    with pytest.raises(ValueError, match="wgmma needs a multiple of 4 warps and shared bytes, not"):
        replace(TINY, **{"warps": 4, "shared_bytes": SIZE, **changed}, wgmma=True)
