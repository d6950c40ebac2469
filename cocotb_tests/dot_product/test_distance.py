"""Distance: of every term from Emax."""

import random
from typing import Any

import cocotb

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage, join
from hdl.config import DotProductConfig
from hdl.dot_product.distance import Distance
from hdl.dot_product.widths import LANES, Widths
from sim.testbench.dot_product_operands import FP8_MODES, MODES
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1", "fp8"}))
WIDTHS = Widths(CONFIG)
BITS = WIDTHS.exponent_bits


@cocotb.test
async def distances(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    inputs, expected = [], []
    for _ in range(800):
        mode = rng.choice((*MODES, *FP8_MODES))
        is_fp8 = mode.format == "fp8"
        maximum = rng.randrange(40, 400)
        values = [
            min(maximum, rng.choice((0, rng.randrange(64), 1 << rng.randrange(9)))) for _ in range(LANES + 1)
        ]
        fine = [value % (4 if is_fp8 else 8) for value in values[:LANES]]
        coarse = [min(value // 8, 4) for value in values[:LANES]]
        quarter = [is_fp8 and bool(value & 4) for value in values[:LANES]]
        foreign = [7 >> min(value % 4, 3) if is_fp8 else 0 for value in values[:LANES]]
        c = min(values[LANES], 32)
        inputs.append(
            {
                "operation": mode.code(),
                "maximum": maximum,
                "product_exponent": join([maximum - value for value in values[:LANES]], BITS),
                "c_exponent": maximum - values[LANES],
            }
        )
        entry: dict[str, int | tuple[int, int]] = {
            "fine": (join(fine, 3), join([7 if value < 4 else 0 for value in coarse], 3)),
            "coarse": (join(coarse, 3), join([4 if value == 4 else 7 for value in coarse], 3)),
            "quarter": (join(quarter, 1), join([value < 4 for value in coarse], 1)),
            "foreign": (join(foreign, 3), join([7 if value < 4 else 0 for value in coarse], 3)),
            "c_distance": (c, 32 if c == 32 else 63),
        }
        expected.append(entry)
    await check_stage(dut, inputs, expected, len(Distance.delays))


def test_distance(simulate: Simulate) -> None:
    simulate(unit_design("dot_product_distance", Distance(CONFIG)), __name__)
