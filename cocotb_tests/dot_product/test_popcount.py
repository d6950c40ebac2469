"""Popcount: ones of a xor b and of a and b."""

import random
from typing import Any

import cocotb

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage
from hdl.dot_product.popcount import BITS, Popcount
from sim.testbench.unit import unit_design


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
            inputs.append({"a": a, "b": b, "bitwise_and": bitwise_and, "enable": enable})
            expected.append({"count": (a & b if bitwise_and else a ^ b).bit_count() * enable})
    await check_stage(dut, inputs, expected, Popcount.latency)


def test_popcount(simulate: Simulate) -> None:
    simulate(unit_design("dot_product_popcount", Popcount()), __name__)
