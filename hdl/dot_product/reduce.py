"""Reduce: the exact sum of all terms."""

from amaranth.hdl import Cat, Const, Module, Value, signed
from amaranth.lib.wiring import Out

from hdl.config import DotProductConfig
from hdl.dot_product.widths import LANES, Widths
from hdl.stream.pipeline import Stage, delay, register

__all__ = ["Reduce"]


class Reduce(Stage):
    """Add the sixteen terms and C in a binary tree of carry-propagate adders, one level per cycle.

    On a carry-chain FPGA an adder bit takes one look-up table and removes one term, a carry-save bit takes
    two to do the same. A negative term arrives as its one's complement; sixteen adders have sixteen carry
    inputs, one for each product's missing one.

    Widths: each level adds one bit to the terms' ``window + 1``; `Widths.total` tells why the last needs no
    more.

    Latency 5 cycles, one operation per cycle. Expected critical path: a carry chain of `total` bits.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.term : 16 x signed(window + 1)
    input.carry : 16
        One is added for each set bit.
    input.c_term : signed(total)
    output.sum : signed(total)
    """

    latency = 5

    def __init__(self, config: DotProductConfig) -> None:
        self.widths = Widths(config)
        super().__init__(
            {
                "term": Out(signed(self.widths.window + 1)).array(LANES),
                "carry": Out(LANES),
                "c_term": Out(signed(self.widths.total)),
            },
            {"sum": Out(signed(self.widths.total))},
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        level: list[Value] = list(self.input.term)
        carries: Value = self.input.carry
        depth = 0
        while len(level) > 1:
            depth += 1
            half = len(level) // 2
            level = [
                register(m, _add(level[i], level[i + half], carries[i]), f"sum_{depth}_{i}")
                for i in range(half)
            ]
            carries = register(m, carries[half:], f"carries_{depth}")
        c_term = delay(m, self.input.c_term, depth, "c_term")
        m.d.sync += self.output.sum.eq(_add(level[0], c_term, carries[0]))
        return m


def _add(x: Value, y: Value, carry: Value) -> Value:
    """Return x + y + carry as one adder: the carry comes out of an additional lowest bit."""
    return (Cat(Const(1, 1), x).as_signed() + Cat(carry, y).as_signed())[1:].as_signed()
