"""Distance: how far below Emax each term lies, and what the sum may be shifted in the end."""

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib.wiring import Out

from hdl.config import DotProductConfig
from hdl.dot_product.operands import Operation
from hdl.dot_product.widths import LANES, WIDE, Widths
from hdl.stream.pipeline import Stage, register

__all__ = ["Distance"]


class Distance(Stage):
    """Subtract the exponents from Emax.

    Latency 1 cycle, one operation per cycle. Expected critical path: a 9-bit subtraction and the OR of its
    upper bits.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.operation : Operation
    input.maximum : 9
    input.product_exponent : 16 x 9, input.c_exponent : 9
    output.fine : 16 x 3
        Distance of each product from Emax modulo 8.
    output.coarse : 16 x 3
        Divided by 8; 4 and more stand for 32 and anything beyond it, and then `fine` means nothing.
    output.c_distance : 6
        32 and more stand for anything beyond.
    output.limit : 9
        The most `Normalize` may shift the sum: the biased f32 exponent that its highest magnitude bit would
        have, less one.
    """

    latency = 1

    def __init__(self, config: DotProductConfig) -> None:
        self.widths = Widths(config)
        exponent = Out(self.widths.exponent_bits)
        super().__init__(
            {
                "operation": Out(Operation),
                "maximum": exponent,
                "product_exponent": exponent.array(LANES),
                "c_exponent": exponent,
            },
            {
                "fine": Out(3).array(LANES),
                "coarse": Out(3).array(LANES),
                "c_distance": Out(6),
                "limit": exponent,
            },
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        widths = self.widths
        maximum = self.input.maximum
        for lane, exponent in enumerate(self.input.product_exponent):
            distance = register(m, _distance(maximum, exponent), f"distance{lane}")
            m.d.comb += [self.output.fine[lane].eq(distance[:3]), self.output.coarse[lane].eq(distance[3:])]
        c_distance = register(m, _distance(maximum, self.input.c_exponent), "c_distance")
        wide = widths.chosen(self.input.operation.multiplicand, WIDE)
        offset = Mux(wide, widths.limit_offset(narrow=False), widths.limit_offset(narrow=True))
        limit = register(m, (maximum + offset)[: widths.exponent_bits], "limit")
        m.d.comb += [self.output.c_distance.eq(c_distance), self.output.limit.eq(limit)]
        return m


def _distance(maximum: Value, exponent: Value) -> Value:
    difference = (maximum - exponent)[: len(maximum)]
    return Cat(difference[:5], difference[5:].any())
