"""Add: the product takes its place in the window and meets the addend."""

from amaranth.hdl import Cat, Const, Module, Mux

from hdl.fma64.fields import Fma64Stage
from hdl.fma64.widths import BELOW_PRODUCT, LOW_PRODUCT, WINDOW
from hdl.stream.pipeline import Cut, behind


class PlaceProduct(Fma64Stage):
    """Bring the product to its place in the window.

    Where the addend leads, the product's low bits lie below the window. Added to the ones of the complement
    they carry into it unless they are all zero.

    Expected critical path: the OR of 51 bits.
    Testbench: cocotb_tests/fma64/test_fma64_add.py; together with `Add`.

    Members
    -------
    output.placed : 110
    output.carry : 1
        Of what lies below the window.
    output.low : 1
        There is something other than zero below the window.
    """

    delays = (1.5, 2.5)
    input_fields = "product product_leads subtract"
    output_fields = "placed carry low"

    def _logic(self, m: Module, *cuts: Cut) -> None:
        first, second = cuts
        product, leads = self.input.product, self.input.product_leads
        place = Mux(leads, Cat(Const(0, BELOW_PRODUCT), product), product[LOW_PRODUCT:])
        low = first(~leads & product[:LOW_PRODUCT].any(), "low_1")
        subtract = first(self.input.subtract, "subtract_1")
        m.d.comb += [
            self.output.placed.eq(behind(cuts, place, "placed")),
            self.output.carry.eq(second(low & subtract, "carry_2")),
            self.output.low.eq(second(low, "low_2")),
        ]


class Add(Fma64Stage):
    """Product plus addend, the addend in one's complement if it is to be subtracted.

    A one's complement goes on for ever below the window, so a subtraction lacks one unit infinitely far
    down. With a carry out of the top the difference is positive, the number seen is the true one's
    truncation, and `Round` supplies the unit; without, the difference is negative and the inverse of what
    is seen, exactly. So there is no second carry chain for the end-around carry or for a negation (compare
    J.-M. Muller et al., Handbook of Floating-Point Arithmetic, 2nd edition, 2018, chapter 8).

    Expected critical path: a carry chain of 111 bits.
    Testbench: cocotb_tests/fma64/test_fma64_add.py.

    Members
    -------
    output.sum : 110
    output.negative : 1
        The difference is negative: its magnitude is the inverse of `sum`.
    output.inexact : 1
        There is something other than zero (in a difference: other than ones) below the window.
    """

    delays = (6.0,)
    input_fields = "placed carry low term lost subtract"
    output_fields = "sum negative inexact"

    def _logic(self, m: Module, cut: Cut) -> None:
        given, output = self.input, self.output
        total = (Cat(Const(1, 1), given.placed) + Cat(given.carry, given.term))[1:]
        m.d.comb += [
            output.sum.eq(cut(total[:WINDOW], "sum")),
            output.negative.eq(cut(given.subtract & ~total[WINDOW], "negative")),
            output.inexact.eq(cut(given.low | given.lost, "inexact")),
        ]
