"""The fragment register file: 32 lanes of 32-bit registers, as a warp sees them."""

from amaranth.hdl import Module, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig

__all__ = ["QUADS", "WORD_BITS", "RegisterFile", "register_read_signature", "register_write_signature"]

QUADS = 8
"""Words of one register: groups of four lanes."""

WORD_BITS = 128
"""Bits of a word: one register of the four lanes of a quad, the lowest lane in the low bits."""


def register_write_signature(config: CoreConfig) -> wiring.Signature:
    """The write port as its user drives it.

    Members
    -------
    enable : Out(1)
    address : Out(log2(registers) + 3)
        Register times 8 plus quad.
    data : Out(ArrayLayout(32, 4))
        One 32-bit value per lane of the quad.
    lanes : Out(4)
        The lanes to be written.
    """
    return wiring.Signature(
        {
            "enable": Out(1),
            "address": Out(_address_bits(config)),
            "data": Out(data.ArrayLayout(unsigned(32), 4)),
            "lanes": Out(4),
        }
    )


def register_read_signature(config: CoreConfig) -> wiring.Signature:
    """The read port as its user drives it; `data` is valid one cycle after `enable` and then holds.

    Members
    -------
    enable : Out(1)
    address : Out(log2(registers) + 3)
        Register times 8 plus quad.
    data : In(ArrayLayout(32, 4))
    """
    return wiring.Signature(
        {
            "enable": Out(1),
            "address": Out(_address_bits(config)),
            "data": In(data.ArrayLayout(unsigned(32), 4)),
        }
    )


def _address_bits(config: CoreConfig) -> int:
    return (config.registers * QUADS - 1).bit_length()


class RegisterFile(wiring.Component):
    """Registers in words of a quad: lanes ``4 g .. 4 g + 3`` of one register.

    The fragment layouts make that word the natural unit: of a multiplicand it is one contiguous run of
    k of a row of A or a column of B, of an accumulator four results that one dot-product unit makes in turn.
    One block RAM deep and four wide holds 64 registers, on the smallest FPGA too.

    Throughput one word read and one written per cycle; latency one cycle. A word read in the cycle
    in which it is written comes back as it was before.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    write : In(register_write_signature(config))
    read : In(register_read_signature(config))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "write": In(register_write_signature(config)),
                "read": In(register_read_signature(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        m.submodules.memory = memory = Memory(
            shape=unsigned(WORD_BITS), depth=self._config.registers * QUADS, init=[]
        )
        write_port = memory.write_port(granularity=32)
        read_port = memory.read_port()
        m.d.comb += [
            write_port.en.eq(self.write.lanes & self.write.enable.replicate(4)),
            write_port.addr.eq(self.write.address),
            write_port.data.eq(self.write.data),
            read_port.en.eq(self.read.enable),
            read_port.addr.eq(self.read.address),
            self.read.data.eq(read_port.data),
        ]
        return m
