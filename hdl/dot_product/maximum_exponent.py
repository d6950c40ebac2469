"""Maximum exponent: the reference of the alignment."""

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import Out

from hdl.config import DotProductConfig
from hdl.dot_product.operands import Operation
from hdl.dot_product.widths import LANES, Widths
from hdl.dot_product.words import common
from hdl.stream.pipeline import Cut, Stage

__all__ = ["FP8_EXPONENT_BITS", "Fp8Maximum", "Fp8OrC", "MaximumExponent", "ProductMaximum"]

FP8_EXPONENT_BITS = 6
"""The sum of two biased exponents on e5m2's scale, 2 to 60; 0 for a zero product."""


class ProductMaximum(Stage):
    """Find the maximum exponent of the products in a tree of comparisons.

    Expected critical path: one 9-bit comparison and the choice it makes.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.product_exponent : 16 x 9
        0 for a zero product.
    output.product_maximum : 9
    """

    delays = (3.2,) * (LANES - 1).bit_length()

    def __init__(self, config: DotProductConfig) -> None:
        bits = Widths(config).exponent_bits
        super().__init__({"product_exponent": Out(bits).array(LANES)}, {"product_maximum": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        m.d.comb += self.output.product_maximum.eq(_tree(self.cuts(m), list(self.input.product_exponent)))
        return m


class Fp8Maximum(Stage):
    """Find the maximum exponent of the products of fp8 that have lanes of their own.

    Bit by bit from the highest one: a bit of the maximum is the OR of that bit in all lanes still in the
    search; where it is set, lanes without it leave (C. C. Foster, "Content addressable parallel processors",
    Van Nostrand Reinhold, 1976, maximum search). For numbers as short as these it takes half the look-up
    tables of a tree of comparisons.

    Expected critical path: four or five look-up tables.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.fp8_exponent : `Widths.fp8_lanes` x 6
        Without the offset of f16's scale; 0 for a zero product.
    output.fp8_maximum : 9
        On f16's scale; 0 if all products are zero.
    """

    def __init__(self, config: DotProductConfig) -> None:
        self.widths = Widths(config)
        lanes = self.widths.fp8_lanes
        self.delays = (3.2,) * (lanes - 1).bit_length()
        super().__init__(
            {"fp8_exponent": Out(FP8_EXPONENT_BITS).array(lanes)},
            {"fp8_maximum": Out(self.widths.exponent_bits)},
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        exponents = self.input.fp8_exponent
        # A plane holds one bit of all lanes; the last one is the highest.
        planes = [Cat(exponent[bit] for exponent in exponents) for bit in range(FP8_EXPONENT_BITS)]
        searched: Value = Const(-1, len(exponents))
        found: Value = Const(0, 0)
        for number, cut in enumerate(self.cuts(m), 1):
            # Two bits first, where no lane has left yet, then one; before the last cut what remains.
            count = 2 if number == 1 else 1 if number < len(self.delays) else len(planes)
            name = f"_{number}"
            if number > 1:
                searched = common(m, searched)
            some = _highest(m, [searched & plane for plane in planes[-count:]])
            some = cut(some, "some" + name)
            found = Cat(some, cut(found, "found" + name)) if number > 1 else some
            planes = [cut(plane, f"plane{bit}{name}") for bit, plane in enumerate(planes)]
            searched = cut(searched, "searched" + name)
            for plane, bit in zip(planes[-count:], some, strict=True):
                searched &= plane | (~bit).replicate(len(plane))
            planes = planes[:-count]
        offset = Mux(found.any(), self.widths.half_offset, 0)
        m.d.comb += self.output.fp8_maximum.eq(found | offset)
        return m


class Fp8OrC(Stage):
    """The larger exponent of C and the products of fp8 that have lanes of their own.

    Expected critical path: one 9-bit comparison and the choice it makes.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.fp8_maximum : 9, input.c_exponent : 9
    output.c_or_fp8_exponent : 9
    """

    delays = (3.2,)

    def __init__(self, config: DotProductConfig) -> None:
        exponent = Out(Widths(config).exponent_bits)
        super().__init__({"fp8_maximum": exponent, "c_exponent": exponent}, {"c_or_fp8_exponent": exponent})

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        (cut,) = self.cuts(m)
        larger = _larger(self.input.fp8_maximum, self.input.c_exponent)
        m.d.comb += self.output.c_or_fp8_exponent.eq(cut(larger, "c_or_fp8_exponent"))
        return m


class MaximumExponent(Stage):
    """Emax, the largest exponent of all terms.

    That tensor cores align all terms to it is found in M. Fasi, N. J. Higham, M. Mikaitis and S. Pranesh,
    "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7 (2021) e330.

    Expected critical path: one 9-bit comparison and the choice it makes.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.product_maximum : 9
        `fp8_maximum` where only fp8 is computed.
    input.c_exponent : 9
        Never less than the least Emax, so Emax is not either. `c_or_fp8_exponent` with fp8 beside other
        formats.
    output.maximum : 9
    output.reference : 9
        What the lanes of 16 bits subtract their exponents from: one more for fp8 (`Multiply`). Only with fp8
        beside other formats, and so is input.operation.
    """

    delays = (3.6,)

    def __init__(self, config: DotProductConfig) -> None:
        self.widths = Widths(config)
        exponent = Out(self.widths.exponent_bits)
        self._has_reference = self.widths.fp8 and self.widths.lanes
        self._products = "product_maximum" if self.widths.lanes else "fp8_maximum"
        self._c = "c_or_fp8_exponent" if self._has_reference else "c_exponent"
        super().__init__(
            {
                **({"operation": Out(Operation)} if self._has_reference else {}),
                self._products: exponent,
                self._c: exponent,
            },
            {"maximum": exponent, **({"reference": exponent} if self._has_reference else {})},
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        (cut,) = self.cuts(m)
        larger = _larger(getattr(self.input, self._products), getattr(self.input, self._c))
        m.d.comb += self.output.maximum.eq(cut(larger, "maximum"))
        if self._has_reference:
            fp8 = self.widths.chosen(self.input.operation.multiplicand, frozenset({"fp8"}))
            reference = cut((larger + fp8)[: len(larger)], "reference")
            m.d.comb += self.output.reference.eq(reference)
        return m


def _tree(cuts: list[Cut], level: list[Value]) -> Value:
    """The largest of exponents, twice as many for each cut."""
    for depth, cut in enumerate(cuts, 1):
        half = len(level) // 2
        level = [
            cut(_larger(level[index], level[index + half]), f"maximum_{depth}_{index}")
            for index in range(half)
        ]
    return level[0]


def _highest(m: Module, planes: list[Value]) -> Value:
    """One or two bits of the maximum of lanes, of which one outside the search is zero."""
    if len(planes) == 1:
        return planes[0].any()
    low, high = planes
    top = common(m, high.any())
    return Cat(Mux(top, (high & low).any(), low.any()), top)


def _larger(x: Value, y: Value) -> Value:
    return Mux(x > y, x, y)
