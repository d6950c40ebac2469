"""From the rows or columns of a fragment to bursts of whole beats."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import PAGE_BYTES, CoreConfig
from hdl.memory.beats import access_layout, is_last_beat, space_burst_layout
from hdl.memory.fragment_geometry import SEGMENT_BYTES, log2_exact
from hdl.memory.line_address_generator import finds_rows, row_quads_signature
from hdl.stream.queue import Queue

_PAGE_BITS = log2_exact(PAGE_BYTES)
_ROWS_IN_FLIGHT = 64
"""Listed lines whose beats have been asked for and have not come: of two moves of four matrices."""


class BurstGenerator(Component):
    """One INCR burst for each line, or for all of them where they are one run; two at a 4 KiB boundary.

    A run or line is shorter than a page, so one boundary at most lies within it: it is split into what is
    left of the page and the rest. The place of its last byte in the page says by a carry whether it crosses
    the boundary, and by the beat how many beats less one lie behind it.

    Throughput: a burst per cycle; from one fragment to the next without a gap. Latency: one cycle from the
    access to its first burst. `access.ready` depends on `bursts.ready`, so a queue belongs before it.
    Expected critical path: a sum of 10 bits, then the number of beats.

    Members
    -------
    access : In(stream.Signature(access_layout(config)))
        Taken with the last burst of the one before.
    rows : In(stream.Signature(address_bits))
        The address of each listed line, a multiple of 16. Only where there is on-chip memory.
    bursts : Out(stream.Signature(space_burst_layout(config)))
    row_quads : Out(stream.Signature(log2(beat_quads)))
        Where in its beat each listed line is. Only where there are `rows` and a beat has several quads.
    ends : Out(1)
        The burst on offer is the last of its fragment.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        members = {
            "access": In(stream.Signature(access_layout(config))),
            "bursts": Out(stream.Signature(space_burst_layout(config))),
            "ends": Out(1),
        }
        if config.shared_bytes:
            members["rows"] = In(stream.Signature(unsigned(config.address_bits)))
        if finds_rows(config):
            members["row_quads"] = Out(row_quads_signature(config))
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        config = self._config
        offset_bits = log2_exact(SEGMENT_BYTES * config.beat_quads)
        burst = self.bursts.payload
        access = Signal(access_layout(config), reset_less=True)
        active = Signal()
        word = Signal(config.address_bits - 2, reset_less=True)  # of the line's first byte
        is_rest = Signal()  # of a line that crosses a boundary

        extent = Signal(7, reset_less=True)  # of the line, in 8 bytes, less one
        last_word = Cat(Const(1, 1), extent)  # of the line, from its first
        page_word, page = word[: _PAGE_BITS - 2], word[_PAGE_BITS - 2 :]
        in_page = page_word[offset_bits - 2 :]
        goes_on = Signal()
        last_beat = Signal(7)
        passes_page = Signal(reset_less=True)  # the line on offer goes beyond the end of its page
        crosses = Signal()
        taken = Signal()
        next_line = Signal()
        asked = self.access.payload
        geometry = asked.geometry
        size_log2 = geometry.line_log2 + Mux(asked.contiguous, geometry.lines_log2, 0)
        lines_less_one = Mux(asked.contiguous, 0, (1 << geometry.lines_log2) - 1)[:5]
        is_last = is_last_beat(m, lines_less_one, begin=self.access.ready, step=next_line)
        end = (page_word + last_word)[offset_bits - 2 : _PAGE_BITS - 2]
        m.d.comb += [
            goes_on.eq((word[: offset_bits - 2] + last_word[: offset_bits - 2])[-1]),
            last_beat.eq(last_word[offset_bits - 2 :] + goes_on),
            crosses.eq(passes_page & ~is_rest),
            burst.space.eq(access.space),
            burst.address.eq(
                Cat(
                    Const(0, offset_bits),
                    in_page & ~is_rest.replicate(len(in_page)),
                    page + is_rest,
                )
            ),
            burst.length.eq(Mux(passes_page, Mux(is_rest, end, ~in_page), last_beat)),
            self.bursts.valid.eq(active),
            taken.eq(self.bursts.valid & self.bursts.ready),
            next_line.eq(taken & ~crosses),
            self.ends.eq(~crosses & is_last),
            self.access.ready.eq(~active | (taken & self.ends)),
        ]
        if config.shared_bytes:
            room: Value = Const(1)
            if finds_rows(config):
                quad_bits = len(self.row_quads.payload)
                m.submodules.row_quads = row_quads = Queue(unsigned(quad_bits), _ROWS_IN_FLIGHT)
                connect(m, row_quads.output, flipped(self.row_quads))
                room = row_quads.input.ready
                m.d.comb += [
                    row_quads.input.payload.eq(self.rows.payload[offset_bits - quad_bits :]),
                    row_quads.input.valid.eq(taken & access.listed),
                ]
            with m.If(access.listed):
                m.d.comb += [
                    self.bursts.valid.eq(active & self.rows.valid & room),
                    burst.address.eq(Cat(Const(0, offset_bits), self.rows.payload[offset_bits:])),
                    self.rows.ready.eq(taken),
                ]

        with m.If(taken):
            m.d.sync += is_rest.eq(crosses)
        next_word = (word + access.stride[2:])[: len(word)]
        asked_extent = ((1 << size_log2)[3:] - 1)[: len(extent)]
        with m.If(next_line):
            m.d.sync += [word.eq(next_word), passes_page.eq(_passes_page(next_word, extent))]
        with m.If(self.access.ready):
            m.d.sync += [
                active.eq(self.access.valid),
                extent.eq(asked_extent),
                access.eq(asked),
                word.eq(asked.address[2:]),
                passes_page.eq(_passes_page(asked.address[2:], asked_extent)),
            ]


def _passes_page(word: Value, extent: Value) -> Value:
    """Whether a line of so many 8 bytes, less one, ends in another page than it begins in."""
    return (word[: _PAGE_BITS - 2] + Cat(Const(1, 1), extent))[_PAGE_BITS - 2]
