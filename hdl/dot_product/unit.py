"""The dot-product unit: one result per cycle."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.config import DotProductConfig
from hdl.dot_product.arithmetic import Arithmetic
from hdl.dot_product.operands import DotProductOperands, DotProductResult
from hdl.dot_product.result_buffer import ResultBuffer

__all__ = ["DOT_PRODUCT_SIGNATURE", "DotProductUnit"]

DOT_PRODUCT_SIGNATURE = wiring.Signature(
    {
        "operands": In(stream.Signature(DotProductOperands)),
        "result": Out(stream.Signature(DotProductResult)),
    }
)
"""The ports of a dot-product unit of any configuration."""


class DotProductUnit(wiring.Component):
    """Dot products with flow control: ``d = sum(a[k] * b[k]) + c``.

    The arithmetic never waits: operands are accepted only while the buffer behind it has a place for their
    result, so no signal has to stop thousands of registers at once. Ready depends on nothing but a counter in
    registers, so nothing passes combinationally from one port's ready to the other's.

    Latency: `latency` cycles from the acceptance of operands to their result's valid. Throughput: one
    result per cycle as long as the receiver takes one per cycle. Results leave in the order of their
    operands.

    Parameters
    ----------
    config : DotProductConfig

    Attributes
    ----------
    latency : int

    Members
    -------
    operands : In(stream.Signature(DotProductOperands))
    result : Out(stream.Signature(DotProductResult))
    """

    latency = Arithmetic.latency + 2

    def __init__(self, config: DotProductConfig) -> None:
        self.config = config
        super().__init__(DOT_PRODUCT_SIGNATURE)

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        m.submodules.arithmetic = arithmetic = Arithmetic(self.config)
        # Every operation under way has a place, and there are enough for a new one in each cycle: two cycles
        # pass from a result's end of the pipeline to its departure, one more until its place is free again.
        m.submodules.buffer = buffer = ResultBuffer(1 << ceil_log2(self.latency + 1))
        taken = self.operands.valid & self.operands.ready
        occupied = Signal(Arithmetic.latency)
        m.d.sync += occupied.eq((occupied << 1) | taken)
        m.d.comb += [
            self.operands.ready.eq(buffer.room),
            *(
                getattr(arithmetic.input, name).eq(self.operands.payload[name])
                for name in arithmetic.consumes
            ),
            buffer.taken.eq(taken),
            buffer.push.eq(occupied[-1]),
            buffer.d.eq(arithmetic.output.d),
        ]
        wiring.connect(m, buffer.result, wiring.flipped(self.result))
        return m
