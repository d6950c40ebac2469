"""The walk over the lines of a fragment, beat by beat: both crossbars take the same steps."""

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.tables.layouts import fragment
from hdl.config import CoreConfig
from hdl.memory.beats import access_layout
from hdl.memory.fragment_geometry import SEGMENT_BYTES, legal_fragments, log2_exact

__all__ = ["LineWalk", "Part"]

_LANES = 4


class Part(data.Struct):
    """What a segment and a beat have in common.

    Members
    -------
    line : unsigned(5)
    segment : unsigned(3)
        Index in its line.
    offset : unsigned(2)
        32-bit words by which the segment begins behind a beat.
    lanes : unsigned(4)
        The words of the beat.
    is_rest : unsigned(1)
        The segment began in the beat before.
    beat_end, last : unsigned(1)
        The last of its beat, of its fragment.
    """

    line: unsigned(5)
    segment: unsigned(3)
    offset: unsigned(2)
    lanes: unsigned(_LANES)
    is_rest: unsigned(1)
    beat_end: unsigned(1)
    last: unsigned(1)


class LineWalk(wiring.Component):
    """Says which parts of beats belong to which segments, in the order of memory.

    Lines begin at multiples of four bytes; the memory knows only whole beats. So a segment lies in one beat
    or in two. Lines of a run follow each other in the same beats; other lines begin with a beat of their own,
    even where it is the one before. Lines of eight bytes are half a segment.

    Throughput: a part per cycle: a segment, where the fragment begins at a beat, and else half of one. Where
    every fragment of a configuration is a multiple of sixteen bytes, there are no halves.
    Expected critical path: offset, ends of the beat, `part.last`.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    access : In(access_layout(config))
        Stable from the first part to the last.
    step : In(1)
        Go on to the next part; behind the last one, to the first of the next access.
    part : Out(Part)

    Testbench
    ---------
    cocotb_tests/memory/test_load_crossbar.py, through `LoadCrossbar`.
    """

    def __init__(self, config: CoreConfig) -> None:
        sizes = [fragment(use, name, shape).size for use, name, shape, _ in legal_fragments(config)]
        self._unaligned = min(sizes) < SEGMENT_BYTES
        super().__init__({"access": In(access_layout(config)), "step": In(1), "part": Out(Part)})

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        access, part = self.access, self.part
        geometry = access.geometry
        line = Signal(5)
        segment = Signal(3)
        moved = Signal(2)  # of the line, in words, from the first one
        is_rest = Signal()

        offset: Value = (access.address[2:4] + moved)[:2] if self._unaligned else Const(0, 2)
        short = Signal()
        words = Signal(2 * _LANES)
        line_end = Signal()
        goes_on = Signal()
        ends = Signal()
        m.d.comb += [
            short.eq(geometry.line_log2 < log2_exact(SEGMENT_BYTES)),
            words.eq(Mux(short, 0b0011, 0b1111) << offset),
            line_end.eq(segment == ((1 << geometry.line_log2) - 1)[log2_exact(SEGMENT_BYTES) :][:3]),
            goes_on.eq(words[_LANES:].any() & ~is_rest),
            ends.eq(line_end & (~access.contiguous | (line == ((1 << geometry.lines_log2) - 1)[:5]))),
            part.line.eq(line),
            part.segment.eq(segment),
            part.offset.eq(offset),
            part.is_rest.eq(is_rest),
            part.lanes.eq(Mux(is_rest, words[_LANES:], words[:_LANES])),
            part.beat_end.eq(part.lanes[-1] | (ends & ~goes_on)),
            part.last.eq(line_end & ~goes_on & (line == ((1 << geometry.lines_log2) - 1)[:5])),
        ]
        with m.If(self.step):
            if self._unaligned:
                m.d.sync += is_rest.eq(goes_on)
            with m.If(~goes_on):
                m.d.sync += segment.eq(segment + 1)
                with m.If(line_end):
                    m.d.sync += [segment.eq(0), line.eq(line + 1), moved.eq(moved + access.stride[2:4])]
            with m.If(part.last):
                m.d.sync += [line.eq(0), moved.eq(0)]
        return m
