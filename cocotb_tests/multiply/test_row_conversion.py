"""The conversion of fp8 to f16: every byte of either type, at every place of a row."""

import random
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import Timer

from cocotb_tests.conftest import Simulate
from golden.arithmetic.arrays import convert
from golden.tables.formats import float_format
from hdl.multiply.tile.conversion import RowConversion
from sim.testbench.unit import unit_design

ROW_BYTES = 32
HALVES = [[k for k in range(ROW_BYTES) if (k % 4 >= 2) == upper] for upper in (False, True)]
"""The k of each half."""


@cocotb.test
async def every_byte_at_every_place(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    f16 = float_format("f16")
    compared = nans = 0
    for is_e5m2, name in enumerate(("e4m3", "e5m2")):
        golden = convert(np.arange(256, dtype=np.uint8), float_format(name), f16)
        orders = [rng.sample(range(256), 256) for _ in range(ROW_BYTES)]
        for index in range(256):
            row = [order[index] for order in orders]
            dut.row.value = int.from_bytes(bytes(row), "little")
            dut.is_e5m2.value = is_e5m2
            for upper, places in enumerate(HALVES):
                dut.upper.value = upper
                await Timer(1, "ns")
                converted = int(dut.converted.value)
                for lane, k in enumerate(places):
                    found, wanted = converted >> 16 * lane & 0xFFFF, int(golden[row[k]])
                    if wanted == f16.canonical_nan:
                        assert found & ~f16.sign_mask > f16.infinity, (name, row[k])
                        nans += 1
                    else:
                        assert found == wanted, (name, row[k])
                    compared += 1
    assert compared == 2 * 256 * ROW_BYTES
    assert nans == ROW_BYTES * (2 + 6)


def test_row_conversion(simulate: Simulate) -> None:
    simulate(unit_design("row_conversion", RowConversion()), __name__)
