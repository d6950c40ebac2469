"""Decoding of operands, and special values made into numbers that add up to them."""

import random
from typing import Any

import cocotb

from cocotb_tests.conftest import Simulate
from cocotb_tests.fma64.corners import CORNERS
from cocotb_tests.fma64.exact import INFINITY, MODES, SIGN, expected_fma64
from cocotb_tests.fma64.operands import Case, random_cases
from cocotb_tests.fma64.stage import run_stage
from hdl.fma64.decode import Decode
from sim.testbench.unit import unit_design

OUTPUTS = (
    *("factor_a", "factor_b", "addend", "addend_exponent"),
    *("product_exponent", "distance", "no_product", "product_sign", "subtract", "special"),
)
FRACTION = (1 << 52) - 1
DISTANCE = 1 << 13


def parts(bits: int) -> tuple[int, int]:
    """Significand and biased exponent, 1 for subnormals."""
    field = bits >> 52 & 0x7FF
    return (bits & FRACTION | (1 << 52 if field else 0), field or 1)


def check_special(case: Case, result: dict[str, int]) -> None:
    """Product and addend of a special result: one of them is the result, the other is zero."""
    wanted = expected_fma64(*case[:3], MODES[case.mode])
    if result["no_product"]:
        assert result["factor_a"] * result["factor_b"] == 0
        got = result["addend"] & FRACTION | result["addend_exponent"] << 52
        assert result["addend"] >> 52 == 1
    else:
        assert result["addend"] == 0
        product = result["factor_a"] * result["factor_b"]
        assert product >> 104 == 1
        assert product & FRACTION == 0
        # The product's leading one lies three bits below the top of the window that is 53 bits lower.
        got = product >> 52 & FRACTION | result["product_exponent"] - 53 - 3 << 52
        assert result["distance"] >= 54
    assert got == wanted & ~SIGN
    assert result["product_sign"] == wanted >> 63
    assert not result["subtract"]


@cocotb.test
async def operands(dut: Any) -> None:
    """Numbers of every kind, and special values in every position."""
    rng = random.Random(cocotb.RANDOM_SEED)
    cases = random_cases(4_000, cocotb.RANDOM_SEED) + rng.sample(list(CORNERS["specials"]()), 4_000)
    cases += [*rng.sample(list(CORNERS["nans"]()), 2_000), *CORNERS["single_bits"]()]
    results = await run_stage(
        dut, [{"a": case.a, "b": case.b, "c": case.c} for case in cases], OUTPUTS, len(Decode.delays)
    )
    specials = 0
    for case, result in zip(cases, results, strict=True):
        special = any(x & ~SIGN >= INFINITY for x in case[:3])
        assert result["special"] == special, f"{case}"
        if special:
            specials += 1
            check_special(case, result)
            continue
        (a, ea), (b, eb), (c, ec) = (parts(x) for x in case[:3])
        assert (result["factor_a"], result["factor_b"], result["addend"]) == (a, b, c), f"{case}"
        assert result["addend_exponent"] == ec
        assert result["no_product"] == (a * b == 0)
        assert result["product_exponent"] == (ea + eb - 967) % DISTANCE
        assert result["distance"] == (ea + eb - 967 - ec) % DISTANCE
        sign = (case.a ^ case.b) >> 63
        assert result["product_sign"] == sign
        assert result["subtract"] == sign ^ case.c >> 63
    assert specials > 1_000


def test_fma64_decode(simulate: Simulate) -> None:
    simulate(unit_design("fma64-decode", Decode()), __name__)
