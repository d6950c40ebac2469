"""The fragment registers of a serial core."""

from amaranth.hdl import Module, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In

from boards.serial_core.serial_config import WORD_BYTES, SerialConfig
from boards.serial_core.signatures import register_read_signature, register_write_signature, word_address_bits

__all__ = ["SerialRegisters"]


class SerialRegisters(wiring.Component):
    """One word of 32 bits after the other: register r of lane l is word ``32 r + l``.

    Single bytes can be written, so that what memory has a byte at a time needs no gathering. With 64
    registers it takes 16 block RAMs of an iCE40, each two bits wide, and no logic.

    Throughput: one word read and one written per cycle. Latency: 1 cycle. A word read in the cycle in which
    it is written comes back as it was before.

    Parameters
    ----------
    config : SerialConfig

    Members
    -------
    read : In(register_read_signature(config))
    write : In(register_write_signature(config))

    Testbench
    ---------
    cocotb_tests/boards/serial_core/test_serial_core.py, through `SerialCore`.
    """

    def __init__(self, config: SerialConfig) -> None:
        self._config = config
        super().__init__(
            {
                "read": In(register_read_signature(config)),
                "write": In(register_write_signature(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        m.submodules.memory = memory = Memory(
            shape=unsigned(8 * WORD_BYTES), depth=1 << word_address_bits(self._config), init=[]
        )
        write_port, read_port = memory.write_port(granularity=8), memory.read_port()
        m.d.comb += [
            write_port.en.eq(self.write.bytes),
            write_port.addr.eq(self.write.address),
            write_port.data.eq(self.write.data),
            read_port.en.eq(self.read.enable),
            read_port.addr.eq(self.read.address),
            self.read.data.eq(read_port.data),
        ]
        return m
