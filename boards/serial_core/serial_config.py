"""The configuration of a serial core."""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from golden.tables.instruction_set import Family
from hdl.config import CoreConfig, DotProductConfig

__all__ = ["SERIAL_FORMATS", "WORD_BYTES", "SerialConfig"]

SERIAL_FORMATS: Final = frozenset({"i8", "i4", "b1"})
"""What a serial core can multiply."""

WORD_BYTES: Final = 4
"""Bytes of a word: of a register in one lane, and of an access to memory."""

_WORD_ADDRESS_BITS: Final = 32
_FAMILIES: Final = frozenset({"integer", "sub-byte", "single-bit", "mma.m8n8k16"})
_FIXED: Final = {
    "dot_product_units": 1,
    "f64_units": 0,
    "data_bits": 8 * WORD_BYTES,
    "outstanding_reads": 1,
    "shared_bytes": 0,
    "warps": 1,
}


@dataclass(frozen=True, kw_only=True)
class SerialConfig(CoreConfig):
    """The configuration of a serial core, for whatever takes that of a core.

    Parameters
    ----------
    dot_product : DotProductConfig
        Formats among `SERIAL_FORMATS`; all of them unless said otherwise.
    registers, queue_depth : int
        As of every core.
    address_bits : int
        Width of an address: 16 to 32.
    dot_product_units, f64_units, data_bits, outstanding_reads, shared_bytes, warps : int
        What the core says of itself: it has one unit for integers, none for f64, a memory of 32-bit words,
        one access at a time, no on-chip memory of its own and one warp. Other values are refused.

    Raises
    ------
    ValueError
        For a value out of its range, naming the value and the range.
    """

    least_data_bits: ClassVar[int] = 8 * WORD_BYTES
    always_serial: ClassVar[bool] = True

    dot_product: DotProductConfig = field(default_factory=lambda: DotProductConfig(formats=SERIAL_FORMATS))
    data_bits: int = 8 * WORD_BYTES
    outstanding_reads: int = 1

    @property
    def families(self) -> tuple[Family, ...]:
        """The rows of the instruction tables that a serial core executes: of `mma`, m8n8k16 alone."""
        return tuple(family for family in super().families if family.name in _FAMILIES)

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = sorted(self.formats - SERIAL_FORMATS - {"f64"})
        if unknown:
            raise ValueError(
                f"Formats of a serial core must be among {', '.join(sorted(SERIAL_FORMATS))}, "
                f"not {', '.join(unknown)}"
            )
        for name, value in _FIXED.items():
            if getattr(self, name) != value:
                what = name.replace("_", " ").capitalize()
                raise ValueError(f"{what} of a serial core must be {value}, not {getattr(self, name)}")
        if self.address_bits > _WORD_ADDRESS_BITS:
            raise ValueError(
                f"Address bits of a serial core must be from 16 to {_WORD_ADDRESS_BITS}, "
                f"not {self.address_bits}"
            )
