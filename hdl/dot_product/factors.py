"""Factors: what the multipliers get, but for the shift of floating-point significands."""

from amaranth.hdl import Module, Mux

from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.integers import IntegerMode, integer_factors
from hdl.dot_product.widths import FLOATING
from hdl.dot_product.words import WORDS, every_place, up
from hdl.stream.pipeline import Cut


class Factors(DotProductStage):
    """Significands, zero in operations on integers, and integers, zero in others.

    Expected critical path: a nibble's borrow, three look-up tables, in front of the OR of `Multiply`.
    Testbench: cocotb_tests/dot_product/test_multiply.py; together with `Multiply`.

    Members
    -------
    input.significand_a, input.significand_b : 4 x 64
        Words of four lanes; 11 bits with 10 fraction bits. Of lanes 0 to 7 the low bits are also bytes 0, 2,
        ... 14 of integer operands.
    input.byte_a, input.byte_b : 2 x 64
        Words of the lanes 8 to 15; bytes 1, 3, ... 15 of integer operands. Only with those.
    output.float_a, output.float_b : 4 x 64
        Words of 11-bit significands; b of fp8 is shifted left by 1, up to bit 11.
    output.low_a, output.top_a, output.low_b, output.top_b : 4 x 64
        Words of what `hdl.dot_product.integers.Factor` contains. Only with integers of more than one bit.
    """

    delays = (2.0,)
    input_fields = "operation significand_a significand_b byte_a byte_b"
    output_fields = "float_a float_b low_a top_a low_b top_b"

    def _logic(self, m: Module, cut: Cut) -> None:
        given, output = self.input, self.output
        floating = self.widths.chosen(given.operation.multiplicand, FLOATING)
        fp8 = self.widths.chosen(given.operation.multiplicand, frozenset({"fp8"}))
        for index in range(WORDS):
            a = Mux(floating, given.significand_a[index] & every_place(0x7FF), 0)
            b = given.significand_b[index] & every_place(0x7FF)
            if self.widths.fp8:
                b = Mux(fp8, up(b, 1), b)
            b = Mux(floating, b, 0)
            m.d.comb += [
                output.float_a[index].eq(cut(a, f"a{index}")),
                output.float_b[index].eq(cut(b, f"b{index}")),
            ]
        if self.widths.multiplied_integer:
            self._integers(m, cut)

    def _integers(self, m: Module, cut: Cut) -> None:
        given, output = self.input, self.output
        operation = given.operation
        mode = IntegerMode(
            self.widths.chosen(operation.multiplicand, frozenset({"i8"})),
            self.widths.chosen(operation.multiplicand, frozenset({"i4"})),
            operation.a_signed,
            operation.b_signed,
        )
        late = mode.behind(cut)
        low = WORDS // 2
        bytes_a = [*given.significand_a[:low], *given.byte_a]
        bytes_b = [*given.significand_b[:low], *given.byte_b]
        for index, (a, b) in enumerate(zip(bytes_a, bytes_b, strict=True)):
            factor_a, factor_b = integer_factors(m, cut, a, b, mode, late, f"word{index}")
            m.d.comb += [
                output.low_a[index].eq(factor_a.low),
                output.top_a[index].eq(factor_a.top),
                output.low_b[index].eq(factor_b.low),
                output.top_b[index].eq(factor_b.top),
            ]
