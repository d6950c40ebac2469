"""Reduce: the exact sum of all terms."""

from amaranth.hdl import Cat, Const, Module, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.config import DotProductConfig
from hdl.dot_product.widths import LANES, Widths
from hdl.stream.pipeline import delay, register

__all__ = ["Reduce"]


class Reduce(wiring.Component):
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
    term : In(16 x signed(window + 1))
    carry : In(16)
        One is added for each set bit.
    c_term : In(signed(total))
    sum : Out(signed(total))
    """

    latency = 5

    def __init__(self, config: DotProductConfig) -> None:
        self.widths = Widths(config)
        super().__init__(
            {
                "term": In(signed(self.widths.window + 1)).array(LANES),
                "carry": In(LANES),
                "c_term": In(signed(self.widths.total)),
                "sum": Out(signed(self.widths.total)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        level: list[Value] = list(self.term)
        carries: Value = self.carry
        depth = 0
        while len(level) > 1:
            depth += 1
            half = len(level) // 2
            level = [
                register(m, _add(level[i], level[i + half], carries[i]), f"sum_{depth}_{i}")
                for i in range(half)
            ]
            carries = register(m, carries[half:], f"carries_{depth}")
        c_term = delay(m, self.c_term, depth, "c_term")
        m.d.sync += self.sum.eq(_add(level[0], c_term, carries[0]))
        return m


def _add(x: Value, y: Value, carry: Value) -> Value:
    """Return x + y + carry as one adder: the carry comes out of an additional lowest bit."""
    return (Cat(Const(1, 1), x).as_signed() + Cat(carry, y).as_signed())[1:].as_signed()
