"""The configuration of a core: everything that has a size or can be left out, in one frozen object."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from golden.instruction_set import FAMILIES, Family
from golden.profiles import HOPPER, Profile

__all__ = ["PRESETS", "CoreConfig", "DotProductConfig"]

_FORMATS: Final = MappingProxyType(
    {
        "f16": "f16",
        "bf16": "bf16",
        "tf32": "tf32",
        "f64": "f64",
        "integer": "i8",
        "sub-byte": "i4",
        "single-bit": "b1",
        "mma.m8n8k16": "i8",
    }
)

_MULTIPLICANDS = ("f16", "bf16", "tf32", "i8", "i4", "b1")
_ALL = frozenset(_MULTIPLICANDS)


@dataclass(frozen=True, kw_only=True)
class DotProductConfig:
    """The configuration of one dot-product unit.

    Parameters
    ----------
    formats : frozenset of str
        Multiplicand formats the unit computes: of ``f16``, ``bf16``, ``tf32``, ``i8``, ``i4``, ``b1``.
        What is left out costs nothing.
    profile : Profile
        Constants of the floating-point arithmetic.

    Raises
    ------
    ValueError
        For an empty set or an unknown format.
    """

    formats: frozenset[str] = frozenset({"f16"})
    profile: Profile = HOPPER

    def __post_init__(self) -> None:
        unknown = sorted(set(self.formats) - set(_MULTIPLICANDS))
        if unknown:
            raise ValueError(f"Formats must be among {', '.join(_MULTIPLICANDS)}, not {', '.join(unknown)}")
        if not self.formats:
            raise ValueError("Formats must name at least one format, not none")


@dataclass(frozen=True, kw_only=True)
class CoreConfig:
    """The configuration of a whole core.

    Parameters
    ----------
    dot_product : DotProductConfig
        What each dot-product unit computes.
    dot_product_units : int
        Results per cycle: 1, 2 or 4.
    double_units : int
        Fused multiply-add units for f64: 0 or 1.
    registers : int
        32-bit registers per lane: a power of two from 32 to 256.
    queue_depth : int
        Commands the host may have waiting: a power of two from 4 to 256.
    address_bits : int
        Width of an AXI address: 16 to 64.
    data_bits : int
        Width of the AXI data bus.
    outstanding_reads : int
        AXI read bursts under way at once: 1 to 16.

    Raises
    ------
    ValueError
        For a value out of its range, naming the value and the range.
    """

    dot_product: DotProductConfig = field(default_factory=DotProductConfig)
    dot_product_units: int = 1
    double_units: int = 0
    registers: int = 64
    queue_depth: int = 16
    address_bits: int = 32
    data_bits: int = 128
    outstanding_reads: int = 8

    def __post_init__(self) -> None:
        if self.double_units not in (0, 1):
            raise ValueError(f"Double units must be 0 or 1, not {self.double_units}")
        if self.dot_product_units not in (1, 2, 4):
            raise ValueError(f"Dot-product units must be 1, 2 or 4, not {self.dot_product_units}")
        _require_power_of_two("Registers", self.registers, 32, 256)
        _require_power_of_two("Queue depth", self.queue_depth, 4, 256)
        if not 16 <= self.address_bits <= 64:
            raise ValueError(f"Address bits must be from 16 to 64, not {self.address_bits}")
        if self.data_bits != 128:
            raise ValueError(f"Data bits must be 128, not {self.data_bits}")
        if not 1 <= self.outstanding_reads <= 16:
            raise ValueError(f"Outstanding reads must be from 1 to 16, not {self.outstanding_reads}")

    @property
    def families(self) -> tuple[Family, ...]:
        """The rows of the instruction tables that the core executes."""
        return tuple(family for family in FAMILIES if _FORMATS[family.name] in self.formats)

    @property
    def formats(self) -> frozenset[str]:
        """Multiplicand formats of the whole core: those of the dot-product units, and ``f64``."""
        return self.dot_product.formats | ({"f64"} if self.double_units else frozenset())


def _require_power_of_two(name: str, value: int, least: int, most: int) -> None:
    if value & (value - 1) or not least <= value <= most:
        raise ValueError(f"{name} must be a power of two from {least} to {most}, not {value}")


PRESETS: Final[Mapping[str, CoreConfig]] = MappingProxyType(
    {
        "tiny": CoreConfig(registers=32, queue_depth=4, outstanding_reads=2),
        "small": CoreConfig(dot_product=DotProductConfig(formats=_ALL), double_units=1),
        "standard": CoreConfig(
            dot_product=DotProductConfig(formats=_ALL), dot_product_units=4, double_units=1
        ),
    }
)
"""Ready-made configurations by name: f16 alone, all formats on one unit, all formats on four."""
