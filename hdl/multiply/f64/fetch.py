"""First stage of the f64 tile multiplier: the fragments of the next tile, from registers to row memories."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import QUADS, CoreConfig
from hdl.multiply.f64.f64_steps import BUFFERS
from hdl.multiply.f64.request import F64Request, F64Tile
from hdl.multiply.f64.rows import QuadPlace, QuadWrite, Use
from hdl.registers.register_ports import READ_LATENCY, quad_read_signature
from hdl.stream.pipeline import delay

_NUMBER_BITS = 7
"""Of the number of a quad in its fragment: A of m16n8k16 has 128."""


class F64Fetch(Component):
    """Reads A, B and C, in this order, a quad with each read that is granted, and keeps two tiles.

    A 64-bit register is a pair of 32-bit ones, so a row is in two quads, one of low halves and one of high
    halves; a row memory puts them together. A row of B here is a column of the matrix. The quads of a
    fragment follow each other, so within it the address only counts up. The units take longer for a tile
    than its reads: 64 for m8n8k4, 256 for m16n8k16.

    Throughput: a tile in one cycle more than its reads, if all are granted and a buffer is free.
    Latency: 1 cycle from a request to the first read, 1 from the last read to `fetched` and 4 to `tiles`.
    Critical path expected: the grant to the enable of the address register.
    Testbench: cocotb_tests/multiply/test_f64_multiplier.py, through `F64Multiplier`.

    Members
    -------
    request : In(stream.Signature(F64Request))
        Ready comes from registers.
    hold : In(1)
        No request may be taken.
    fetched : Out(1)
        High for one cycle when the last quad of a request has been read; it arrives later.
    read : Out(quad_read_signature(config))
    write : Out(QuadWrite)
    tiles : Out(range(3))
        Complete tiles in the row memories.
    oldest : Out(F64Tile), buffer : Out(1)
        The oldest one.
    release : In(1)
        The oldest one is needed no more.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        members = {
            "request": In(stream.Signature(F64Request)),
            "hold": In(1),
            "fetched": Out(1),
            "read": Out(quad_read_signature(config)),
            "write": Out(QuadWrite),
            "tiles": Out(range(BUFFERS + 1)),
            "oldest": Out(F64Tile),
            "buffer": Out(1),
            "release": In(1),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        begin = Signal()
        reading = Signal()
        occupied = Signal(range(BUFFERS + 1))
        newest = Signal(init=1)  # the buffer of the last tile begun
        kept = Signal(data.ArrayLayout(F64Tile, BUFFERS), reset_less=True)
        m.d.comb += [
            self.request.ready.eq(~reading & (occupied != BUFFERS) & ~self.hold),
            begin.eq(self.request.valid & self.request.ready),
            self.oldest.eq(kept[self.buffer]),
        ]
        with m.If(begin):
            m.d.sync += [newest.eq(~newest), kept[~newest].eq(self.request.payload.tile)]
        with m.If(self.release):
            m.d.sync += self.buffer.eq(~self.buffer)
        complete = self._read(m, begin, reading, newest)
        for count, more in ((occupied, begin), (self.tiles, complete)):
            with m.If(more != self.release):
                m.d.sync += count.eq(Mux(more, count + 1, count - 1))

    def _read(self, m: Module, begin: Signal, reading: Signal, buffer: Signal) -> Signal:
        """Walk the quads of a request; returns whether the last one goes to the row memories now."""
        request = Signal(F64Request, reset_less=True)
        place = Signal(QuadPlace)
        number = Signal(_NUMBER_BITS)
        use = Signal(Use)
        at_end = Signal()
        accepted = Signal()
        last = Signal()
        complete = Signal()
        m.d.comb += [
            self.read.enable.eq(reading),
            accepted.eq(reading & self.read.ready),
            place.eq(Cat(number, use, buffer)),
            at_end.eq(number == Cat(Const(QUADS - 1, 3), _last_register(request.tile, use))),
            last.eq(accepted & at_end & (use == Use.C)),
        ]
        with m.If(accepted):
            m.d.sync += [number.eq(number + 1), self.read.address.eq(self.read.address + 1)]
            with m.If(at_end):
                m.d.sync += number.eq(0)
                with m.Switch(use):
                    with m.Case(Use.A):
                        m.d.sync += [use.eq(Use.B), self.read.address.eq(request.b * QUADS)]
                    with m.Case(Use.B):
                        m.d.sync += [use.eq(Use.C), self.read.address.eq(request.c * QUADS)]
                    with m.Default():
                        m.d.sync += [use.eq(Use.A), reading.eq(0)]
        m.d.sync += self.fetched.eq(last)
        with m.If(begin):
            m.d.sync += [
                request.eq(self.request.payload),
                self.read.address.eq(self.request.payload.a * QUADS),
                reading.eq(1),
            ]

        cycles = READ_LATENCY + 1
        m.d.comb += [
            self.write.enable.eq(delay(m, accepted, cycles, "accepted", reset_less=False)),
            self.write.place.eq(delay(m, place, cycles, "place")),
            self.write.data.eq(delay(m, self.read.data, 1, "data")),
            complete.eq(delay(m, last, cycles, "last", reset_less=False)),
        ]
        return complete


def _last_register(tile: data.View, use: Signal) -> Value:
    """The last 32-bit register of a fragment, counted from its first."""
    two_k, four_k = tile.k_blocks_log2.any(), tile.k_blocks_log2[1]
    of_a = Cat(1, tile.two_blocks, two_k, four_k)
    of_b = Cat(1, two_k, four_k, 0)
    of_c = Cat(1, 1, tile.two_blocks, 0)
    return Mux(use == Use.C, of_c, Mux(use == Use.B, of_b, of_a))
