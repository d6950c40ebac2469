"""Decode C: the accumulator input as one more term."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal

from hdl.config import DotProductConfig
from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.operands import Result
from hdl.dot_product.widths import HALF, INTEGER, WIDE

__all__ = ["DecodeC"]


class DecodeC(DotProductStage):
    """Take C apart: f32, f16 that counts as f16, f16 widened to f32, or s32.

    Widening makes a subnormal f16 a normal f32, and with it the exponent that the alignment sees, so those
    are normalised here.

    Expected critical path: leading-zero count and shift of the 11 bits of an f16.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.c : 32
    input.operation : Operation
    output.c_sign : 1
        0 for integers.
    output.c_value : 32
        The significand with 23 fraction bits, or s32.
    output.c_exponent : 9
        With the offset of `Widths`; the least Emax if C is zero, and never below it.
    output.c_special : Special
    """

    delays = (2.0, 3.0, 3.0, 1.0)

    def __init__(self, config: DotProductConfig) -> None:
        super().__init__(config, "c operation", "c_sign c_value c_exponent c_special")

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        first, second, third, fourth = self.cuts(m)
        operation = self.input.operation
        integer = self.widths.chosen(operation.multiplicand, INTEGER)
        wide = self.widths.chosen(operation.multiplicand, WIDE)
        half = operation.c_is_f16 & ~integer if self.config.formats & HALF else Const(0, 1)
        # C of fp8 has the type of D.
        widened = "f16" in self.config.formats
        half_result = half & (operation.result == Result.F16) if widened else half

        # To the first cut: fields, with those of f16 where f32 has them.
        c = Mux(half, Cat(Const(0, 13), self.input.c[:15], Const(0, 3), self.input.c[15]), self.input.c)
        c = first(c, "c_1")
        half, half_result = first(half, "half_1"), first(half_result, "half_result_1")
        integer, wide = first(integer, "integer_1"), first(wide, "wide_1")

        # To the second cut: what they mean.
        fraction, exponent = c[:23], c[23:31]
        hidden, some = exponent.any(), fraction.any()
        maximal = exponent[:5].all() & (half | exponent[5:].all())
        sign = second(c[31] & ~integer, "sign_2")
        upper = Mux(integer, c[23:], hidden)
        value = second(Cat(fraction, upper), "value_2")
        wide_offset, offset = self._offset(narrow=False), self._offset(narrow=True)
        offset = Mux(wide, wide_offset, Mux(half, offset + 112, offset))
        # The exponent of a subnormal is 1, not 0.
        biased = exponent + offset + ~hidden
        biased = second(biased[: self.widths.exponent_bits], "biased_2")
        normalise = second(half & ~half_result & ~hidden, "normalise_2")
        zero = second(~hidden & ~some, "zero_2")
        nan = second(maximal & some & ~integer, "nan_2")
        infinite = second(maximal & ~some & ~integer, "infinite_2")
        wide = second(wide, "wide_2")
        half_result = second(half_result, "half_result_2")

        # To the third cut: the leading one of a widened f16 subnormal comes to the hidden bit.
        count = Signal(4)
        for position in range(10):
            with m.If(value[13 + position]):
                m.d.comb += count.eq(10 - position)
        count = Mux(normalise, count, 0)
        shifted = third(Cat(value[:13], (value[13:24] << count)[:11], value[24:]), "value_3")
        moved = third((biased - count)[: self.widths.exponent_bits], "exponent_3")
        floor = Mux(
            wide,
            self.widths.least_maximum(narrow=False, half_result=False),
            Mux(
                half_result,
                self.widths.least_maximum(narrow=True, half_result=True),
                self.widths.least_maximum(narrow=True, half_result=False),
            ),
        )
        floor = third(floor, "floor_3")
        zero = third(zero, "zero_3")
        sign_3 = third(sign, "sign_3")

        output = self.output
        m.d.comb += [
            output.c_sign.eq(fourth(sign_3, "sign_4")),
            output.c_value.eq(fourth(shifted, "value_4")),
            output.c_exponent.eq(fourth(Mux(zero, floor, moved), "exponent_4")),
            output.c_special.nan.eq(fourth(third(nan, "nan_3"), "nan_4")),
            output.c_special.positive.eq(fourth(third(infinite & ~sign, "positive_3"), "positive_4")),
            output.c_special.negative.eq(fourth(third(infinite & sign, "negative_3"), "negative_4")),
        ]
        return m

    def _offset(self, *, narrow: bool) -> int:
        return self.widths.exponent_zero(narrow=narrow) - 127
