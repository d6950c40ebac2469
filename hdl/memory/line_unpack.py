"""From the beats of the bus to the segments of a fragment's lines."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.tables.faults import Cause
from hdl.config import CoreConfig
from hdl.memory.bank_mapping import last_line, last_segment_of_line
from hdl.memory.beats import CAUSE_BITS, ReadBeat
from hdl.memory.fragment_geometry import SEGMENT_BYTES, log2_exact
from hdl.memory.line_request import LineRequest, begins_within_beats
from hdl.memory.load_crossbar import PlacedSegment
from hdl.registers.register_ports import QUAD_BITS

__all__ = ["LineUnpack"]


class LineUnpack(wiring.Component):
    """Cuts the segments of each line out of the beats that hold it, and says where they belong.

    Lines begin at multiples of four bytes; the bus knows only whole beats. A segment lies in one beat or in
    two: the beat before is kept, and the segment is cut out of it and the one at hand. Lines of a run follow
    each other in the same beats; other lines begin anew with a beat of their own, even where it is the one
    before. Lines of eight bytes are half a segment; what lies in its upper half does not matter.
    Where every fragment of a configuration is a multiple of sixteen bytes, no shifter is built.

    Throughput: a beat or a segment per cycle, whichever are more, from one fragment to the next without a
    gap. Latency: one cycle. Expected critical path: offset, whether a beat is needed, shifter of four inputs.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(LineRequest))
        Taken with the last segment of the one before.
    beats : In(stream.Signature(ReadBeat))
    segments : Out(stream.Signature(PlacedSegment))
        With the last segment the cause of the first bad beat of the fragment, or zero.
    """

    request: In(stream.Signature(LineRequest))
    beats: In(stream.Signature(ReadBeat))
    segments: Out(stream.Signature(PlacedSegment))

    def __init__(self, config: CoreConfig) -> None:
        self._unaligned = begins_within_beats(config)
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        active = Signal()
        request = Signal(LineRequest)
        geometry = request.geometry
        line = Signal(5)
        segment = Signal(3)
        kept = Signal(QUAD_BITS)
        keeping = Signal()  # `kept` holds the first bytes of the segment at hand
        cause = Signal(CAUSE_BITS)

        offset: Value = request.offset if self._unaligned else Const(0, 2)
        short = Signal()
        spans = Signal()
        line_end = Signal()
        last = Signal()
        m.d.comb += [
            short.eq(geometry.line_log2 < log2_exact(SEGMENT_BYTES)),
            spans.eq(Mux(short, offset == 3, offset != 0)),
            line_end.eq(segment == last_segment_of_line(geometry.line_log2)),
            last.eq(line_end & (line == last_line(geometry.lines_log2))),
        ]

        room = Signal()
        within_kept = Signal()
        opening = Signal()
        step = Signal()
        taken = Signal()
        beat = self.beats.payload
        m.d.comb += [
            room.eq(active & (~self.segments.valid | self.segments.ready)),
            within_kept.eq(keeping & ~spans),
            opening.eq(spans & ~keeping),
            self.beats.ready.eq(room & ~within_kept),
            step.eq(room & (within_kept | self.beats.valid)),
            taken.eq(self.beats.valid & self.beats.ready),
        ]

        cause_now = Signal(CAUSE_BITS)
        m.d.comb += cause_now.eq(cause)
        with m.If(taken & beat.response[1] & (cause == 0)):
            m.d.comb += cause_now.eq(
                Mux(beat.response[0], Cause.READ_DECODE_ERROR.value, Cause.READ_SLAVE_ERROR.value)
            )

        ends = Signal()
        next_offset = Signal(2)
        m.d.comb += [
            ends.eq(last | (line_end & ~request.contiguous)),
            next_offset.eq(offset + Mux(line_end, request.stride, 0)),
        ]
        with m.If(taken):
            m.d.sync += kept.eq(beat.data)
        with m.If(step):
            m.d.sync += [keeping.eq(1), cause.eq(cause_now)]
            with m.If(~opening):
                m.d.sync += [
                    keeping.eq((next_offset != 0) & ~ends if self._unaligned else 0),
                    request.offset.eq(next_offset),
                    segment.eq(Mux(line_end, 0, segment + 1)),
                    line.eq(line + line_end),
                ]

        payload = self.segments.payload
        with m.If(~self.segments.valid | self.segments.ready):
            m.d.sync += self.segments.valid.eq(step & ~opening)
        with m.If(room):
            m.d.sync += [
                payload.data.eq(Cat(Mux(keeping, kept, beat.data), beat.data) >> (offset << 5)),
                payload.geometry.eq(geometry),
                payload.line.eq(line),
                payload.segment.eq(segment),
                payload.last.eq(last),
                payload.cause.eq(cause_now),
            ]

        finished = Signal()
        m.d.comb += [finished.eq(step & ~opening & last), self.request.ready.eq(~active | finished)]
        with m.If(self.request.ready):
            m.d.sync += [
                active.eq(self.request.valid),
                request.eq(self.request.payload),
                line.eq(0),
                segment.eq(0),
                cause.eq(0),
            ]
        return m
