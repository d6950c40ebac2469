"""Integers and single bits in the dot-product unit: equal to their definition, for every operand.

A solver cannot compare sums of sixteen products as a whole, so this is done in parts.

1. Each multiplier receives the factors that it should (`factored`), and multiplies them (`products`).
2. The product of these factors contains the wanted one: ``a * (b << 4)`` is ``(a * b) << 4``, and all
   products of pairs of nibbles are counted through (`test_nibbles_share_a_multiplier`).
3. The unit from operands to result, with the multipliers replaced by others that are cheap to reason about
   and reach every value a product can have (`whole`), adds, clamps and passes on what it should.

The third part says that the result is the clamped sum of C and sixteen numbers, each a function of the
operands of its lane which the multiplier alone computes. The first two say which function that is.
"""

from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import Out

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Flushed, prove
from hdl.config import DotProductConfig
from hdl.dot_product import align, arithmetic, factors, integers, multiply, popcount
from hdl.dot_product.operands import Multiplicand, Operation
from hdl.dot_product.widths import LANES
from hdl.dot_product.words import PLACE, WORDS
from hdl.stream.pipeline import Pipeline, Stage, delay

pytestmark = [pytest.mark.formal, pytest.mark.long]

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"}))
FACTOR = 18
_TO_FACTORS = 3


def extended(value: Value, is_signed: Value | int = 1) -> Value:
    """A field as a number, of which the highest bit is a sign if `is_signed`."""
    return Cat(value, value[-1] & is_signed).as_signed()


def lane_bytes(fields: Any, lane: int) -> tuple[Value, Value]:
    """The bytes of a and b that `Factors` gets in a lane."""
    word, first = lane // 4, PLACE * (lane % 4)
    low = lane < LANES // 2
    a = fields.significand_a[word] if low else fields.byte_a[word - 2]
    b = fields.significand_b[word] if low else fields.byte_b[word - 2]
    return a[first : first + 8], b[first : first + 8]


