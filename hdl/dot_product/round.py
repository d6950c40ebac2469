"""Round: the result's bits."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from hdl.dot_product.adders import incremented
from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.operands import Result
from hdl.dot_product.widths import HALF, INTEGER
from hdl.stream.pipeline import Cut, behind

__all__ = ["Round"]

_DISCARDED = 10
"""Fraction bits that an f32 result of fp8 lacks."""


class Round(DotProductStage):
    """Pack the normalised sum as f32, truncated, or as f16, rounded to nearest even; clamp integers.

    For a direct f16 result the bits below the 24 leading ones count as sticky; for an f16 made of the f32
    result they were truncated away and do not. The latter keeps the sign of an f32 that becomes zero. An f32
    of fp8 keeps 13 fraction bits; a sum other than zero has one there, since C's exponent is at least that of
    subnormals and lower bits of terms were cut off.

    Expected critical path: the 16-bit rounding increment.

    Members
    -------
    input.c_sign : 1
        What the sign of the sum is relative to.
    output.d : 32
    """

    delays = (4.2, 3.7, 3.2, 3.6)
    input_fields = "operation c_sign negative value exponent right special"
    output_fields = "d"

    def _logic(self, m: Module, first: Cut, second: Cut, third: Cut, last: Cut) -> None:
        given = self.input
        operation = given.operation
        has_half = bool(self.config.formats & HALF)
        three = (first, second, third)
        integer = behind(three, self.widths.chosen(operation.multiplicand, INTEGER), "integer")
        is_half = behind(three, operation.result != Result.F32, "is_half") if has_half else Const(0, 1)
        saturate = behind(three, operation.saturate, "saturate")
        special = behind(three, given.special, "special")
        sign = first(given.negative ^ given.c_sign, "sign_1")

        value, exponent = given.value, given.exponent
        significand = Cat(Const(0, max(24 - len(value), 0)), value[-24:])
        if self.widths.right_bits:
            significand >>= given.right
        significand = first(significand, "significand_1")
        exponent_1 = first(exponent, "exponent_1")
        zero = second(~significand.any(), "zero_2")
        lowest = significand[:_DISCARDED]
        if self.widths.fp8:
            fp8 = self.widths.chosen(operation.multiplicand, frozenset({"fp8"}))
            lowest = Mux(first(fp8, "fp8_1"), 0, lowest)
        single = behind((second, third), Cat(lowest, significand[_DISCARDED:23], exponent_1[:8]), "single")
        single_infinite = exponent_1[8:].any() | exponent_1[:8].all()
        single_infinite = behind((second, third), single_infinite, "single_infinite")

        half: Value = Const(0, 15)
        half_infinite: Value = Const(0, 1)
        half_zero: Value = Const(0, 1)
        if has_half:
            half, half_infinite, half_zero = self._half(three, significand, zero)
        sign = third(second(sign, "sign_2"), "sign_3")
        sign &= ~Mux(is_half, half_zero, third(zero, "zero_3"))

        # One choice of results, specials forced over it.
        infinite = Mux(is_half, half_infinite, single_infinite) | special.positive | special.negative
        nan = special.nan | (special.positive & special.negative)
        sign = Mux(special.positive | special.negative, special.negative, sign)
        result = Signal(32)
        with m.If(nan):
            m.d.comb += result.eq(Mux(saturate, 0, Mux(is_half, 0x7FFF, 0x7FFFFFFF)))
        with m.Elif(infinite):
            half_limit = Cat(Mux(saturate, 0x7BFF, Const(0x7C00, 15)), sign)
            single_limit = Cat(Mux(saturate, 0x7F7FFFFF, Const(0x7F800000, 31)), sign)
            m.d.comb += result.eq(Mux(is_half, half_limit, single_limit))
        with m.Else():
            m.d.comb += result.eq(Mux(is_half, Cat(half, sign), Cat(single, sign)))
        if self.widths.integer:
            whole = behind(three, value[:32], "whole")
            beyond = behind(three, (given.negative ^ value[31]) & operation.saturate, "beyond")
            negative = behind(three, given.negative, "negative")
            clamped = Mux(beyond, Cat((~negative).replicate(31), negative), whole)
            m.d.comb += self.output.d.eq(last(Mux(integer, clamped, result), "d"))
        else:
            m.d.comb += self.output.d.eq(last(result, "d"))

    def _half(
        self, cuts: tuple[Cut, Cut, Cut], significand: Value, single_zero: Value
    ) -> tuple[Value, Value, Value]:
        """An f16 result behind three cuts: 15 bits, whether it overflows, whether a zero loses its sign."""
        first, second, third = cuts
        # How far a subnormal has to go right, 113 - exponent; 16 stands for that and more. 113 is
        # 7 * 16 + 1, and additions of one to so few bits need no carry chain.
        low, high = self.input.exponent[:4], self.input.exponent[4:]
        is_6, is_7 = high == 6, high == 7
        beyond = high[3:].any() | is_7 & low.any()
        close = is_7 | is_6 & low[1:].any()
        right = Mux(close, Cat(~low[0], incremented(~low[1:])), 16)
        above = incremented(high)[:4] ^ 8
        distance = first(Mux(beyond, 0, right), "right_1")
        half_exponent = first(Mux(beyond, Cat(low, above), 0), "half_exponent_1")
        direct = self.input.operation.result == Result.F16
        sticky = first(self.input.value[:-24].any() & direct, "sticky_1")
        keep = behind((first, second), ~direct, "keep_sign")

        # Eleven bits, and what rounding needs.
        shifted = Mux(distance[4], significand, significand << 16 >> distance[:4])
        kept = second(shifted[29:40], "kept_2")
        guard = second(shifted[28], "guard_2")
        below = second(shifted[:28].any() | sticky, "below_2")
        half_exponent = second(half_exponent, "half_exponent_2")

        # A carry out of the significand raises the exponent by itself.
        packed = Cat(kept[:10], half_exponent)
        rounded = (packed + (guard & (below | kept[0])))[:18]
        half = third(rounded[:15], "half_3")
        infinite = third(rounded[15:].any() | rounded[10:15].all(), "half_infinite_3")
        zero = ~(kept.any() | half_exponent.any() | guard & below) & ~(keep & ~single_zero)
        return half, infinite, third(zero, "half_zero_3")
