"""Decode C: the accumulator input as one more term."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import Out

from hdl.config import DotProductConfig
from hdl.dot_product.operands import Operation, Result
from hdl.dot_product.special import Special
from hdl.dot_product.widths import HALF, INTEGER, WIDE, Widths
from hdl.stream.pipeline import Stage, register

__all__ = ["DecodeC"]


class DecodeC(Stage):
    """Take C apart: f32, f16 that counts as f16, f16 widened to f32, or s32.

    Widening makes a subnormal f16 a normal f32, and with it the exponent that the alignment sees, so those
    are normalised here.

    Latency 4 cycles, one operation per cycle. Expected critical path: leading-zero count and
    shift of the 11 bits of an f16.

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

    latency = 4

    def __init__(self, config: DotProductConfig) -> None:
        self.config = config
        self.widths = Widths(config)
        super().__init__(
            {"c": Out(32), "operation": Out(Operation)},
            {
                "c_sign": Out(1),
                "c_value": Out(32),
                "c_exponent": Out(self.widths.exponent_bits),
                "c_special": Out(Special),
            },
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        operation = register(m, self.input.operation, "operation_1")
        c = register(m, self.input.c, "c_1")
        integer = self.widths.chosen(operation.multiplicand, INTEGER)
        wide = self.widths.chosen(operation.multiplicand, WIDE)
        half = operation.c_is_f16 & ~integer if self.config.formats & HALF else Const(0, 1)
        # C of fp8 has the type of D.
        widened = "f16" in self.config.formats
        half_result = half & (operation.result == Result.F16) if widened else half

        # Cycle 2: fields.
        fraction = Mux(half, Cat(Const(0, 13), c[:10]), c[:23])
        exponent = Mux(half, c[10:15], c[23:31])
        hidden, some = exponent.any(), fraction.any()
        maximal = Mux(half, c[10:15].all(), c[23:31].all())
        sign = register(m, Mux(half, c[15], c[31]) & ~integer, "sign_2")
        upper = Mux(integer, c[23:], hidden)
        value = register(m, Cat(fraction, upper), "value_2")
        wide_offset, offset = self._offset(narrow=False), self._offset(narrow=True)
        offset = Mux(wide, wide_offset, Mux(half, offset + 112, offset))
        biased = (exponent | ~hidden) + offset
        biased = register(m, biased[: self.widths.exponent_bits], "biased_2")
        normalise = register(m, half & ~half_result & ~hidden, "normalise_2")
        zero = register(m, ~hidden & ~some, "zero_2")
        nan = register(m, maximal & some & ~integer, "nan_2")
        infinite = register(m, maximal & ~some & ~integer, "infinite_2")
        wide = register(m, wide, "wide_2")
        half_result = register(m, half_result, "half_result_2")

        # Cycle 3: the leading one of a widened f16 subnormal comes to the hidden bit.
        count = Signal(4)
        for position in range(10):
            with m.If(value[13 + position]):
                m.d.comb += count.eq(10 - position)
        count = Mux(normalise, count, 0)
        shifted = register(m, Cat(value[:13], (value[13:24] << count)[:11], value[24:]), "value_3")
        moved = register(m, (biased - count)[: self.widths.exponent_bits], "exponent_3")
        floor = Mux(
            wide,
            self.widths.least_maximum(narrow=False, half_result=False),
            Mux(
                half_result,
                self.widths.least_maximum(narrow=True, half_result=True),
                self.widths.least_maximum(narrow=True, half_result=False),
            ),
        )
        floor = register(m, floor, "floor_3")
        zero = register(m, zero, "zero_3")
        sign_3 = register(m, sign, "sign_3")

        # Cycle 4.
        output = self.output
        m.d.sync += [
            output.c_sign.eq(sign_3),
            output.c_value.eq(shifted),
            output.c_exponent.eq(Mux(zero, floor, moved)),
            output.c_special.nan.eq(register(m, nan, "nan_3")),
            output.c_special.positive.eq(register(m, infinite & ~sign, "positive_3")),
            output.c_special.negative.eq(register(m, infinite & sign, "negative_3")),
        ]
        return m

    def _offset(self, *, narrow: bool) -> int:
        return self.widths.exponent_zero(narrow=narrow) - 127
