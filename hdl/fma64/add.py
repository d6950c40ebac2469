"""Add: the product takes its place in the window and meets the addend."""

from amaranth.hdl import Cat, Const, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.fma64.widths import BELOW_PRODUCT, LOW_PRODUCT, PRODUCT, WINDOW
from hdl.stream.pipeline import delay, register

__all__ = ["Add"]


class Add(wiring.Component):
    """Product plus addend, the addend in one's complement if it is to be subtracted.

    A one's complement goes on for ever below the window, so a subtraction lacks one unit infinitely far
    down. With a carry out of the top the difference is positive, the number seen is the true one's
    truncation, and `Round` supplies the unit; without, the difference is negative and the inverse of what
    is seen, exactly. So there is no second carry chain for the end-around carry or for a negation.

    Where the addend leads, the product's low bits lie below the window. Added to the ones of the complement
    they carry into it unless they are all zero.

    Throughput: an operation per cycle. Latency: 3 cycles. Expected critical path: a carry chain of 111 bits.

    Members
    -------
    product : In(106)
    product_leads, subtract : In(1)
        With `product`.
    term : In(110), lost : In(1)
        From `Align`, two cycles after `product`.
    sum : Out(110)
    negative : Out(1)
        The difference is negative: its magnitude is the inverse of `sum`.
    inexact : Out(1)
        There is something other than zero (in a difference: other than ones) below the window.
    """

    latency = 3

    def __init__(self) -> None:
        super().__init__(
            {
                "product": In(PRODUCT),
                "product_leads": In(1),
                "subtract": In(1),
                "term": In(WINDOW),
                "lost": In(1),
                "sum": Out(WINDOW),
                "negative": Out(1),
                "inexact": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        high = self.product[LOW_PRODUCT:]
        place = Mux(self.product_leads, Cat(Const(0, BELOW_PRODUCT), self.product), high)
        placed = delay(m, place, 2, "placed")
        low = register(m, ~self.product_leads & self.product[:LOW_PRODUCT].any(), "low")
        subtract = register(m, self.subtract, "subtract_1")
        carry = register(m, low & subtract, "carry")
        low = register(m, low, "low_2")
        subtract = register(m, subtract, "subtract_2")
        total = (Cat(Const(1, 1), placed) + Cat(carry, self.term))[1:]
        m.d.comb += [
            self.sum.eq(register(m, total[:WINDOW], "sum_3")),
            self.negative.eq(register(m, subtract & ~total[WINDOW], "negative_3")),
            self.inexact.eq(register(m, low | self.lost, "inexact_3")),
        ]
        return m
