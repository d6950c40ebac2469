"""The fragment crossbar for loads: from the beats of a memory to words of the register file."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.tables.faults import Cause
from hdl.config import CoreConfig
from hdl.memory.assembly_queue import AssemblyQueue, assembled_layout
from hdl.memory.bank_mapping import (
    ADDRESS_BITS,
    BUFFER_BITS,
    BUFFERS,
    BankMapping,
    Banks,
    skewed,
    skewed_from,
    swap_lanes,
)
from hdl.memory.beats import CAUSE_BITS, ReadBeat, access_layout
from hdl.memory.fragment_geometry import SEGMENT_BYTES, BlockOrder, Pattern, log2_exact
from hdl.memory.line_walk import LineWalk
from hdl.registers.register_ports import QUAD_BITS, word_bits
from hdl.stream.pipeline import delay, register
from hdl.stream.queue import Queue

__all__ = ["LoadCrossbar", "loaded_layout"]

_LATENCY = 4
"""Cycles from a word's number to the word: two to find its place, one to read it, one because block RAM is
slow to give what it has read."""


class LoadedTag(data.Struct):
    """What is known of a word of the register file.

    Members
    -------
    last : unsigned(1)
        Of the fragment.
    cause : unsigned(4)
        If not zero, the load has failed: this is the fragment's only word, and no data.
    """

    last: unsigned(1)
    cause: unsigned(CAUSE_BITS)


def loaded_layout(config: CoreConfig) -> data.StructLayout:
    """A word of the register file, its lowest quad in the low bits, with its `LoadedTag`."""
    return assembled_layout(word_bits(config), LoadedTag)


class _Filled(data.Struct):
    """A fragment that has been filled in."""

    pattern: Pattern
    order: BlockOrder
    last_word: unsigned(ADDRESS_BITS)
    cause: unsigned(CAUSE_BITS)


class LoadCrossbar(wiring.Component):
    """Transposing without a crossbar: a memory of skewed banks (`hdl.memory.bank_mapping`).

    Fragments are filled in, beat by beat, while the ones before are read out, quad by quad, into a queue
    that makes words of them. A beat goes straight to the banks: where a segment begins within it, that only
    changes how its words are exchanged. Of a fragment whose registers repeat each other, every word comes
    once. Nothing of a fragment comes out before all of it has come in, so that one whose memory reports an
    error can leave the registers alone.

    Throughput: a part of a beat (`hdl.memory.line_walk`) and a quad per cycle, from one fragment to the next
    without a gap. Latency from the last beat to the first quad: 7 cycles. Neither ready depends on the other:
    the one follows from the number of filled buffers, the other from the room in the queue.
    Expected critical path: pattern, bits of a bank's address; or five levels of exchanges.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    access : In(stream.Signature(access_layout(config)))
        Taken with its last beat.
    beats : In(stream.Signature(ReadBeat))
    words : Out(stream.Signature(loaded_layout(config)))
        Word after word of each different register.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self._mapping = BankMapping(config)
        super().__init__(
            {
                "access": In(stream.Signature(access_layout(config))),
                "beats": In(stream.Signature(ReadBeat)),
                "words": Out(stream.Signature(loaded_layout(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        banks = self._mapping.memories(m)
        m.submodules.filled = filled = Queue(_Filled, BUFFERS)
        freed = Signal()
        self._fill(m, banks, filled, freed)
        self._drain(m, banks, filled, freed)
        return m

    def _fill(self, m: Module, banks: Banks, filled: Queue, freed: Signal) -> None:
        """Beats into the banks; the exchange of their bytes takes a cycle of its own."""
        m.submodules.walk = walk = LineWalk(self._config)
        access, part, beat = self.access.payload, walk.part, self.beats.payload
        geometry = access.geometry
        buffer = Signal(BUFFER_BITS)
        occupied = Signal(range(BUFFERS + 1))
        room = Signal()
        completed = Signal()
        cause = Signal(CAUSE_BITS)
        cause_now = Signal(CAUSE_BITS)
        m.d.comb += [
            walk.access.eq(access),
            room.eq(self.access.valid & (occupied != BUFFERS)),
            walk.step.eq(self.beats.valid & room),
            self.beats.ready.eq(room & part.beat_end),
            completed.eq(walk.step & part.last),
            self.access.ready.eq(completed),
            cause_now.eq(cause),
        ]
        with m.If(beat.response[1] & (cause == 0)):
            m.d.comb += cause_now.eq(
                Mux(beat.response[0], Cause.READ_DECODE_ERROR.value, Cause.READ_SLAVE_ERROR.value)
            )
        with m.If(walk.step):
            m.d.sync += cause.eq(Mux(part.last, 0, cause_now))
        m.d.sync += [buffer.eq(buffer + completed), occupied.eq(occupied + completed - freed)]

        skew, address = self._mapping.segment_place(m, geometry.pattern, part.line, part.segment)
        # What comes later of a segment overwrites what lay there in the beat before.
        words = Mux(part.is_rest, Cat(part.offset + word >= 4 for word in range(4)), ~0)
        written = register(m, Cat(words.bit_select(skew[2:] ^ bank, 1) for bank in range(4)), "part_words")
        select = register(m, skewed_from(skew, part.offset), "part_select")
        permuted = self._mapping.permuted(register(m, beat.data, "part_data"), select)
        writing = Signal()
        m.d.sync += writing.eq(walk.step)
        place = register(m, Cat(address, buffer), "part_address")
        for bank, (write, _) in enumerate(banks):
            m.d.comb += [
                write.en.eq(writing & written[4 * bank // self._mapping.banks]),
                write.addr.eq(place),
                write.data.eq(permuted.word_select(bank, 8 * self._mapping.bank_bytes)),
            ]

        # Segments are as many as different quads.
        size_log2 = geometry.lines_log2 + geometry.line_log2
        last_word = ((1 << size_log2) - 1)[log2_exact(SEGMENT_BYTES) :][:ADDRESS_BITS]
        m.d.comb += [
            filled.input.payload.pattern.eq(geometry.pattern),
            filled.input.payload.order.eq(geometry.order),
            filled.input.payload.last_word.eq(Mux(cause_now != 0, 0, last_word)),
            filled.input.payload.cause.eq(cause_now),
            filled.input.valid.eq(completed),
        ]

    def _drain(self, m: Module, banks: Banks, filled: Queue, freed: Signal) -> None:
        """Quads out of the banks, into a queue that has kept a place for each word of them."""
        quads = self._config.word_quads
        m.submodules.queue = queue = AssemblyQueue(quads * QUAD_BITS, QUAD_BITS, LoadedTag)
        active = Signal()
        fragment = Signal(_Filled)
        quad = Signal(ADDRESS_BITS)
        buffer = Signal(BUFFER_BITS)
        issue = Signal()
        final = Signal()
        last = Signal()
        in_word = quad[: log2_exact(quads)]
        completes: Value = last | in_word.all() if quads > 1 else Const(1)
        m.d.comb += [
            issue.eq(active & queue.ready),
            last.eq(quad == fragment.last_word),
            final.eq(issue & last),
            filled.output.ready.eq(~active | final),
            queue.enter.eq(issue & completes),
        ]
        # The buffer may be filled again when the last quad has been read out of the banks.
        m.d.sync += [freed.eq(final), buffer.eq(buffer + final)]
        with m.If(issue):
            m.d.sync += quad.eq(quad + 1)
        with m.If(filled.output.ready):
            m.d.sync += [
                fragment.eq(filled.output.payload),
                active.eq(filled.output.valid),
                quad.eq(0),
            ]

        place = self._mapping.word_place(m, fragment.pattern, fragment.order, quad)
        read_buffer = delay(m, buffer, 2, "word_buffer")
        select = skewed(delay(m, place.skew, 3, "read_skew"))
        swap = delay(m, place.swap, 3, "read_swap")
        for (_, read), address in zip(banks, place.addresses, strict=True):
            m.d.comb += [read.en.eq(1), read.addr.eq(Cat(address, read_buffer))]
        loaded = register(m, Cat(read.data for _, read in banks), "loaded")
        write = issue if quads == 1 else Mux(issue, 1 << in_word, 0)
        m.d.comb += [
            queue.write.eq(delay(m, write, _LATENCY, "quad_write", reset_less=False)),
            queue.push.eq(delay(m, queue.enter, _LATENCY, "word_push", reset_less=False)),
            queue.data.eq(swap_lanes(self._mapping.permuted(loaded, select), swap).replicate(quads)),
            queue.tag.last.eq(delay(m, last, _LATENCY, "word_last")),
            queue.tag.cause.eq(delay(m, fragment.cause, _LATENCY, "word_cause")),
        ]
        connect(m, queue.output, flipped(self.words))
