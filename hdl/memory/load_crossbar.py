"""The fragment crossbar for loads: from the order of memory to the order of registers."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.config import CoreConfig
from hdl.memory.bank_mapping import (
    ADDRESS_BITS,
    BUFFER_BITS,
    BUFFERS,
    BankMapping,
    Banks,
    segment_count_less_one,
    swap_lanes,
)
from hdl.memory.beats import CAUSE_BITS
from hdl.memory.fragment_geometry import BlockOrder, FragmentGeometry, Pattern
from hdl.registers.register_ports import QUAD_BITS
from hdl.stream.elastic import CreditQueue
from hdl.stream.pipeline import delay, register
from hdl.stream.queue import Queue

__all__ = ["LoadCrossbar", "LoadedWord", "PlacedSegment"]

_LATENCY = 4
"""Cycles from a word's number to the word: two to find its place, one to read it, one because block RAM is
slow to give what it has read."""


class PlacedSegment(data.Struct):
    """Sixteen bytes of a line, and where they belong.

    Members
    -------
    data : unsigned(128)
        The byte of the lowest address in the low bits.
    geometry : FragmentGeometry
        The same for all segments of a fragment.
    line : unsigned(5)
    segment : unsigned(3)
        Index in its line.
    last : unsigned(1)
        Of the fragment.
    cause : unsigned(4)
        With the last segment: why the fragment is not to be loaded, or zero.
    """

    data: unsigned(QUAD_BITS)
    geometry: FragmentGeometry
    line: unsigned(5)
    segment: unsigned(3)
    last: unsigned(1)
    cause: unsigned(CAUSE_BITS)


class LoadedWord(data.Struct):
    """One register of a quad.

    Members
    -------
    data : unsigned(128)
        The lowest lane in the low bits.
    last : unsigned(1)
        Of the fragment.
    cause : unsigned(4)
        If not zero, the load has failed: this is the fragment's only word, and no data.
    """

    data: unsigned(QUAD_BITS)
    last: unsigned(1)
    cause: unsigned(CAUSE_BITS)


class _Drain(data.Struct):
    """A fragment that has been filled in."""

    pattern: Pattern
    order: BlockOrder
    last_word: unsigned(ADDRESS_BITS)
    cause: unsigned(CAUSE_BITS)


class LoadCrossbar(wiring.Component):
    """Transposing without a crossbar: a memory of skewed banks (`hdl.memory.bank_mapping`).

    Fragments are filled in, segment by segment, while the ones before are read out, word by word. Of a
    fragment whose registers repeat each other, every word comes once. Nothing of a fragment comes out before
    all of it has come in, so that one whose memory reports an error can leave the registers alone.

    Throughput: a segment and a word per cycle, from one fragment to the next without a gap. Latency from
    the last segment to the first word: 7 cycles. Neither ready depends on the other: the one follows from the
    number of filled buffers, the other from the places in the queue behind the banks.
    Expected critical path: pattern, bank position, bank address; or rotator of four stages.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    segments : In(stream.Signature(PlacedSegment))
        Line after line.
    words : Out(stream.Signature(LoadedWord))
        Quad after quad of each different register.
    """

    segments: In(stream.Signature(PlacedSegment))
    words: Out(stream.Signature(LoadedWord))

    def __init__(self, config: CoreConfig) -> None:
        self._mapping = BankMapping(config)
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        banks = self._mapping.memories(m)
        m.submodules.filled = filled = Queue(_Drain, BUFFERS)
        m.submodules.queue = queue = CreditQueue(LoadedWord, depth=8)
        freed = Signal()
        self._fill(m, banks, filled, freed)
        self._drain(m, banks, filled, freed, queue)
        connect(m, queue.output, flipped(self.words))
        return m

    def _fill(self, m: Module, banks: Banks, filled: Queue, freed: Signal) -> None:
        """Segments into the banks; the rotation takes a cycle of its own."""
        segment = self.segments.payload
        geometry = segment.geometry
        buffer = Signal(BUFFER_BITS)
        occupied = Signal(range(BUFFERS + 1))
        taken = Signal()
        completed = Signal()
        m.d.comb += [
            self.segments.ready.eq(occupied != BUFFERS),
            taken.eq(self.segments.valid & self.segments.ready),
            completed.eq(taken & segment.last),
        ]
        m.d.sync += [buffer.eq(buffer + completed), occupied.eq(occupied + completed - freed)]

        skew, address = self._mapping.segment_place(m, geometry.pattern, segment.line, segment.segment)
        skewed = self._mapping.to_banks(
            register(m, segment.data, "segment_data"), register(m, skew, "segment_skew")
        )
        writing = Signal()
        m.d.sync += writing.eq(taken)
        place = register(m, Cat(address, buffer), "segment_address")
        for bank, (write, _) in enumerate(banks):
            m.d.comb += [
                write.en.eq(writing),
                write.addr.eq(place),
                write.data.eq(skewed.word_select(bank, 8 * self._mapping.bank_bytes)),
            ]

        entry = filled.input.payload
        m.d.comb += [
            entry.pattern.eq(geometry.pattern),
            entry.order.eq(geometry.order),
            entry.last_word.eq(
                Mux(segment.cause != 0, 0, segment_count_less_one(geometry.lines_log2, geometry.line_log2))
            ),
            entry.cause.eq(segment.cause),
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
        """Words out of the banks, into a queue that has kept a place for each."""
        active = Signal()
        fragment = Signal(_Drain)
        word = Signal(ADDRESS_BITS)
        buffer = Signal(BUFFER_BITS)
        issue = Signal()
        final = Signal()
        last = Signal()
        m.d.comb += [
            issue.eq(active & queue.ready),
            last.eq(word == fragment.last_word),
            final.eq(issue & last),
            filled.output.ready.eq(~active | final),
            queue.enter.eq(issue),
        ]
        # The buffer may be filled again when the last word has been read out of the banks.
        m.d.sync += [freed.eq(final), buffer.eq(buffer + final)]
        with m.If(issue):
            m.d.sync += word.eq(word + 1)
        with m.If(filled.output.ready):
            m.d.sync += [
                fragment.eq(filled.output.payload),
                active.eq(filled.output.valid),
                word.eq(0),
            ]

        place = self._mapping.word_place(m, fragment.pattern, fragment.order, word)
        read_buffer = delay(m, buffer, 2, "word_buffer")
        rotation = delay(m, place.rotation, 3, "read_rotation")
        swap = delay(m, place.swap, 3, "read_swap")
        for (_, read), address in zip(banks, place.addresses, strict=True):
            m.d.comb += [read.en.eq(1), read.addr.eq(Cat(address, read_buffer))]
        loaded = register(m, Cat(read.data for _, read in banks), "loaded")
        arriving = issue
        for cycle in range(_LATENCY):
            arrived = Signal(name=f"arrived_{cycle + 1}")
            m.d.sync += arrived.eq(arriving)
            arriving = arrived
        m.d.comb += [
            queue.push.eq(arriving),
            queue.payload.data.eq(swap_lanes(self._mapping.from_banks(loaded, rotation), swap)),
            queue.payload.last.eq(delay(m, last, _LATENCY, "word_last")),
            queue.payload.cause.eq(delay(m, fragment.cause, _LATENCY, "word_cause")),
        ]
