"""The fragment crossbar for stores: from the order of registers to the order of memory."""

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.config import CoreConfig
from hdl.memory.bank_mapping import (
    ADDRESS_BITS,
    BUFFER_BITS,
    BUFFERS,
    BankMapping,
    Banks,
    last_line,
    last_segment_of_line,
    swap_lanes,
)
from hdl.memory.fragment_geometry import FragmentGeometry, Pattern
from hdl.registers.register_ports import QUAD_BITS
from hdl.stream.elastic import CreditQueue
from hdl.stream.pipeline import delay, register
from hdl.stream.queue import Queue

__all__ = ["LineSegment", "PlacedWord", "StoreCrossbar"]

_LATENCY = 3
"""Cycles from a segment's number to the segment: one to find its place, one to read it, one because block RAM
is slow to give what it has read."""


class PlacedWord(data.Struct):
    """One register of a quad, and where it belongs.

    Members
    -------
    data : unsigned(128)
        The lowest lane in the low bits.
    geometry : FragmentGeometry
        The same for all words of a fragment.
    word : unsigned(6)
        Register of the fragment and quad, the quad in the low three bits.
    last : unsigned(1)
        Of the fragment.
    """

    data: unsigned(QUAD_BITS)
    geometry: FragmentGeometry
    word: unsigned(ADDRESS_BITS)
    last: unsigned(1)


class LineSegment(data.Struct):
    """Sixteen bytes of a line.

    Members
    -------
    data : unsigned(128)
        The byte of the lowest address in the low bits.
    line_end, last : unsigned(1)
        The last of its line, of its fragment.
    """

    data: unsigned(QUAD_BITS)
    line_end: unsigned(1)
    last: unsigned(1)


class _Drain(data.Struct):
    """A fragment that has been filled in."""

    pattern: Pattern
    last_line: unsigned(5)
    last_segment: unsigned(3)


class StoreCrossbar(wiring.Component):
    """Transposing without a crossbar: a memory of skewed banks (`hdl.memory.bank_mapping`).

    Fragments are filled in, word by word, while the ones before are read out, segment by segment.

    Throughput: a word and a segment per cycle, from one fragment to the next without a gap. Latency from
    the last word to the first segment: 6 cycles. Neither ready depends on the other.
    Expected critical path: pattern, bank position, bank address; or rotator of four stages.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    words : In(stream.Signature(PlacedWord))
        Quad after quad of each register.
    segments : Out(stream.Signature(LineSegment))
        Line after line.
    """

    words: In(stream.Signature(PlacedWord))
    segments: Out(stream.Signature(LineSegment))

    def __init__(self, config: CoreConfig) -> None:
        self._mapping = BankMapping(config)
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        banks = self._mapping.memories(m)
        m.submodules.filled = filled = Queue(_Drain, BUFFERS)
        m.submodules.queue = queue = CreditQueue(LineSegment, depth=8)
        freed = Signal()
        self._fill(m, banks, filled, freed)
        self._drain(m, banks, filled, freed, queue)
        connect(m, queue.output, flipped(self.segments))
        return m

    def _fill(self, m: Module, banks: Banks, filled: Queue, freed: Signal) -> None:
        """Words into the banks, in three steps: rotation, address, write."""
        word = self.words.payload
        geometry = word.geometry
        buffer = Signal(BUFFER_BITS)
        occupied = Signal(range(BUFFERS + 1))
        taken = Signal()
        completed = Signal()
        m.d.comb += [
            self.words.ready.eq(occupied != BUFFERS),
            taken.eq(self.words.valid & self.words.ready),
            completed.eq(taken & word.last),
        ]
        m.d.sync += [buffer.eq(buffer + completed), occupied.eq(occupied + completed - freed)]

        place = self._mapping.word_place(m, geometry.pattern, geometry.order, word.word)
        swapped = swap_lanes(register(m, word.data, "word_data"), place.swap)
        rotated = register(m, self._mapping.to_banks(swapped, place.rotation), "word_rotated")
        write_buffer = delay(m, buffer, 2, "word_buffer")
        arriving = Signal()
        writing = Signal()
        m.d.sync += [arriving.eq(taken), writing.eq(arriving)]
        for bank, (write, _) in enumerate(banks):
            m.d.comb += [
                write.en.eq(writing),
                write.addr.eq(Cat(place.addresses[bank], write_buffer)),
                write.data.eq(rotated.word_select(bank, 8 * self._mapping.bank_bytes)),
            ]

        entry = filled.input.payload
        m.d.comb += [
            entry.pattern.eq(geometry.pattern),
            entry.last_line.eq(last_line(geometry.lines_log2)),
            entry.last_segment.eq(last_segment_of_line(geometry.line_log2)),
            filled.input.valid.eq(completed),
        ]

    def _drain(
        self,
        m: Module,
        banks: Banks,
        filled: Queue,
        freed: Signal,
        queue: CreditQueue,
    ) -> None:
        """Segments out of the banks, into a queue that has kept a place for each."""
        active = Signal()
        fragment = Signal(_Drain)
        line = Signal(5)
        segment = Signal(3)
        buffer = Signal(BUFFER_BITS)
        issue = Signal()
        line_end = Signal()
        last = Signal()
        final = Signal()
        m.d.comb += [
            issue.eq(active & queue.ready),
            line_end.eq(segment == fragment.last_segment),
            last.eq(line_end & (line == fragment.last_line)),
            final.eq(issue & last),
            filled.output.ready.eq(~active | final),
            queue.enter.eq(issue),
        ]
        m.d.sync += [freed.eq(final), buffer.eq(buffer + final)]
        with m.If(issue):
            m.d.sync += segment.eq(segment + 1)
            with m.If(line_end):
                m.d.sync += [segment.eq(0), line.eq(line + 1)]
        with m.If(filled.output.ready):
            m.d.sync += [
                fragment.eq(filled.output.payload),
                active.eq(filled.output.valid),
                line.eq(0),
                segment.eq(0),
            ]

        skew, address = self._mapping.segment_place(m, fragment.pattern, line, segment)
        place = register(m, Cat(address, buffer), "segment_address")
        rotation = delay(m, skew, _LATENCY, "segment_skew")
        for _, read in banks:
            m.d.comb += [read.en.eq(1), read.addr.eq(place)]
        stored = register(m, Cat(read.data for _, read in banks), "stored")
        arriving = Signal(_LATENCY)
        m.d.sync += arriving.eq(Cat(issue, arriving))
        m.d.comb += [
            queue.push.eq(arriving[-1]),
            queue.payload.data.eq(self._mapping.from_banks(stored, rotation)),
            queue.payload.line_end.eq(delay(m, line_end, _LATENCY, "segment_line_end")),
            queue.payload.last.eq(delay(m, last, _LATENCY, "segment_last")),
        ]
