"""Multiply: the products, with the fine part of the alignment done in the multipliers."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.widths import LANES
from hdl.dot_product.words import place
from hdl.stream.pipeline import Cut, behind


class Multiply(DotProductStage):
    """Sixteen 18-bit multipliers; float products come out shifted left by 0 to 7.

    Shifting an 11-bit significand before the multiplication takes about half the logic of shifting the
    22-bit product after it: a shift to the right by ``distance`` is one to the left by ``7 - distance %
    8``, made here, and one to the right by ``8 * (distance // 8) + 7``, made by `Align`. It is split over
    both factors, 0 to 3 and 0 or 4, which keeps them at 14 and 15 bits.

    Two products of fp8 share a multiplier, each shifted left by 0 to 3, the first factor by 0 or 2 and the
    second by 0 or 1. Where only fp8 is computed, the factors are unsigned, of 18 and 17 bits, which also
    fit the signed multipliers of a 7-series. ``(x0 + x1 * 2**12) * (y0 + y1 * 2**12)`` has ``x0 * y0`` in
    the bits 0 to 10 and ``x1 * y1`` in the bits 24 to 34. What lies between, ``(x0 * y1 + x1 * y0) *
    2**12``, reaches neither: each product is at most ``60 * 30``, and ``2 * 1800 * 2**12`` is less than
    ``2**24``.

    Beside other formats the factors are signed, and the upper product is made of the lanes of f16, whose
    shift then is split as 0, 2, 4, 6 and 0, 1. A significand of fp8 is in the bits 7 to 10 of one of f16;
    the first factor is shifted left by 4 more, the second one by 1 (`Factors`), which is the one that is
    added to their distances (`Widths.exponent_lead`). So `x1` is at bit 11, `y1` at bit 10, and the upper
    product begins at bit 21. Significands are at most 15 before the shift, so relative to the lowest bit of
    ``x1 * y1`` what lies between is at most ``225 * (2**(2 - 11) + 2**(1 - 10)) = 0.88``. Up to three bits
    of it lie above bit 20; `Align` masks them where the upper product is shifted by as much. ``x0 * y1 *
    2**10`` reaches bit 10 of the lower product, but only where `x0` is not shifted, and there that bit is
    zero (`Fp8Align`).

    Multipliers stand in rows of the FPGA of their own, far from most of the unit, so the way to them and the
    way from them lie in different cycles: a cut each stands before and behind the product.

    Expected critical path: the multiplier.
    Testbench: cocotb_tests/dot_product/test_multiply.py.

    Members
    -------
    input.float_a, ... : 4 x 64
        As from `Factors`; where only fp8 is computed, there are none of them and no `fine`.
    input.fp8_a, input.fp8_b : `Widths.fp8_lanes` x 4
        Significands; zero in other formats.
    output.product : 16 x signed(36)
        Bit `integer_bit` is the lowest bit of the aligned term, at distance 0.
    """

    delays = (3.8, 0.1, 4.6)
    input_fields = "fine float_a float_b low_a top_a low_b top_b fp8_fine fp8_a fp8_b"
    output_fields = "product"

    def _logic(self, m: Module, first: Cut, second: Cut, third: Cut) -> None:
        bits = self.widths.multiplier_bits
        for lane in range(LANES):
            a_factor, b_factor = self._lane(lane) if self.widths.lanes else (Const(0, bits), Const(0, bits))
            for index in range(lane, self.widths.fp8_lanes, LANES):
                a, b = self._fp8(index)
                a_factor, b_factor = a_factor | a, b_factor | b
            # One more cut than the multiplication needs, so that a path is nothing but the way to it.
            factors = Cat(_fitted(a_factor, bits), _fitted(b_factor, bits))
            factors = behind((first, second), factors, f"factors{lane}")
            product = factors[:bits] * factors[bits:]
            if self.widths.lanes:
                product = factors[:bits].as_signed() * factors[bits:].as_signed()
            m.d.comb += self.output.product[lane].eq(third(product, f"product{lane}"))

    def _lane(self, lane: int) -> tuple[Value, Value]:
        """The factors of a lane of 16 bits: floating point or integers."""
        given = self.input
        left = ~given.fine[lane]
        placement = Const(0, self.widths.placement)
        a, b = (place(word[lane // 4], lane, 0, 12) for word in (given.float_a, given.float_b))
        a_factor: Value
        b_factor: Value
        if self.widths.fp8:
            a_factor = (a[:11] << Cat(Const(0, 1), left[1:]))[:17]
            b_factor = Cat(placement, (b << left[0])[:13])
        else:
            a_factor = Cat(placement, (a[:11] << left[:2])[:14])
            b_factor = Mux(left[2], Cat(Const(0, 4), b[:11]), b[:11])
        if self.widths.multiplied_integer:
            a_factor |= _integer(given.low_a, given.top_a, lane)
            b_factor |= _integer(given.low_b, given.top_b, lane)
        return a_factor, b_factor

    def _fp8(self, index: int) -> tuple[Value, Value]:
        """The share of one product of fp8 in the factors."""
        given = self.input
        left = ~given.fp8_fine[index]
        a = Mux(left[1], Cat(Const(0, 2), given.fp8_a[index]), given.fp8_a[index])
        b = Mux(left[0], Cat(Const(0, 1), given.fp8_b[index]), given.fp8_b[index])
        if index < LANES:
            return a, b
        upper_a = 12
        return Cat(Const(0, upper_a), a), Cat(Const(0, self.widths.fp8_upper - upper_a), b)


def _integer(low: list[Value], top: list[Value], lane: int) -> Value:
    top_bit = place(top[lane // 4], lane, 0, 1)
    return Cat(place(low[lane // 4], lane, 0, 16), top_bit, top_bit)


def _fitted(factor: Value, bits: int) -> Value:
    """A factor as a number of so many bits."""
    return Cat(factor, Const(0, bits))[:bits]
