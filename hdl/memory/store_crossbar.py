"""The fragment crossbar for stores: from quads of registers to the beats of a memory."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.memory.assembly_queue import AssemblyQueue, assembled_layout
from hdl.memory.bank_mapping import (
    ADDRESS_BITS,
    BUFFER_BITS,
    BUFFERS,
    BankMapping,
    rotated,
    skewed_to,
    swap_lanes,
)
from hdl.memory.banks import DRAIN_LATENCY, banks_signature
from hdl.memory.beats import access_layout
from hdl.memory.fragment_geometry import BlockOrder, Pattern
from hdl.memory.line_address_generator import LineAddressGenerator, finds_rows, row_quads_signature
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS
from hdl.stream.pipeline import delay

_LANES = QUAD_BITS // LANE_BITS


class StoredQuad(data.Struct):
    """The first of `beat_quads` quads of a register, and where it belongs."""

    valid: unsigned(1)
    pattern: Pattern
    order: BlockOrder
    """Of the fragment."""
    word: unsigned(ADDRESS_BITS)
    """Register of the fragment and quad, the quad in the low three bits."""
    last: unsigned(1)
    """Of the fragment."""


def stored_layout(config: CoreConfig) -> data.StructLayout:
    """A beat, and as its tag which of its 32-bit words are to be written."""
    return assembled_layout(QUAD_BITS * config.beat_quads, unsigned(_LANES * config.beat_quads))


class StoreCrossbar(Component):
    """Transposing without a crossbar: a memory of skewed banks (`hdl.memory.banks`).

    Fragments are filled in, `beat_quads` quads at a time, while the ones before are read out, part by part,
    into a queue that makes beats of them. A part is read at its place in the beat: where its segment begins
    within a beat of one quad, that only changes how its words are exchanged; in a beat of several, it is
    rotated there.

    Throughput: `beat_quads` quads and a part of a beat per cycle, from one fragment to the
    next without a gap. Latency from the last quad to the first beat: 6 cycles.
    Expected critical path: pattern, bits of a bank's address; or five levels of exchanges.

    Members
    -------
    quad : In(StoredQuad)
        The groups of quads of each register, one after the other; of a fragment only while fewer than
        `BUFFERS` are within. The banks must be ready for it.
    data : In(128 * beat_quads)
        The quads, one cycle later, the lowest lane in the low bits.
    freed : Out(1)
        High for one cycle when a fragment has been read out.
    hold : Out(1)
        Loads want the banks; a quad that comes all the same makes them wait.
    access : In(stream.Signature(access_layout(config)))
        Of each fragment; taken when it has been read out.
    beats : Out(stream.Signature(stored_layout(config)))
    row_quads : In(row_quads_signature(config))
        Only where `hdl.memory.line_address_generator.finds_rows`.
    banks : Out(banks_signature(config))
        Its fills come before all others.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self._mapping = BankMapping(config)
        members = {
            "quad": In(StoredQuad),
            "data": In(QUAD_BITS * config.beat_quads),
            "freed": Out(1),
            "hold": Out(1),
            "access": In(stream.Signature(access_layout(config))),
            "beats": Out(stream.Signature(stored_layout(config))),
            "banks": Out(banks_signature(config)),
        }
        if finds_rows(config):
            members["row_quads"] = In(row_quads_signature(config))
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        m.d.comb += self.hold.eq(self.banks.hold)
        self._fill(m, self.banks.fill)
        self._drain(m, self.banks)

    def _fill(self, m: Module, fill: Any) -> None:
        """Quads into the banks."""
        quad = self.quad
        buffer = Signal(BUFFER_BITS)
        m.d.sync += buffer.eq(buffer + (quad.valid & quad.last))
        write_buffer = delay(m, buffer, 2, "quad_buffer")
        swaps = self._mapping.address_quads(m, fill, quad.pattern, quad.order, quad.word, write_buffer)
        quads = (self.data.word_select(each, QUAD_BITS) for each in range(len(swaps)))
        m.d.comb += [
            fill.valid.eq(quad.valid),
            fill.words.eq(~0),
            fill.data.eq(Cat(map(swap_lanes, quads, swaps))),
        ]

    def _drain(self, m: Module, banks: Any) -> None:
        """Parts of beats out of the banks, into a queue that has kept a place for each beat."""
        quads = self._config.beat_quads
        tag = stored_layout(self._config)["tag"].shape
        style = self._config.memory_style
        m.submodules.queue = queue = AssemblyQueue(QUAD_BITS * quads, LANE_BITS, tag, style=style)
        m.submodules.lines = lines = LineAddressGenerator(self._config, is_store=True)
        if finds_rows(self._config):
            connect(m, flipped(self.row_quads), lines.row_quads)
        access, part = self.access.payload, lines.part
        filled = Signal(range(BUFFERS + 1))
        buffer = Signal(BUFFER_BITS)
        final = Signal()
        m.d.comb += [
            lines.access.eq(access),
            banks.drain.valid.eq(self.access.valid & queue.ready & (filled != 0) & lines.valid),
            lines.step.eq(banks.drain.valid & banks.drain.ready),
            final.eq(lines.step & part.last),
            self.access.ready.eq(final),
            queue.enter.eq(lines.step & part.beat_end),
        ]
        m.d.sync += [
            filled.eq(filled + (self.quad.valid & self.quad.last) - final),
            buffer.eq(buffer + final),
            self.freed.eq(final),
        ]

        pattern = access.geometry.pattern
        self._mapping.address_segments(m, banks.drain, pattern, part, buffer, skewed_to)
        beat = banks.data
        if quads > 1:
            back = delay(m, (-part.offset)[: len(part.offset)], DRAIN_LATENCY, "part_back")
            beat = rotated(m, beat, back, LANE_BITS)
        writes = lines.step & ~part.is_idle
        lanes, beyond = (
            delay(m, Mux(writes, words, 0), DRAIN_LATENCY, name, reset_less=False)
            for name, words in (("part_lanes", part.lanes), ("part_next_lanes", part.next_lanes))
        )
        m.d.comb += [
            queue.write.eq(lanes | beyond),
            queue.beyond.eq(beyond),
            queue.push.eq(delay(m, queue.enter, DRAIN_LATENCY, "beat_push", reset_less=False)),
            queue.data.eq(beat),
        ]
        # What of the beat at hand came with earlier parts.
        earlier = Signal(tag)
        m.d.comb += queue.tag.eq(earlier | lanes)
        m.d.sync += earlier.eq(Mux(queue.push, beyond, queue.tag))
        connect(m, queue.output, flipped(self.beats))
