"""The 114 fragment layouts read off the chip."""

import numpy as np
import pytest
from golden_captures import COMPACT

import golden
from golden.tables.layouts import LANES

with np.load(COMPACT / "layouts.npz") as _loaded:
    LAYOUTS = {key: _loaded[key] for key in _loaded.files}


def test_all_captured_layouts_are_here():
    assert len(LAYOUTS) == 114


@pytest.mark.parametrize("key", LAYOUTS)
def test_layout_equals_the_chip(key):
    _, use, element, shape, _, registers, part = key.split("/")
    found = golden.fragment_layout(use, element, shape)
    captured = LAYOUTS[key]
    bits = {"f16": 16, "bf16": 16, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "f64": 64}.get(element, 32)
    assert found.shape == (LANES, int(registers) * max(32, bits) // bits, 2)
    if part == "map":
        np.testing.assert_array_equal(found, captured)
        return
    lanes, elements = np.divmod(captured.astype(int), found.shape[1])
    rows, columns = np.indices(captured.shape)
    np.testing.assert_array_equal(found[lanes, elements], np.stack([rows, columns], axis=-1))
