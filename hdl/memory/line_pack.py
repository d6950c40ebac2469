"""From the segments of a fragment's lines to the beats of the bus."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.config import CoreConfig
from hdl.memory.beats import WriteBeat
from hdl.memory.fragment_geometry import SEGMENT_BYTES, log2_exact
from hdl.memory.line_request import LineRequest, begins_within_beats
from hdl.memory.store_crossbar import LineSegment
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS
from hdl.stream.stream_buffer import StreamBuffer

__all__ = ["LinePack"]

_LANES = 4


class LinePack(wiring.Component):
    """Lays the segments of each line over the beats that hold it, with strobes and the ends of bursts.

    What of a segment does not fit into its beat is kept for the next. Lines of a run share beats; other lines
    end with a beat of their own.

    Throughput: a beat or a segment per cycle, whichever are more, from one fragment to the next without a
    gap. Latency: one cycle. A buffer cuts `beats.ready` from the other streams.
    Expected critical path: offset, shifter of four inputs, merger.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(LineRequest))
        Taken with the last segment or beat of the one before.
    lengths : In(stream.Signature(8))
        Beats less one of each burst that has been asked for; no beat leaves before its burst.
    segments : In(stream.Signature(LineSegment))
    beats : Out(stream.Signature(WriteBeat))
    """

    request: In(stream.Signature(LineRequest))
    lengths: In(stream.Signature(unsigned(8)))
    segments: In(stream.Signature(LineSegment))
    beats: Out(stream.Signature(WriteBeat))

    def __init__(self, config: CoreConfig) -> None:
        self._unaligned = begins_within_beats(config)
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        active = Signal()
        request = Signal(LineRequest)
        kept = Signal(QUAD_BITS)
        kept_lanes = Signal(_LANES)
        closing = Signal()  # a line has ended in `kept`
        ending = Signal()  # and so has the fragment
        segment = self.segments.payload

        offset: Value = request.offset if self._unaligned else Const(0, 2)
        short = Signal()
        shifted = Signal(2 * QUAD_BITS)
        lanes = Signal(2 * _LANES)
        merged = Signal(QUAD_BITS)
        m.d.comb += [
            short.eq(request.geometry.line_log2 < log2_exact(SEGMENT_BYTES)),
            shifted.eq(segment.data << (offset << 5)),
            lanes.eq(Mux(short, 0b0011, 0b1111) << offset),
            merged.eq(
                Cat(
                    Mux(
                        kept_lanes[lane],
                        kept.word_select(lane, LANE_BITS),
                        shifted.word_select(lane, LANE_BITS),
                    )
                    for lane in range(_LANES)
                )
            ),
        ]

        m.submodules.buffer = buffer = StreamBuffer(WriteBeat)
        connect(m, buffer.output, flipped(self.beats))
        room = Signal()
        step = Signal()
        ends = Signal()
        spills = Signal()
        leaves = Signal()
        m.d.comb += [
            room.eq(active & self.lengths.valid & buffer.input.ready),
            self.segments.ready.eq(room & ~closing),
            step.eq(self.segments.valid & self.segments.ready),
            ends.eq(segment.last | (segment.line_end & ~request.contiguous)),
            spills.eq(lanes[_LANES:].any() if self._unaligned else 0),
            leaves.eq((room & closing) | (step & (lanes[_LANES - 1] | ends))),
        ]
        with m.If(step):
            m.d.sync += [
                request.offset.eq(offset + Mux(segment.line_end, request.stride, 0)),
                closing.eq(ends & spills),
                ending.eq(segment.last),
            ]
            with m.If(leaves):
                m.d.sync += [kept.eq(shifted[QUAD_BITS:]), kept_lanes.eq(lanes[_LANES:])]
            with m.Else():
                m.d.sync += [kept.eq(merged), kept_lanes.eq(kept_lanes | lanes[:_LANES])]
        with m.Elif(room & closing):
            m.d.sync += [closing.eq(0), kept_lanes.eq(0)]

        beat = Signal(8)
        burst_end = Signal()
        m.d.comb += [
            burst_end.eq(beat == self.lengths.payload),
            self.lengths.ready.eq(leaves & burst_end),
        ]
        with m.If(leaves):
            m.d.sync += beat.eq(Mux(burst_end, 0, beat + 1))

        strobes = Signal(_LANES)
        m.d.comb += strobes.eq(kept_lanes | Mux(closing, 0, lanes[:_LANES]))
        m.d.comb += [
            buffer.input.valid.eq(leaves),
            buffer.input.payload.data.eq(Mux(closing, kept, merged)),
            buffer.input.payload.strb.eq(Cat(lane.replicate(4) for lane in strobes)),
            buffer.input.payload.last.eq(burst_end),
        ]

        finished = Signal()
        m.d.comb += [
            finished.eq(Mux(closing, room & ending, step & segment.last & ~spills)),
            self.request.ready.eq(~active | finished),
        ]
        with m.If(self.request.ready):
            m.d.sync += [active.eq(self.request.valid), request.eq(self.request.payload)]
        return m
