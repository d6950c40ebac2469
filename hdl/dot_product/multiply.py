"""Multiply: the products, with the fine part of the alignment done in the multipliers."""

from amaranth.hdl import Cat, Const, Module, Mux, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.config import DotProductConfig
from hdl.dot_product.integers import Factor, Factors, IntegerMode, integer_factors
from hdl.dot_product.operands import Operation
from hdl.dot_product.widths import FLOATING, LANES, Widths
from hdl.dot_product.words import WORDS, every_place, place
from hdl.stream.pipeline import delay, register

__all__ = ["Multiply"]


class Multiply(wiring.Component):
    """Sixteen signed 18-bit multipliers; float products come out shifted left by 0 to 7.

    Shifting an 11-bit significand before the multiplication takes about half the logic of shifting the
    22-bit product after it: a shift to the right by ``distance`` is one to the left by ``7 - distance %
    8``, made here, and one to the right by ``8 * (distance // 8) + 7``, made by `Align`. It is split over
    both factors, 0 to 3 and 0 or 4, which keeps them at 14 and 15 bits.

    Latency 5 cycles, one operation per cycle. Expected critical path: the multiplier.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    operation : In(Operation)
    significand_a, significand_b : In(4 x 64)
        Words of four lanes; 11 bits with 10 fraction bits. Of lanes 0 to 7 the low bits are also bytes 0, 2,
        ... 14 of integer operands.
    byte_a, byte_b : In(2 x 64)
        Words of the lanes 8 to 15; bytes 1, 3, ... 15 of integer operands.
    distance : In(16 x 3)
        Distance from Emax modulo 8, one cycle later than the others.
    product : Out(16 x signed(36))
        Bit `integer_bit` is the lowest bit of the aligned term, at distance 0.
    """

    latency = 5

    def __init__(self, config: DotProductConfig) -> None:
        self.widths = Widths(config)
        super().__init__(
            {
                "operation": In(Operation),
                "significand_a": In(64).array(WORDS),
                "significand_b": In(64).array(WORDS),
                "byte_a": In(64).array(WORDS // 2),
                "byte_b": In(64).array(WORDS // 2),
                "distance": In(3).array(LANES),
                "product": Out(signed(2 * self.widths.multiplier_bits)).array(LANES),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        widths = self.widths
        multiplicand = self.operation.multiplicand
        floating = widths.chosen(multiplicand, FLOATING)
        mode = IntegerMode(
            widths.chosen(multiplicand, frozenset({"i8"})),
            widths.chosen(multiplicand, frozenset({"i4"})),
            self.operation.a_signed,
            self.operation.b_signed,
        )
        late = mode.registered(m)
        for index in range(WORDS):
            a, b = self.significand_a[index], self.significand_b[index]
            low = index < WORDS // 2
            byte_a = a if low else self.byte_a[index - WORDS // 2]
            byte_b = b if low else self.byte_b[index - WORDS // 2]
            factors = integer_factors(m, widths, byte_a, byte_b, mode, late, f"word{index}")
            a = register(m, Mux(floating, a & every_place(0x7FF), 0), f"a{index}")
            b = register(m, Mux(floating, b & every_place(0x7FF), 0), f"b{index}")
            for lane in range(4 * index, 4 * index + 4):
                self._lane(m, lane, place(a, lane, 0, 11), place(b, lane, 0, 11), factors)
        return m

    def _lane(self, m: Module, lane: int, a: Value, b: Value, integers: Factors) -> None:
        left = ~self.distance[lane]
        bits = self.widths.multiplier_bits
        a_shifted = Cat(Const(0, self.widths.placement), (a << left[:2])[:14])
        b_shifted = Mux(left[2], Cat(Const(0, 4), b), b)
        a_factor = (a_shifted | _factor(integers.a, lane))[:bits]
        b_factor = (b_shifted | _factor(integers.b, lane))[:bits]
        # One more register on either side, so that a path is nothing but the multiplier and the way to it.
        factors = delay(m, Cat(a_factor, b_factor), 2, f"factors{lane}")
        product = register(m, factors[:bits].as_signed() * factors[bits:].as_signed(), f"product{lane}_1")
        m.d.comb += self.product[lane].eq(register(m, product, f"product{lane}_2"))


def _factor(integers: Factor, lane: int) -> Value:
    top = place(integers.top, lane, 0, 1)
    return Cat(place(integers.low, lane, 0, 16), top, top)
