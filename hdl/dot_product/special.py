"""Special values: what infinities and NaN among the terms make of the result."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.widths import FLOATING
from hdl.dot_product.words import PLACE, common
from hdl.stream.pipeline import Cut


class ProductSpecial(DotProductStage):
    """Look for special values among the products.

    Expected critical path: the OR of 32 bits.

    Members
    -------
    output.product_special : Special
    """

    delays = (2.5,)
    input_fields = "nan infinite sign"
    output_fields = "product_special"

    def _logic(self, m: Module, cut: Cut) -> None:
        infinite = Cat(Cat(*self.input.infinite)[::PLACE])
        special = Cat(
            _any(self.input.nan), (infinite & ~self.input.sign).any(), (infinite & self.input.sign).any()
        )
        m.d.comb += self.output.product_special.eq(cut(special, "special"))


class Fp8Special(DotProductStage):
    """Look for special values among the products of fp8 outside the lanes of 16 bits.

    Expected critical path: the OR of 32 bits.
    Testbench: cocotb_tests/dot_product/test_fp8_decode.py; together with `Fp8Decode`.

    Members
    -------
    output.fp8_special : Special
    """

    delays = (2.5,)
    input_fields = "operation fp8_zero fp8_infinite fp8_nan fp8_sign c_sign"
    output_fields = "fp8_special"

    def _logic(self, m: Module, cut: Cut) -> None:
        given = self.input
        infinite = Cat(Cat(*given.fp8_infinite)[::PLACE])
        alike, unlike = (common(m, (infinite & signs).any()) for signs in (~given.fp8_sign, given.fp8_sign))
        invalid = [zero & infinite for zero, infinite in zip(given.fp8_zero, given.fp8_infinite, strict=True)]
        fp8 = self.widths.chosen(given.operation.multiplicand, frozenset({"fp8"}))
        special = Cat(
            (_any(given.fp8_nan) & fp8) | _any(invalid),
            Mux(given.c_sign, unlike, alike),
            Mux(given.c_sign, alike, unlike),
        )
        m.d.comb += self.output.fp8_special.eq(cut(special, "special"))


class SpecialValues(DotProductStage):
    """Special values among the products and C; none among integers.

    Expected critical path: three look-up tables.

    Members
    -------
    input.fp8_special : Special
        Of products of fp8 outside the lanes of 16 bits; without those lanes there is no `product_special`.
    output.special : Special
    """

    delays = (2.5,)
    input_fields = "operation product_special fp8_special c_special"
    output_fields = "special"

    def _logic(self, m: Module, cut: Cut) -> None:
        floating = self.widths.chosen(self.input.operation.multiplicand, FLOATING)
        special: Value = Const(0, 3)
        for name in self.consumes[1:]:
            special = special | getattr(self.input, name).as_value()
        m.d.comb += self.output.special.eq(cut(Mux(floating, special, 0), "special"))


def _any(words: list[Value]) -> Value:
    """Whether any bit of any word is set."""
    combined = words[0]
    for word in words[1:]:
        combined = combined | word
    return combined.any()
