"""The configuration of a core: everything that has a size or can be left out, in one frozen object."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import ClassVar, Final

from golden.tables.instruction_set import CORE_FAMILIES, CORE_NARROW_FAMILIES, Family
from golden.tables.matrix_instructions import MmaInstruction, multiplies_of
from hdl.config_checks import checked_integer, require_class, require_power_of_two, require_range
from hdl.omma.widths import GROUP
from hdl.unit_config import DotProductConfig

__all__ = [
    "MAX_SHARED_BYTES",
    "MAX_WARPS",
    "PAGE_BYTES",
    "PRESETS",
    "QUADS",
    "REGISTER_BITS",
    "WARPS_OF_A_GROUP",
    "CoreConfig",
    "DotProductConfig",
]

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

_ALL = frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1", "fp8"})


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
    mxf4 : bool
        Whether it executes `kind::mxf4` and `kind::mxf4nvf4`, in a unit for sums of groups beside each
        dot-product unit.
    wgmma : bool
        Whether the core executes `wgmma`, with operands in the on-chip memory. Needs a multiple of
        four warps.

    Raises
    ------
    ValueError
        For a value out of its range, naming both; for fp8 as the only format; for `mxf4` with a profile that
        lacks it; for `sparse` without a format that has sparse multiplies.
    TypeError
        For a dot product of another class, and for `sparse`, `mxf4` or `wgmma` other than True or False.
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
    mxf4: bool = False
    wgmma: bool = False

    def __post_init__(self) -> None:
        require_class("Dot product", self.dot_product, DotProductConfig, "a DotProductConfig")
        for name in ("Sparse", "mxf4", "wgmma"):
            require_class(name, getattr(self, name.lower()), bool, "True or False")
        for item in fields(self):
            if item.type is int:
                value = checked_integer(item.name.replace("_", " ").capitalize(), getattr(self, item.name))
                object.__setattr__(self, item.name, value)
        require_power_of_two("Dot-product units", self.dot_product_units, 1, 64)
        if self.f64_units not in (0, 1, 2, 4):
            raise ValueError(f"f64 units must be 0, 1, 2 or 4 (they divide four lanes), not {self.f64_units}")
        require_range("f64 depth", self.f64_depth, self.f64_depths[0], self.f64_depths[-1])
        require_power_of_two("Registers", self.registers, 32, 256)
        most_warps = min((1 << REGISTER_BITS) // self.registers, MAX_WARPS)
        require_range(f"Warps with {self.registers} registers each", self.warps, 1, most_warps)
        require_power_of_two("Queue depth", self.queue_depth, 4, 256)
        require_range("Address bits", self.address_bits, 16, 64)
        require_power_of_two("Data bits", self.data_bits, 64, 512)
        require_range("Outstanding reads", self.outstanding_reads, 1, 64)
        profile = self.dot_product.profile
        if self.mxf4 and (profile.fp4_group != GROUP or profile.narrow_block is None):
            raise ValueError(f"mxf4 needs a profile that has it (blackwell), not {profile.name}")
        if self.dot_product.multiplicands == {"fp8"} and not self.f64_units:
            raise ValueError("Formats of a core must have loads and stores, which fp8 has not, not fp8 alone")
        if self.sparse and not any(family.is_sparse for family in self.families):
            formats = ", ".join(sorted(self.formats - {"sparse"}))
            raise ValueError(
                f"Sparse needs f16, bf16, tf32, i8, i4, mxf4, or fp8 of blackwell, not {formats} alone"
            )
        if self.shared_bytes % PAGE_BYTES or not 0 <= self.shared_bytes <= MAX_SHARED_BYTES:
            raise ValueError(
                f"Shared bytes must be a multiple of {PAGE_BYTES} up to {MAX_SHARED_BYTES}, "
                f"not {self.shared_bytes}"
            )
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
    def scales(self) -> bool:
        """Whether multiplies may have block scales."""
        return self.dot_product.block_scale or self.mxf4

    @property
    def has_side_operands(self) -> bool:
        """Whether multiplies may have metadata or block scales, which are read before they start."""
        return self.sparse or self.scales

    @property
    def formats(self) -> frozenset[str]:
        """Multiplicand formats of the whole core, and the names of its options: `multiplicand_formats`."""
        more = {
            "f64": self.f64_units,
            "sparse": self.sparse,
            "block_scale": self.dot_product.block_scale,
            "mxf4": self.mxf4,
        }
        return self.dot_product.formats | {name for name, has in more.items() if has}


_DEPTH: Final = 14
_F64_DEPTH: Final = 10
"""Of the presets' units: no core's clock needs a deeper one, but `small`'s with its options."""

PRESETS: Final[Mapping[str, CoreConfig]] = MappingProxyType(
    {
        "tiny": CoreConfig(
            dot_product=DotProductConfig(depth=_DEPTH), registers=32, queue_depth=4, outstanding_reads=2
        ),
        "small": CoreConfig(
            dot_product=DotProductConfig(formats=_ALL, depth=_DEPTH + 1),
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
