"""The registers of the host interface: their only declaration.

The hardware, the host's software, the JSON file and SystemRDL are derived from `REGISTER_MAP`.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from golden.tables.faults import Cause
from golden.tables.layouts import LANES
from golden.tables.profiles import PROFILES, Profile
from hdl.command import COMMAND_WORDS
from hdl.config import CoreConfig
from hdl.control.host.register_types import WORD_BITS, WORD_BYTES, Access, Field, Register

IDENTITY: Final = 0x4F574D4D
"""What the IDENTITY register reads: ``OWMM``."""

VERSION: Final = 0x0000_0500
"""Major, minor and patch number of the register map, a byte each."""

MAP_ADDRESS_BITS: Final = 8
"""Bits of the byte address of a register."""

WINDOW: Final = 0x8000
"""First byte of the window onto the fragment registers; see `lane_address`."""

SHARED_WINDOW: Final = 0x4_0000
"""First byte of the window onto the on-chip memory."""

OTHER_PROFILE: Final = "other"
"""Name of every profile that has no code."""

PROFILE_CODES: Final[Mapping[str, int]] = MappingProxyType(
    {OTHER_PROFILE: 0} | {name: code for code, name in enumerate(PROFILES, 1)}
)
"""What PROFILE.profile reads, by the name of the profile."""

_FORMATS: Final = (
    *("f16", "bf16", "tf32", "i8", "i4", "b1", "f64", "fp8", "sparse", "fp6", "fp4"),
    *("block_scale", "mxf4"),
)
"""Formats of the multiplicands, by their bits: append new ones at the end."""

_OPTIONS: Final = MappingProxyType(
    {
        "f64": "The f64 unit multiplies f64.",
        "sparse": "A may be 2:4 sparse.",
        "block_scale": "fp8, fp6 and fp4 may have block scales.",
        "mxf4": "Units for sums of groups multiply e2m1 with block scales.",
    }
)
"""What those mean that the dot-product unit does not multiply."""


def _format(name: str, bit: int) -> Field:
    meaning = _OPTIONS.get(name, f"The dot-product unit multiplies {name}.")
    return Field(name, bit, 1, meaning, lambda config: int(name in config.formats))


def profile_name(profile: Profile) -> str:
    """The name by which a core shows a profile: its own, or `OTHER_PROFILE`."""
    return profile.name if PROFILES.get(profile.name) == profile else OTHER_PROFILE


def _shared_base(config: CoreConfig) -> int:
    return config.shared_base if config.shared_bytes else 0


def _register(name: str, offset: int, meaning: str, *fields: Field, **rest: Any) -> Register:
    return Register(name, offset, meaning, fields, **rest)


_constant = partial(_register, constant=True)


def _counter(name: str, offset: int, meaning: str) -> Register:
    count = Field("count", 0, 2 * WORD_BITS, "Since the reset, modulo 2**64.")
    rule = " Read the low word first: that latches the high word."
    return _register(name, offset, meaning + rule, count, width=2 * WORD_BITS)


def _waits(name: str, offset: int, meaning: str) -> Register:
    return _counter(name, offset, f"Sum over all warps of the cycles in which {meaning}.")


_REGISTERS: Final = (
    _constant(
        *("IDENTITY", 0x000, "The same for every core of this project."),
        Field("identity", 0, 32, "The letters OWMM, the first one in the highest byte.", IDENTITY),
    ),
    _constant(
        *("VERSION", 0x004, "Version of this register map."),
        Field("patch", 0, 8, "Patch number.", VERSION & 0xFF),
        Field("minor", 8, 8, "Minor number.", VERSION >> 8 & 0xFF),
        Field("major", 16, 8, "Major number.", VERSION >> 16),
    ),
    _constant(
        *("FORMATS", 0x008, "Formats of the multiplicands."),
        *(_format(name, bit) for bit, name in enumerate(_FORMATS)),
    ),
    _constant(
        *("CONFIGURATION", 0x00C, "Sizes of the core."),
        Field("registers", 0, 16, "Registers of each lane of a warp.", lambda c: c.registers),
        Field("dot_product_units", 16, 8, "Dot-product units.", lambda c: c.dot_product_units),
        Field("queue_depth_less_one", 24, 8, "Depth of each queue, less one.", lambda c: c.queue_depth - 1),
    ),
    _register(
        *("CONTROL", 0x010, "Reads 0."),
        Field(
            *("clear", 0, 1),
            "Writing 1 drops the queued commands of the selected warp and clears its fault.",
            self_clearing=True,
        ),
        access=Access.READ_WRITE,
    ),
    _register(
        *("STATUS", 0x014, "State of the core."),
        Field("busy", 0, 1, "A command is in progress or queued."),
        Field("fault", 1, 1, "A command of any warp has failed; see FAULTS."),
        Field("free", 8, 9, "Commands that the queue of the selected warp takes.", lambda c: c.queue_depth),
    ),
    _register(
        *("FAULT_CAUSE", 0x018, "Why a command of the selected warp failed."),
        Field(
            *("cause", 0, 4, "Cause of the fault."),
            values=MappingProxyType({"NONE": 0} | {cause.name: cause.value for cause in Cause}),
        ),
    ),
    _register(
        *("FAULT_INDEX", 0x01C, "Which command of the selected warp failed."),
        Field("index", 0, 32, "Commands executed before it: the low word of INSTRUCTIONS."),
    ),
    _register(
        *("FAULT_PROGRESS", 0x020, "How much of a failed store of the selected warp was written."),
        Field("bursts", 0, 16, "Bursts that the memory took before the first it refused."),
    ),
    _register(
        *("INTERRUPT_ENABLE", 0x024, "When the interrupt is raised."),
        Field("idle", 0, 1, "While the core is idle."),
        Field("fault", 1, 1, "While there is a fault."),
        access=Access.READ_WRITE,
    ),
    _register(
        *("MODE", 0x028, "How commands are executed. A write is refused with SLVERR while the core is busy."),
        Field("serial", 0, 1, "Execute one command of each warp at a time."),
        access=Access.READ_WRITE,
    ),
    _register(
        *("WARP", 0x02C),
        "The warp that STATUS.free, FAULT_CAUSE, FAULT_INDEX, FAULT_PROGRESS, INSTRUCTIONS, CONTROL.clear "
        "and the window onto the registers are of. A warp that does not exist is refused with SLVERR.",
        Field("warp", 0, 4, "Number of the warp."),
        access=Access.READ_WRITE,
    ),
    _counter("INSTRUCTIONS", 0x030, "Commands executed by the selected warp."),
    _counter("CYCLES", 0x038, "Cycles in which a command was in progress."),
    _counter(
        "DOT_PRODUCT_CYCLES", 0x040, "Cycles in which a dot-product unit took operands, over all units."
    ),
    _counter("READ_BEATS", 0x048, "Beats of data read from memory."),
    _counter("WRITE_BEATS", 0x050, "Beats of data written to memory."),
    _register(
        *("COMMAND", 0x060),
        "The words of a command, as `hdl.command` encodes it. Writing word 0, the last one to be written, "
        "queues the command; on a full queue that write is refused with SLVERR, and nothing is queued. "
        "Words 1 to 4 keep their values for the next command, also over a reset. A command goes to the queue "
        "of the warp in bits 28 to 31 of word 0, or to warp 0, which refuses it, if there is none.",
        Field("word", 0, 32, "One word of the command."),
        access=Access.WRITE_ONLY,
        count=COMMAND_WORDS,
    ),
    _register(
        *("FAULTS", 0x074, "Which warps have failed."),
        Field(
            *("warps", 0, 16),
            "A bit for each warp: a command has failed. No further one is executed until CONTROL.clear.",
        ),
    ),
    _constant(
        *("UNITS", 0x080, "More sizes of the core."),
        Field("f64_units", 0, 8, "f64 units.", lambda c: c.f64_units),
        Field("word_quads", 8, 8, "Quads of lanes in a word of the register file.", lambda c: c.word_quads),
        Field("warps", 16, 8, "Warps.", lambda c: c.warps),
        Field("wgmma", 24, 1, "Whether `wgmma` is executed.", lambda c: int(c.wgmma)),
    ),
    _constant(
        *("MEMORY", 0x084, "Sizes of the memory port."),
        Field("address_bits", 0, 8, "Bits of an address.", lambda c: c.address_bits),
        Field("data_bytes", 8, 8, "Bytes of the data bus.", lambda c: c.data_bits // 8),
        Field("outstanding_reads", 16, 8, "Reads that may be outstanding.", lambda c: c.outstanding_reads),
    ),
    _constant(
        *("SHARED_SIZE", 0x088, "Size of the on-chip memory."),
        Field("bytes", 0, 32, "Bytes, 0 for none.", lambda c: c.shared_bytes),
    ),
    _constant(
        *("SHARED_BASE", 0x08C, "Generic address of the first byte of the on-chip memory, low word."),
        Field("low", 0, 32, "Bits 31 to 0.", lambda c: _shared_base(c) & 0xFFFF_FFFF),
    ),
    _constant(
        *("SHARED_BASE_HIGH", 0x090, "Generic address of the first byte of the on-chip memory, high word."),
        Field("high", 0, 32, "Bits 63 to 32.", lambda c: _shared_base(c) >> 32),
    ),
    _constant(
        *("PROFILE", 0x094, "Numerics profile of the dot-product units."),
        Field(
            *("profile", 0, 8, "Generation whose constants the floating-point arithmetic has."),
            lambda c: PROFILE_CODES[profile_name(c.dot_product.profile)],
            values=MappingProxyType({name.upper(): code for name, code in PROFILE_CODES.items()}),
        ),
    ),
    _register(
        *("BANK_CONFLICTS", 0x098, "Cycles in which `wgmma` read the on-chip memory and chunks had to wait."),
        Field("cycles", 0, 32, "Since the reset, modulo 2**32: of each request the cycles but the first."),
        exists=lambda config: config.wgmma,
    ),
    _waits("STALL_REGISTERS", 0x0A0, "its next command waited for its registers"),
    _waits("STALL_MEMORY", 0x0A8, "its next command waited for memory an earlier one uses"),
    _waits("STALL_UNIT", 0x0B0, "its next command waited for its unit"),
    _waits("QUEUE_EMPTY_CYCLES", 0x0B8, "a command was in progress, but none waited in the queue"),
)

REGISTER_MAP: Final[Mapping[str, Register]] = MappingProxyType({item.name: item for item in _REGISTERS})
"""Every register by its name, in the order of the addresses."""

REGISTERS: Final[Mapping[str, int]] = MappingProxyType({item.name: item.offset for item in _REGISTERS})
"""Byte address of each register."""

COUNTERS: Final = tuple(item.name for item in _REGISTERS if item.width > WORD_BITS)
"""The 64-bit counters among the registers; see `golden.machine.Counters`."""


def constants(config: CoreConfig) -> dict[str, int]:
    """What the constant registers of a core read, by name."""
    return {item.name: item.reset_value(config) for item in _REGISTERS if item.constant}


def lane_address(register: int, lane: int = 0) -> int:
    """Byte address of one lane of a fragment register in the window."""
    return WINDOW + WORD_BYTES * (LANES * register + lane)
