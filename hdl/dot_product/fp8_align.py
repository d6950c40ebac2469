"""Align fp8: the products with lanes of their own as multiples of the last bit that their sums keep."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.widths import LANES
from hdl.stream.pipeline import Cut

_BITS = 11
"""A product of eight bits, shifted left by up to 3."""


class Fp8Align(DotProductStage):
    """Shift right by a multiple of 4, cut off what lies below the last bit, then apply the signs.

    First by 0 or 8, which mostly is a choice between bits and zeros, and so a register that is reset or not;
    then by 0 or 4, in one look-up table a bit together with the sign. As in `Align` a negative term leaves as
    its one's complement.

    A window of 27 bits has places for shifts by 0, 8, 16 and 24, of which no more than two meet in a bit.

    Expected critical path: as in `Align`.
    Testbench: cocotb_tests/dot_product/test_fp8_align.py.

    Members
    -------
    input.fp8_shifted : `Widths.fp8_lanes`
        From `Fp8Distance`. Without it the highest bit of the product is zero (`Multiply`). Only beside other
        formats.
    output.fp8_term : `Widths.fp8_lanes` x signed(`Widths.fp8_window` + 1)
        Zero in other formats.
    output.fp8_carry : `Widths.fp8_lanes`
        One is to be added for each set bit.
    """

    delays = (4.4,)
    input_fields = (
        "operation product fp8_quarter fp8_near fp8_far fp8_middle fp8_farthest fp8_shifted fp8_sign"
    )
    output_fields = "fp8_term fp8_carry"

    def _logic(self, m: Module, cut: Cut) -> None:
        given = self.input
        widths = self.widths
        lanes, window = widths.fp8_lanes, widths.fp8_window
        fp8 = self.widths.chosen(given.operation.multiplicand, frozenset({"fp8"}))
        sign = cut(Mux(fp8, given.fp8_sign, 0), "sign")
        quarter = cut(given.fp8_quarter, "quarter")
        for lane in range(lanes):
            lowest = self.widths.fp8_upper if lane >= LANES else 0
            product = Value.cast(given.product[lane % LANES])[lowest : lowest + _BITS]
            if self.widths.lanes:
                product = Cat(product[:-1], product[-1] & given.fp8_shifted[lane])
            coarse = (
                self._short(lane, product, cut) if widths.fp8_is_short else self._long(lane, product, cut)
            )
            magnitude = Mux(quarter[lane], coarse >> 4, coarse)
            term = magnitude ^ sign[lane].replicate(window + 1)
            m.d.comb += self.output.fp8_term[lane].eq(term[: window + 1])
        m.d.comb += self.output.fp8_carry.eq(sign)

    def _short(self, lane: int, product: Value, cut: Cut) -> Value:
        """A product shifted right by 0 or 8 in a window of 15 bits, behind a cut."""
        near, far = self.input.fp8_near[lane], self.input.fp8_far[lane]
        # The window's highest bit is the product's at distance 0; at 8 its bit 4 comes to the lowest.
        high = cut(Mux(far, 0, product[3:]), f"high{lane}")
        middle = cut(Mux(far, 0, product[:3]) | Mux(near, 0, product[8:]), f"middle{lane}")
        low = cut(Mux(near, 0, product[4:8]), f"low{lane}")
        return Cat(low, middle, high)

    def _long(self, lane: int, product: Value, cut: Cut) -> Value:
        """A product shifted right by 0, 8, 16 or 24 in a longer window, behind a cut."""
        given, window = self.input, self.widths.fp8_window
        whole = Cat(Const(0, window - _BITS), product)
        kept: Value = Const(0, window)
        for shift, barred in zip(
            (0, 8, 16, 24), (given.fp8_far, given.fp8_near, given.fp8_middle, given.fp8_farthest), strict=True
        ):
            kept = kept | Mux(barred[lane], 0, whole[shift:])
        return cut(kept, f"coarse{lane}")
