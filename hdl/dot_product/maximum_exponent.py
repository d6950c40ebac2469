"""Maximum exponent: the reference of the alignment, and every term's distance from it."""

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.config import DotProductConfig
from hdl.dot_product.widths import LANES, Widths
from hdl.stream.pipeline import delay, register

__all__ = ["MaximumExponent"]


class MaximumExponent(wiring.Component):
    """Find Emax in a tree of comparisons and subtract the exponents from it.

    Latency 6 cycles, one operation per cycle. Expected critical path: one 9-bit comparison and the choice it
    makes.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    exponent : In(16 x 9)
        Of the products; 0 for a zero product.
    c_exponent : In(9)
        One cycle later than the products'. Never less than the least Emax, so Emax is not either.
    maximum : Out(9)
    distance : Out(16 x 6), c_distance : Out(6)
        Emax minus the exponent; bit 5 stands for 32 and anything beyond it, and then bits 0 to 4 mean
        nothing.
    """

    latency = 6

    def __init__(self, config: DotProductConfig) -> None:
        self._bits = Widths(config).exponent_bits
        super().__init__(
            {
                "exponent": In(self._bits).array(LANES),
                "c_exponent": In(self._bits),
                "maximum": Out(self._bits),
                "distance": Out(6).array(LANES),
                "c_distance": Out(6),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        level: list[Value] = list(self.exponent)
        depth = 0
        while len(level) > 1:
            depth += 1
            half = len(level) // 2
            level = [
                register(
                    m, Mux(level[i] > level[i + half], level[i], level[i + half]), f"maximum_{depth}_{i}"
                )
                for i in range(half)
            ]
        c_exponent = delay(m, self.c_exponent, depth - 1, "c_exponent")
        maximum = register(m, Mux(level[0] > c_exponent, level[0], c_exponent), "maximum_last")
        m.d.sync += [
            self.maximum.eq(maximum),
            self.c_distance.eq(_distance(maximum, register(m, c_exponent, "c_exponent_last"))),
        ]
        # Four exponents wait in one word, which is what simulates fastest.
        for first in range(0, LANES, 4):
            waiting = Value.cast(
                delay(m, Cat(self.exponent[first : first + 4]), depth + 1, f"exponents{first}")
            )
            for lane in range(first, first + 4):
                exponent = waiting.word_select(lane - first, self._bits)
                distance = register(m, _distance(maximum, exponent), f"distance{lane}")
                m.d.comb += self.distance[lane].eq(distance)
        return m


def _distance(maximum: Value, exponent: Value) -> Value:
    difference = (maximum - exponent)[: len(maximum)]
    return Cat(difference[:5], difference[5:].any())
