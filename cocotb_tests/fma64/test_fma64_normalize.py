"""Normalisation against shifts of integers that go on below the window."""

import random
from typing import Any

import cocotb

from cocotb_tests.conftest import Simulate
from cocotb_tests.fma64.stage import run_stage
from hdl.fma64.normalize import Normalize
from sim.testbench.unit import unit_design

WINDOW = 110
BELOW = 256
WIDTH = WINDOW + BELOW
OUTPUTS = ("significand", "guard", "rest", "biased", "cancelled")


@cocotb.test
async def shifts(dut: Any) -> None:
    """Every number of leading zeros, free and held back by the exponent, over tails of every kind."""
    rng = random.Random(cocotb.RANDOM_SEED)
    operations = []
    for zeros in range(WINDOW + 1):
        top = 1 << WINDOW - 1 - zeros if zeros < WINDOW else 0
        below = max(top - 1, 0)
        for magnitude in {
            top,
            top | below,
            top | (below & rng.getrandbits(WINDOW)),
            top | (below and 1 << rng.randrange(below.bit_length())),
        }:
            for exponent in (
                1,
                2,
                rng.randrange(1, 130),
                max(zeros, 1),
                zeros + 1,
                zeros + 2,
                127,
                128,
                129,
                rng.randrange(130, 1 << 12),
            ):
                subtract = rng.randrange(2)
                negative = subtract & rng.randrange(2)
                operations.append(
                    {
                        "sum": magnitude ^ ((1 << WINDOW) - 1 if negative else 0),
                        "negative": negative,
                        "inexact": int(rng.random() < 0.3),
                        "subtract": subtract,
                        "exponent": exponent,
                    }
                )
    rng.shuffle(operations)
    results = await run_stage(dut, operations, OUTPUTS, len(Normalize.delays))
    for operation, result in zip(operations, results, strict=True):
        continuation = (1 << BELOW) - 1 if operation["subtract"] else 0
        whole = operation["sum"] << BELOW | continuation
        if operation["negative"]:
            whole ^= (1 << WIDTH) - 1
        shift = min(WIDTH - whole.bit_length(), operation["exponent"] - 1)
        kept = whole << shift & (1 << WIDTH) - 1
        tail_bits = WIDTH - 54
        lost = kept & (1 << tail_bits) - 1
        ones = operation["subtract"] and not operation["negative"]
        expected_tail = (1 << tail_bits) - (1 << shift) if ones else 0
        assert result["significand"] == kept >> WIDTH - 53, f"{operation}"
        assert result["guard"] == kept >> tail_bits & 1, f"{operation}"
        assert result["rest"] == (operation["inexact"] or lost >> shift != expected_tail >> shift), (
            f"{operation}"
        )
        if kept >> WIDTH - 1:
            assert result["biased"] == operation["exponent"] - shift, f"{operation}"
        exact = operation["subtract"] and not operation["inexact"]
        assert result["cancelled"] == (exact and whole == 0), f"{operation}"


def test_fma64_normalize(simulate: Simulate) -> None:
    simulate(unit_design("fma64-normalize", Normalize()), __name__)
