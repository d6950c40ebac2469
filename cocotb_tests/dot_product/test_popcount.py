"""Popcount: ones of a xor b and of a and b."""

import random
from typing import Any

import cocotb

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage
from hdl.config import DotProductConfig
from hdl.dot_product.operands import Operation
from hdl.dot_product.popcount import BITS, Popcount
from sim.testbench.dot_product_operands import MODES
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "i8", "b1"}))
AND = 1 << Operation.as_shape()["bitwise_and"].offset


@cocotb.test
async def counts(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    full = (1 << BITS) - 1
    cases = [(full, 0), (full, full), (0, 0), (0, full)]
    cases += [(1 << bit, 0) for bit in range(BITS)] + [(full, 1 << bit) for bit in range(BITS)]
    cases += [(full >> rng.randrange(BITS), rng.getrandbits(BITS)) for _ in range(200)]
    inputs, expected = [], []
    for number, (a, b) in enumerate(cases):
        for bitwise_and in (0, 1):
            enable = int(number < 4 or rng.random() < 0.9)
            mode = rng.choice([mode for mode in MODES if (mode.format == "b1") == enable])
            operation = mode.code() & ~AND | AND * bitwise_and
            inputs.append({"a": a, "b": b, "operation": operation})
            expected.append({"count": (a & b if bitwise_and else a ^ b).bit_count() * enable})
    await check_stage(dut, inputs, expected, len(Popcount.delays))


def test_popcount(simulate: Simulate) -> None:
    simulate(unit_design("dot_product_popcount", Popcount(CONFIG)), __name__)
