"""Round: the result's bits."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.dot_product.adders import incremented
from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.operands import Result
from hdl.dot_product.widths import HALF, INTEGER
from hdl.stream.pipeline import Cut, behind

_DISCARDED = 10
"""Fraction bits that an f32 result of fp8 lacks."""

_GUARD = 12
"""The highest bit of an f32's significand that a normal f16 lacks."""


class Round(DotProductStage):
    """Pack the normalised sum as f32, truncated, or as f16, rounded to nearest even; clamp integers.

    Of a negative sum, one in the last place is missing (`Normalize`). It is added together with the rounding:
    where all bits to the right are ones, it carries, and otherwise the bits to the right are not zero.

    For a direct f16 result the bits below the 24 leading ones count as sticky; for an f16 made of the f32
    result they were truncated away and do not. The latter keeps the sign of an f32 that becomes zero. An f32
    of fp8 keeps 13 fraction bits; a sum other than zero has one there, since C's exponent is at least that of
    subnormals and lower bits of terms were cut off.

    A rounded f16 and all other results come to the third cut, where one of them is zero. What takes the place
    of a result that is too large is chosen behind it.

    Expected critical path: the distance of a subnormal f16 from its exponent; the 18-bit rounding increment.

    Members
    -------
    input.c_sign : 1
        What the sign of the sum is relative to.
    output.d : 32
    """

    delays = (4.2, 3.6, 3.2, 1.6)
    input_fields = "operation c_sign negative value exponent right special"
    output_fields = "d"

    def _logic(self, m: Module, first: Cut, second: Cut, third: Cut, last: Cut) -> None:
        given = self.input
        operation = given.operation
        two = (first, second)
        has_half = bool(self.config.formats & HALF)
        is_half = behind(two, operation.result != Result.F32, "is_half") if has_half else Const(0, 1)
        saturate = behind(two, self._saturate(), "saturate")
        sign = behind(two, given.negative ^ given.c_sign, "sign")
        other, is_other = self._other(first, second)

        significand = self._value()[-24:]
        carries = self._value()[:-24].all()
        if self.widths.right_bits:
            most = (1 << self.widths.right_bits) - 1
            carries &= (Cat(Const(-1, most), significand) >> given.right)[:most].all()
            significand >>= given.right
        significand, carries = first(significand, "significand_1"), first(carries, "carries_1")
        zero = second(~(significand.any() | carries), "zero_2")
        single = second(
            (Cat(significand[:23], first(given.exponent, "exponent_1")) + carries)[:32], "single_2"
        )
        lowest = single[:_DISCARDED]
        if self.widths.fp8_is_short:
            fp8 = self.widths.chosen(operation.multiplicand, frozenset({"fp8"}))
            lowest = Mux(behind(two, fp8, "fp8"), 0, lowest)
        rest = Mux(is_half | is_other, 0, Cat(lowest, single[_DISCARDED:31], sign & ~zero))
        # Products of f16 are less than the last place of the largest f32.
        wide = self.widths.wide
        infinite = single[31] | single[23:31].all() if wide else Const(0, 1)
        whole = third(other | rest, "early_3")
        if has_half:
            half, half_infinite = self._half(two, significand, carries, sign, zero)
            whole |= third(Mux(is_half & ~is_other, half, 0), "half_3")
            infinite = Mux(is_half, half_infinite, infinite) if wide else is_half & half_infinite

        limit_is_half = third(is_half, "is_half_3") if wide else Const(1, 1)
        limit = Cat(_limit(limit_is_half, third(saturate, "saturate_3"), whole[15]), whole[31])
        infinite = third(infinite & ~is_other, "infinite_3")
        m.d.comb += self.output.d.eq(last(Mux(infinite, limit, whole), "d"))

    def _saturate(self) -> Value:
        """The bit, which means something else in operations on fp8 beside smaller formats."""
        operation = self.input.operation
        if not self.config.small:
            return Value.cast(operation.saturate)
        return operation.saturate & ~self.widths.chosen(operation.multiplicand, frozenset({"fp8"}))

    def _value(self) -> Value:
        """The value with a bit behind its last one or more, which are ones where one is missing."""
        value, negative = self.input.value, self.input.negative
        return Cat(negative.replicate(max(25 - len(value), 1)), value)

    def _other(self, first: Cut, second: Cut) -> tuple[Value, Value]:
        """Infinities and NaN among the operands, and integers; whether there are any. Behind two cuts."""
        given = self.input
        saturate = first(self._saturate(), "saturate_special")
        is_half = Const(0, 1)
        if self.config.formats & HALF:
            is_half = first(given.operation.result != Result.F32, "is_half_special")
        special = first(given.special, "special_1")
        nan = special.nan | (special.positive & special.negative)
        limit = Cat(_limit(is_half, saturate, special.negative), special.negative & ~is_half)
        other = Mux(nan, Mux(saturate, 0, Mux(is_half, 0x7FFF, 0x7FFFFFFF)), limit)
        is_other = special.nan | special.positive | special.negative
        other = Mux(is_other, other, 0)
        if self.widths.integer:
            integer = first(self.widths.chosen(given.operation.multiplicand, INTEGER), "integer_1")
            whole, negative = first(given.value[:32], "whole_1"), first(given.negative, "sign_of_whole_1")
            beyond = (negative ^ whole[31]) & saturate
            other = Mux(integer, Mux(beyond, Cat((~negative).replicate(31), negative), whole), other)
            is_other |= integer
        return second(other, "other_2"), second(is_other, "is_other_2")

    def _half(
        self, cuts: tuple[Cut, Cut], significand: Value, carries: Value, sign: Value, single_zero: Value
    ) -> tuple[Value, Value]:
        """An f16 result, and whether it is infinite; behind two cuts."""
        first, second = cuts
        # How far a subnormal has to go right, 113 - exponent; 15 stands for that and more, as nothing is left
        # then. 113 is 7 * 16 + 1, and additions of one to so few bits need no carry chain.
        low, high = self.input.exponent[:4], self.input.exponent[4:]
        is_6, is_7 = high == 6, high == 7
        beyond = high[3:].any() | is_7 & low.any()
        close = is_7 | is_6 & low[1:].any()
        right = Mux(close, Cat(~low[0], incremented(~low[1:])), 15)
        above = incremented(high)[:4] ^ 8
        distance = first(Mux(beyond, 0, right), "right_1")
        exponent = first(Mux(beyond, Cat(low, above), 0), "half_exponent_1")
        direct = self.input.operation.result == Result.F16
        # Whether one is missing behind the bits that are not cut off, and whether any differs from it there.
        negative = first(self.input.negative & direct, "negative_1")
        rest = self._value()[:-24]
        differs = first(direct & (rest ^ self.input.negative.replicate(len(rest))).any(), "differs_1")
        keep = behind(cuts, ~direct, "keep_sign")

        # Eleven bits, the one below, and whether any of those to its right differs from what is missing.
        missing = negative | carries
        to_the_right = Cat(Const(-1, _GUARD), *(distance > bit for bit in range(24 - _GUARD)))
        differs |= Mux(missing, ~significand & to_the_right, significand & to_the_right).any()
        shifted = significand[_GUARD:] >> distance
        guard, kept = second(shifted[0], "guard_2"), second(shifted[1:], "kept_2")
        differs, missing = second(differs, "differs_2"), second(missing, "missing_2")
        exponent = second(exponent, "half_exponent_2")

        up = Mux(missing, guard | ~differs & kept[0], guard & (differs | kept[0]))
        # A carry out of the significand raises the exponent by itself.
        packed = Cat(kept[:10], exponent)
        half = Mux(up, packed + 1, packed)[:15]
        infinite = exponent[5:].any() | exponent[1:5].all() & (exponent[0] | up & kept[:10].all())
        zero = ~(kept.any() | exponent.any() | up) & ~(keep & ~single_zero)
        return Cat(half, sign & ~zero), infinite


def _limit(is_half: Value, saturate: Value, half_sign: Value) -> Value:
    """The lower 31 bits of what an infinite result becomes."""
    half = Cat(Mux(saturate, 0x7BFF, 0x7C00)[:15], half_sign)
    return Mux(is_half, half, Mux(saturate, 0x7F7FFFFF, 0x7F800000))[:31]
