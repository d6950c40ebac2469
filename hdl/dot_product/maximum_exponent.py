"""Maximum exponent: the reference of the alignment."""

from amaranth.hdl import Module, Mux, Value
from amaranth.lib.wiring import Out

from hdl.config import DotProductConfig
from hdl.dot_product.widths import LANES, Widths
from hdl.stream.pipeline import Stage, register

__all__ = ["MaximumExponent", "ProductMaximum"]


class ProductMaximum(Stage):
    """Find the maximum exponent of the products in a tree of comparisons.

    Latency 4 cycles, one operation per cycle. Expected critical path: one 9-bit comparison and the choice it
    makes.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.product_exponent : 16 x 9
        0 for a zero product.
    output.product_maximum : 9
    """

    latency = (LANES - 1).bit_length()

    def __init__(self, config: DotProductConfig) -> None:
        bits = Widths(config).exponent_bits
        super().__init__({"product_exponent": Out(bits).array(LANES)}, {"product_maximum": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        level: list[Value] = list(self.input.product_exponent)
        for depth in range(1, self.latency + 1):
            half = len(level) // 2
            level = [
                register(m, _larger(level[index], level[index + half]), f"maximum_{depth}_{index}")
                for index in range(half)
            ]
        m.d.comb += self.output.product_maximum.eq(level[0])
        return m


class MaximumExponent(Stage):
    """Emax, the largest exponent of all terms.

    That tensor cores align all terms to it is found in M. Fasi, N. J. Higham, M. Mikaitis and S. Pranesh,
    "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7 (2021) e330.

    Latency 1 cycle, one operation per cycle. Expected critical path: one 9-bit comparison and the choice it
    makes.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.product_maximum : 9
    input.c_exponent : 9
        Never less than the least Emax, so Emax is not either.
    output.maximum : 9
    """

    latency = 1

    def __init__(self, config: DotProductConfig) -> None:
        exponent = Out(Widths(config).exponent_bits)
        super().__init__({"product_maximum": exponent, "c_exponent": exponent}, {"maximum": exponent})

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        larger = _larger(self.input.product_maximum, self.input.c_exponent)
        m.d.comb += self.output.maximum.eq(register(m, larger, "maximum"))
        return m


def _larger(x: Value, y: Value) -> Value:
    return Mux(x > y, x, y)
