"""Decode C: the accumulator input as one more term."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.operands import Result
from hdl.dot_product.widths import HALF, INTEGER, WIDE
from hdl.stream.pipeline import Cut, behind


class DecodeC(DotProductStage):
    """Take C apart: f32, f16 that counts as f16, f16 widened to f32, or s32.

    Widening makes a subnormal f16 a normal f32, and with it the exponent that the alignment sees, so those
    are normalised here.

    Expected critical path: leading-zero count and shift of the 11 bits of an f16.

    Members
    -------
    output.c_sign : 1
        0 for integers.
    output.c_value : 32
        The significand with 23 fraction bits, or s32.
    output.c_exponent : 9
        With the offset of `Widths`; the least Emax if C is zero, and never below it.
    output.c_special : Special
        NaN also if a scale is.
    output.scale : signed
        The exponent of both block scales together, which c_exponent lacks. Only with block scales.
    """

    delays = (2.6, 2.6, 2.7, 2.7, 1.2)
    input_fields = "c operation scale_a scale_b"
    output_fields = "c_sign c_value c_exponent c_special scale"

    def _logic(self, m: Module, first: Cut, second: Cut, third: Cut, fourth: Cut, fifth: Cut) -> None:
        operation = self.input.operation
        integer = self.widths.chosen(operation.multiplicand, INTEGER)
        half = operation.c_is_f16 & ~integer if self.config.formats & HALF else Const(0, 1)
        # C of fp8 has the type of D.
        widened = "f16" in self.config.formats
        half_result = half & (operation.result == Result.F16) if widened else half

        # To the first cut: the fields of f16, moved to the places of f32.
        c = Mux(half, Cat(Const(0, 13), self.input.c[:15], Const(0, 3), self.input.c[15]), self.input.c)
        c = first(c, "c_1")
        half, half_result = first(half, "half_1"), first(half_result, "half_result_1")
        integer = first(integer, "integer_1")
        wide = first(self.widths.chosen(operation.multiplicand, WIDE), "wide_1")

        # To the second cut: classes.
        hidden = second(c[23:31].any(), "hidden_2")
        some = second(c[:23].any(), "some_2")
        maximal = second(c[23:28].all() & (half | c[28:31].all()), "maximal_2")
        c, half, half_result, integer, wide = (
            second(value, f"{name}_2")
            for name, value in zip(
                ("c", "half", "half_result", "integer", "wide"),
                (c, half, half_result, integer, wide),
                strict=True,
            )
        )

        # To the third cut: what the fields mean.
        fraction, exponent = c[:23], c[23:31]
        sign = third(c[31] & ~integer, "sign_3")
        value = third(Cat(fraction, Mux(integer, c[23:], hidden)), "value_3")
        wide_offset, offset = self._offset(narrow=False), self._offset(narrow=True)
        offset = Mux(wide, wide_offset, Mux(half, offset + 112, offset))
        # The exponent of a subnormal is 1, not 0.
        biased = third((exponent + offset + ~hidden)[: self.widths.maximum_bits], "biased_3")
        normalise = third(half & ~half_result & ~hidden, "normalise_3")
        zero = third(~hidden & ~some, "zero_3")
        nan = maximal & some & ~integer
        if self.config.block_scale:
            scale, scale_nan = self._scale(first, second, third)
            nan |= scale_nan
        nan = third(nan, "nan_3")
        infinite = third(maximal & ~some & ~integer, "infinite_3")
        wide, half_result = third(wide, "wide_3"), third(half_result, "half_result_3")

        # To the fourth cut: the leading one of a widened f16 subnormal comes to the hidden bit.
        count = Signal(4)
        for position in range(10):
            with m.If(value[13 + position]):
                m.d.comb += count.eq(10 - position)
        count = Mux(normalise, count, 0)
        shifted = fourth(Cat(value[:13], (value[13:24] << count)[:11], value[24:]), "value_4")
        moved = fourth((biased - count)[: self.widths.maximum_bits], "exponent_4")
        floor = Mux(
            wide,
            self.widths.least_maximum(narrow=False, half_result=False),
            Mux(
                half_result,
                self.widths.least_maximum(narrow=True, half_result=True),
                self.widths.least_maximum(narrow=True, half_result=False),
            ),
        )
        floor, zero = fourth(floor, "floor_4"), fourth(zero, "zero_4")

        output = self.output
        last = (fourth, fifth)
        exponent = Mux(zero, floor, moved)
        if self.config.block_scale:
            late = fourth(scale, "scale_4")
            exponent = (exponent - late)[: self.widths.maximum_bits]
            m.d.comb += output.scale.eq(fifth(late, "scale_5"))
        m.d.comb += [
            output.c_sign.eq(behind(last, sign, "sign_4")),
            output.c_value.eq(fifth(shifted, "value_5")),
            output.c_exponent.eq(fifth(exponent, "exponent_5")),
            output.c_special.nan.eq(behind(last, nan, "nan_4")),
            output.c_special.positive.eq(behind(last, infinite & ~sign, "positive_4")),
            output.c_special.negative.eq(behind(last, infinite & sign, "negative_4")),
        ]

    def _scale(self, first: Cut, second: Cut, third: Cut) -> tuple[Value, Value]:
        """The exponent of both scales, behind the third cut; behind the second whether one is NaN."""
        a, b = self.input.scale_a, self.input.scale_b
        total = first(a + b, "scales")
        exponent = second((total - 2 * 127)[: self.widths.maximum_bits].as_signed(), "scale_2")
        nan = second(first(a.all() | b.all(), "scale_nan_1"), "scale_nan_2")
        return third(exponent, "scale_3"), nan

    def _offset(self, *, narrow: bool) -> int:
        return self.widths.exponent_zero(narrow=narrow) - 127
