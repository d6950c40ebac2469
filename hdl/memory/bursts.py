"""From the rows or columns of a fragment to the bursts of AXI4."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.memory.geometry import CHUNK_BYTES

__all__ = ["STRIDE_BITS", "BurstGenerator", "burst_layout", "lines_layout"]

STRIDE_BITS = 35
"""Bits of a stride in bytes: 32 bits of elements of up to eight bytes."""

PAGE_BYTES = 4096
"""No AXI4 burst crosses a multiple of this."""


def lines_layout(config: CoreConfig) -> data.StructLayout:
    """The lines of one fragment.

    Members
    -------
    address : unsigned(address_bits)
        Byte address of the first line, a multiple of 4.
    stride : unsigned(STRIDE_BITS)
        Bytes from one line to the next, a multiple of 4.
    lines_log2, line_log2 : unsigned(3)
        How many lines, and bytes in each.
    """
    return data.StructLayout(
        {
            "address": unsigned(config.address_bits),
            "stride": unsigned(STRIDE_BITS),
            "lines_log2": unsigned(3),
            "line_log2": unsigned(3),
        }
    )


def burst_layout(config: CoreConfig) -> data.StructLayout:
    """One burst: its byte address, and its beats less one, as AXI4 counts them."""
    return data.StructLayout({"address": unsigned(config.address_bits), "length": unsigned(8)})


class BurstGenerator(wiring.Component):
    """One INCR burst for each line, two where a line crosses a 4 KiB boundary.

    Throughput: a burst per cycle. Latency: one cycle from the request to the first burst.
    Critical path expected: beats to the boundary, minimum, remaining beats.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    lines : In(stream.Signature(lines_layout(config)))
        Taken when the bursts of the one before have all been taken.
    bursts : Out(stream.Signature(burst_layout(config)))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "lines": In(stream.Signature(lines_layout(config))),
                "bursts": Out(stream.Signature(burst_layout(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        page_beats = PAGE_BYTES // CHUNK_BYTES
        offset_bits = CHUNK_BYTES.bit_length() - 1
        page_bits = PAGE_BYTES.bit_length() - 1

        active = Signal()
        request = Signal(lines_layout(self._config))
        line_address = Signal(self._config.address_bits)
        address = Signal(self._config.address_bits)
        lines_left = Signal(6)
        beats_left = Signal(4)
        lines = Signal(lines_layout(self._config))
        to_boundary = Signal(range(page_beats + 1))
        beats = Signal(4)
        m.d.comb += [
            to_boundary.eq(page_beats - address[offset_bits:page_bits]),
            beats.eq(Mux(to_boundary < beats_left, to_boundary, beats_left)),
            self.bursts.payload.address.eq(Cat(Const(0, offset_bits), address[offset_bits:])),
            self.bursts.payload.length.eq(beats - 1),
            self.bursts.valid.eq(active),
            self.lines.ready.eq(~active),
        ]
        next_line = Signal(self._config.address_bits)
        m.d.comb += [
            lines.eq(Mux(active, request, self.lines.payload)),
            next_line.eq(Mux(active, line_address + request.stride, self.lines.payload.address)),
        ]
        # Beats that hold the next line, which may begin and end within one.
        next_beats = Signal(4)
        lanes = Signal(6)
        m.d.comb += [
            lanes.eq((1 << lines.line_log2) >> 2),
            next_beats.eq((lanes + next_line[2:offset_bits] + 3) >> 2),
        ]
        with m.If(~active):
            with m.If(self.lines.valid):
                m.d.sync += [
                    request.eq(self.lines.payload),
                    line_address.eq(next_line),
                    address.eq(next_line),
                    lines_left.eq(1 << self.lines.payload.lines_log2),
                    beats_left.eq(next_beats),
                    active.eq(1),
                ]
        with m.Elif(self.bursts.ready):
            with m.If(beats == beats_left):
                m.d.sync += [
                    line_address.eq(next_line),
                    address.eq(next_line),
                    lines_left.eq(lines_left - 1),
                    beats_left.eq(next_beats),
                    active.eq(lines_left != 1),
                ]
            with m.Else():
                m.d.sync += [
                    address.eq(address + (beats << offset_bits)),
                    beats_left.eq(beats_left - beats),
                ]
        return m
