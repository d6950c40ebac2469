"""The register map of the host interface, and what its constant registers read."""

from types import MappingProxyType
from typing import Final

from hdl.config import CoreConfig
from hdl.dot_product.operands import Multiplicand

__all__ = [
    "COUNTERS",
    "F64_FORMAT_BIT",
    "IDENTITY",
    "REGISTERS",
    "SHARED_WINDOW",
    "VERSION",
    "WINDOW",
    "constants",
]

IDENTITY: Final = 0x4F574D4D
"""What the IDENTITY register reads: ``OWMM``."""

VERSION: Final = 0x0000_0200
"""Major, minor and patch number of the register map, a byte each."""

WINDOW: Final = 0x8000
"""First byte of the fragment window: register r of lane l at ``WINDOW + 128 r + 4 l``."""

SHARED_WINDOW: Final = 0x4_0000
"""First byte of the window onto the on-chip memory."""

F64_FORMAT_BIT: Final = max(item.value for item in Multiplicand) + 1
"""The bit of FORMATS after those of `Multiplicand`."""

REGISTERS: Final = MappingProxyType(
    {
        "IDENTITY": 0x000,
        "VERSION": 0x004,
        "FORMATS": 0x008,
        "CONFIGURATION": 0x00C,
        "CONTROL": 0x010,
        "STATUS": 0x014,
        "FAULT_CAUSE": 0x018,
        "FAULT_INDEX": 0x01C,
        "FAULT_PROGRESS": 0x020,
        "INTERRUPT_ENABLE": 0x024,
        "MODE": 0x028,
        "INSTRUCTIONS": 0x030,
        "CYCLES": 0x038,
        "DOT_PRODUCT_CYCLES": 0x040,
        "READ_BEATS": 0x048,
        "WRITE_BEATS": 0x050,
        "COMMAND": 0x060,
        "UNITS": 0x080,
        "MEMORY": 0x084,
        "SHARED_SIZE": 0x088,
        "SHARED_BASE": 0x08C,
        "SHARED_BASE_HIGH": 0x090,
        "STALL_REGISTERS": 0x0A0,
        "STALL_MEMORY": 0x0A8,
        "STALL_UNIT": 0x0B0,
        "STALL_EMPTY": 0x0B8,
    }
)
"""Byte addresses of the host registers, below 256.

IDENTITY, VERSION
    Constants.
FORMATS
    One bit for each `Multiplicand` that the dot-product units compute; bit `F64_FORMAT_BIT` for f64.
CONFIGURATION
    Registers per lane in bits 15..0, dot-product units in 23..16, queue depth less one in 31..24.
UNITS
    f64 units in bits 7..0; in 15..8 the quads of a word of the register file, `CoreConfig.word_quads`.
MEMORY
    Address bits in bits 7..0, bytes of the data bus in 15..8, reads that may be outstanding in 23..16.
SHARED_SIZE, SHARED_BASE, SHARED_BASE_HIGH
    Bytes of the on-chip memory, zero for none, and the generic address of its first byte in two words.
CONTROL
    Writing 1 drops the queued commands and clears the fault; reads 0.
STATUS
    Bit 0: a command is in progress or queued; bit 1: a fault; bits 16..8: free places in the queue.
FAULT_CAUSE, FAULT_INDEX, FAULT_PROGRESS
    A `golden.tables.faults.Cause` or 0; the index of the command at fault; of a failed store, the bursts that
    the memory took before the first it refused. A serial core (`boards.serial_core`) has bursts of one word.
INTERRUPT_ENABLE
    Bit 0: raise the interrupt while idle; bit 1: raise it while there is a fault.
MODE
    Bit 0, serial: execute one command at a time. Refused with SLVERR while one is in progress or queued.
INSTRUCTIONS, CYCLES, DOT_PRODUCT_CYCLES, READ_BEATS, WRITE_BEATS
    64-bit counters, low word first: see `golden.machine.Counters`. Read the low word first: it latches the
    high one. A serial core counts the first two; the others, and the stalls, read 0 there.
STALL_REGISTERS, STALL_MEMORY, STALL_UNIT, STALL_EMPTY
    64-bit counters of cycles in which no command was dispatched: for its registers, for its memory, for
    its unit, or for want of a command.
COMMAND
    Five words. Writing word 0, the last one to be written, queues the command; on a full queue it is
    refused with SLVERR, and nothing is queued.
"""

COUNTERS: Final = (
    "INSTRUCTIONS",
    "CYCLES",
    "DOT_PRODUCT_CYCLES",
    "READ_BEATS",
    "WRITE_BEATS",
    "STALL_REGISTERS",
    "STALL_MEMORY",
    "STALL_UNIT",
    "STALL_EMPTY",
)
"""The 64-bit counters among the registers."""


def constants(config: CoreConfig) -> dict[str, int]:
    """What the registers read that say which core this is, by name."""
    formats = sum(1 << item.value for item in Multiplicand if item.name.lower() in config.formats)
    base = config.shared_base if config.shared_bytes else 0
    return {
        "IDENTITY": IDENTITY,
        "VERSION": VERSION,
        "FORMATS": formats | bool(config.f64_units) << F64_FORMAT_BIT,
        "CONFIGURATION": config.registers | config.dot_product_units << 16 | (config.queue_depth - 1) << 24,
        "UNITS": config.f64_units | config.word_quads << 8,
        "MEMORY": config.address_bits | config.data_bits // 8 << 8 | config.outstanding_reads << 16,
        "SHARED_SIZE": config.shared_bytes,
        "SHARED_BASE": base & 0xFFFF_FFFF,
        "SHARED_BASE_HIGH": base >> 32,
    }
