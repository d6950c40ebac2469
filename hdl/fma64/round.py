"""Round: the result's bits, in the mode of the operation."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import Out

from hdl.fma64.fma64_operands import MINUS, NEAREST, PLUS
from hdl.fma64.widths import EXPONENT_BITS, FRACTION, SIGNIFICAND, SPECIAL_EXPONENT, WINDOW_EXPONENT_BITS
from hdl.stream.pipeline import Stage, delay, register

__all__ = ["Round"]


class Round(Stage):
    """Round the normalised magnitude and pack it (IEEE 754-2019, 4.3 and 7.4).

    A positive difference lacks one unit infinitely far below. If everything below the guard bit continues
    the ones of the complement, that unit carries into the guard bit: a guard bit of zero then means exactly
    one half, one of one means the next significand, exactly. Otherwise the unit only makes what is below
    the guard bit different from zero, which `rest` says already.

    Exponent and fraction are one number when it is rounded up, so a carry out of the fraction raises the
    exponent, from the largest subnormal to the least normal number too. Too large an exponent becomes
    infinity before, and any infinity that is not a special value becomes the largest finite number after,
    in the modes that want that. These replacements are synchronous resets and sets as in `Decode`.

    Throughput: an operation per cycle. Latency: 4 cycles. Expected critical path: the carry chain of 63 bits.

    Members
    -------
    input.significand, input.guard, input.rest, input.biased, input.cancelled
        From `Normalize`.
    input.negative : 1
        From `Add`.
    input.product_sign, input.subtract, input.special : 1
        From `Decode`.
    input.rounding : 2
    output.d : 64
    """

    latency = 4

    def __init__(self) -> None:
        super().__init__(
            {
                "significand": Out(SIGNIFICAND),
                "guard": Out(1),
                "rest": Out(1),
                "biased": Out(WINDOW_EXPONENT_BITS),
                "cancelled": Out(1),
                "negative": Out(1),
                "product_sign": Out(1),
                "subtract": Out(1),
                "special": Out(1),
                "rounding": Out(2),
            },
            {"d": Out(64)},
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        given = self.input
        # Cycle 1: the sign, and whether to round up.
        nearest, minus, plus = (given.rounding == mode for mode in (NEAREST, MINUS, PLUS))
        negative = Mux(given.cancelled, minus, given.product_sign ^ given.negative)
        away = Mux(negative, minus, plus)
        unit = given.subtract & ~given.negative & ~given.rest
        increment = Mux(
            away,
            given.guard | given.rest | unit,
            (given.guard & (unit | (nearest & (given.rest | given.significand[0]))))
            | (unit & nearest & given.significand[0]),
        )
        hidden = given.significand[-1]
        exponent_1 = Signal(EXPONENT_BITS, reset_less=True)
        m.d.sync += exponent_1.eq(given.biased)
        with m.If(~hidden):
            m.d.sync += exponent_1.eq(0)
        fraction_1 = register(m, given.significand[:FRACTION], "fraction_1")
        increment_1 = register(m, increment, "increment_1")
        too_large = given.biased[-1] | given.biased[:EXPONENT_BITS].all()
        overflow = register(m, hidden & ~given.special & too_large, "overflow")
        finite = delay(m, ~(nearest | away | given.special), 3, "finite")
        negative = delay(m, negative, 3, "negative")
        # Cycle 2: too large an exponent.
        exponent_2 = Signal(EXPONENT_BITS, init=SPECIAL_EXPONENT, reset_less=True)
        fraction_2 = Signal(FRACTION, reset_less=True)
        increment_2 = Signal(reset_less=True)
        m.d.sync += [exponent_2.eq(exponent_1), fraction_2.eq(fraction_1), increment_2.eq(increment_1)]
        with m.If(overflow):
            m.d.sync += [exponent_2.eq(SPECIAL_EXPONENT), fraction_2.eq(0), increment_2.eq(0)]
        # Cycle 3: round up.
        rounded = register(
            m, (Cat(fraction_2, exponent_2) + increment_2)[: FRACTION + EXPONENT_BITS], "rounded"
        )
        # Cycle 4: the largest finite number.
        largest = (1 << FRACTION) - 1
        d = Signal(64, init=largest, reset_less=True)
        m.d.sync += d.eq(Cat(rounded, negative))
        with m.If(finite & (rounded[FRACTION:] == SPECIAL_EXPONENT)):
            m.d.sync += d[: FRACTION + 1].eq(largest)
        m.d.comb += self.output.d.eq(d)
        return m
