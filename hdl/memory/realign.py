"""Lines that do not begin at a beat: from beats of the bus to chunks of a line, and back.

Rows and columns are aligned to the fragment's size, which may be as little as four bytes; the bus knows only
whole beats of sixteen. Where every fragment of a configuration is a multiple of sixteen bytes, the
units here are not built.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.memory.crossbar import Chunk
from hdl.registers.register_file import WORD_BITS

__all__ = ["BeatsToChunks", "ChunksToBeats", "MaskedBeat", "RealignRequest"]

LANES = 4
"""32-bit lanes of a beat; offsets count them."""


class RealignRequest(data.Struct):
    """The lines of one fragment.

    Members
    -------
    offset : unsigned(2)
        Lanes by which the first line begins behind its first beat.
    stride : unsigned(2)
        What is added to the offset from line to line.
    line_log2 : unsigned(3)
        Bytes of a line.
    """

    offset: unsigned(2)
    stride: unsigned(2)
    line_log2: unsigned(3)


class MaskedBeat(data.Struct):
    """A beat to be written, and the bytes of it that count."""

    data: unsigned(WORD_BITS)
    strb: unsigned(WORD_BITS // 8)


class _Lines:
    """Where in its line a beat stands; shared by both directions."""

    def __init__(self, m: Module, request: RealignRequest, load: Signal, step: Signal) -> None:
        self.offset = Signal(2)
        beat = Signal(4)
        lanes = Signal(6)
        beats = Signal(4)
        chunks = Signal(4)
        m.d.comb += [
            lanes.eq((1 << request.line_log2) >> 2),
            beats.eq((lanes + self.offset + LANES - 1) >> 2),
            chunks.eq(Mux(lanes < LANES, 1, lanes >> 2)),
        ]
        self.first = beat == 0
        self.last = beat == beats - 1
        self.one_more = beats != chunks
        with m.If(load):
            m.d.sync += beat.eq(0)
        with m.Elif(step):
            m.d.sync += beat.eq(beat + 1)
            with m.If(self.last):
                m.d.sync += [beat.eq(0), self.offset.eq(self.offset + request.stride)]


class BeatsToChunks(wiring.Component):
    """Cuts the chunks of each line out of the beats that hold it.

    Throughput: a beat per cycle. Latency: none; a chunk leaves with the last beat it needs.

    Members
    -------
    request : In(RealignRequest)
        Held while the fragment passes.
    start : In(1)
        High until the first beat may come.
    beats : In(stream.Signature(Chunk))
    chunks : Out(stream.Signature(Chunk))
        With an error where any of its beats had one.
    """

    request: In(RealignRequest)
    start: In(1)
    beats: In(stream.Signature(Chunk))
    chunks: Out(stream.Signature(Chunk))

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        taken = self.beats.valid & self.beats.ready
        lines = _Lines(m, self.request, self.start, taken)
        with m.If(self.start):
            m.d.sync += lines.offset.eq(self.request.offset)

        held = Signal(Chunk)
        opening = lines.one_more & lines.first
        low = Signal(WORD_BITS)
        m.d.comb += [
            low.eq(Mux(lines.one_more, held.data, self.beats.payload.data)),
            self.chunks.payload.data.eq(Cat(low, self.beats.payload.data) >> (lines.offset << 5)),
            self.chunks.payload.error.eq(self.beats.payload.error | (lines.one_more & held.error)),
            self.chunks.valid.eq(self.beats.valid & ~opening),
            self.beats.ready.eq(opening | self.chunks.ready),
        ]
        with m.If(taken):
            m.d.sync += held.eq(self.beats.payload)
        return m


class ChunksToBeats(wiring.Component):
    """Lays the chunks of each line over the beats that will hold it.

    Throughput: a beat per cycle. Latency: none.

    Members
    -------
    request : In(RealignRequest)
        Held while the fragment passes.
    start : In(1)
        High until the first chunk may come.
    chunks : In(stream.Signature(128))
    beats : Out(stream.Signature(MaskedBeat))
    """

    request: In(RealignRequest)
    start: In(1)
    chunks: In(stream.Signature(WORD_BITS))
    beats: Out(stream.Signature(MaskedBeat))

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        leaving = self.beats.valid & self.beats.ready
        lines = _Lines(m, self.request, self.start, leaving)
        with m.If(self.start):
            m.d.sync += lines.offset.eq(self.request.offset)

        held = Signal(WORD_BITS)
        closing = lines.one_more & lines.last
        shifted = Signal(2 * WORD_BITS)
        mask = Signal(LANES)
        m.d.comb += [
            # The last beat must not change with what follows, even where it is masked.
            shifted.eq(Cat(held, Mux(closing, 0, self.chunks.payload)) << (lines.offset << 5)),
            self.beats.payload.data.eq(shifted[WORD_BITS:]),
            mask.eq(~0),
            self.beats.payload.strb.eq(Cat(lane.replicate(4) for lane in mask)),
            self.beats.valid.eq(self.chunks.valid | closing),
            self.chunks.ready.eq(self.beats.ready & ~closing),
        ]
        with m.If(lines.one_more & lines.first):
            m.d.comb += mask.eq(0b1111 << lines.offset)
        with m.Elif(closing):
            m.d.comb += mask.eq((1 << lines.offset) - 1)
        with m.If(leaving):
            m.d.sync += held.eq(self.chunks.payload)
        return m
