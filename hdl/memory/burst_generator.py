"""From the rows or columns of a fragment to bursts of whole beats."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import PAGE_BYTES, CoreConfig
from hdl.memory.beats import access_layout, space_burst_layout
from hdl.memory.fragment_geometry import SEGMENT_BYTES, log2_exact

__all__ = ["BurstGenerator"]

_OFFSET_BITS = log2_exact(SEGMENT_BYTES)
_PAGE_BITS = log2_exact(PAGE_BYTES)


class BurstGenerator(wiring.Component):
    """One INCR burst for each line, or for all of them where they are one run; two at a 4 KiB boundary.

    A run or line is shorter than a page, so one boundary at most lies within it: it is split into what is
    left of the page and the rest. What is as long as 2^k beats takes one more only if it begins within one,
    so its beats less one are 2^k - 1 or 2^k. Their sum with the first beat's place in its page says by its
    carry whether the line crosses, and by the other bits how many beats less one lie behind the boundary.

    Throughput: a burst per cycle; from one fragment to the next without a gap. Latency: one cycle from the
    access to its first burst. `access.ready` depends on `bursts.ready`, so a queue belongs before it.
    Expected critical path: a sum of 8 bits, then the number of beats.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    access : In(stream.Signature(access_layout(config)))
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
            "access": In(stream.Signature(access_layout(config))),
            "bursts": Out(stream.Signature(space_burst_layout(config))),
            "ends": Out(1),
        }
        if config.shared_bytes:
            members["rows"] = In(stream.Signature(unsigned(config.address_bits)))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        burst = self.bursts.payload
        access = Signal(access_layout(self._config))
        geometry = access.geometry
        active = Signal()
        address = Signal(self._config.address_bits)  # of the line
        line = Signal(5)
        is_rest = Signal()  # of a line that crosses a boundary

        size_log2 = Signal(4)
        short = Signal()
        begins_within = Signal()
        beats = Signal(7)
        last_beat = Signal(7)
        in_page = Signal(_PAGE_BITS - _OFFSET_BITS)
        end = Signal(_PAGE_BITS - _OFFSET_BITS + 1)
        crosses = Signal()
        taken = Signal()
        m.d.comb += [
            size_log2.eq(geometry.line_log2 + Mux(access.contiguous, geometry.lines_log2, 0)),
            short.eq(size_log2 < _OFFSET_BITS),
            begins_within.eq(Mux(short, address[2:_OFFSET_BITS] == 3, address[2:_OFFSET_BITS] != 0)),
            beats.eq(Mux(short, 1, 1 << (size_log2 - _OFFSET_BITS)[:3])),
            last_beat.eq(Mux(begins_within, beats, beats - 1)),
            in_page.eq(address[_OFFSET_BITS:_PAGE_BITS]),
            end.eq(in_page + last_beat),
            crosses.eq(end[-1] & ~is_rest),
            burst.space.eq(access.space),
            burst.address.eq(
                Cat(
                    Const(0, _OFFSET_BITS),
                    in_page & ~is_rest.replicate(len(in_page)),
                    address[_PAGE_BITS:] + is_rest,
                )
            ),
            burst.length.eq(Mux(is_rest, end[:-1], Mux(crosses, ~in_page, last_beat))),
            self.bursts.valid.eq(active),
            taken.eq(self.bursts.valid & self.bursts.ready),
            self.ends.eq(~crosses & (access.contiguous | (line == ((1 << geometry.lines_log2) - 1)[:5]))),
            self.access.ready.eq(~active | (taken & self.ends)),
        ]
        if self._config.shared_bytes:
            with m.If(access.listed):
                m.d.comb += [
                    self.bursts.valid.eq(active & self.rows.valid),
                    burst.address.eq(self.rows.payload),
                    self.rows.ready.eq(taken),
                ]

        with m.If(taken):
            m.d.sync += is_rest.eq(crosses)
            with m.If(~crosses):
                m.d.sync += [address.eq(address + access.stride), line.eq(line + 1)]
        with m.If(self.access.ready):
            m.d.sync += [
                active.eq(self.access.valid),
                access.eq(self.access.payload),
                address.eq(self.access.payload.address),
                line.eq(0),
            ]
        return m
