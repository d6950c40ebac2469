"""The scales and C: significands, and exponents on one scale."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.omma.fields import GroupSumStage
from hdl.omma.products import both
from hdl.omma.widths import BIAS, EXPONENT, LEAST_MAXIMUM, PASS_GROUPS, SCALE, SCALE_FRACTION, SIGNIFICAND
from hdl.stream.pipeline import Cut

_UE4M3_BIAS = 7
_ONE = 1 << SCALE_FRACTION


class Scales(GroupSumStage):
    """Multiply the two scales of each group of one pass: significands, and the sum of exponents.

    The exponent of ue4m3 is brought to ue8m0's bias without an adder: 120 and four bits are the top bit, four
    copies of its inverse, and the others. Its highest bit, the sign of an e4m3, is ignored.

    Expected critical path: the product of two four-bit numbers.
    Testbench: cocotb_tests/omma/test_omma_unit.py, through `GroupSumUnit`.

    Members
    -------
    input.second : 1
        The scales belong to the upper groups.
    output.scale_exponent : 2 x 9
    output.significand : 4 x 8
        In 64ths; the pass before comes first.
    output.nonzero_scales : 2
        Neither scale is zero. ue8m0 has no zero.
    output.scale_nan : 1
        A scale of this pass or the one before is NaN.
    """

    delays = (3.2, 4.0)
    input_fields = "scale_a scale_b ue4m3 second"
    output_fields = "scale_exponent significand nonzero_scales scale_nan"

    def _logic(self, m: Module, first: Cut, second: Cut) -> None:
        given, output = self.input, self.output
        products, nans, nonzero = [], [], []
        for group in range(PASS_GROUPS):
            exponents, significands = [], []
            for name in ("scale_a", "scale_b"):
                lower, upper = (
                    getattr(given, name).word_select(group + start, SCALE) for start in (0, PASS_GROUPS)
                )
                exponent, significand, nan = _decoded(Mux(given.second, upper, lower), given.ue4m3)
                exponents.append(first(exponent, f"{name}_exponent_{group}"))
                significands.append(first(significand, f"{name}_significand_{group}"))
                nans.append(nan)
            x, y = significands
            total = (exponents[0] + exponents[1])[:EXPONENT]
            m.d.comb += output.scale_exponent[group].eq(second(total, f"exponent_{group}"))
            rows = [Cat(Const(0, bit), x & y[bit].replicate(len(x))) for bit in range(len(y))]
            product = ((rows[0] + rows[1]) + (rows[2] + rows[3]))[:SCALE]
            products.append(second(product, f"significand_{group}"))
            nonzero.append(x.any() & y.any())
        for place, product in zip(output.significand, both(m, products), strict=True):
            m.d.comb += place.eq(product)
        nan = second(first(Cat(nans).any(), "any_nan"), "nan")
        m.d.comb += [
            output.nonzero_scales.eq(second(Cat(nonzero), "nonzero")),
            output.scale_nan.eq(Cat(both(m, [nan])).any()),
        ]


def _decoded(byte: Value, ue4m3: Value) -> tuple[Value, Value, Value]:
    """The exponent with ue8m0's bias, the significand in eighths, and whether it is NaN."""
    fraction, field = byte[:SCALE_FRACTION], byte[SCALE_FRACTION:-1]
    subnormal = ~field.any()
    narrow = Cat(field[0] | subnormal, field[1:3], (~field[3]).replicate(4), field[3])
    significand = Mux(ue4m3, Cat(fraction, ~subnormal), _ONE)
    return Mux(ue4m3, narrow, byte), significand, byte[:-1].all() & (byte[-1] | ue4m3)


assert BIAS - _UE4M3_BIAS == 0b1111000, "the exponent of ue4m3 takes no adder"


class TakingPart(GroupSumStage):
    """The exponents of the groups that take part: 0 without a product other than zero, or with a zero scale.

    Testbench: cocotb_tests/omma/test_omma_unit.py, through `GroupSumUnit`.

    Members
    -------
    output.exponent : 4 x 9
        Those of the pass before first.
    """

    delays = (1.2,)
    input_fields = "scale_exponent some nonzero_scales"
    output_fields = "exponent"

    def _logic(self, m: Module, cut: Cut) -> None:
        given = self.input
        exponents = [
            cut(Mux(given.some[group] & given.nonzero_scales[group], exponent, 0), f"exponent_{group}")
            for group, exponent in enumerate(given.scale_exponent)
        ]
        for place, exponent in zip(self.output.exponent, both(m, exponents), strict=True):
            m.d.comb += place.eq(exponent)


class DecodeC(GroupSumStage):
    """Take C apart.

    Testbench: cocotb_tests/omma/test_omma_unit.py, through `GroupSumUnit`.

    Members
    -------
    output.c_exponent : 9
        The least Emax if C is zero.
    output.c_significand : 24
    output.c_negative, output.c_infinite, output.c_nan : 1
    """

    delays = (3.0,)
    input_fields = "c"
    output_fields = "c_exponent c_significand c_negative c_infinite c_nan"

    def _logic(self, m: Module, cut: Cut) -> None:
        c, output = self.input.c, self.output
        fraction, field, sign = c[: SIGNIFICAND - 1], c[SIGNIFICAND - 1 : -1], c[-1]
        subnormal, special, empty = ~field.any(), field.all(), ~fraction.any()
        exponent = Cat(field[0] | subnormal, field[1:]) + BIAS
        m.d.comb += [
            output.c_exponent.eq(cut(Mux(subnormal & empty, LEAST_MAXIMUM, exponent), "exponent")),
            output.c_significand.eq(cut(Cat(fraction, ~subnormal), "significand")),
            output.c_negative.eq(cut(sign, "negative")),
            output.c_infinite.eq(cut(special & empty, "infinite")),
            output.c_nan.eq(cut(special & ~empty, "nan")),
        ]
