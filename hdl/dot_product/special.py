"""Special values: what infinities and NaN among the terms make of the result."""

from amaranth.hdl import Cat, Const, Module, Mux, Value, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import Out

from hdl.config import DotProductConfig
from hdl.dot_product.operands import Operation
from hdl.dot_product.widths import FLOATING, LANES, Widths
from hdl.dot_product.words import PLACE, WORDS, common
from hdl.stream.pipeline import Stage

__all__ = ["Fp8Special", "ProductSpecial", "Special", "SpecialValues"]


class Special(data.Struct):
    """What the special values among the terms make of the result.

    Members
    -------
    nan : unsigned(1)
    positive, negative : unsigned(1)
        There is an infinity of that sign; with both the result is NaN.
    """

    nan: unsigned(1)
    positive: unsigned(1)
    negative: unsigned(1)


class ProductSpecial(Stage):
    """Look for special values among the products.

    Expected critical path: the OR of 32 bits.

    Members
    -------
    input.nan, input.infinite : 4 x 64, input.sign : 16
        From `Decode`.
    output.product_special : Special
    """

    delays = (2.5,)

    def __init__(self) -> None:
        flags = Out(64).array(WORDS)
        super().__init__(
            {"nan": flags, "infinite": flags, "sign": Out(LANES)}, {"product_special": Out(Special)}
        )

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


class Fp8Special(Stage):
    """Look for special values among the products of fp8 outside the lanes of 16 bits.

    Expected critical path: the OR of 48 bits.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.fp8_zero, input.fp8_infinite, input.fp8_nan, input.fp8_sign
        From `Fp8Decode`; signs are relative to that of C.
    input.c_sign : 1
    output.fp8_special : Special

    Testbench
    ---------
    cocotb_tests/dot_product/test_fp8_decode.py; together with `Fp8Decode`.
    """

    delays = (2.5,)

    def __init__(self, config: DotProductConfig) -> None:
        lanes = Widths(config).fp8_lanes
        words = lanes * WORDS // LANES
        super().__init__(
            {
                **{"fp8_zero": Out(64).array(words), "fp8_infinite": Out(64).array(words)},
                **{"fp8_nan": Out(64).array(words // 2), "fp8_sign": Out(lanes), "c_sign": Out(1)},
            },
            {"fp8_special": Out(Special)},
        )

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


class SpecialValues(Stage):
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

    def __init__(self, config: DotProductConfig) -> None:
        self.widths = Widths(config)
        self._names = [
            *(("product_special",) if self.widths.lanes else ()),
            *(("fp8_special",) if self.widths.fp8 else ()),
            "c_special",
        ]
        super().__init__(
            {"operation": Out(Operation), **dict.fromkeys(self._names, Out(Special))},
            {"special": Out(Special)},
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        (cut,) = self.cuts(m)
        floating = self.widths.chosen(self.input.operation.multiplicand, FLOATING)
        special: Value = Const(0, 3)
        for name in self._names:
            special = special | getattr(self.input, name).as_value()
        m.d.comb += self.output.special.eq(cut(Mux(floating, special, 0), "special"))
        return m


def _any(words: list[Value]) -> Value:
    """Whether any bit of any word is set."""
    combined = words[0]
    for word in words[1:]:
        combined = combined | word
    return combined.any()
