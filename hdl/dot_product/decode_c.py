"""Decode C: the accumulator input as one more term."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.config import DotProductConfig
from hdl.dot_product.decode import Special
from hdl.dot_product.operands import DotProductOperands, Result
from hdl.dot_product.widths import INTEGER, WIDE, Widths
from hdl.stream.pipeline import delay, register

__all__ = ["DecodeC"]


class DecodeC(wiring.Component):
    """Take C apart: f32, f16 that counts as f16, f16 widened to f32, or s32.

    Widening makes a subnormal f16 a normal f32, and with it the exponent that the alignment sees, so those
    are normalised here.

    Latency 4 cycles (the sign 2), one operation per cycle. Expected critical path: leading-zero count and
    shift of the 11 bits of an f16.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    operands : In(DotProductOperands)
    sign : Out(1)
        Two cycles after the operands; 0 for integers.
    value : Out(32)
        The significand with 23 fraction bits, or s32.
    exponent : Out(9)
        With the offset of `Widths`; the least Emax if C is zero, and never below it.
    special : Out(Special)
    """

    latency = 4

    def __init__(self, config: DotProductConfig) -> None:
        self.config = config
        self.widths = Widths(config)
        super().__init__(
            {
                "operands": In(DotProductOperands),
                "sign": Out(1),
                "value": Out(32),
                "exponent": Out(unsigned(self.widths.exponent_bits)),
                "special": Out(Special),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        operation = register(m, self.operands.operation, "operation_1")
        c = register(m, self.operands.c, "c_1")
        integer = self.widths.chosen(operation.multiplicand, INTEGER)
        wide = self.widths.chosen(operation.multiplicand, WIDE)
        half = operation.c_is_f16 & ~integer if "f16" in self.config.formats else Const(0, 1)
        half_result = half & (operation.result == Result.F16)

        # Cycle 2: fields.
        fraction = Mux(half, Cat(Const(0, 13), c[:10]), c[:23])
        exponent = Mux(half, c[10:15], c[23:31])
        hidden, some = exponent.any(), fraction.any()
        maximal = Mux(half, c[10:15].all(), c[23:31].all())
        sign = Mux(half, c[15], c[31]) & ~integer
        upper = Mux(integer, c[23:], hidden)
        value = register(m, Cat(fraction, upper), "value_2")
        biased = register(m, (exponent + Mux(half, 112, 0)) | ~hidden, "biased_2")
        normalise = register(m, half & ~half_result & ~hidden, "normalise_2")
        m.d.sync += self.sign.eq(sign)
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
        offset = Mux(wide, self._offset(narrow=False), self._offset(narrow=True))
        shifted = register(m, Cat(value[:13], (value[13:24] << count)[:11], value[24:]), "value_3")
        moved = register(m, (biased + offset - count)[: self.widths.exponent_bits], "exponent_3")
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
        sign = self.sign

        # Cycle 4.
        m.d.sync += [
            self.value.eq(shifted),
            self.exponent.eq(Mux(zero, floor, moved)),
            self.special.nan.eq(delay(m, nan, 1, "nan")),
            self.special.positive.eq(delay(m, infinite & ~sign, 1, "positive")),
            self.special.negative.eq(delay(m, infinite & sign, 1, "negative")),
        ]
        return m

    def _offset(self, *, narrow: bool) -> int:
        return self.widths.exponent_zero(narrow=narrow) - 127
