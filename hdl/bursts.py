"""From the rows or columns of a fragment to the bursts of AXI4."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.geometry import CHUNK_BYTES

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
        Byte address of the first line, a multiple of 16.
    stride : unsigned(STRIDE_BITS)
        Bytes from one line to the next, a multiple of 16.
    lines_log2, chunks_log2 : unsigned
        How many lines, and 16-byte chunks in each.
    """
    return data.StructLayout(
        {
            "address": unsigned(config.address_bits),
            "stride": unsigned(STRIDE_BITS),
            "lines_log2": unsigned(3),
            "chunks_log2": unsigned(2),
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
        page_chunks = PAGE_BYTES // CHUNK_BYTES
        offset_bits = CHUNK_BYTES.bit_length() - 1
        page_bits = PAGE_BYTES.bit_length() - 1

        active = Signal()
        request = Signal(lines_layout(self._config))
        line_address = Signal(self._config.address_bits)
        address = Signal(self._config.address_bits)
        lines_left = Signal(6)
        chunks_left = Signal(4)
        to_boundary = Signal(range(page_chunks + 1))
        chunks = Signal(4)
        m.d.comb += [
            to_boundary.eq(page_chunks - address[offset_bits:page_bits]),
            chunks.eq(Mux(to_boundary < chunks_left, to_boundary, chunks_left)),
            self.bursts.payload.address.eq(address),
            self.bursts.payload.length.eq(chunks - 1),
            self.bursts.valid.eq(active),
            self.lines.ready.eq(~active),
        ]
        next_line = (line_address + request.stride)[: self._config.address_bits]
        with m.If(~active):
            with m.If(self.lines.valid):
                m.d.sync += [
                    request.eq(self.lines.payload),
                    line_address.eq(self.lines.payload.address),
                    address.eq(self.lines.payload.address),
                    lines_left.eq(1 << self.lines.payload.lines_log2),
                    chunks_left.eq(1 << self.lines.payload.chunks_log2),
                    active.eq(1),
                ]
        with m.Elif(self.bursts.ready):
            with m.If(chunks == chunks_left):
                m.d.sync += [
                    line_address.eq(next_line),
                    address.eq(next_line),
                    lines_left.eq(lines_left - 1),
                    chunks_left.eq(1 << request.chunks_log2),
                    active.eq(lines_left != 1),
                ]
            with m.Else():
                m.d.sync += [
                    address.eq(address + (chunks << offset_bits)),
                    chunks_left.eq(chunks_left - chunks),
                ]
        return m
