"""The dot-product unit as the gates of an ECP5, on what was captured from the chip: every bit equal."""

import re

import numpy as np
import pytest

from cocotb_tests.dot_product.captures import captured_tiles, chained
from cocotb_tests.dot_product.gates import gate_level
from hdl.config import DotProductConfig
from hdl.dot_product.unit import DotProductUnit
from sim.testbench.bulk import BulkUnit

SMALL = frozenset({"f16", "i8", "i4", "b1"})
ALL = SMALL | {"bf16", "tf32"}


def compare_captures(formats: frozenset[str]) -> set[str]:
    """Put every captured tile of some formats through the gates; returns the formats there were."""
    unit = DotProductUnit(DotProductConfig(formats=formats))
    text = gate_level(unit)
    cells = set(re.findall(r"^  (LUT4|CCU2C|TRELLIS_FF|MULT18X18D) ", text, re.MULTILINE))
    assert cells == {"LUT4", "CCU2C", "TRELLIS_FF", "MULT18X18D"}, "it is to be gates"
    gates = BulkUnit(unit, verilog=text)
    seen = set()
    for name, blocks, captured in captured_tiles():
        if blocks[0].mode.format not in formats:
            continue
        results = blocks[0].c
        for index, block in enumerate(blocks):
            batch = chained(block, results) if index else block
            results = gates.run(batch.pack())[:, 0]
        assert np.array_equal(results, captured), name
        seen.add(blocks[0].mode.format)
    return seen


@pytest.mark.long
@pytest.mark.parametrize("formats", [SMALL, ALL], ids=["f16 and integers", "all formats"])
def test_gates_give_the_captured_bits(formats: frozenset[str]) -> None:
    assert compare_captures(formats) == formats
