"""Queue: a FIFO with a stream on either side."""

from amaranth.hdl import Module, Shape, ShapeLike, Value
from amaranth.lib import stream
from amaranth.lib.fifo import SyncFIFO, SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from hdl.component import Component

__all__ = ["Queue"]


class Queue(Component):
    """Keep payloads in their order until they are taken.

    Throughput: one per cycle. Latency: 1 cycle, buffered 2. `input.ready` and `output.valid` come from
    registers, so no combinational path leads through it. Expected critical path: the read port of the
    distributed memory; buffered there is a register behind it.
    Testbench: ``cocotb_tests/stream/test_queue.py``.

    Parameters
    ----------
    shape : shape-like
        Of the payload.
    depth : int
        Payloads it can hold, at least 1.
    buffered : bool
        Whether the memory has a synchronous read port and so fits a block RAM.

    Members
    -------
    input : In(stream.Signature(shape))
    output : Out(stream.Signature(shape))
    level : Out(range(depth + 1))
        Payloads that have been put in and not been taken.

    Raises
    ------
    ValueError
        For a depth below 1.
    """

    def __init__(self, shape: ShapeLike, depth: int, *, buffered: bool = False) -> None:
        if depth < 1:
            raise ValueError(f"Depth must be at least 1, not {depth}")
        self._width = Shape.cast(shape).width
        self._depth = depth
        self._fifo = SyncFIFOBuffered if buffered else SyncFIFO
        members = {
            "input": In(stream.Signature(shape)),
            "output": Out(stream.Signature(shape)),
            "level": Out(range(depth + 1)),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        m.submodules.fifo = fifo = self._fifo(width=self._width, depth=self._depth)
        m.d.comb += [
            fifo.w_data.eq(Value.cast(self.input.payload)),
            fifo.w_en.eq(self.input.valid),
            self.input.ready.eq(fifo.w_rdy),
            Value.cast(self.output.payload).eq(fifo.r_data),
            self.output.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.output.ready),
            self.level.eq(fifo.level),
        ]
