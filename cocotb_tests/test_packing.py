"""Packing against what Amaranth makes of the same fields."""

import random
from typing import Any

import pytest
from amaranth.hdl import signed
from amaranth.lib import data

from cocotb_tests.packing import Packing
from hdl.config import PRESETS
from hdl.control.scoreboard import Footprint
from hdl.memory.line_address_generator import part_layout
from hdl.multiply.tile.request import TileRequest, TileShape


@pytest.mark.parametrize("layout", [Footprint, part_layout(PRESETS["large"]), TileRequest])
def test_any_bits_there_and_back(layout: Any) -> None:
    rng = random.Random(1)
    packing, cast = Packing(layout), data.Layout.cast(layout)
    for _ in range(50):
        bits = rng.getrandbits(cast.size)
        found, expected = packing.unpack(bits), cast.from_bits(bits)
        for name, field in cast:
            value = getattr(expected, name)
            plain = value.as_bits() if isinstance(value, data.Const) else int(getattr(value, "value", value))
            packed = getattr(found, name)
            assert (packed if isinstance(packed, int) else Packing(field.shape).pack(packed)) == plain, name
        assert packing.pack(found) == bits


def test_fields_of_all_kinds() -> None:
    entry = {"valid": True, "first": 3, "last": 0x1FF}
    fields = {"reads": [entry, entry], "write": entry}
    cast = data.Layout.cast(Footprint)
    in_range = {"valid": 1, "first": 3, "last": 0xFF}
    expected = cast.const({"reads": [in_range, in_range, {}], "write": in_range}).as_bits()
    assert Packing(Footprint).pack(fields) == expected
    wide = {"tile_shape": TileShape.WIDE_32}
    assert Packing(TileRequest).pack(wide) == data.Layout.cast(TileRequest).const(wide).as_bits()


def test_what_is_refused() -> None:
    with pytest.raises(KeyError, match="nothing"):
        Packing(Footprint).pack({"nothing": 1})
    with pytest.raises(ValueError, match=r"^the field amount must be unsigned, not signed\(4\)$"):
        Packing(data.StructLayout({"amount": signed(4)}))
