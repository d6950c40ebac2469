"""The fragment crossbar for loads: from the beats of a memory to words of the register file."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.tables.faults import Cause
from hdl.component import Component
from hdl.config import QUADS, CoreConfig
from hdl.memory.assembly_queue import AssemblyQueue, assembled_layout
from hdl.memory.bank_mapping import (
    ADDRESS_BITS,
    BUFFER_BITS,
    BUFFERS,
    BankMapping,
    rotated,
    skewed_from,
    swap_lanes,
)
from hdl.memory.banks import DRAIN_LATENCY, banks_signature
from hdl.memory.beats import CAUSE_BITS, access_layout, read_beat_layout
from hdl.memory.fragment_geometry import BlockOrder, Pattern, log2_exact
from hdl.memory.line_address_generator import LineAddressGenerator, finds_rows, row_quads_signature
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS, tile_word_bits
from hdl.stream.pipeline import delay, register
from hdl.stream.queue import Queue

_QUADS_LOG2 = log2_exact(QUADS)


class LoadedTag(data.Struct):
    """What is known of words of the register file: whether they are the last of their fragment.

    If the load has failed, this is all there is of the fragment, and no data; the cause is zero if not.
    """

    last: unsigned(1)
    failed: unsigned(1)
    cause: unsigned(CAUSE_BITS)


def loaded_layout(config: CoreConfig) -> data.StructLayout:
    """Words of the register file, of as many registers as are written at once, with their `LoadedTag`."""
    return assembled_layout(tile_word_bits(config), LoadedTag)


class _Filled(data.Struct):
    """A fragment that has been filled in."""

    pattern: Pattern
    order: BlockOrder
    last_word: unsigned(ADDRESS_BITS)
    cause: unsigned(CAUSE_BITS)


class LoadCrossbar(Component):
    """Transposing without a crossbar: a memory of skewed banks (`hdl.memory.banks`).

    Fragments are filled in, beat by beat, while the ones before are read out, `beat_quads` quads at a time,
    into a queue that makes words of them. A beat of one quad goes straight to the banks: where a segment
    begins within it, that only changes how its words are exchanged. One of several is rotated before. Of a
    fragment whose registers repeat each other, every word comes once. Nothing of a fragment comes out before
    all of it has come in, so that one whose memory reports an error can leave the registers alone.

    Throughput: a part of a beat and `beat_quads` quads per cycle, from one fragment
    to the next without a gap. Latency from the last beat to the first quads: 8 cycles. Neither ready depends
    on the other: the one follows from the number of filled buffers, the other from the room in the queue.
    Expected critical path: pattern, bits of a bank's address; or five levels of exchanges.

    Members
    -------
    access : In(stream.Signature(access_layout(config)))
        Taken with its last beat.
    beats : In(stream.Signature(read_beat_layout(config)))
    words : Out(stream.Signature(loaded_layout(config)))
        Word after word of each different register.
    row_quads : In(row_quads_signature(config))
        Only where `hdl.memory.line_address_generator.finds_rows`.
    banks : Out(banks_signature(config))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self._mapping = BankMapping(config)
        members = {
            "access": In(stream.Signature(access_layout(config))),
            "beats": In(stream.Signature(read_beat_layout(config))),
            "words": Out(stream.Signature(loaded_layout(config))),
            "banks": Out(banks_signature(config)),
        }
        if finds_rows(config):
            members["row_quads"] = In(row_quads_signature(config))
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        m.submodules.filled = filled = Queue(_Filled, BUFFERS)
        freed = Signal()
        self._fill(m, self.banks.fill, filled, freed)
        self._drain(m, self.banks, filled, freed)

    def _fill(self, m: Module, fill: Any, filled: Queue, freed: Signal) -> None:
        """Beats into the banks; the exchange of their bytes takes a cycle of its own."""
        m.submodules.lines = lines = LineAddressGenerator(self._config, is_store=False)
        if finds_rows(self._config):
            connect(m, flipped(self.row_quads), lines.row_quads)
        access, part, beat = self.access.payload, lines.part, self.beats.payload
        geometry = access.geometry
        buffer = Signal(BUFFER_BITS)
        occupied = Signal(range(BUFFERS + 1))
        room = Signal()
        completed = Signal()
        cause = Signal(CAUSE_BITS)
        cause_now = Signal(CAUSE_BITS)
        m.d.comb += [
            lines.access.eq(access),
            room.eq(self.access.valid & (occupied != BUFFERS) & lines.valid & fill.ready),
            fill.valid.eq(self.access.valid & (occupied != BUFFERS) & lines.valid & self.beats.valid),
            lines.step.eq(fill.valid & fill.ready),
            self.beats.ready.eq(room & part.beat_end),
            completed.eq(lines.step & part.last),
            self.access.ready.eq(completed),
            cause_now.eq(cause),
        ]
        with m.If(beat.response[1] & (cause == 0)):
            m.d.comb += cause_now.eq(
                Mux(beat.response[0], Cause.READ_DECODE_ERROR.value, Cause.READ_SLAVE_ERROR.value)
            )
        with m.If(lines.step):
            m.d.sync += cause.eq(Mux(part.last, 0, cause_now))
        m.d.sync += [buffer.eq(buffer + completed), occupied.eq(occupied + completed - freed)]

        kept = Signal.like(beat.data, reset_less=True)
        with m.If(lines.step & part.beat_end):
            m.d.sync += kept.eq(beat.data)
        earlier = Mux(part.is_rest, part.lanes, 0)
        data: Value = Cat(
            Mux(from_kept, *(each.word_select(word, LANE_BITS) for each in (kept, beat.data)))
            for word, from_kept in enumerate(earlier)
        )
        words: Value = Const(~0, len(part.lanes))
        if self._config.beat_quads > 1:
            data = rotated(m, data, part.offset, LANE_BITS)
            words = rotated(m, part.lanes | part.next_lanes, part.offset, 1)
        words = Mux(part.is_idle, 0, words)
        skews = self._mapping.address_segments(m, fill, geometry.pattern, part, buffer, skewed_from)
        banked_words = Cat(
            words.word_select(quad, 4).bit_select(skew[2:] ^ bank, 1)
            for quad, skew in enumerate(skews)
            for bank in range(4)
        )
        m.d.comb += [
            fill.data.eq(register(m, data, "part_data")),
            fill.words.eq(register(m, banked_words, "part_words")),
        ]

        # Segments are as many as different quads.
        last_register = ((1 << geometry.different_log2) - 1)[: ADDRESS_BITS - _QUADS_LOG2]
        last_word = Cat(~Const(0, _QUADS_LOG2), last_register)
        m.d.comb += [
            filled.input.payload.pattern.eq(geometry.pattern),
            filled.input.payload.order.eq(geometry.order),
            filled.input.payload.last_word.eq(Mux(cause_now != 0, 0, last_word)),
            filled.input.payload.cause.eq(cause_now),
            filled.input.valid.eq(completed),
        ]

    def _drain(self, m: Module, banks: Any, filled: Queue, freed: Signal) -> None:
        """Quads out of the banks, into a queue that has kept a place for the words made of them."""
        quads, bits = self._config.beat_quads, log2_exact(self._config.beat_quads)
        style = self._config.memory_style
        queue = AssemblyQueue(tile_word_bits(self._config), quads * QUAD_BITS, LoadedTag, style=style)
        m.submodules.queue = queue
        parts = len(queue.write)
        active = Signal()
        fragment = Signal(_Filled, reset_less=True)
        quad = Signal(ADDRESS_BITS)
        buffer = Signal(BUFFER_BITS)
        issue = Signal()
        final = Signal()
        last = Signal()
        in_word = quad[bits:][: log2_exact(parts)]
        completes: Value = last | in_word.all() if parts > 1 else Const(1)
        m.d.comb += [
            banks.drain.valid.eq(active & queue.ready),
            issue.eq(banks.drain.valid & banks.drain.ready),
            last.eq(quad[bits:] == fragment.last_word[bits:]),
            final.eq(issue & last),
            filled.output.ready.eq(~active | final),
            queue.enter.eq(issue & completes),
        ]
        # The buffer may be filled again when the last quad has been read out of the banks.
        m.d.sync += [freed.eq(final), buffer.eq(buffer + final)]
        with m.If(issue):
            m.d.sync += quad.eq(quad + quads)
        with m.If(filled.output.ready):
            m.d.sync += [
                fragment.eq(filled.output.payload),
                active.eq(filled.output.valid),
                quad.eq(0),
            ]

        read_buffer = delay(m, buffer, 2, "word_buffer")
        swaps = self._mapping.address_quads(
            m, banks.drain, fragment.pattern, fragment.order, quad, read_buffer
        )
        swap = delay(m, swaps[0], DRAIN_LATENCY - 1, "read_swap")
        drained = Cat(swap_lanes(banks.data.word_select(each, QUAD_BITS), swap) for each in range(quads))
        write = issue if parts == 1 else Mux(issue, 1 << in_word, 0)
        m.d.comb += [
            queue.write.eq(delay(m, write, DRAIN_LATENCY, "quad_write", reset_less=False)),
            queue.push.eq(delay(m, queue.enter, DRAIN_LATENCY, "word_push", reset_less=False)),
            queue.data.eq(drained.replicate(parts)),
            queue.tag.last.eq(delay(m, last, DRAIN_LATENCY, "word_last")),
            queue.tag.failed.eq(delay(m, fragment.cause.any(), DRAIN_LATENCY, "word_failed")),
            queue.tag.cause.eq(delay(m, fragment.cause, DRAIN_LATENCY, "word_cause")),
        ]
        connect(m, queue.output, flipped(self.words))
