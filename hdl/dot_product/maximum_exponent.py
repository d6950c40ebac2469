"""Maximum exponent: what all terms are aligned to."""

from collections.abc import Callable, Sequence

from amaranth.hdl import Cat, Module, Mux, Value

from hdl.config import DotProductConfig
from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.widths import FP8_EXPONENT_BITS, LANES, Widths
from hdl.stream.pipeline import Cut


class ProductMaximum(DotProductStage):
    """Find the largest exponents of the odd and of the even products, in two trees of comparisons.

    `MaximumExponent` compares them with each other and with C at once, which takes less time than one
    comparison after the other.

    Expected critical path: one 9-bit comparison and the choice it makes.

    Members
    -------
    input.product_exponent : 16 x 9
        0 for a zero product.
    output.product_maximum : 2 x 9
    """

    delays = (3.0,) * ((LANES - 1).bit_length() - 1)
    input_fields = "product_exponent"
    output_fields = "product_maximum"

    def _logic(self, m: Module, *cuts: Cut) -> None:
        maxima = _tree(cuts, list(self.input.product_exponent))
        for output, maximum in zip(self.output.product_maximum, maxima, strict=True):
            m.d.comb += output.eq(maximum)


class Fp8Maximum(DotProductStage):
    """Find the largest exponents of the products of fp8 with lanes of their own, as `ProductMaximum` does.

    Expected critical path: one 6-bit comparison and the choice it makes.

    Members
    -------
    input.fp8_exponent : `Widths.fp8_lanes` x 6
        Without the offset of f16's scale; 0 for a zero product.
    output.fp8_maximum : 2 x 9
        On f16's scale; 0 if all products are zero.
    """

    input_fields = "fp8_exponent"
    output_fields = "fp8_maximum"

    def __init__(self, config: DotProductConfig) -> None:
        self.delays = (2.6,) * ((Widths(config).fp8_lanes - 1).bit_length() - 1)
        super().__init__(config)

    def _logic(self, m: Module, *cuts: Cut) -> None:
        *others, last = cuts
        four = _tree(others, list(self.input.fp8_exponent))
        for index, maximum in enumerate(_tree([last], four)):
            some = last((four[index] | four[index + 2]).any(), f"some{index}")
            offset = Mux(some, self.widths.half_offset, 0)
            m.d.comb += self.output.fp8_maximum[index].eq(maximum | offset)


class Fp8OrC(DotProductStage):
    """The larger exponent of C and the products of fp8 that have lanes of their own.

    Expected critical path: one 9-bit comparison and the choice of three.

    Members
    -------
    output.c_or_fp8_exponent : 9
    """

    delays = (3.4,)
    input_fields = "fp8_maximum c_exponent"
    output_fields = "c_or_fp8_exponent"

    def _logic(self, m: Module, cut: Cut) -> None:
        largest = largest_of_three(self.input.c_exponent, *self.widths.as_maxima(self.input.fp8_maximum))
        m.d.comb += self.output.c_or_fp8_exponent.eq(cut(largest(), "c_or_fp8_exponent"))


class MaximumExponent(DotProductStage):
    """Emax, the largest exponent of all terms.

    That tensor cores align all terms to it is found in M. Fasi, N. J. Higham, M. Mikaitis and S. Pranesh,
    "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7 (2021) e330.

    Expected critical path: one 9-bit comparison and the choice of three.

    Members
    -------
    input.product_maximum : 2 x 9
        `fp8_maximum` where only fp8 is computed.
    input.c_exponent : 9
        Never less than the least Emax, so Emax is not either. `c_or_fp8_exponent` with fp8 beside other
        formats.
    output.maximum : 9
    """

    delays = (3.8,)
    output_fields = "maximum"

    def __init__(self, config: DotProductConfig) -> None:
        widths = Widths(config)
        self._products = "product_maximum" if widths.lanes else "fp8_maximum"
        self._c = "c_or_fp8_exponent" if widths.fp8 and widths.lanes else "c_exponent"
        self.input_fields = f"operation {self._products} {self._c}"
        super().__init__(config)

    def _logic(self, m: Module, cut: Cut) -> None:
        products = self.widths.as_maxima(getattr(self.input, self._products))
        c = getattr(self.input, self._c)
        # Exponents of fp8 in the lanes of 16 bits are one less. A C that exceeds one of them is not below the
        # true exponent, so the comparisons hold for all formats.
        largest = largest_of_three(c, *products)
        if self.widths.exponent_lead:
            fp8 = self.widths.chosen(self.input.operation.multiplicand, frozenset({"fp8"}))
            low, high = slice(0, FP8_EXPONENT_BITS), slice(FP8_EXPONENT_BITS, None)
            products = [Cat((exponent[low] + fp8)[low], exponent[high]) for exponent in products]
        m.d.comb += self.output.maximum.eq(cut(largest(c, *products), "maximum"))


def _tree(cuts: Sequence[Cut], level: list[Value]) -> list[Value]:
    """The largest of each 2**n exponents, a comparison before each of n cuts."""
    for cut in cuts:
        pairs = zip(level[: len(level) // 2], level[len(level) // 2 :], strict=True)
        level = [
            cut(Mux(exceeds(x, y), x, y), f"maximum_{len(level) // 2}_{index}")
            for index, (x, y) in enumerate(pairs)
        ]
    return level


def largest_of_three(x: Value, y: Value, z: Value) -> Callable[..., Value]:
    """The choice of the largest of three numbers, or of what is given in place of each.

    All comparisons are made at once.
    """
    y_beats_z, x_beats_y, x_beats_z = exceeds(y, z), exceeds(x, y), exceeds(x, z)
    chosen = Mux(y_beats_z, x_beats_y, x_beats_z)

    def choice(for_x: Value = x, for_y: Value = y, for_z: Value = z) -> Value:
        return Mux(chosen, for_x, Mux(y_beats_z, for_y, for_z))

    return choice


def exceeds(x: Value, y: Value) -> Value:
    """Whether x is greater than y.

    The borrow is a bit of the difference: a sum leaves the carry chain of an ECP5 directly, a carry by way of
    another carry cell and, with an odd number of bits, two look-up tables.
    """
    return (y - x)[len(x)]
