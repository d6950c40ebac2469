"""Multiply: the products, with the fine part of the alignment done in the multipliers."""

from amaranth.hdl import Cat, Const, Module, Mux, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.config import DotProductConfig
from hdl.dot_product.integers import IntegerMode, integer_factors
from hdl.dot_product.interface import Operation
from hdl.dot_product.widths import FLOATING, LANES, Widths
from hdl.pipeline import register

__all__ = ["Multiply"]

BYTES = 8


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
    significand_a, significand_b : In(16 x 11)
        10 fraction bits; of lanes 0 to 7 the low bits are also bytes 0, 2, ... 14 of integer operands.
    byte_a, byte_b : In(8 x 8)
        Bytes 1, 3, ... 15 of integer operands, for lanes 8 to 15.
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
                "significand_a": In(11).array(LANES),
                "significand_b": In(11).array(LANES),
                "byte_a": In(8).array(BYTES),
                "byte_b": In(8).array(BYTES),
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
        for lane in range(LANES):
            a, b = self.significand_a[lane], self.significand_b[lane]
            byte_a, byte_b = (
                (a[:8], b[:8]) if lane < BYTES else (self.byte_a[lane - BYTES], self.byte_b[lane - BYTES])
            )
            factors = integer_factors(m, widths, byte_a, byte_b, mode, late, f"lane{lane}")
            a = register(m, Mux(floating, a, 0), f"a{lane}")
            b = register(m, Mux(floating, b, 0), f"b{lane}")
            left = ~self.distance[lane]
            a_shifted = Cat(Const(0, widths.placement), (a << left[:2])[:14])
            b_shifted = Mux(left[2], Cat(Const(0, 4), b), b)
            a_factor = register(m, _factor(a_shifted, factors.a), f"a_factor{lane}")
            b_factor = register(m, _factor(b_shifted, factors.b), f"b_factor{lane}")
            # One more register on either side, so that a path is nothing but the multiplier and the way to
            # it.
            a_factor = register(m, a_factor, f"a_factor{lane}_2")
            b_factor = register(m, b_factor, f"b_factor{lane}_2")
            product = register(m, a_factor.as_signed() * b_factor.as_signed(), f"product{lane}")
            m.d.sync += self.product[lane].eq(product)
        return m


def _factor(significand: Value, integer: Value) -> Value:
    return (significand | integer)[: len(integer)]
