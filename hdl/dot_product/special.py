"""Special values: what infinities and NaN among the terms make of the result."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.widths import FLOATING
from hdl.dot_product.words import PLACE, common

__all__ = ["Fp8Special", "ProductSpecial", "SpecialValues"]


class ProductSpecial(DotProductStage):
    """Look for special values among the products.

    Expected critical path: the OR of 32 bits.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.nan, input.infinite : 4 x 64, input.sign : 16
        From `Decode`.
    output.product_special : Special
    """

    delays = (2.5,)
    input_fields = "nan infinite sign"
    output_fields = "product_special"

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        infinite = Cat(Cat(*self.input.infinite)[::PLACE])
        (cut,) = self.cuts(m)
        special = Cat(
            _any(self.input.nan), (infinite & ~self.input.sign).any(), (infinite & self.input.sign).any()
        )
        m.d.comb += self.output.product_special.eq(cut(special, "special"))
        return m


class Fp8Special(DotProductStage):
    """Look for special values among the products of fp8 outside the lanes of 16 bits.

    Expected critical path: the OR of 48 bits.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.fp8_zero, input.fp8_infinite, input.fp8_nan, input.fp8_sign
        From `Fp8Decode`; signs are relative to the sign of C.
    input.c_sign : 1
    output.fp8_special : Special

    Testbench
    ---------
    cocotb_tests/dot_product/test_fp8_decode.py; together with `Fp8Decode`.
    """

    delays = (2.5,)
    input_fields = "fp8_zero fp8_infinite fp8_nan fp8_sign c_sign"
    output_fields = "fp8_special"

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        given = self.input
        (cut,) = self.cuts(m)
        infinite = Cat(Cat(*given.fp8_infinite)[::PLACE])
        alike, unlike = (common(m, (infinite & signs).any()) for signs in (~given.fp8_sign, given.fp8_sign))
        invalid = [zero & infinite for zero, infinite in zip(given.fp8_zero, given.fp8_infinite, strict=True)]
        special = Cat(
            _any([*given.fp8_nan, *invalid]),
            Mux(given.c_sign, unlike, alike),
            Mux(given.c_sign, alike, unlike),
        )
        m.d.comb += self.output.fp8_special.eq(cut(special, "special"))
        return m


class SpecialValues(DotProductStage):
    """Special values among the products and C; none among integers.

    Expected critical path: three look-up tables.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.operation : Operation
    input.product_special, input.c_special : Special
    input.fp8_special : Special
        Of products of fp8 outside the lanes of 16 bits; without those lanes there is no `product_special`.
    output.special : Special
    """

    delays = (2.5,)
    input_fields = "operation product_special fp8_special c_special"
    output_fields = "special"

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        (cut,) = self.cuts(m)
        floating = self.widths.chosen(self.input.operation.multiplicand, FLOATING)
        special: Value = Const(0, 3)
        for name in self.consumes[1:]:
            special = special | getattr(self.input, name).as_value()
        m.d.comb += self.output.special.eq(cut(Mux(floating, special, 0), "special"))
        return m


def _any(words: list[Value]) -> Value:
    """Whether any bit of any word is set."""
    combined = words[0]
    for word in words[1:]:
        combined = combined | word
    return combined.any()
