"""Addresses of rows: from a fragment register to the units that ask the memories for the rows."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.tables.commands import MATRIX_ROW_BYTES
from golden.tables.faults import Cause
from hdl.component import Component
from hdl.config import QUADS, REGISTER_BITS, CoreConfig
from hdl.memory.beats import CAUSE_BITS
from hdl.memory.fragment_geometry import log2_exact
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS, READ_LATENCY, quad_read_signature
from hdl.stream.distributed_memory import distributed_memory
from hdl.stream.pipeline import delay
from hdl.stream.stream_buffer import StreamBuffer

_SLOTS = 16
"""For quads of addresses: of two moves of four matrices, and what a look-up table's memory holds."""

_LANES = 4


class RowRequest(data.Struct):
    """Whose rows are asked for; the register exists."""

    register: unsigned(REGISTER_BITS)
    """Lane i has the address of row i."""
    count_log2: unsigned(2)
    """Matrices, as a power of two: 0 to 2; each has eight rows."""
    is_store: unsigned(1)


class RowAddresses(Component):
    """Reads the addresses of a move before it starts, checks them, and keeps them until they are used.

    The addresses of a move that is refused are written over by the next one's; a move that starts
    keeps its own. They leave in the order of the moves, to loads and to stores; an older move never waits for
    a younger one, so one queue is enough for both.

    Throughput: four addresses per cycle in, if the reads are granted, and one out. Latency: 5 cycles from
    `start` to `done`, and one for each quad; 2 from `keep` to the first address.
    Critical path expected: the quad from the register file, four alignments, a flag.

    Members
    -------
    request : In(RowRequest)
        Stable from `start` to `keep`.
    start : In(1)
        Read the addresses of `request`; only while `room`, and while no others are being read.
    room : Out(1)
    done : Out(1)
        High for one cycle when the last address has been checked.
    cause : Out(4)
        With `done`, and after it: zero, or why the move is refused.
    keep : In(1)
        The move starts.
    read : Out(quad_read_signature(config))
    load_rows, store_rows : Out(stream.Signature(address_bits))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        rows = stream.Signature(unsigned(config.address_bits))
        members = {
            "request": In(RowRequest),
            "start": In(1),
            "room": Out(1),
            "done": Out(1),
            "cause": Out(CAUSE_BITS),
            "keep": In(1),
            "read": Out(quad_read_signature(config)),
            "load_rows": Out(rows),
            "store_rows": Out(rows),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        layout = data.StructLayout({"quad": unsigned(QUAD_BITS), "is_store": unsigned(1)})
        kept = Signal(range(2 * _SLOTS))
        newest = Signal.like(kept)
        oldest = Signal.like(kept)
        write, (read,) = distributed_memory(m, "quads", layout, write=newest[:-1], reads=[oldest[:-1]])
        arrived = self._read(m)
        lanes = [self.read.data.word_select(lane, LANE_BITS) for lane in range(_LANES)]
        offset_bits = log2_exact(MATRIX_ROW_BYTES)
        misaligned = Signal()
        beyond = Signal()
        m.d.comb += [
            self.room.eq((kept - oldest)[: len(kept)] <= _SLOTS - QUADS),
            write.en.eq(arrived),
            write.data.quad.eq(self.read.data),
            write.data.is_store.eq(self.request.is_store),
            self.cause.eq(Mux(misaligned, Cause.MISALIGNED_ADDRESS, Mux(beyond, Cause.ADDRESS_RANGE, 0))),
        ]
        with m.If(self.start):
            m.d.sync += [newest.eq(kept), misaligned.eq(0), beyond.eq(0)]
        with m.If(arrived):
            m.d.sync += [
                newest.eq(newest + 1),
                misaligned.eq(misaligned | Cat(lane[:offset_bits] for lane in lanes).any()),
                beyond.eq(beyond | Cat(lane[self._config.address_bits :] for lane in lanes).any()),
            ]
        with m.If(self.keep):
            m.d.sync += kept.eq(newest)

        row = unsigned(self._config.address_bits)
        buffers = {
            "load_rows": StreamBuffer(row),
            "store_rows": StreamBuffer(row),
        }
        lane = Signal(range(_LANES))
        valid = oldest != kept
        address = read.data.quad.word_select(lane, LANE_BITS)
        taken = Signal()
        for is_store, (name, buffer) in enumerate(buffers.items()):
            m.submodules[name] = buffer
            offered = valid & (read.data.is_store == is_store)
            m.d.comb += [buffer.input.valid.eq(offered), buffer.input.payload.eq(address)]
            with m.If(offered & buffer.input.ready):
                m.d.comb += taken.eq(1)
            connect(m, buffer.output, flipped(getattr(self, name)))
        with m.If(taken):
            m.d.sync += lane.eq(lane + 1)
            with m.If(lane == _LANES - 1):
                m.d.sync += oldest.eq(oldest + 1)

    def _read(self, m: Module) -> Signal:
        """Ask for the quads one after the other; returns whether one is there."""
        reading = Signal()
        quad = Signal(range(QUADS))
        accepted = Signal()
        last = Signal()
        arrived = Signal()
        last_quad = Cat(1, self.request.count_log2 != 0, self.request.count_log2[1])
        m.d.comb += [
            self.read.enable.eq(reading),
            self.read.address.eq(Cat(quad, self.request.register)),
            accepted.eq(reading & self.read.ready),
            last.eq(accepted & (quad == last_quad)),
            arrived.eq(delay(m, accepted, READ_LATENCY, "accepted", reset_less=False)),
        ]
        m.d.sync += self.done.eq(delay(m, last, READ_LATENCY, "last", reset_less=False))
        with m.If(self.start):
            m.d.sync += [reading.eq(1), quad.eq(0)]
        with m.Elif(accepted):
            m.d.sync += [quad.eq(quad + 1), reading.eq(~last)]
        return arrived
