"""AXI4 and AXI4-Lite as signatures of streams, and their names as other tools expect them."""

from amaranth.hdl import unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.memory.fragment_geometry import SEGMENT_BYTES

HOST_ADDRESS_BITS = 19
"""Width of an AXI4-Lite address: host registers, the fragment registers at 32 KiB, and in the upper half the
on-chip memory."""


class Response(enum.Enum, shape=2):
    """What AXI answers."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


def beat_bytes(config: CoreConfig) -> int:
    """Bytes of a beat, 2 ** AxSIZE: the whole bus, at most what loads and stores move in a cycle."""
    return min(config.data_bits // 8, SEGMENT_BYTES * config.beat_quads)


def burst_layout(config: CoreConfig) -> data.StructLayout:
    """One burst: its byte address, and its beats less one, as AXI4 counts them."""
    return data.StructLayout({"address": unsigned(config.address_bits), "length": unsigned(8)})


class Axi4Signature(wiring.Signature):
    """An AXI4 master port without ids: INCR bursts of beats of `beat_bytes`, answered in order.

    Members
    -------
    ar, aw : Out(stream of burst_layout(config))
    r : In(stream of data, resp, last)
    w : Out(stream of data, strb, last)
    b : In(stream of Response)
    """

    def __init__(self, config: CoreConfig) -> None:
        burst = burst_layout(config)
        width = config.data_bits
        read = data.StructLayout({"data": unsigned(width), "resp": unsigned(2), "last": unsigned(1)})
        write = data.StructLayout(
            {"data": unsigned(width), "strb": unsigned(width // 8), "last": unsigned(1)}
        )
        members = {
            "ar": Out(stream.Signature(burst)),
            "r": In(stream.Signature(read)),
            "aw": Out(stream.Signature(burst)),
            "w": Out(stream.Signature(write)),
            "b": In(stream.Signature(unsigned(2))),
        }
        super().__init__(members)


class Axi4LiteSignature(wiring.Signature):
    """An AXI4-Lite slave port of 32 data bits, as its master sees it.

    Members
    -------
    aw, ar : Out(stream of unsigned(HOST_ADDRESS_BITS))
    w : Out(stream of data, strb)
    b : In(stream of Response)
    r : In(stream of data, resp)
    """

    def __init__(self) -> None:
        write = data.StructLayout({"data": unsigned(32), "strb": unsigned(4)})
        read = data.StructLayout({"data": unsigned(32), "resp": unsigned(2)})
        members = {
            "aw": Out(stream.Signature(unsigned(HOST_ADDRESS_BITS))),
            "w": Out(stream.Signature(write)),
            "b": In(stream.Signature(unsigned(2))),
            "ar": Out(stream.Signature(unsigned(HOST_ADDRESS_BITS))),
            "r": In(stream.Signature(read)),
        }
        super().__init__(members)
