"""The configuration of a core: everything that has a size or can be left out, in one frozen object."""

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Final

from golden.tables.instruction_set import CORE_FAMILIES, CORE_NARROW_FAMILIES, Family
from golden.tables.matrix_instructions import MmaInstruction, multiplies_of
from golden.tables.profiles import HOPPER, Profile

MULTIPLIERS: Final = 16
"""Multipliers of one dot-product unit."""

QUADS: Final = 8
"""Groups of four lanes in a warp."""

REGISTER_BITS: Final = 11
"""Of the number of a register among the registers of all warps: as many as a multiprocessor of compute
capability 9.0 has."""

MAX_WARPS: Final = 16

WARPS_OF_A_GROUP: Final = 4
"""Warps that share B in `wgmma`."""

PAGE_BYTES: Final = 4096
"""No AXI4 burst crosses a multiple of this; memories begin and end at one."""

MAX_SHARED_BYTES: Final = 228 * 1024
"""The shared memory of a multiprocessor of compute capability 9.0."""

_MAX_BITS: Final = 64
"""Of an integer in a configuration."""

_ALL = frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1", "fp8"})
_SMALL = ("fp6", "fp4")
_MULTIPLICANDS = ("f16", "bf16", "tf32", "i8", "i4", "b1", "fp8", *_SMALL)

_FP8_CONSTANTS: Final = ((32, 13, 25), (32, 25, 25))
"""Products of fp8 in one block, their fraction bits, and the fraction bits of f16, of the datapath."""


@dataclass(frozen=True, kw_only=True)
class DotProductConfig:
    """The configuration of one dot-product unit.

    Parameters
    ----------
    formats : frozenset of str
        Multiplicand formats the unit computes: of ``f16``, ``bf16``, ``tf32``, ``i8``, ``i4``, ``b1``,
        ``fp8``, which is both e4m3 and e5m2, ``fp6``, which is both e3m2 and e2m3, and ``fp4``, which is
        e2m1. What is left out costs nothing.
    profile : Profile
        Constants of the floating-point arithmetic.
    block_scale : bool
        Whether products of fp8, fp6 and fp4 may have a scale of ue8m0 for A and one for B.
    depth : int
        Cycles from operands to result: 1 to 26. Fewer need fewer flip-flops and a slower clock.

    Raises
    ------
    ValueError
        For an empty set, an unknown format, a depth out of its range, or a profile that lacks one of the
        formats or has constants for which the datapath has no room. `volta` and `turing` have no tf32; only
        `hopper` and `blackwell` have fp8, only `blackwell` has fp6, fp4 and block scales, and these need fp8.
    TypeError
        For formats and a profile of other classes.
    """

    depths: ClassVar[range] = range(1, 27)
    """One cycle in the queue behind the arithmetic, and one for each of its 25 cuts that holds registers."""

    formats: frozenset[str] = frozenset({"f16"})
    profile: Profile = HOPPER
    block_scale: bool = False
    depth: int = depths[-1]

    def __post_init__(self) -> None:
        _require_class("Profile", self.profile, Profile, "a Profile")
        _require_class("Formats", self.formats, frozenset | set, "a set of texts")
        for name in self.formats:
            _require_class("A format", name, str, "a text")
        object.__setattr__(self, "formats", frozenset(self.formats))
        unknown = sorted(set(self.formats) - set(_MULTIPLICANDS))
        if unknown:
            raise ValueError(f"Formats must be among {', '.join(_MULTIPLICANDS)}, not {', '.join(unknown)}")
        if not self.formats:
            raise ValueError("Formats must name at least one format, not none")
        object.__setattr__(self, "depth", _integer("Depth", self.depth))
        _require_range("Depth", self.depth, self.depths[0], self.depths[-1])
        self._check_profile()

    def _check_profile(self) -> None:
        profile = self.profile
        _require_range("Fraction bits", profile.fraction_bits, 23, 25)
        _require_range("Products of f16 in one block", profile.half_block, 1, MULTIPLIERS)
        margin = profile.exponent_margin
        if self.formats & {"bf16", "tf32"} and margin is not None and not 0 <= margin <= 7:
            raise ValueError(
                f"bf16 and tf32 need a least Emax 0 to 7 below the least f32 exponent or none, not {margin}"
            )
        most = MULTIPLIERS // 2
        for block in (profile.tf32_block, profile.tf32_mma_block) if "tf32" in self.formats else ():
            if block is None:
                raise ValueError(f"tf32 needs a profile that has tf32 (ampere and newer), not {profile.name}")
            _require_range("Products of tf32 in one block", block, 1, most)
        self._check_small()
        if "fp8" in self.formats:
            self._check_fp8()

    def _check_small(self) -> None:
        asked = [*sorted(self.small), *(["A block scale"] if self.block_scale else [])]
        for name in asked:
            if self.profile.narrow_block is None:
                raise ValueError(f"{name} needs a profile that has it (blackwell), not {self.profile.name}")
            if "fp8" not in self.formats:
                raise ValueError(f"{name} needs fp8, of which it has the datapath")

    def _check_fp8(self) -> None:
        profile = self.profile
        block = profile.narrow_block or profile.fp8_block
        if block is None:
            raise ValueError(
                "fp8 needs a profile whose fp8 arithmetic has been measured (hopper, blackwell), "
                f"not {profile.name}"
            )
        found = (block, self.fp8_fraction_bits, profile.fraction_bits)
        if found not in _FP8_CONSTANTS:
            allowed = " or ".join(map(str, _FP8_CONSTANTS))
            raise ValueError(
                "Products of fp8 in one block, their fraction bits and the fraction bits of f16 must be "
                f"{allowed}, not {found}"
            )

    @property
    def small(self) -> frozenset[str]:
        """Formats with containers of 8 bits that are not full."""
        return self.formats & frozenset(_SMALL)

    @property
    def multiplicands(self) -> frozenset[str]:
        """Formats between which operations choose; smaller elements are operations on fp8."""
        return self.formats - frozenset(_SMALL)

    @property
    def fp8_fraction_bits(self) -> int | None:
        """Fraction bits that sums of fp8, fp6 and fp4 keep."""
        profile = self.profile
        return profile.fraction_bits if profile.narrow_block else profile.fp8_fraction_bits

    @property
    def tf32_products(self) -> int:
        """Products of tf32 that a unit adds at once, in the longest block; 0 without tf32."""
        if "tf32" not in self.formats:
            return 0
        return max(self.profile.tf32_block or 0, self.profile.tf32_mma_block or 0)


