"""Align: every term as a number of multiples of 2**(Emax - fraction bits)."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.widths import FLOATING, INTEGER, LANES
from hdl.stream.pipeline import Cut

_FIELD = 11
"""Bits of an aligned term that come from a pair of 4-bit products, below their sign."""

_MIDDLE = 12
"""Where that field begins in the product."""


class AlignSelects(DotProductStage):
    """What `Align` does with each product, found while they are multiplied.

    Expected critical path: two look-up tables.
    Testbench: cocotb_tests/dot_product/test_align.py, through `FromDistancesToTerms`.

    Members
    -------
    output.selects : 16 x Selects
    output.twenty : 16
        Whether a product of fp8 is shifted by 16 and 4, if their sums keep as many bits as others.
    """

    delays = (1.6,)
    input_fields = "operation coarse quarter"
    output_fields = "selects twenty"

    def _logic(self, m: Module, cut: Cut) -> None:
        multiplicand = self.input.operation.multiplicand
        floating = self.widths.chosen(multiplicand, FLOATING)
        i4 = self.widths.chosen(multiplicand, frozenset({"i4"}))
        fp8 = self.widths.chosen(multiplicand, frozenset({"fp8"}))
        is_long = self.widths.fp8 and not self.widths.fp8_is_short
        for lane, coarse in enumerate(self.input.coarse):
            near, far = (floating & ~coarse[2] & choice for choice in (~coarse[1], coarse[1]))
            sixteen = far & ~fp8
            if is_long:
                sixteen = far & ~self.input.quarter[lane]
                twenty = cut(far & self.input.quarter[lane], f"twenty{lane}")
                m.d.comb += self.output.twenty[lane].eq(twenty)
            quarter = near & self.input.quarter[lane] if self.widths.fp8 else Const(0, 1)
            selects = {
                "low": near & ~fp8 | ~floating,
                "middle": near & ~quarter | ~floating,
                "high": near & ~quarter | ~floating & ~i4,
                "sixteen": sixteen,
                "four": quarter,
                "eight": floating & coarse[0] | i4,
            }
            m.d.comb += [
                self.output.selects[lane][name].eq(cut(select, f"{name}{lane}"))
                for name, select in selects.items()
            ]


class Align(DotProductStage):
    """Bring products and C to Emax, cutting off what lies below the last bit, then apply the signs.

    The magnitude is cut before it is negated, which truncates towards zero. A negative term leaves as its
    one's complement; `Reduce` adds the missing one, told by `carry`.

    Integer products pass: of 8 bits as if at distance 0, the middle fields of 4-bit pairs as if at
    distance 8. Their bits from 11 on are replaced by the sign, which cuts off the field above; a sum of two
    needs 10.

    The odd products of fp8 come shifted left by 8 less the lower two bits of their distance plus
    one (`Multiply`), so they go right by 0, 4, 8 or 12, and only the bits of the upper product count.

    A product is shifted by 0 or 16, then by 0 or 8 in the look-up tables of the sign.

    The cut stands between the two shifts: look-up tables that synthesis merges across them are 350 more.

    Expected critical path: the choice of a shift, three look-up tables.
    Testbench: cocotb_tests/dot_product/test_align.py, through `FromDistancesToTerms`.

    Members
    -------
    input.c_beyond : 1
        The sign of an s32 is not the sign of `c_value`. Only with integers of more than one bit.
    output.term : 16 x signed(window + 1)
    output.carry : 16
        Where only fp8 is computed, there are neither terms nor carries, nor what they are made of.
    output.c_term : signed(total)
        A significand is never negative: signs are relative to the sign of C.
    """

    delays = (4.5,)
    input_fields = "operation selects twenty foreign sign c_sign count product c_value c_beyond c_distance"
    output_fields = "term carry c_term"

    def _logic(self, m: Module, cut: Cut) -> None:
        if self.widths.lanes:
            self._lanes(m, cut)
        self._c(m, cut)

    def _lanes(self, m: Module, cut: Cut) -> None:
        widths, given = self.widths, self.input
        multiplicand = given.operation.multiplicand
        floating = widths.chosen(multiplicand, FLOATING)
        i4 = widths.chosen(multiplicand, frozenset({"i4"}))
        fp8 = widths.chosen(multiplicand, frozenset({"fp8"}))
        # Relative to the sign of C, so that C is always added.
        relative = given.sign ^ given.c_sign.replicate(LANES)
        sign = cut(relative & floating.replicate(LANES), "sign")
        padding = widths.fp8_padding
        low_signs = []
        for lane, product in enumerate(given.product):
            shifted = cut(self._by_sixteen(lane), f"shifted{lane}")
            eight = given.selects[lane].eight
            low_eight = cut(eight & ~fp8, f"low_eight{lane}") if padding else Const(0, 1)
            high_eight = cut(eight, f"high_eight{lane}")
            fill = cut(Mux(floating, relative[lane], i4 & product[_FIELD + _MIDDLE]), f"fill{lane}")
            magnitude = Cat(
                Mux(low_eight, shifted[8:][:padding], shifted[:padding]),
                Mux(high_eight, shifted[8:][padding:], shifted[padding:]),
            )
            beyond = len(magnitude) - _FIELD - 1
            term = magnitude ^ Cat(sign[lane].replicate(_FIELD + 1), fill.replicate(beyond))
            if lane == 0 and "b1" in widths.config.formats:
                term |= cut(given.count, "count")
            m.d.comb += self.output.term[lane].eq(term)
            low_signs.append(shifted[_MIDDLE - 1 - widths.integer_bit])
        carry = Cat(low_signs) & cut(i4, "i4_2").replicate(LANES) | sign
        m.d.comb += self.output.carry.eq(carry)

    def _by_sixteen(self, lane: int) -> Value:
        """A product shifted right by 0 or 16, one of fp8 also by 4 or 20; zero where 32 or more below Emax.

        A product placed at distance 0 ends below ``integer_bit + window``, one of fp8 a bit higher, and that
        begins at `Widths.fp8_upper`. Of 4-bit pairs the sign of the middle field is the last bit.
        """
        widths, selects = self.widths, self.input.selects[lane]
        product = self._own(lane)[widths.integer_bit :]
        upper, above = widths.fp8_upper - widths.integer_bit, _FIELD + _MIDDLE - widths.integer_bit + 1
        bits = widths.window + 1
        shifted: Value = Const(0, bits)
        moves = [
            (selects.low, 0, 0, upper),
            (selects.middle, 0, upper, above),
            (selects.high, 0, above, bits),
            (selects.sixteen, 16, 0, widths.window - 16),
            (selects.four, 4, upper - 4, bits - 4),
        ]
        if widths.fp8 and not widths.fp8_is_short:
            fp8 = widths.chosen(self.input.operation.multiplicand, frozenset({"fp8"}))
            own = upper - 16
            moves[3:4] = [
                (selects.sixteen & ~fp8, 16, 0, own),
                (selects.sixteen, 16, own, bits - 16),
                (self.input.twenty[lane], 20, 0, bits - 20),
            ]
        for select, shift, start, stop in moves:
            shifted |= Mux(select, Cat(Const(0, start), product[start + shift : stop + shift]), 0)
        return shifted

    def _own(self, lane: int) -> Value:
        """A product, without what the other one of fp8 left in its lowest bits."""
        product = Value.cast(self.input.product[lane])
        if not self.widths.fp8:
            return product
        first = self.widths.fp8_upper
        own = (Mux(self.input.foreign[lane][bit], 0, product[first + bit]) for bit in range(3))
        return Cat(product[:first], *own, product[first + 3 :])

    def _c(self, m: Module, cut: Cut) -> None:
        widths = self.widths
        integer = widths.chosen(self.input.operation.multiplicand, INTEGER)
        fp8 = widths.chosen(self.input.operation.multiplicand, frozenset({"fp8"}))
        padding = max(widths.fraction_bits - 23, 0)
        # For s32 the shift just takes the padding away again.
        distance = Mux(integer, padding, self.input.c_distance)
        widened = Cat(Const(0, padding), self.input.c_value[max(23 - widths.fraction_bits, 0) :])
        coarse = cut(Mux(distance[5], 0, widened >> (distance[3:5] << 3)), "c_coarse")
        fine = cut(distance[:3], "c_fine")
        negative = self.input.c_value[31] & integer
        if widths.config.formats & {"i8", "i4"}:
            negative = (self.input.c_value[31] ^ self.input.c_beyond) & integer
        negative = cut(negative, "c_negative")
        shifted = (coarse >> fine)[: min(32, widths.total - 1)]
        if widths.fp8_padding and widths.fp8:
            late_fp8 = cut(fp8, "fp8_2")
            shifted = Cat(Mux(late_fp8, 0, shifted[: widths.fp8_padding]), shifted[widths.fp8_padding :])
        c_term = Cat(shifted, negative.replicate(widths.total - len(shifted)))
        m.d.comb += self.output.c_term.eq(c_term.as_signed())
