"""Half a word of A times half a word of B, against sums of Python's integers."""

import random
from collections import deque
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from boards.serial_core.dot_product import HALF_BITS, HalfDotProduct
from boards.serial_core.serial_config import SERIAL_FORMATS, SerialConfig
from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import start
from hdl.config import DotProductConfig
from hdl.dot_product.operands import Multiplicand
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

WIDTHS = {Multiplicand.I8: 8, Multiplicand.I4: 4}
EXTREMES = (0x0000, 0xFFFF, 0x8080, 0x7F7F, 0x8888, 0x7777, 0xFF01)


def elements(half: int, bits: int, signed: int) -> list[int]:
    values = [half >> place & (1 << bits) - 1 for place in range(0, HALF_BITS, bits)]
    return [value - (signed * (value >> bits - 1) << bits) for value in values]


def expected_sum(a: int, b: int, multiplicand: Multiplicand, signs: tuple[int, int], bitwise_and: int) -> int:
    if multiplicand is Multiplicand.B1:
        return (a & b if bitwise_and else a ^ b).bit_count()
    pairs = zip(*(elements(*operand) for operand in _operands(a, b, multiplicand, signs)), strict=True)
    return sum(x * y for x, y in pairs)


def _operands(a: int, b: int, multiplicand: Multiplicand, signs: tuple[int, int]) -> list[tuple[int, ...]]:
    bits = WIDTHS[multiplicand]
    return [(half, bits, sign) for half, sign in zip((a, b), signs, strict=True)]


@cocotb.test
async def sums(dut: Any) -> None:
    """Extremes with extremes and noise, of every kind and sign, a new one in each cycle."""
    rng = random.Random(cocotb.RANDOM_SEED)
    kinds = [Multiplicand[name.upper()] for name in parameters()["formats"]]
    halves = [(a, b) for a in EXTREMES for b in EXTREMES]
    halves += [(rng.getrandbits(HALF_BITS), rng.getrandbits(HALF_BITS)) for _ in range(600)]
    await start(dut)
    expected: deque[int | None] = deque([None])
    for kind in kinds:
        for a, b in halves:
            for signs in ((0, 0), (0, 1), (1, 0), (1, 1)):
                bitwise_and = rng.randrange(2)
                dut.multiplicand.value, dut.a.value, dut.b.value = kind.value, a, b
                dut.a_signed.value, dut.b_signed.value = signs
                dut.bitwise_and.value = bitwise_and
                await RisingEdge(dut.aclk)
                sum_ = expected.popleft()
                if sum_ is not None:
                    assert dut.sum.value.to_signed() == sum_
                expected.append(expected_sum(a, b, kind, signs, bitwise_and))


@pytest.mark.parametrize("formats", ["b1 i4 i8", "i8", "b1"])
def test_serial_dot_product(simulate: Simulate, formats: str) -> None:
    chosen = frozenset(formats.split())
    assert chosen <= SERIAL_FORMATS
    config = SerialConfig(dot_product=DotProductConfig(formats=chosen))
    name = f"serial_dot_product_{formats.replace(' ', '_')}"
    simulate(unit_design(name, HalfDotProduct(config)), __name__, values={"formats": sorted(chosen)})
