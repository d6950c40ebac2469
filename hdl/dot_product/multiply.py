"""Multiply: the products, with the fine part of the alignment done in the multipliers."""

from amaranth.hdl import Cat, Const, Module, Mux, Value, signed
from amaranth.lib.wiring import Out

from hdl.config import DotProductConfig
from hdl.dot_product.factors import INTEGER_FACTORS
from hdl.dot_product.widths import LANES, Widths
from hdl.dot_product.words import WORDS, place
from hdl.stream.pipeline import Stage, delay, register

__all__ = ["Multiply"]


class Multiply(Stage):
    """Sixteen signed 18-bit multipliers; float products come out shifted left by 0 to 7.

    Shifting an 11-bit significand before the multiplication takes about half the logic of shifting the
    22-bit product after it: a shift to the right by ``distance`` is one to the left by ``7 - distance %
    8``, made here, and one to the right by ``8 * (distance // 8) + 7``, made by `Align`. It is split over
    both factors, 0 to 3 and 0 or 4, which keeps them at 14 and 15 bits.

    Latency 3 cycles, one operation per cycle. Expected critical path: the multiplier.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.fine : 16 x 3
        Distance from Emax modulo 8.
    input.float_a, ... : 4 x 64
        As from `Factors`.
    output.product : 16 x signed(36)
        Bit `integer_bit` is the lowest bit of the aligned term, at distance 0.

    Testbench
    ---------
    cocotb_tests/dot_product/test_multiply.py.
    """

    latency = 3

    def __init__(self, config: DotProductConfig) -> None:
        self.widths = Widths(config)
        words = Out(64).array(WORDS)
        integers = INTEGER_FACTORS if self.widths.multiplied_integer else ()
        super().__init__(
            {"fine": Out(3).array(LANES), **dict.fromkeys(("float_a", "float_b", *integers), words)},
            {"product": Out(signed(2 * self.widths.multiplier_bits)).array(LANES)},
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        bits = self.widths.multiplier_bits
        for lane in range(LANES):
            left = ~self.input.fine[lane]
            a, b = (place(word[lane // 4], lane, 0, 11) for word in (self.input.float_a, self.input.float_b))
            a_factor: Value = Cat(Const(0, self.widths.placement), (a << left[:2])[:14])
            b_factor: Value = Mux(left[2], Cat(Const(0, 4), b), b)
            if self.widths.multiplied_integer:
                a_factor |= _integer(self.input.low_a, self.input.top_a, lane)
                b_factor |= _integer(self.input.low_b, self.input.top_b, lane)
            # One more register than the multiplication needs, so that a path is nothing but the way to it.
            factors = delay(m, Cat(_fitted(a_factor, bits), _fitted(b_factor, bits)), 2, f"factors{lane}")
            product = factors[:bits].as_signed() * factors[bits:].as_signed()
            m.d.comb += self.output.product[lane].eq(register(m, product, f"product{lane}"))
        return m


def _integer(low: list[Value], top: list[Value], lane: int) -> Value:
    top_bit = place(top[lane // 4], lane, 0, 1)
    return Cat(place(low[lane // 4], lane, 0, 16), top_bit, top_bit)


def _fitted(factor: Value, bits: int) -> Value:
    """A factor as a number of so many bits."""
    return Cat(factor, Const(0, bits))[:bits]
