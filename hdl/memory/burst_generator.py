"""From the rows or columns of a fragment to bursts of whole beats."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import PAGE_BYTES, CoreConfig
from hdl.memory.beats import STRIDE_BITS, space_burst_layout
from hdl.memory.fragment_geometry import SEGMENT_BYTES, log2_exact

__all__ = ["BurstGenerator", "lines_layout", "space_burst_layout"]

_OFFSET_BITS = log2_exact(SEGMENT_BYTES)
_PAGE_BITS = log2_exact(PAGE_BYTES)


def lines_layout(config: CoreConfig) -> data.StructLayout:
    """The lines of one fragment.

    Members
    -------
    space : unsigned(2)
        Handed on with every burst.
    address : unsigned(address_bits)
        Byte address of the first line, a multiple of 4.
    stride : unsigned(STRIDE_BITS)
        Bytes from one line to the next, a multiple of 4.
    lines_log2, line_log2 : unsigned(3)
        How many lines, and bytes in each, 8 to 128; together not more than a page holds.
    contiguous : unsigned(1)
        Each line begins where the one before ends.
    listed : unsigned(1)
        The lines are of 16 bytes, and their addresses come from `rows`.
    """
    return data.StructLayout(
        {
            "space": unsigned(2),
            "address": unsigned(config.address_bits),
            "stride": unsigned(STRIDE_BITS),
            "lines_log2": unsigned(3),
            "line_log2": unsigned(3),
            "contiguous": unsigned(1),
            "listed": unsigned(1),
        }
    )


class BurstGenerator(wiring.Component):
    """One INCR burst for each line, or for all of them where they are one run; two at a 4 KiB boundary.

    A run or line is shorter than a page, so one boundary at most lies within it: it is split into what is
    left of the page and the rest. Both are found without an adder before the comparison: the beats left in a
    page, less one, are the complement of the address; and what is as long as 2^k beats takes one more only
    if it begins within one, so its beats less one are 2^k - 1 or 2^k.

    Throughput: a burst per cycle, from one fragment to the next without a gap. Latency: one cycle from the
    request to its first burst. `lines.ready` depends on `bursts.ready`, so a queue belongs before it.
    Expected critical path: comparison of 8 bits, then the address of the next line.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    lines : In(stream.Signature(lines_layout(config)))
        Taken with the last burst of the one before.
    rows : In(stream.Signature(address_bits))
        The address of each listed line, a multiple of 16. Only where there is on-chip memory.
    bursts : Out(stream.Signature(space_burst_layout(config)))
    ends : Out(1)
        The burst on offer is the last of its fragment.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        members = {
            "lines": In(stream.Signature(lines_layout(config))),
            "bursts": Out(stream.Signature(space_burst_layout(config))),
            "ends": Out(1),
        }
        if config.shared_bytes:
            members["rows"] = In(stream.Signature(unsigned(config.address_bits)))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        request = self.lines.payload
        active = Signal()
        space = Signal(2)
        line_address = Signal(self._config.address_bits)
        stride = Signal(STRIDE_BITS)
        lines_left = Signal(5)  # after the one at hand
        beats = Signal(7)  # whole beats of a line; of a line of eight bytes, one
        short = Signal()
        # The burst at hand: the rest of a line, in beats less one. A run has at most 65.
        beat_address = Signal(self._config.address_bits - _OFFSET_BITS)
        length = Signal(7)

        page_length = Signal(8)
        crosses = Signal()
        taken = Signal()
        m.d.comb += [
            page_length.eq(~beat_address[: _PAGE_BITS - _OFFSET_BITS]),
            crosses.eq(length > page_length),
            taken.eq(self.bursts.valid & self.bursts.ready),
            self.bursts.valid.eq(active),
            self.bursts.payload.space.eq(space),
            self.bursts.payload.address.eq(Cat(Const(0, _OFFSET_BITS), beat_address)),
            self.bursts.payload.length.eq(Mux(crosses, page_length, length)),
            self.ends.eq((lines_left == 0) & ~crosses),
            self.lines.ready.eq(~active | (taken & self.ends)),
        ]

        if self._config.shared_bytes:
            listed = Signal()
            with m.If(self.lines.ready):
                m.d.sync += listed.eq(request.listed)
            with m.If(listed):
                m.d.comb += [
                    self.bursts.valid.eq(active & self.rows.valid),
                    self.bursts.payload.address.eq(self.rows.payload),
                    self.rows.ready.eq(taken),
                ]

        size_log2 = Signal(4)
        first_beats = Signal(7)
        first_short = Signal()
        next_line = Signal(self._config.address_bits)
        m.d.comb += [
            size_log2.eq(Mux(request.contiguous, request.lines_log2 + request.line_log2, request.line_log2)),
            first_beats.eq(Mux(first_short, 1, 1 << (size_log2 - _OFFSET_BITS)[:3])),
            first_short.eq(~request.contiguous & (request.line_log2 < _OFFSET_BITS)),
            next_line.eq(line_address + stride),
        ]
        with m.If(self.lines.ready):
            m.d.sync += [
                active.eq(self.lines.valid),
                space.eq(request.space),
                line_address.eq(request.address),
                stride.eq(request.stride),
                lines_left.eq(Mux(request.contiguous, 0, (1 << request.lines_log2) - 1)),
                beats.eq(first_beats),
                short.eq(first_short),
                beat_address.eq(request.address[_OFFSET_BITS:]),
                length.eq(_beats_less_one(request.address, first_beats, first_short)),
            ]
        with m.Elif(taken):
            with m.If(crosses):
                page = beat_address[_PAGE_BITS - _OFFSET_BITS :]
                m.d.sync += [
                    beat_address.eq(Cat(Const(0, _PAGE_BITS - _OFFSET_BITS), page + 1)),
                    length.eq(length - page_length - 1),
                ]
            with m.Else():
                m.d.sync += [
                    line_address.eq(next_line),
                    lines_left.eq(lines_left - 1),
                    beat_address.eq(next_line[_OFFSET_BITS:]),
                    length.eq(_beats_less_one(next_line, beats, short)),
                ]
        return m


def _beats_less_one(address: Signal, beats: Signal, short: Signal) -> Signal:
    """Beats, less one, that hold a line: it spills into one more if it ends beyond its whole beats."""
    lane = address[2:_OFFSET_BITS]
    return Mux(Mux(short, lane == 3, lane != 0), beats, (beats - 1)[:7])
