"""Who leads, how far the addend is shifted, and the shift itself, for every distance."""

import random
from typing import Any

import cocotb
import pytest

from cocotb_tests.conftest import Simulate
from cocotb_tests.fma64.stage import run_stage
from hdl.fma64.align import Align, Place
from sim.testbench.unit import unit_design

WINDOW = 110
DISTANCE_BITS = 13


@cocotb.test
async def places(dut: Any) -> None:
    """All distances, with a product and without."""
    rng = random.Random(cocotb.RANDOM_SEED)
    operations, facts = [], []
    for product_exponent in [*range(-965, 3126, 7), *range(-25, 300), *range(-965, -900)]:
        for addend_exponent in (1, 2, rng.randrange(1, 2047), 2046):
            for no_product in (0, 1):
                distance = product_exponent - addend_exponent
                facts.append((product_exponent, addend_exponent, no_product, distance))
                operations.append(
                    {
                        "distance": distance % (1 << DISTANCE_BITS),
                        "product_exponent": product_exponent % (1 << DISTANCE_BITS),
                        "no_product": no_product,
                        "addend_exponent": addend_exponent,
                    }
                )
    assert {distance for *_, distance in facts} >= set(range(-20, 250))
    results = await run_stage(dut, operations, ["product_leads", "shift", "exponent"], len(Place.delays))
    for (product_exponent, addend_exponent, no_product, distance), result in zip(facts, results, strict=True):
        what = f"exponents {product_exponent} and {addend_exponent}, no_product {no_product}"
        above = no_product or distance < 0
        leads = not above and distance >= 54
        assert result["product_leads"] == leads, what
        expected = product_exponent - 53 if leads else addend_exponent if above else product_exponent
        assert result["exponent"] == expected, what
        shift = distance - 53 if leads else 0 if above else distance
        if shift < WINDOW:
            assert result["shift"] == shift, what
        else:
            assert result["shift"] >= WINDOW, what


@cocotb.test
async def shifts(dut: Any) -> None:
    """All shifts, of addends whose last or only one falls out of the window, and of random ones."""
    rng = random.Random(cocotb.RANDOM_SEED)
    operations = []
    for shift in range(128):
        for addend in (
            0,
            1,
            1 << 52,
            (1 << 53) - 1,
            1 << rng.randrange(53),
            *(rng.getrandbits(53) for _ in range(10)),
        ):
            operations += [{"addend": addend, "shift": shift, "subtract": subtract} for subtract in (0, 1)]
    rng.shuffle(operations)
    results = await run_stage(dut, operations, ["term", "lost"], len(Align.delays))
    for operation, result in zip(operations, results, strict=True):
        exact = operation["addend"] << (WINDOW - 53) + 128 >> operation["shift"]
        term, lost = exact >> 128, exact & (1 << 128) - 1
        if operation["subtract"]:
            term ^= (1 << WINDOW) - 1
        assert result == {"term": term, "lost": lost != 0}, f"{operation}"


@pytest.mark.parametrize(
    ("stage", "component", "case"), [("place", Place, "places"), ("align", Align, "shifts")]
)
def test_fma64_align(simulate: Simulate, stage: str, component: type, case: str) -> None:
    simulate(unit_design(f"fma64-{stage}", component()), __name__, cases=(case,))
