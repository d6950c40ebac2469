"""The fragment crossbar for stores: from quads of registers to the beats of a memory."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.config import CoreConfig
from hdl.memory.assembly_queue import AssemblyQueue, assembled_layout
from hdl.memory.bank_mapping import (
    ADDRESS_BITS,
    BUFFER_BITS,
    BUFFERS,
    BankMapping,
    Banks,
    skewed,
    skewed_to,
    swap_lanes,
)
from hdl.memory.beats import access_layout
from hdl.memory.fragment_geometry import BlockOrder, Pattern
from hdl.memory.line_walk import LineWalk
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS
from hdl.stream.pipeline import delay, register

__all__ = ["StoreCrossbar", "StoredQuad", "stored_layout"]

_LATENCY = 3
"""Cycles from a part's number to the part: one to find its place, one to read it, one because block RAM is
slow to give what it has read."""

_LANES = QUAD_BITS // LANE_BITS


class StoredQuad(data.Struct):
    """One register of a quad, and where it belongs.

    Members
    -------
    valid : unsigned(1)
    pattern, order
        Of the fragment.
    word : unsigned(6)
        Register of the fragment and quad, the quad in the low three bits.
    last : unsigned(1)
        Of the fragment.
    """

    valid: unsigned(1)
    pattern: Pattern
    order: BlockOrder
    word: unsigned(ADDRESS_BITS)
    last: unsigned(1)


def stored_layout() -> data.StructLayout:
    """A beat, and as its tag which of its 32-bit words are to be written."""
    return assembled_layout(QUAD_BITS, unsigned(_LANES))


class StoreCrossbar(wiring.Component):
    """Transposing without a crossbar: a memory of skewed banks (`hdl.memory.bank_mapping`).

    Fragments are filled in, quad by quad, while the ones before are read out, part by part, into a queue that
    makes beats of them. A part is read at its place in the beat: where its segment begins within the beat,
    that only changes how its words are exchanged.

    Throughput: a quad and a part of a beat (`hdl.memory.line_walk`) per cycle, from one fragment to the next
    without a gap. Latency from the last quad to the first beat: 5 cycles.
    Expected critical path: pattern, bits of a bank's address; or five levels of exchanges.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    quad : In(StoredQuad)
        Quad after quad of each register; of a fragment only while fewer than `BUFFERS` are within.
    data : In(128)
        The quad, one cycle later, its lowest lane in the low bits.
    freed : Out(1)
        High for one cycle when a fragment has been read out.
    access : In(stream.Signature(access_layout(config)))
        Of each fragment; taken when it has been read out.
    beats : Out(stream.Signature(stored_layout()))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self._mapping = BankMapping(config)
        super().__init__(
            {
                "quad": In(StoredQuad),
                "data": In(QUAD_BITS),
                "freed": Out(1),
                "access": In(stream.Signature(access_layout(config))),
                "beats": Out(stream.Signature(stored_layout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        banks = self._mapping.memories(m)
        self._fill(m, banks)
        self._drain(m, banks)
        return m

    def _fill(self, m: Module, banks: Banks) -> None:
        """Quads into the banks, in three steps: skew, exchange and address, write."""
        quad = self.quad
        buffer = Signal(BUFFER_BITS)
        m.d.sync += buffer.eq(buffer + (quad.valid & quad.last))
        place = self._mapping.word_place(m, quad.pattern, quad.order, quad.word)
        swapped = swap_lanes(self.data, place.swap)
        permuted = register(m, self._mapping.permuted(swapped, skewed(place.skew)), "quad_permuted")
        write_buffer = delay(m, buffer, 2, "quad_buffer")
        writing = delay(m, quad.valid, 2, "quad_valid", reset_less=False)
        for bank, (write, _) in enumerate(banks):
            m.d.comb += [
                write.en.eq(writing),
                write.addr.eq(Cat(place.addresses[bank], write_buffer)),
                write.data.eq(permuted.word_select(bank, 8 * self._mapping.bank_bytes)),
            ]

    def _drain(self, m: Module, banks: Banks) -> None:
        """Parts of beats out of the banks, into a queue that has kept a place for each beat."""
        m.submodules.queue = queue = AssemblyQueue(QUAD_BITS, LANE_BITS, unsigned(_LANES))
        m.submodules.walk = walk = LineWalk(self._config)
        access, part = self.access.payload, walk.part
        filled = Signal(range(BUFFERS + 1))
        buffer = Signal(BUFFER_BITS)
        final = Signal()
        completed = register(m, self.quad.valid & self.quad.last, "completed", reset_less=False)
        m.d.comb += [
            walk.access.eq(access),
            walk.step.eq(self.access.valid & queue.ready & (filled != 0)),
            final.eq(walk.step & part.last),
            self.access.ready.eq(final),
            queue.enter.eq(walk.step & part.beat_end),
        ]
        m.d.sync += [
            filled.eq(filled + completed - final),
            buffer.eq(buffer + final),
            self.freed.eq(final),
        ]

        skew, address = self._mapping.segment_place(m, access.geometry.pattern, part.line, part.segment)
        place = register(m, Cat(address, buffer), "part_address")
        select = delay(m, skewed_to(skew, part.offset), _LATENCY, "part_select")
        for _, read in banks:
            m.d.comb += [read.en.eq(1), read.addr.eq(place)]
        stored = register(m, Cat(read.data for _, read in banks), "stored")
        # Words of the beat at hand that came with earlier parts.
        earlier = Signal(_LANES)
        lanes = delay(m, Mux(walk.step, part.lanes, 0), _LATENCY, "part_lanes", reset_less=False)
        m.d.comb += [
            queue.write.eq(lanes),
            queue.push.eq(delay(m, queue.enter, _LATENCY, "beat_push", reset_less=False)),
            queue.data.eq(self._mapping.permuted(stored, select)),
            queue.tag.eq(earlier | lanes),
        ]
        m.d.sync += earlier.eq(Mux(queue.push, 0, queue.tag))
        connect(m, queue.output, flipped(self.beats))
