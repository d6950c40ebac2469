"""Distance of fp8: from Emax, and the significands of what lies too far below it."""

import random
from typing import Any

import cocotb
import pytest

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage, join
from hdl.config import DotProductConfig
from hdl.dot_product.fp8_distance import Fp8Distance
from hdl.dot_product.widths import LANES, Widths
from sim.testbench.dot_product_operands import FP8_MODES, MODES
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIGS = {
    "alone": DotProductConfig(formats=frozenset({"fp8"})),
    "beside": DotProductConfig(formats=frozenset({"f16", "fp8"})),
}
OFFSET = Widths(DotProductConfig()).half_offset


@cocotb.test
async def distances(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    lanes = parameters()["lanes"]
    alone = lanes > LANES
    modes = FP8_MODES if alone else (*FP8_MODES, *(mode for mode in MODES if mode.format == "f16"))
    inputs, expected = [], []
    for operation in range(800):
        mode = rng.choice(modes)
        # Emax is a product's, or a larger C's; a product's exponent is 2 to 60.
        largest = rng.randrange(2, 61)
        exponents = [
            max(2, largest - rng.choice((0, rng.randrange(20), rng.randrange(60)))) for _ in range(lanes)
        ]
        maximum = OFFSET + largest + rng.choice((0, 0, rng.randrange(20), rng.randrange(97)))
        if operation == 0:
            maximum = 285
        a, b = ([rng.getrandbits(4) for _ in range(lanes)] for _ in range(2))
        far = [maximum - OFFSET - exponent for exponent in exponents]
        is_fp8 = mode.format == "fp8"
        kept = [is_fp8 and distance < 16 for distance in far]
        inputs.append(
            {
                "operation": mode.code(),
                "maximum": maximum,
                "fp8_exponent": join(exponents, 6),
                "fp8_significand_a": join(a, 4),
                "fp8_significand_b": join(b, 4),
            }
        )
        factors_a = [x if keep else 0 for x, keep in zip(a, kept, strict=True)]
        entry: dict[str, int | tuple[int, int]] = {"fp8_a": join(factors_a, 4)}
        everywhere = (1 << lanes) - 1
        if not is_fp8:
            entry |= {"fp8_near": everywhere, "fp8_far": everywhere, "fp8_b": 0}
        else:
            mask = join(kept, 1)
            entry |= {
                "fp8_b": join(b, 4),
                "fp8_fine": (
                    join([distance % 4 for distance in far], 2),
                    join([3 * keep for keep in kept], 2),
                ),
                "fp8_quarter": (join([distance >> 2 for distance in far], 1), mask),
                "fp8_near": (join([distance < 8 for distance in far], 1), mask),
                "fp8_far": (join([distance >= 8 for distance in far], 1), mask),
            }
            if not alone:
                entry["fp8_shifted"] = (join([distance % 4 < 2 for distance in far], 1), mask)
        expected.append(entry)
    await check_stage(dut, inputs, expected, len(Fp8Distance.delays))


@pytest.mark.parametrize("where", CONFIGS)
def test_fp8_distance(simulate: Simulate, where: str) -> None:
    design = unit_design(f"dot_product_fp8_distance_{where}", Fp8Distance(CONFIGS[where]))
    simulate(design, __name__, values={"lanes": Widths(CONFIGS[where]).fp8_lanes})
