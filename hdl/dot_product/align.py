"""Align: every term as a number of multiples of 2**(Emax - fraction bits)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from hdl.config import DotProductConfig
from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.widths import FLOATING, INTEGER, LANES
from hdl.stream.pipeline import Cut

__all__ = ["Align"]

_FIELD = 11
"""Bits of an aligned term that come from a pair of 4-bit products; what lies above is another field."""


class Align(DotProductStage):
    """Bring products and C to Emax, cutting off what lies below the last bit, then apply the signs.

    The magnitude is cut before it is negated, which truncates towards zero. A negative term leaves as its
    one's complement; `Reduce` adds the missing one, told by `carry`.

    Integer products pass: of 8 bits as if at distance 0, the middle fields of 4-bit pairs as if at
    distance 8, with all bits from 11 on replaced by the sign, so that the field above is cut off. Sums of
    theirs need 10.

    The odd products of fp8 come shifted left by 8 less the lower two bits of their distance from the
    reference (`Multiply`), so they go right by 0, 4, 8 or 12, and only the bits of the upper product count
    (`_parts`).

    Expected critical path: a choice of four by one-hot selects, then the sign.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.operation : Operation
    input.coarse : 16 x 3
        Distance from Emax divided by 8; 4 and more leave nothing.
    input.quarter : 16
        Another 4 of the distance, of fp8; then `coarse` is that from the reference. Only with fp8 beside
        other formats.
    input.foreign : 16 x 3
        Of the three bits from `Widths.fp8_upper` on, whether they count as zero. Together with `quarter`.
    input.sign : 16, input.c_sign : 1
    input.c_value : 32
        Significand with 23 fraction bits, or s32.
    input.c_beyond : 1
        The sign of an s32 is not the sign of `c_value`. Only with integers of more than one bit.
    input.c_distance : 6
        32 and more leave nothing.
    input.count : 8
        Of single bits; 0 for other formats. Only with those.
    input.product : 16 x signed(36)
        From `Multiply`.
    output.term : 16 x signed(window + 1)
    output.carry : 16
        Where only fp8 is computed, there are neither terms nor carries, nor what they are made of.
    output.c_term : signed(total)
        A significand is never negative: signs are relative to the sign of C.
    """

    delays = (0.8, 2.9)

    def __init__(self, config: DotProductConfig) -> None:
        super().__init__(
            config,
            "operation coarse quarter foreign sign c_sign count product c_value c_beyond c_distance",
            "term carry c_term",
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        first, second = self.cuts(m)
        if self.widths.lanes:
            self._lanes(m, first, second)
        self._c(m, first, second)
        return m

    def _lanes(self, m: Module, first: Cut, second: Cut) -> None:
        widths = self.widths
        given = self.input
        multiplicand = given.operation.multiplicand
        floating = widths.chosen(multiplicand, FLOATING)
        i4 = widths.chosen(multiplicand, frozenset({"i4"}))
        fp8 = widths.chosen(multiplicand, frozenset({"fp8"}))
        floating_2 = first(floating, "floating_2")
        i4_2 = first(i4, "i4_2")
        # Relative to the sign of C, so that C is always added.
        relative = given.sign ^ given.c_sign.replicate(LANES)
        sign = first(relative & floating.replicate(LANES), "sign")
        products = [
            first(self._own(Value.cast(product), lane), f"product{lane}")
            for lane, product in enumerate(given.product)
        ]
        # Where the sign of an integer stands: above the field of a pair, or just on top.
        fill = Signal(widths.window + 1)
        field = Signal(widths.window)
        m.d.comb += [
            fill.eq(Cat(Const(0, _FIELD), i4_2.replicate(widths.window - _FIELD), ~floating_2)),
            field.eq(Cat(Const(-1, _FIELD), (~i4_2).replicate(widths.window - _FIELD))),
        ]
        integer_select = Cat(~floating & ~i4, i4)
        for lane in range(LANES):
            select = (Const(1, 1) << given.coarse[lane])[:4] & floating.replicate(4)
            select |= integer_select
            if widths.fp8:
                select = _with_fp8(select, fp8, given.quarter[lane])
            select = first(select, f"select{lane}")
            term = self._term(products[lane], select, sign[lane], fill, field)
            if lane == 0 and "b1" in widths.config.formats:
                term |= first(given.count, "count")
            m.d.comb += self.output.term[lane].eq(second(term[: widths.window + 1], f"term{lane}"))
        low_signs = Cat(product[11] for product in products) & i4_2.replicate(LANES)
        m.d.comb += self.output.carry.eq(second(low_signs | sign, "carry"))

    def _term(self, product: Value, select: Value, sign: Value, fill: Value, field: Value) -> Value:
        widths = self.widths
        magnitude: Value = Const(0, widths.window)
        for index, (shift, first, last) in enumerate(self._parts()):
            part = product[widths.integer_bit + shift + first : widths.integer_bit + shift + last]
            if shift == 8:
                part &= field[first:last]
            magnitude |= Mux(select[index], Cat(Const(0, first), part), 0)
        # Bit 23 tells the sign of both kinds of integers.
        bits = widths.window + 1
        return (magnitude ^ sign.replicate(bits)) | (product[23].replicate(bits) & fill)

    def _own(self, product: Value, lane: int) -> Value:
        """A product, without what the other one of fp8 left in its lowest bits."""
        if not self.widths.fp8:
            return product
        first = self.widths.fp8_upper
        own = (Mux(self.input.foreign[lane][bit], 0, product[first + bit]) for bit in range(3))
        return Cat(product[:first], *own, product[first + 3 :])

    def _parts(self) -> list[tuple[int, int, int]]:
        """By how much the product goes right, and from which bit of the term to which, for each select.

        A product placed at distance 0 ends below ``integer_bit + window``, one of fp8 a bit higher, and that
        begins at `Widths.fp8_upper`. Where a select is both, the others' products have zeros in that bit.
        """
        window = self.widths.window
        if not self.widths.fp8:
            return [(shift, 0, window - shift) for shift in (0, 8, 16, 24)]
        kept, lowest = self.widths.fp8_padding, self.widths.fp8_upper - self.widths.integer_bit
        return [
            *((0, 0, lowest), (8, 0, kept), (16, 0, window - 16), (24, 0, window - 24)),
            *((0, lowest, window), (8, kept, window - 7)),
            *((4, lowest - 4, window - 3), (12, kept, window - 11)),
        ]

    def _c(self, m: Module, first: Cut, second: Cut) -> None:
        widths = self.widths
        integer = widths.chosen(self.input.operation.multiplicand, INTEGER)
        fp8 = widths.chosen(self.input.operation.multiplicand, frozenset({"fp8"}))
        padding = max(widths.fraction_bits - 23, 0)
        # For s32 the shift just takes the padding away again.
        distance = Mux(integer, padding, self.input.c_distance)
        widened = Cat(Const(0, padding), self.input.c_value[max(23 - widths.fraction_bits, 0) :])
        coarse = first(Mux(distance[5], 0, widened >> (distance[3:5] << 3)), "c_coarse")
        fine = first(distance[:3], "c_fine")
        negative = self.input.c_value[31] & integer
        if widths.config.formats & {"i8", "i4"}:
            negative = (self.input.c_value[31] ^ self.input.c_beyond) & integer
        negative = first(negative, "c_negative")
        shifted = (coarse >> fine)[: min(32, widths.total - 1)]
        if widths.fp8_padding and widths.fp8:
            late_fp8 = first(fp8, "fp8_2")
            shifted = Cat(Mux(late_fp8, 0, shifted[: widths.fp8_padding]), shifted[widths.fp8_padding :])
        c_term = Cat(shifted, negative.replicate(widths.total - len(shifted)))
        m.d.comb += self.output.c_term.eq(second(c_term.as_signed(), "c_term"))


def _with_fp8(select: Value, fp8: Value, quarter: Value) -> Value:
    """The selects of all parts: the lower parts are not of fp8, and a quarter makes 4 of 0 and 12 of 8."""
    near, far = select[0], select[1]
    return Cat(
        select & (~fp8).replicate(4),
        *(near & ~quarter, far & ~quarter),
        *(near & quarter, far & quarter),
    )
