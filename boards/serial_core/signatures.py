"""The ports at which a serial core's units meet: its registers, and the memory beside it."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from boards.serial_core.serial_config import WORD_BYTES, SerialConfig
from boards.serial_core.walk_geometry import LANE_BITS
from hdl.config import CoreConfig

__all__ = ["memory_signature", "register_read_signature", "register_write_signature", "word_address_bits"]


def word_address_bits(config: SerialConfig) -> int:
    """Bits of the number of a register word: its lane in the low bits, its register above."""
    return config.registers.bit_length() - 1 + LANE_BITS


def register_read_signature(config: SerialConfig) -> wiring.Signature:
    """A read port of the registers as its user drives it.

    Members
    -------
    enable : Out(1)
    address : Out(word_address_bits(config))
    data : In(32)
        One cycle later, and until the next read.
    """
    return wiring.Signature(
        {"enable": Out(1), "address": Out(word_address_bits(config)), "data": In(8 * WORD_BYTES)}
    )


def register_write_signature(config: SerialConfig) -> wiring.Signature:
    """A write port of the registers as its user drives it.

    Members
    -------
    bytes : Out(4)
        Which bytes of the word are written.
    address : Out(word_address_bits(config))
    data : Out(32)
    """
    return wiring.Signature(
        {
            "bytes": Out(WORD_BYTES),
            "address": Out(word_address_bits(config)),
            "data": Out(8 * WORD_BYTES),
        }
    )


def memory_signature(config: CoreConfig) -> wiring.Signature:
    """The port of the memory as the core drives it; it never waits.

    Members
    -------
    address : Out(address_bits)
        Of a byte; the word that it is in is accessed.
    missing : In(1)
        Nothing has the address; in the same cycle.
    enable : Out(1)
        Read, or write, the word at `address`. Nothing happens where it is missing.
    write : Out(1)
    data : Out(32)
    read_data : In(32)
        One cycle after `enable` of a read, for one cycle.
    """
    width = 8 * WORD_BYTES
    return wiring.Signature(
        {
            "address": Out(config.address_bits),
            "missing": In(1),
            "enable": Out(1),
            "write": Out(1),
            "data": Out(width),
            "read_data": In(width),
        }
    )