class FactorsAndMultiply(Pipeline):
    """Both stages, from bytes and significands to products."""

    def __init__(self, hdl: ModuleType) -> None:
        words, odd = Out(64).array(WORDS), Out(64).array(WORDS // 2)
        super().__init__(
            {
                "operation": Out(Operation),
                **{"significand_a": words, "significand_b": words, "byte_a": odd, "byte_b": odd},
                "fine": Out(3).array(LANES),
            },
            {"product": Out(2 * FACTOR).array(LANES)},
            [factors.Factors(CONFIG), hdl.Multiply(CONFIG)],
        )


def factored(hdl: ModuleType = multiply) -> Claim:
    """`Factors` and `Multiply`: what the multipliers get of integers.

    Of bytes a and b: a and 16 b. Of nibbles, a1 the high one: a0 + 4096 a1 and b1 + 4096 b0. No assumptions.
    """
    claim = Claim()
    unit = FactorsAndMultiply(hdl)
    inside = claim.include(unit)
    operation = Operation(claim.past(unit.input.operation, _TO_FACTORS, name="operation"))
    a_signed, b_signed = operation.a_signed, operation.b_signed
    for lane in range(LANES):
        a, b = (
            claim.past(byte, _TO_FACTORS, name=f"{name}{lane}")
            for name, byte in zip("ab", lane_bytes(unit.input, lane), strict=True)
        )
        pair = inside.signal(f"multiply.factors{lane}_2")
        a_factor, b_factor = pair[:FACTOR].as_signed(), pair[FACTOR:].as_signed()
        whole = (a_factor == extended(a, a_signed)) & (b_factor == extended(b, b_signed) << 4)
        halves = (a_factor == extended(a[:4], a_signed) + (extended(a[4:], a_signed) << 12)) & (
            b_factor == extended(b[4:], b_signed) + (extended(b[:4], b_signed) << 12)
        )
        claim.always(f"bytes_{lane}", implies(operation.multiplicand == Multiplicand.I8, whole))
        claim.always(f"nibbles_{lane}", implies(operation.multiplicand == Multiplicand.I4, halves))
    return claim


def products() -> Claim:
    """`Multiply`: a product is the two factors'. No assumptions."""
    claim = Claim()
    unit = multiply.Multiply(CONFIG)
    inside = claim.include(unit)
    for lane in range(LANES):
        pair = inside.signal(f"factors{lane}_2")
        product = pair[:FACTOR].as_signed() * pair[FACTOR:].as_signed()
        claim.always(f"product_{lane}", Value.cast(unit.output.product[lane]) == product)
    return claim


class CheapFactors(factors.Factors):
    """In place of `Factors`: a product of every possible value that takes no multiplier.

    Of bytes: their 16 bits and a sign, as a number, times 16. Of nibbles: the middle field is any number of
    10 bits, to which one is to be added where the field below is negative, and the fields around it are
    anything.
    """

    def __init__(self, config: DotProductConfig) -> None:
        words, odd = Out(64).array(WORDS), Out(64).array(WORDS // 2)
        Stage.__init__(
            self,
            {
                "operation": Out(Operation),
                **{"significand_a": words, "significand_b": words, "byte_a": odd, "byte_b": odd},
            },
            {"cheap": Out(2 * FACTOR).array(LANES)},
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        operation = self.input.operation
        multiplicand = operation.multiplicand
        for lane in range(LANES):
            a, b = lane_bytes(self.input, lane)
            middle = Signal(signed(12), name=f"middle{lane}")
            number, below = cheap_pair(a, b)
            m.d.comb += middle.eq(number)
            nibbles = Cat(a, b[:3], below, middle, a, b[:4])
            product = Mux(multiplicand == Multiplicand.I8, cheap_product(a, b, operation) << 4, nibbles)
            integral = (multiplicand == Multiplicand.I8) | (multiplicand == Multiplicand.I4)
            m.d.sync += self.output.cheap[lane].eq(Mux(integral, product, 0))
        return m


class CheapMultiply(multiply.Multiply):
    """In place of `Multiply`, behind `CheapFactors`: only the delay."""

    def __init__(self, config: DotProductConfig) -> None:
        lanes = Out(2 * FACTOR).array(LANES)
        Stage.__init__(self, {"cheap": lanes}, {"product": lanes})

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        for lane in range(LANES):
            late = delay(m, self.input.cheap[lane], self.latency, f"late{lane}")
            m.d.comb += self.output.product[lane].eq(late)
        return m


def cheap_product(a: Value, b: Value, operation: Any) -> Value:
    """A number of 17 bits instead of a product of bytes.

    Without a sign it is any from 0 to 65535, products being at most 65025; with one in either operand, any
    from -32768 to 32767, products being from -32640 to 32385.
    """
    return Cat(a, b, b[-1] & (operation.a_signed | operation.b_signed)).as_signed()


def cheap_pair(a: Value, b: Value) -> tuple[Value, Value]:
    """A number of 10 bits, and one of a single bit, whose sum stands for two products of nibbles."""
    return Cat(a, b[:2]).as_signed(), b[2]


class CheapPopcount(popcount.Popcount):
    """`Popcount` with any number up to 255 that takes no adders."""

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        operation = self.input.operation
        count = cheap_count(self.input.a, self.input.b, operation.bitwise_and)
        count = Mux(operation.multiplicand == Multiplicand.B1, count, 0)
        m.d.comb += self.output.count.eq(delay(m, count, self.latency, "late"))
        return m


def cheap_count(a: Value, b: Value, bitwise_and: Value) -> Value:
    """A number of 8 bits instead of a count of 128."""
    return Mux(bitwise_and, a[40:48] & b[120:128], a[40:48] ^ b[120:128])


def whole(name: str, hdl: ModuleType = arithmetic) -> Claim:
    """`Arithmetic` of every format: the sum of C and of all lanes, clamped if that is asked for.

    The multipliers and the popcount are replaced by cheap functions of the same operands. Each operation is
    of the format `name`; those before and behind it in the pipeline are of any. Assumes that C, where it is
    beyond s32, is so by less than 2**30.
    """
    claim = Claim()
    with (
        mock.patch.object(hdl, "Factors", CheapFactors),
        mock.patch.object(hdl, "Multiply", CheapMultiply),
        mock.patch.object(hdl, "Popcount", CheapPopcount),
    ):
        unit = hdl.Arithmetic(CONFIG)
        claim.include(unit)
    operands = unit.input
    operation = operands.operation
    c = Cat(operands.c, operands.c[-1] ^ operands.c_beyond).as_signed()
    claim.assume("c", (c < 3 << 30) & (c >= -3 << 30))
    carries: list[Value] = [Const(0, 1)] * LANES
    lanes: list[Value] = [Const(0, 1)] * LANES
    if name == "b1":
        lanes[0] = cheap_count(operands.a[:128], operands.b[:128], operation.bitwise_and)
    else:
        for lane in range(LANES):
            # Bytes 0, 2, ... 14 are in lanes 0 to 7, bytes 1, 3, ... 15 in lanes 8 to 15.
            place = 2 * (lane % 8) + lane // 8
            a, b = (vector.word_select(place, 8) for vector in (operands.a, operands.b))
            if name == "i8":
                lanes[lane] = cheap_product(a, b, operation)
            else:
                lanes[lane], carries[lane] = cheap_pair(a, b)
    # Added up in the order of the adder tree; in which order is all the same for integers.
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [lanes[index] + lanes[index + half] + carries[index] for index in range(half)]
        carries = carries[half:]
    total = Signal(signed(34), name="total")
    claim.module.d.comb += total.eq(lanes[0] + c + carries[0])
    above, below = total > 2**31 - 1, total < -(2**31)
    clamped = Mux(above, 2**31 - 1, Mux(below, Const(-(2**31), signed(32)), total[:32].as_signed()))
    expected = Mux(operation.saturate, clamped, total)[:32]
    concerned = operation.multiplicand == Multiplicand[name.upper()]
    late = claim.past(Cat(expected, concerned), unit.latency, name="expected")
    claim.always("sum", implies(late[32], unit.output.d == late[:32]))
    return claim


def test_factors() -> None:
    prove("integer_factors", factored(), Flushed(_TO_FACTORS))


def test_products() -> None:
    prove("integer_products", products(), Flushed(len(multiply.Multiply.delays)))


@pytest.mark.parametrize("a_signed", [False, True])
@pytest.mark.parametrize("b_signed", [False, True])
def test_nibbles_share_a_multiplier(a_signed: bool, b_signed: bool) -> None:
    """Bits 12 to 23, and one if bit 11 is set, are the dot product of the pairs, for all of them."""
    nibble = np.arange(16)
    a_value, b_value = (np.where(nibble > 7, nibble - 16 * sign, nibble) for sign in (a_signed, b_signed))
    a0, a1, b0, b1 = np.meshgrid(a_value, a_value, b_value, b_value, indexing="ij")
    product = (a0 + (a1 << 12)) * (b1 + (b0 << 12))
    field = (product >> 12 & 0xFFF) + (product >> 11 & 1)
    assert np.array_equal((field + 0x800 & 0xFFF) - 0x800, a0 * b0 + a1 * b1)
    assert (a0 * b0 + a1 * b1).min() >= -512
    assert (a0 * b0 + a1 * b1).max() < 512


@pytest.mark.parametrize("name", ["i8", "i4", "b1"])
def test_whole(name: str) -> None:
    prove(f"integer_whole_{name}", whole(name), Flushed(CONFIG.depth - 1))


def test_faulty_factors() -> None:
    """A borrow that does not go as far as it must."""
    broken = faulty(integers, "for _ in range(3):", "for _ in range(2):")
    with (
        mock.patch.object(factors, "integer_factors", broken.integer_factors),
        pytest.raises(Counterexample, match=r"broken: (bytes|nibbles)_"),
    ):
        prove("faulty_integer_factors", factored(), Flushed(_TO_FACTORS))


def test_faulty_whole() -> None:
    """A field of nibbles that is cut off one bit too low."""
    broken = faulty(align, "_FIELD = 11", "_FIELD = 8")
    with (
        mock.patch.object(arithmetic, "Align", broken.Align),
        pytest.raises(Counterexample, match="broken: sum"),
    ):
        prove("faulty_integer_whole", whole("i4"), Flushed(CONFIG.depth - 1))
