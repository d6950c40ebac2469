"""Factors and multiply: shifted significand products, products of bytes, sums of two products of nibbles."""

import random
from typing import Any

import cocotb
from amaranth.lib.wiring import Out

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage, join
from golden.tables.profiles import HOPPER
from hdl.config import DotProductConfig
from hdl.dot_product.factors import Factors
from hdl.dot_product.multiply import Multiply
from hdl.dot_product.operands import Operation
from hdl.dot_product.widths import LANES, Widths
from hdl.dot_product.words import WORDS
from hdl.stream.pipeline import Pipeline
from sim.testbench.dot_product_operands import MODES
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"}))


class FactorsAndMultiply(Pipeline):
    """Both stages, from bytes and significands to products."""

    def __init__(self) -> None:
        factors, multiply = Factors(CONFIG), Multiply(CONFIG)
        words, odd = Out(64).array(WORDS), Out(64).array(WORDS // 2)
        super().__init__(
            {
                "operation": Out(Operation),
                **{"significand_a": words, "significand_b": words, "byte_a": odd, "byte_b": odd},
                "fine": Out(3).array(LANES),
            },
            {"product": Out(36).array(LANES)},
            [factors, multiply],
        )


def signed(value: int, bits: int, is_signed: bool) -> int:
    return value - (1 << bits) if is_signed and value >> (bits - 1) else value


@cocotb.test
async def products(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    placement = Widths(CONFIG).placement
    assert placement == 4 + HOPPER.fraction_bits - 27
    ends = (0x00, 0x01, 0x7F, 0x80, 0x88, 0x8F, 0xF8, 0xFF)
    inputs, expected = [], []
    for _ in range(800):
        mode = rng.choice(MODES)
        a, b, shift, results, masks = [], [], [], [], []
        byte_a, byte_b = [], []
        for lane in range(LANES):
            x, y = rng.getrandbits(11), rng.getrandbits(11)
            if mode.format in ("i8", "i4"):
                x, y = (rng.choice(ends) if rng.random() < 0.4 else value & 255 for value in (x, y))
            distance = rng.randrange(8)
            a_signed, b_signed = mode.a_type.startswith("s"), mode.b_type.startswith("s")
            mask = (1 << 36) - 1
            if mode.format == "i8":
                result = signed(x, 8, a_signed) * signed(y, 8, b_signed) << 4
            elif mode.format == "i4":
                a0, a1 = (signed(n, 4, a_signed) for n in (x & 15, x >> 4))
                b0, b1 = (signed(n, 4, b_signed) for n in (y & 15, y >> 4))
                result = a0 * b1 + ((a0 * b0 + a1 * b1) << 12)
                mask = (1 << 24) - 1
            elif mode.format == "b1":
                result = 0
            else:
                result = x * y << (7 - distance + placement)
            a.append(x)
            b.append(y)
            if lane >= 8:
                byte_a.append(x & 255)
                byte_b.append(y & 255)
            shift.append(distance)
            results.append(result)
            masks.append(mask)
        inputs.append(
            {
                "operation": mode.code(),
                "significand_a": join(a, 16),
                "significand_b": join(b, 16),
                "byte_a": join(byte_a, 16),
                "byte_b": join(byte_b, 16),
                "fine": join(shift, 3),
            }
        )
        expected.append({"product": (join(results, 36), join(masks, 36))})
    await check_stage(dut, inputs, expected, len(Factors.delays) + len(Multiply.delays))


def test_multiply(simulate: Simulate) -> None:
    simulate(unit_design("dot_product_multiply", FactorsAndMultiply()), __name__)
