"""Align: how far the addend has to be shifted, and the shift."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.fma64.fields import Fma64Stage
from hdl.fma64.widths import SHIFT_BITS, SPLIT, WINDOW, WINDOW_EXPONENT_BITS, WINDOW_STEP
from hdl.stream.pipeline import Cut, behind

BEYOND = 0b1011_0000
"""From this distance on, 176, the addend lies below the window and the distance makes no difference."""


class Place(Fma64Stage):
    """Compute the addend's shift and the window's exponent from the distance of the exponents.

    Expected critical path: a 13-bit subtraction.
    Testbench: cocotb_tests/fma64/test_fma64_align.py.

    Members
    -------
    output.product_leads : 1
    output.shift : 7
        Of the addend, from the window's top; of an addend that leaves the window, at least 110.
    output.exponent : 12
        Biased, of the window's top bit; never 0.
    """

    delays = (2.5, 3.0)
    input_fields = "distance product_exponent no_product addend_exponent"
    output_fields = "product_leads shift exponent"

    def _logic(self, m: Module, first: Cut, second: Cut) -> None:
        given, output = self.input, self.output
        above = given.no_product | given.distance[-1]
        distance = given.distance[:-1]
        beyond = distance[8:].any() | (distance[7] & (distance[6] | distance[4:6].all()))
        bounded = first(Mux(above, 0, Mux(beyond, BEYOND, distance[:8])), "bounded")
        leads = first(~above & (distance >= SPLIT), "leads")
        exponent = Mux(above, given.addend_exponent, given.product_exponent[:WINDOW_EXPONENT_BITS])
        exponent = first(exponent, "exponent_1")
        step = Mux(leads, WINDOW_STEP, 0)
        m.d.comb += [
            output.product_leads.eq(second(leads, "leads_2")),
            output.shift.eq(second((bounded - step)[:SHIFT_BITS], "shift_2")),
            output.exponent.eq(second((exponent - step)[:WINDOW_EXPONENT_BITS], "exponent_2")),
        ]


class Align(Fma64Stage):
    """Shift the addend right from the top of the window, and invert it if it is to be subtracted.

    The small shifts come first, while the number is short; a shift by 64, the last, has only two sources a
    bit. The inversion takes the fourth input of that last multiplexer's look-up tables.

    Expected critical path: two multiplexers of a signal with a hundred loads.
    Testbench: cocotb_tests/fma64/test_fma64_align.py.

    Members
    -------
    output.term : 110
        One's complement if subtracted.
    output.lost : 1
        The addend has ones below the window.
    """

    delays = (3.0, 3.0, 3.0, 3.0)
    steps = ((1, 2), (4, 8), (16, 32))
    input_fields = "addend shift subtract"
    output_fields = "term lost"

    def _logic(self, m: Module, *cuts: Cut) -> None:
        *others, last = cuts
        value: Value = self.input.addend
        shift: Value = self.input.shift
        for number, (cut, steps) in enumerate(zip(others, self.steps, strict=True), 1):
            for step in steps:
                value = Mux(shift[0], Cat(value, Const(0, step)), Cat(Const(0, step), value))
                shift = shift[1:]
            value = cut(value, f"shifted_{number}")
            shift = cut(shift, f"shift_{number}")
        subtract = behind(others, self.input.subtract, "subtract")
        # The top bits of `value` and window are the same; shifted by 64, the bits below the window are lost.
        below = len(value) - WINDOW
        low, far = value[:below], shift[0]
        near_term = value[below:]
        far_term = Cat(near_term[64:], Const(0, 64))
        term = Mux(far, far_term, near_term) ^ subtract.replicate(WINDOW)
        m.d.comb += [
            self.output.term.eq(last(term, "term_4")),
            self.output.lost.eq(last(low.any() | (far & near_term[:64].any()), "lost_4")),
        ]