@dataclass(frozen=True, kw_only=True)
class CoreConfig:
    """The configuration of a whole core.

    Parameters
    ----------
    dot_product : DotProductConfig
        What each dot-product unit computes.
    dot_product_units : int
        Results per cycle: a power of two from 1 to 64.
    f64_units : int
        Fused multiply-add units for f64: 0, 1, 2 or 4.
    f64_depth : int
        Cycles from operands to result of these units: 1 to 26.
    registers : int
        32-bit registers per lane of a warp: a power of two from 32 to 256.
    warps : int
        Warps, each with registers and a command queue of its own: 1 to 16, with at most 2048 registers in
        all.
    queue_depth : int
        Commands of a warp that the host may have waiting: a power of two from 4 to 256.
    address_bits : int
        Width of an AXI address: 16 to 64.
    data_bits : int
        Width of the AXI data bus: 64, 128, 256 or 512.
    outstanding_reads : int
        AXI read bursts in flight at once: 1 to 64.
    shared_bytes : int
        Size of the on-chip memory, the state space ``.shared``: a multiple of 4096 up to 228 KiB, 0 for none.
    shared_base : int
        Generic address of the first byte of the on-chip memory: a multiple of 4096.
    sparse : bool
        Whether it executes `mma.sp`, of each of its formats that has a sparse multiply.
    wgmma : bool
        Whether the core executes `wgmma`, with operands in the on-chip memory. Needs a multiple of
        four warps.

    Raises
    ------
    ValueError
        For a value out of its range, naming the value and the range, for fp8 as the only format, for block
        scales, and for `sparse` without a format that has sparse multiplies.
    TypeError
        For a dot product of another class, and for `sparse` other than True or False.
    """

    f64_depths: ClassVar[range] = range(1, 27)
    """Of an f64 unit, which has 25 cuts."""

    dot_product: DotProductConfig = field(default_factory=DotProductConfig)
    dot_product_units: int = 1
    f64_units: int = 0
    f64_depth: int = f64_depths[-1]
    registers: int = 64
    warps: int = 1
    queue_depth: int = 16
    address_bits: int = 32
    data_bits: int = 128
    outstanding_reads: int = 16
    shared_bytes: int = 0
    shared_base: int = 0xFF00_0000
    sparse: bool = False
    wgmma: bool = False

    def __post_init__(self) -> None:
        _require_class("Dot product", self.dot_product, DotProductConfig, "a DotProductConfig")
        _require_class("Sparse", self.sparse, bool, "True or False")
        for item in fields(self):
            if item.type is int:
                value = _integer(item.name.replace("_", " ").capitalize(), getattr(self, item.name))
                object.__setattr__(self, item.name, value)
        _require_power_of_two("Dot-product units", self.dot_product_units, 1, 64)
        if self.f64_units not in (0, 1, 2, 4):
            raise ValueError(f"f64 units must be 0, 1, 2 or 4 (they divide four lanes), not {self.f64_units}")
        _require_range("f64 depth", self.f64_depth, self.f64_depths[0], self.f64_depths[-1])
        _require_power_of_two("Registers", self.registers, 32, 256)
        most_warps = min((1 << REGISTER_BITS) // self.registers, MAX_WARPS)
        _require_range(f"Warps with {self.registers} registers each", self.warps, 1, most_warps)
        _require_power_of_two("Queue depth", self.queue_depth, 4, 256)
        _require_range("Address bits", self.address_bits, 16, 64)
        _require_power_of_two("Data bits", self.data_bits, 64, 512)
        _require_range("Outstanding reads", self.outstanding_reads, 1, 64)
        if self.dot_product.block_scale:
            raise ValueError("Block scale must be False in a core: it fetches no scales")
        if self.dot_product.multiplicands == {"fp8"} and not self.f64_units:
            raise ValueError("Formats of a core must have loads and stores, which fp8 has not, not fp8 alone")
        if self.sparse and not any(family.is_sparse for family in self.families):
            formats = ", ".join(sorted(self.formats - {"sparse"}))
            raise ValueError(f"Sparse needs a format among f16, bf16, tf32, i8 and i4, not {formats} alone")
        if self.shared_bytes % PAGE_BYTES or not 0 <= self.shared_bytes <= MAX_SHARED_BYTES:
            raise ValueError(
                f"Shared bytes must be a multiple of {PAGE_BYTES} up to {MAX_SHARED_BYTES}, "
                f"not {self.shared_bytes}"
            )
        _require_class("wgmma", self.wgmma, bool, "True or False")
        if self.wgmma and (self.warps % WARPS_OF_A_GROUP or not self.shared_bytes):
            raise ValueError(
                f"wgmma needs a multiple of {WARPS_OF_A_GROUP} warps and shared bytes, not {self.warps} "
                f"warps and {self.shared_bytes} shared bytes"
            )
        if not self.shared_bytes:
            return
        if self.shared_base % PAGE_BYTES or self.shared_base < 0:
            raise ValueError(f"Shared base must be a multiple of {PAGE_BYTES}, not {self.shared_base:#x}")
        if self.shared_base + self.shared_bytes > 1 << self.address_bits:
            raise ValueError(
                f"Shared base must leave room for {self.shared_bytes} bytes below 2**{self.address_bits}, "
                f"the end of the addresses; {self.shared_base:#x} does not"
            )

    @property
    def all_registers(self) -> int:
        """32-bit registers per lane of all warps: the size of the register file."""
        return self.registers * self.warps

    @property
    def memory_style(self) -> str:
        """What memories of 16 wide words are made of, for synthesis.

        With several dot-product units most block RAM is the row memories' and look-up tables are many.
        """
        return "block" if self.dot_product_units == 1 else "distributed"

    @property
    def word_quads(self) -> int:
        """Quads in a word of the register file.

        Half as many as there are dot-product units, but 1 for one unit, 2 for two, and at most 8. 256 results
        with f32 accumulators take 128 quads of operands: with 4, 8 or 16 units a word per cycle is just what
        these use up, and with fewer more than that.
        """
        units = self.dot_product_units
        return min(max(units // 2, min(units, 2)), QUADS)

    @property
    def beat_quads(self) -> int:
        """Quads, of 16 bytes, that loads and stores move in a cycle: a beat of bus and on-chip memory.

        At least one, and at most a word of the register file; of a wider bus, a beat takes some of the lanes.
        """
        return min(max(self.data_bits // 128, 1), self.word_quads)

    @property
    def word_registers(self) -> int:
        """Registers that the tile multiplier reads or writes at once: 1, or 2 with more than 16 units.

        64 units make 64 results a cycle, two registers of f32, and take as many of C.
        """
        return 2 if self.dot_product_units > 16 else 1

    @property
    def register_memories(self) -> int:
        """Memories in which registers lie in turns: 1, or 4 so that there is room for two writes of two."""
        return self.word_registers**2

    @property
    def families(self) -> tuple[Family, ...]:
        """The rows of the instruction tables that the core executes."""
        profile = self.dot_product.profile
        return tuple(
            family
            for family in (*CORE_FAMILIES, *CORE_NARROW_FAMILIES)
            if family.formats <= self.formats and profile.executes(family)
        )

    def multiplies(self) -> Iterator[MmaInstruction]:
        """Every combination of mnemonic, shape and types once; layouts do not matter to a multiply."""
        for family in self.families:
            operation = family.operations[0] if family.operations else None
            yield from dict.fromkeys(
                replace(instruction, saturate=False, rounding=None, operation=operation)
                for instruction in multiplies_of(family)
            )

    @property
    def formats(self) -> frozenset[str]:
        """Multiplicand formats of the whole core: of the dot-product units, and ``f64`` and ``sparse``."""
        more = {"f64": self.f64_units, "sparse": self.sparse}
        return self.dot_product.formats | {name for name, has in more.items() if has}


def _require_range(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ValueError(f"{name} must be from {least} to {most}, not {value}")


def _require_class(name: str, value: object, kind: Any, allowed: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {allowed}, not of type {type(value).__name__}")


def _integer(name: str, value: Any) -> int:
    """An integer, also numpy's; ValueError for another type, and for what no field could ever take."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise ValueError(f"{name} must be an integer, not of type {type(value).__name__}")
    if number.bit_length() > _MAX_BITS:
        raise ValueError(f"{name} must have at most {_MAX_BITS} bits, not {number.bit_length()}")
    return number


def _require_power_of_two(name: str, value: int, least: int, most: int) -> None:
    if value & (value - 1) or not least <= value <= most:
        raise ValueError(f"{name} must be a power of two from {least} to {most}, not {value}")


_DEPTH: Final = 14
_F64_DEPTH: Final = 10
"""Of the presets' units: no core's clock needs a deeper one."""

PRESETS: Final[Mapping[str, CoreConfig]] = MappingProxyType(
    {
        "tiny": CoreConfig(
            dot_product=DotProductConfig(depth=_DEPTH), registers=32, queue_depth=4, outstanding_reads=2
        ),
        "small": CoreConfig(
            dot_product=DotProductConfig(formats=_ALL, depth=_DEPTH),
            f64_units=1,
            f64_depth=_F64_DEPTH,
            shared_bytes=4 * PAGE_BYTES,
        ),
        "standard": CoreConfig(
            dot_product=DotProductConfig(formats=_ALL, depth=_DEPTH),
            dot_product_units=4,
            f64_units=1,
            f64_depth=_F64_DEPTH,
            registers=128,
            queue_depth=32,
            outstanding_reads=32,
            shared_bytes=16 * PAGE_BYTES,
        ),
        "large": CoreConfig(
            dot_product=DotProductConfig(formats=_ALL, depth=_DEPTH),
            dot_product_units=64,
            f64_units=4,
            f64_depth=_F64_DEPTH,
            registers=256,
            warps=8,
            queue_depth=64,
            outstanding_reads=64,
            data_bits=512,
            shared_bytes=MAX_SHARED_BYTES,
            wgmma=True,
        ),
    }
)
"""Ready-made configurations by name: f16 alone; all formats on one unit; all formats on four units; all
formats on 64 units, which is 1024 multiply-adds of f16 per cycle."""
