"""Round: the result's bits, in the mode of the operation."""

from amaranth.hdl import Cat, Module, Mux

from hdl.fma64.fields import Fma64Stage
from hdl.fma64.fma64_operands import MINUS, NEAREST, PLUS
from hdl.fma64.widths import EXPONENT_BITS, FRACTION, SPECIAL_EXPONENT
from hdl.stream.pipeline import Cut, behind


class Round(Fma64Stage):
    """Round the normalised magnitude and pack it (IEEE 754-2019, 4.3 and 7.4).

    A positive difference lacks one unit infinitely far below. If everything below the guard bit continues
    the ones of the complement, that unit carries into the guard bit: a guard bit of zero then means exactly
    one half, one of one means the next significand, exactly. Otherwise the unit only makes what is below
    the guard bit different from zero, which `rest` says already.

    Exponent and fraction are one number when it is rounded up, so a carry out of the fraction raises the
    exponent, from the largest subnormal to the least normal number too. Too large an exponent becomes
    infinity before, and any infinity that is not a special value becomes the largest finite number after,
    in the modes that want that. These replacements are synchronous resets and sets as in `Decode`.

    Expected critical path: the carry chain of 63 bits.

    Members
    -------
    output.d : 64
    """

    delays = (3.5, 2.0, 5.0, 2.5)
    input_fields = "significand guard rest biased cancelled negative product_sign subtract special rounding"
    output_fields = "d"

    def _logic(self, m: Module, first: Cut, second: Cut, third: Cut, last: Cut) -> None:
        given = self.input
        three = (first, second, third)
        # The sign, and whether to round up.
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
        exponent = first(Mux(hidden, given.biased[:EXPONENT_BITS], 0), "exponent_1")
        fraction = first(given.significand[:FRACTION], "fraction_1")
        increment = first(increment, "increment_1")
        too_large = given.biased[-1] | given.biased[:EXPONENT_BITS].all()
        overflow = first(hidden & ~given.special & too_large, "overflow")
        finite = behind((first, second), ~(nearest | away | given.special), "finite")
        is_full = first(given.significand[:FRACTION].all(), "is_full")
        negative = behind(three, negative, "negative")
        is_full = second(is_full & (exponent == SPECIAL_EXPONENT - 1), "is_full_2")
        # Too large an exponent.
        exponent = Mux(overflow, SPECIAL_EXPONENT, exponent)
        exponent = second(exponent, "exponent_2", init=SPECIAL_EXPONENT)
        fraction = second(Mux(overflow, 0, fraction), "fraction_2")
        increment = second(increment & ~overflow, "increment_2")
        # Round up.
        rounded = (Cat(fraction, exponent) + increment)[: FRACTION + EXPONENT_BITS]
        rounded = third(rounded, "rounded")
        # The largest finite number: all ones, but for the lowest bit of the exponent. The sum itself would
        # tell too late that it has left the range.
        leaves = second(overflow, "overflow_2") | (is_full & increment)
        is_largest = third(finite & leaves, "is_largest")
        fraction = last(
            Mux(is_largest, (1 << FRACTION) - 1, rounded[:FRACTION]), "fraction", init=(1 << FRACTION) - 1
        )
        lowest = last(rounded[FRACTION] & ~is_largest, "exponent_lowest")
        m.d.comb += self.output.d.eq(
            Cat(fraction, lowest, last(Cat(rounded[FRACTION + 1 :], negative), "top"))
        )
