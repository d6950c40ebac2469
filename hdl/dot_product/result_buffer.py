"""Result buffer: holds what leaves a pipeline that cannot wait."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.dot_product.adders import incremented
from hdl.dot_product.operands import DotProductResult

__all__ = ["ResultBuffer"]


class ResultBuffer(wiring.Component):
    """A queue without flow control at its input, and the count of what may still be sent towards it.

    `room` falls as soon as `depth` results are under way or waiting, so that every one of them finds a
    place. It comes from a register.

    Latency 2 cycles from `push` to the stream's valid, and one more until room is seen again; throughput one
    result per cycle. Expected critical path: the memory's read and the choice between its banks.

    Parameters
    ----------
    depth : int
        Power of two.

    Members
    -------
    taken : In(1)
        One more result is now under way.
    room : Out(1)
        Another one may be sent on its way.
    push : In(1), d : In(32)
        A result arrives.
    result : Out(stream.Signature(DotProductResult))

    Raises
    ------
    ValueError
        For a depth that is not a power of two.

    Testbench
    ---------
    cocotb_tests/dot_product/test_unit.py, through `DotProductUnit`.
    """

    def __init__(self, depth: int) -> None:
        if depth < 2 or depth & (depth - 1):
            raise ValueError(f"Depth must be a power of two from 2 on, not {depth}")
        self._depth = depth
        super().__init__(
            {
                "taken": In(1),
                "room": Out(1),
                "push": In(1),
                "d": In(32),
                "result": Out(stream.Signature(DotProductResult)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        m.submodules.memory = memory = Memory(shape=32, depth=self._depth, init=[])
        write = memory.write_port()
        read = memory.read_port(domain="comb")
        tail = Signal(range(self._depth))
        head = Signal(range(self._depth))
        waiting = Signal()
        held = Signal(32, reset_less=True)
        valid = Signal()
        leaving = Signal()
        m.d.comb += [
            leaving.eq(~valid | self.result.ready),
            waiting.eq(tail != head),
            write.addr.eq(tail),
            write.data.eq(self.d),
            write.en.eq(self.push),
            read.addr.eq(head),
            self.result.valid.eq(valid),
            self.result.payload.d.eq(held),
        ]
        with m.If(self.push):
            m.d.sync += tail.eq(incremented(tail))
        with m.If(leaving):
            m.d.sync += [
                valid.eq(waiting),
                held.eq(read.data),
                head.eq(Mux(waiting, incremented(head), head)),
            ]

        # Counts down from depth - 1, so that its sign tells when nothing more may come.
        free = Signal(range(-1, self._depth), init=self._depth - 1)
        gone = valid & self.result.ready
        change = Cat(self.taken ^ gone, (self.taken & ~gone).replicate(len(free) - 1))
        m.d.sync += free.eq(free + change.as_signed())
        m.d.comb += self.room.eq(~free[-1])
        return m
