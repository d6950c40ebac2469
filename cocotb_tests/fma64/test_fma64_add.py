"""The sum of product and addend, seen through the window, against exact numbers."""

import random
from typing import Any

import cocotb
from amaranth.lib.wiring import Out

from cocotb_tests.conftest import Simulate
from cocotb_tests.fma64.stage import run_stage
from hdl.fma64.add import Add, PlaceProduct
from hdl.stream.pipeline import Pipeline
from sim.testbench.unit import unit_design

WINDOW = 110
MASK = (1 << WINDOW) - 1
FINE = 60
"""Bits below the window that the exact numbers of this test have."""


class PlaceProductAndAdd(Pipeline):
    """Both stages, from the product to the sum."""

    def __init__(self) -> None:
        bit = Out(1)
        super().__init__(
            {
                **{"product": Out(106), "product_leads": bit, "subtract": bit},
                **{"term": Out(WINDOW), "lost": bit},
            },
            {"sum": Out(WINDOW), "negative": bit, "inexact": bit},
            [PlaceProduct(), Add()],
        )


def placed_product(product: int, leads: int) -> int:
    """The product in units of 2**-FINE of the window's last place."""
    return product << 2 + FINE if leads else product << FINE >> 51


@cocotb.test
async def sums(dut: Any) -> None:
    """Sums, and differences of either sign, exact and inexact, with many bits and with few."""
    rng = random.Random(cocotb.RANDOM_SEED)
    operations, facts = [], []
    for _ in range(12_000):
        leads, subtract = rng.randrange(2), rng.randrange(2)
        product = rng.choice(
            (rng.getrandbits(106), 1 << rng.randrange(106), rng.getrandbits(30) << rng.randrange(76), 0)
        )
        exact_product = placed_product(product, leads)
        if leads:
            addend = rng.getrandbits(53) << FINE + 57 >> rng.randrange(1, 115)
            if rng.random() < 0.4:
                addend = max(exact_product + rng.randrange(-2, 3) * (1 << rng.choice((0, FINE))), 0)
        else:
            addend = rng.getrandbits(53) << FINE + 4 + rng.randrange(54)
        facts.append((exact_product, addend))
        term = addend >> FINE
        operations.append(
            {
                "product": product,
                "product_leads": leads,
                "subtract": subtract,
                "term": term ^ (MASK if subtract else 0),
                "lost": int(addend & (1 << FINE) - 1 != 0),
            }
        )
    outputs = ["sum", "negative", "inexact"]
    results = await run_stage(dut, operations, outputs, len(PlaceProduct.delays) + len(Add.delays))
    signs = set()
    for operation, (product, addend), result in zip(operations, facts, results, strict=True):
        if not operation["subtract"]:
            whole, negative = product + addend, False
            seen, fraction = whole >> FINE, whole & (1 << FINE) - 1
        elif product > addend:
            # The greatest multiple of the last place that is below the difference.
            seen, negative = (product - addend - 1) >> FINE, False
            fraction = (product - addend) & (1 << FINE) - 1
        else:
            seen, negative = (addend - product) >> FINE ^ MASK, True
            fraction = (addend - product) & (1 << FINE) - 1
        signs.add((operation["subtract"], negative, fraction != 0))
        assert result == {"sum": seen, "negative": negative, "inexact": fraction != 0}, f"{operation}"
    assert len(signs) == 6, "sums, positive and negative differences, each exact and inexact"


def test_fma64_add(simulate: Simulate) -> None:
    simulate(unit_design("fma64-add", PlaceProductAndAdd()), __name__)
