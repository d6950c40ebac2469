"""Maximum exponent: the reference of the alignment."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Value

from hdl.config import DotProductConfig
from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.widths import LANES, Widths
from hdl.stream.pipeline import Cut

__all__ = ["Fp8Maximum", "Fp8OrC", "MaximumExponent", "ProductMaximum"]


class ProductMaximum(DotProductStage):
    """Find the maximum exponent of the products in a tree of comparisons.

    Expected critical path: one 9-bit comparison and the choice it makes.

    Members
    -------
    input.product_exponent : 16 x 9
        0 for a zero product.
    output.product_maximum : 9
    """

    delays = (3.0,) * (LANES - 1).bit_length()
    input_fields = "product_exponent"
    output_fields = "product_maximum"

    def _logic(self, m: Module, *cuts: Cut) -> None:
        (maximum,) = _tree(cuts, list(self.input.product_exponent))
        m.d.comb += self.output.product_maximum.eq(maximum)


class Fp8Maximum(DotProductStage):
    """Find the maximum exponent of the products of fp8 with lanes of their own, as `ProductMaximum` does.

    Expected critical path: one 6-bit comparison and the choice it makes.

    Members
    -------
    input.fp8_exponent : `Widths.fp8_lanes` x 6
        Without the offset of f16's scale; 0 for a zero product.
    output.fp8_maximum : 9
        On f16's scale; 0 if all products are zero.
    """

    input_fields = "fp8_exponent"
    output_fields = "fp8_maximum"

    def __init__(self, config: DotProductConfig) -> None:
        self.delays = (2.6,) * (Widths(config).fp8_lanes - 1).bit_length()
        super().__init__(config)

    def _logic(self, m: Module, *cuts: Cut) -> None:
        *others, last = cuts
        two = _tree(others, list(self.input.fp8_exponent))
        some = last(Cat(*two).any(), "some")
        (maximum,) = _tree([last], two)
        m.d.comb += self.output.fp8_maximum.eq(maximum | Mux(some, self.widths.half_offset, 0))


class Fp8OrC(DotProductStage):
    """The larger exponent of C and the products of fp8 that have lanes of their own.

    Expected critical path: one 9-bit comparison and the choice it makes.

    Members
    -------
    output.c_or_fp8_exponent : 9
    """

    delays = (2.7,)
    input_fields = "fp8_maximum c_exponent"
    output_fields = "c_or_fp8_exponent"

    def _logic(self, m: Module, cut: Cut) -> None:
        larger = _larger(self.input.fp8_maximum, self.input.c_exponent)
        m.d.comb += self.output.c_or_fp8_exponent.eq(cut(larger, "c_or_fp8_exponent"))


class MaximumExponent(DotProductStage):
    """Emax, the largest exponent of all terms.

    That tensor cores align all terms to it is found in M. Fasi, N. J. Higham, M. Mikaitis and S. Pranesh,
    "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7 (2021) e330.

    Expected critical path: one 9-bit comparison and the choice it makes.

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
        beside other formats.
    """

    delays = (3.2,)
    output_fields = "maximum reference"

    def __init__(self, config: DotProductConfig) -> None:
        widths = Widths(config)
        self._products = "product_maximum" if widths.lanes else "fp8_maximum"
        self._c = "c_or_fp8_exponent" if widths.fp8 and widths.lanes else "c_exponent"
        self.input_fields = f"operation {self._products} {self._c}"
        super().__init__(config)

    def _logic(self, m: Module, cut: Cut) -> None:
        products, c = getattr(self.input, self._products), getattr(self.input, self._c)
        is_products = _exceeds(products, c)
        m.d.comb += self.output.maximum.eq(cut(Mux(is_products, products, c), "maximum"))
        if "reference" in self.produces:
            # Each candidate's is made beside the comparison.
            fp8 = self.widths.chosen(self.input.operation.multiplicand, frozenset({"fp8"}))
            candidates = ((exponent + fp8)[: len(exponent)] for exponent in (products, c))
            m.d.comb += self.output.reference.eq(cut(Mux(is_products, *candidates), "reference"))


def _tree(cuts: Sequence[Cut], level: list[Value]) -> list[Value]:
    """The largest of each 2**n exponents, a comparison before each of n cuts."""
    for cut in cuts:
        pairs = zip(level[: len(level) // 2], level[len(level) // 2 :], strict=True)
        level = [
            cut(_larger(x, y), f"maximum_{len(level) // 2}_{index}") for index, (x, y) in enumerate(pairs)
        ]
    return level


def _larger(x: Value, y: Value) -> Value:
    return Mux(_exceeds(x, y), x, y)


def _exceeds(x: Value, y: Value) -> Value:
    """Whether x is greater than y.

    The borrow is a bit of the difference: a sum leaves the carry chain of an ECP5 directly, a carry by way of
    another carry cell and, with an odd number of bits, two look-up tables.
    """
    return (y - x)[len(x)]
