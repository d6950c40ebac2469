"""The address generator for the lines of a fragment, beat by beat: both crossbars take the same steps."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.memory.beats import access_layout
from hdl.memory.fragment_geometry import SEGMENT_BYTES, log2_exact

_WORDS = 4
"""32-bit words of a segment."""


def part_layout(config: CoreConfig) -> data.StructLayout:
    """What a group of segments and a beat have in common.

    A group has as many segments as a beat, and begins in the run of all lines at a multiple of as many.

    Members
    -------
    lines : ArrayLayout(unsigned(5), beat_quads)
        Of each segment of the group.
    segments : ArrayLayout(unsigned(3), beat_quads)
        Index of each in its line.
    offset : unsigned(2 + log2(beat_quads))
        Word w of the group is word w + offset of the beat, counted round.
    lanes, next_lanes : unsigned(4 * beat_quads)
        The words of the beat in which it begins, and of the beat behind, where it ends in that.
    is_rest : unsigned(1)
        The group began in the beat before.
    is_idle : unsigned(1)
        No group: of a load, only the beat is kept; of a store, only the beat is ended.
    beat_end, last : unsigned(1)
        The last of its beat, of its fragment.
    """
    quads = config.beat_quads
    return data.StructLayout(
        {
            "lines": data.ArrayLayout(5, quads),
            "segments": data.ArrayLayout(3, quads),
            "offset": 2 + log2_exact(quads),
            "lanes": _WORDS * quads,
            "next_lanes": _WORDS * quads,
            "is_rest": 1,
            "is_idle": 1,
            "beat_end": 1,
            "last": 1,
        }
    )


def finds_rows(config: CoreConfig) -> bool:
    """Whether the generator must be told where in its beat a listed line is."""
    return config.shared_bytes > 0 and config.beat_quads > 1


def row_quads_signature(config: CoreConfig) -> stream.Signature:
    """The quad of its beat in which each listed line is, in the order of the lines."""
    return stream.Signature(unsigned(log2_exact(config.beat_quads)))


class LineAddressGenerator(Component):
    """Says which parts of beats belong to which segments, in the order of memory.

    Lines begin at multiples of four bytes; the memory knows only whole beats. So a group of segments lies in
    one beat or in two. Lines of a run follow each other in the same beats; other lines begin with a beat of
    their own, even where it is the one before, and then a group has a line, or as much of it as a beat. Lines
    of eight bytes are half a segment, and each is a group.

    A load needs both beats of a group at once: it keeps the first one in an idle step, and then each beat
    completes a group. A store has both from the beginning: each group completes a beat, and an idle step ends
    the last one.

    Throughput: a group per cycle, and one cycle more for each line or run that begins within a beat and ends
    in another.
    Expected critical path: offset, ends of the beat, `part.last`.
    Testbench: cocotb_tests/memory/test_load_crossbar.py, through `LoadCrossbar`.

    Parameters
    ----------
    config : CoreConfig
    is_store : bool
        Whose steps they are.

    Members
    -------
    access : In(access_layout(config))
        Stable from the first part to the last.
    step : In(1)
        Go on to the next part; behind the last one, to the first of the next access. Only while `valid`.
    valid : Out(1)
        The part is known, if there is an access.
    part : Out(part_layout(config))
    row_quads : In(row_quads_signature(config))
        Only where `finds_rows`.
    """

    def __init__(self, config: CoreConfig, *, is_store: bool) -> None:
        self._is_store = is_store
        self._quads = config.beat_quads
        self._finds_rows = finds_rows(config)
        members = {
            "access": In(access_layout(config)),
            "step": In(1),
            "valid": Out(1),
            "part": Out(part_layout(config)),
        }
        if self._finds_rows:
            members["row_quads"] = In(row_quads_signature(config))
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        access, part = self.access, self.part
        geometry = access.geometry
        quads, quad_bits = self._quads, log2_exact(self._quads)
        words = _WORDS * quads
        segment_log2 = log2_exact(SEGMENT_BYTES)
        line = Signal(5)  # of the first of the group that is not in an earlier one
        segment = Signal(3)
        moved = Signal(2 + quad_bits)  # of the line, in words, from the first one
        is_rest = Signal()

        short = Signal()
        # By k: a line has 2^k segments (a short one counts as one), fewer than a beat.
        narrow = [
            geometry.line_log2 <= segment_log2 if k == 0 else geometry.line_log2 == segment_log2 + k
            for k in range(quad_bits)
        ]
        begin: Value = (access.address[2 : segment_log2 + quad_bits] + moved)[: len(moved)]
        stride: Value = access.stride[2 : segment_log2 + quad_bits]
        mask: Value = Const((1 << words) - 1)
        first: Value = Const(0, quad_bits)
        lines_less_one: Value = Const(0, 1)  # of the group, in a run
        in_run = access.contiguous & ~short
        for k, is_narrow in reversed(list(enumerate(narrow))):
            mask = Mux(is_narrow & ~in_run, (1 << (_WORDS << k)) - 1, mask)
            first = Mux(is_narrow, line << k, first)[:quad_bits]
            lines_less_one = Mux(is_narrow & in_run, (quads >> k) - 1, lines_less_one)
        if quads > 1:
            stride = Mux(in_run, 0, stride)
        m.d.comb += self.valid.eq(1)
        if self._finds_rows:
            m.d.comb += self.row_quads.ready.eq(self.step & access.listed)
            with m.If(access.listed):
                m.d.comb += self.valid.eq(self.row_quads.valid)
            begin = Mux(access.listed, Cat(Const(0, 2), self.row_quads.payload), begin)

        covered = Signal(2 * words)
        line_end = Signal()
        wraps = Signal()
        stays = Signal()  # with the group, for another step
        ends = Signal()
        last_line = Signal()
        last_segment = ((1 << geometry.line_log2) - 1)[segment_log2:][:3]
        m.d.comb += [
            short.eq(geometry.line_log2 < segment_log2),
            covered.eq(Mux(short, 0b0011, mask) << begin),
            line_end.eq(segment[quad_bits:] == last_segment[quad_bits:]),
            last_line.eq((line | lines_less_one) == ((1 << geometry.lines_log2) - 1)[:5]),
            wraps.eq(covered[words:].any()),
            ends.eq(line_end & (~access.contiguous | last_line)),
            part.offset.eq(begin - Cat(Const(0, 2), first)),
            part.is_rest.eq(is_rest),
            part.lanes.eq(covered[:words]),
            part.next_lanes.eq(covered[words:]),
            part.last.eq(line_end & ~stays & last_line),
        ]
        if self._is_store:
            rest_follows: Value = wraps & ends & ~is_rest
            m.d.comb += [
                stays.eq(rest_follows),
                part.is_idle.eq(is_rest),
                part.beat_end.eq(covered[words - 1] | ends),
            ]
        else:
            fills_beat = mask[-1] & ~short
            rest_follows = Mux(is_rest, fills_beat & ~ends, wraps)
            m.d.comb += [
                stays.eq(wraps & ~is_rest),
                part.is_idle.eq(stays),
                part.beat_end.eq(Mux(is_rest, fills_beat | ends, covered[words - 1] | ends)),
            ]
        for number in range(quads):
            of_line: Any = line
            of_segment: Any = Cat(Const(number, quad_bits), segment[quad_bits:])
            for k, is_narrow in enumerate(narrow):
                upper = quad_bits - k
                of_line = Mux(is_narrow, Cat(Const(number >> k, upper), line[upper:]), of_line)
                of_segment = Mux(is_narrow, number & ((1 << k) - 1), of_segment)
            m.d.comb += [part.lines[number].eq(of_line), part.segments[number].eq(of_segment)]
        with m.If(self.step):
            m.d.sync += is_rest.eq(rest_follows)
            with m.If(~stays):
                m.d.sync += segment.eq(segment + quads)
                with m.If(line_end):
                    m.d.sync += [
                        segment.eq(0),
                        line.eq(line + lines_less_one + 1),
                        moved.eq(moved + stride),
                    ]
            with m.If(part.last):
                m.d.sync += [line.eq(0), moved.eq(0)]
