"""Queue: a FIFO with a stream on either side."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.stream.distributed_memory import distributed_memory


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
        Whether the memory has a synchronous read port.
    style : str
        Of that memory, for synthesis: ``block`` or ``distributed``; otherwise synthesis chooses.
    early : int
        Bits of the payload, the lowest, that lie in look-up tables where the style is ``block``: a word of
        block RAM is there late in its cycle.

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

    def __init__(
        self, shape: ShapeLike, depth: int, *, buffered: bool = False, style: str = "", early: int = 0
    ) -> None:
        if depth < 1:
            raise ValueError(f"Depth must be at least 1, not {depth}")
        self._shape = shape
        self._depth = depth
        self._buffered, self._style = buffered, style
        self._early = early if style == "block" else 0
        members = {
            "input": In(stream.Signature(shape)),
            "output": Out(stream.Signature(shape)),
            "level": Out(range(depth + 1)),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        if self._buffered:
            self._use_block_ram(m)
            return
        produce = Signal(range(self._depth))
        consume = Signal(range(self._depth))
        into, (out,) = distributed_memory(m, "storage", self._shape, write=produce, reads=[consume])
        put = self.input.valid & self.input.ready
        take = self.output.valid & self.output.ready
        m.d.comb += [
            self.input.ready.eq(self.level != self._depth),
            self.output.valid.eq(self.level != 0),
            into.en.eq(put),
            into.data.eq(self.input.payload),
            self.output.payload.eq(out.data),
        ]
        for event, index in ((put, produce), (take, consume)):
            with m.If(event):
                m.d.sync += index.eq(Mux(index == self._depth - 1, 0, index + 1))
        with m.If(put != take):
            m.d.sync += self.level.eq(Mux(put, self.level + 1, self.level - 1))

    def _use_block_ram(self, m: Module) -> None:
        # The read register is one of the places. No word is read in the cycle in which it is written.
        places = max(self._depth - 1, 1)
        stored = Signal(range(places + 1))
        enter = self.input.valid & self.input.ready
        read = (stored != 0) & (~self.output.valid | self.output.ready)
        enters, reads = (Signal(range(places), name=name) for name in ("enters", "reads"))
        given, kept = Value.cast(self.input.payload), Value.cast(self.output.payload)
        parts = {
            "early": (slice(0, self._early), "distributed"),
            "storage": (slice(self._early, None), self._style),
        }
        for name, (bits, style) in parts.items():
            if len(given[bits]) == 0:
                continue
            attributes = {"no_rw_check": 1, **({"ram_style": style} if style else {})}
            shape = unsigned(len(given[bits]))
            m.submodules[name] = memory = Memory(shape=shape, depth=places, init=[], attrs=attributes)
            into, out = memory.write_port(), memory.read_port()
            m.d.comb += [
                into.addr.eq(enters),
                into.en.eq(enter),
                into.data.eq(given[bits]),
                out.addr.eq(reads),
                out.en.eq(read),
                kept[bits].eq(out.data),
            ]
        m.d.comb += [self.input.ready.eq(stored != places), self.level.eq(stored + self.output.valid)]
        for event, index in ((enter, enters), (read, reads)):
            with m.If(event):
                m.d.sync += index.eq(Mux(index == places - 1, 0, index + 1))
        with m.If(enter != read):
            m.d.sync += stored.eq(Mux(enter, stored + 1, stored - 1))
        with m.If(read | self.output.ready):
            m.d.sync += self.output.valid.eq(read)
