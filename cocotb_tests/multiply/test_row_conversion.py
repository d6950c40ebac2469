"""The conversion of fp8 to f16: every byte of either type, at every place of half a row."""

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

NUMBERS = 16


@cocotb.test
async def every_byte_at_every_place(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    f16 = float_format("f16")
    compared = nans = 0
    for name in ("e4m3", "e5m2"):
        golden = convert(np.arange(256, dtype=np.uint8), float_format(name), f16)
        orders = [rng.sample(range(256), 256) for _ in range(NUMBERS)]
        for index in range(256):
            half = [order[index] for order in orders]
            dut.row.value = sum(byte << 16 * lane + 8 for lane, byte in enumerate(half))
            dut.is_e4m3.value = name == "e4m3"
            await Timer(1, "ns")
            converted = int(dut.converted.value)
            for lane, byte in enumerate(half):
                found, wanted = converted >> 16 * lane & 0xFFFF, int(golden[byte])
                if wanted == f16.canonical_nan:
                    assert found & ~f16.sign_mask > f16.infinity, (name, byte)
                    nans += 1
                else:
                    assert found == wanted, (name, byte)
                compared += 1
        for row in (rng.getrandbits(256) for _ in range(40)):
            dut.row.value = row
            dut.is_e4m3.value = 0
            await Timer(1, "ns")
            assert int(dut.converted.value) == row
    assert compared == 2 * 256 * NUMBERS
    assert nans == NUMBERS * (2 + 6)


def test_row_conversion(simulate: Simulate) -> None:
    simulate(unit_design("row_conversion", RowConversion()), __name__)
