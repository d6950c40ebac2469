"""AXI4 and AXI4-Lite as signatures of streams, and their names as other tools expect them."""

from amaranth.hdl import unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.memory.bursts import burst_layout

__all__ = ["HOST_ADDRESS_BITS", "Axi4LiteSignature", "Axi4Signature", "Response"]

HOST_ADDRESS_BITS = 16
"""Width of an AXI4-Lite address: registers in the lower half, the fragment window in the upper."""


class Response(enum.Enum, shape=2):
    """What AXI answers."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


class Axi4Signature(wiring.Signature):
    """An AXI4 master port without ids: INCR bursts of full-width beats, answered in order.

    Parameters
    ----------
    config : CoreConfig

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
        super().__init__(
            {
                "ar": Out(stream.Signature(burst)),
                "r": In(stream.Signature(read)),
                "aw": Out(stream.Signature(burst)),
                "w": Out(stream.Signature(write)),
                "b": In(stream.Signature(unsigned(2))),
            }
        )


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
        super().__init__(
            {
                "aw": Out(stream.Signature(unsigned(HOST_ADDRESS_BITS))),
                "w": Out(stream.Signature(write)),
                "b": In(stream.Signature(unsigned(2))),
                "ar": Out(stream.Signature(unsigned(HOST_ADDRESS_BITS))),
                "r": In(stream.Signature(read)),
            }
        )
