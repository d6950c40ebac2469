"""Rounding and packing against the exact model's rounding."""

import random
from typing import Any

import cocotb

from cocotb_tests.conftest import Simulate
from cocotb_tests.fma64.exact import MODES, SIGN, round_to_f64
from cocotb_tests.fma64.stage import run_stage
from hdl.fma64.round import Round
from sim.testbench.unit import unit_design

HIDDEN = 1 << 52


def expected(operation: dict[str, int], mode: str, product_sign: int, subtract: int) -> int:
    """Round the number that a normalised magnitude stands for, in eighths of its last place."""
    if operation["cancelled"]:
        return SIGN if mode == "rm" else 0
    negative = product_sign ^ operation["negative"]
    tail = operation["rest"]
    if subtract and not operation["negative"]:
        # One unit is missing infinitely far down: with ones only below the guard bit it makes a half.
        tail = 1 if tail else 4
    eighths = operation["significand"] * 8 + operation["guard"] * 4 + tail
    exponent = operation["biased"] if operation["significand"] & HIDDEN else 1
    if eighths == 0:
        return SIGN if negative else 0
    return round_to_f64(-eighths if negative else eighths, exponent - 1075 - 3, mode)


@cocotb.test
async def roundings(dut: Any) -> None:
    """Every mode, sign and kind of tail, with carries, overflows and underflows."""
    rng = random.Random(cocotb.RANDOM_SEED)
    operations, results_expected = [], []
    significands = [0, 1, HIDDEN - 1, HIDDEN - 2, HIDDEN, HIDDEN + 1, 2 * HIDDEN - 1, 2 * HIDDEN - 2]
    for index in range(16_000):
        significand = rng.choice(significands) if index % 2 else rng.getrandbits(53)
        mode, product_sign, subtract = rng.randrange(4), rng.randrange(2), rng.randrange(2)
        negative = subtract & rng.randrange(2)
        cancelled = int(negative and significand == 0 and rng.random() < 0.5)
        operation = {
            "significand": significand,
            "guard": 0 if cancelled else rng.randrange(2),
            "rest": 0 if cancelled else rng.randrange(2),
            "biased": rng.choice((1, 2, 1023, 2045, 2046, 2046, 2047, 2048, 3000, rng.randrange(1, 3100))),
            "negative": negative,
            "cancelled": cancelled,
            "product_sign": product_sign,
            "subtract": subtract,
            "special": 0,
            "rounding": mode,
        }
        operations.append(operation)
        results_expected.append(expected(operation, MODES[mode], product_sign, subtract))
    for _ in range(500):
        # Special values pass as they are, in every mode.
        fraction, sign = rng.choice((0, rng.getrandbits(52))), rng.randrange(2)
        operations.append(
            {
                "significand": HIDDEN | fraction,
                **dict.fromkeys(("guard", "rest", "negative", "cancelled", "subtract"), 0),
                "biased": 0x7FF,
                "product_sign": sign,
                "special": 1,
                "rounding": rng.randrange(4),
            }
        )
        results_expected.append(sign << 63 | 0x7FF << 52 | fraction)
    results = await run_stage(dut, operations, ["d"], len(Round.delays))
    for operation, wanted, result in zip(operations, results_expected, results, strict=True):
        assert result["d"] == wanted, f"{operation}: {result['d']:016x} instead of {wanted:016x}"


def test_fma64_round(simulate: Simulate) -> None:
    simulate(unit_design("fma64-round", Round()), __name__)
