"""What a register description is made of: registers, and the fields inside them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from hdl.config import CoreConfig

WORD_BITS: Final = 32
"""Width of an access of the host."""

WORD_BYTES: Final = WORD_BITS // 8


class Access(Enum):
    """What a host may do with a register; anything else is answered with SLVERR and changes nothing."""

    READ_ONLY = "r"
    WRITE_ONLY = "w"
    READ_WRITE = "rw"


@dataclass(frozen=True)
class Field:
    """Some bits of a register. Bits of no field read 0, and what is written to them is ignored.

    Parameters
    ----------
    name : str
    low : int
        The lowest bit.
    width : int
        In bits.
    meaning : str
    reset : int or callable
        Value after reset, or a function from the configuration of the core to it.
    self_clearing : bool
        Writing 1 has an effect at once; the field always reads 0.
    values : mapping of str to int
        Names of values; empty where the field is a number.
    """

    name: str
    low: int
    width: int
    meaning: str
    reset: int | Callable[[CoreConfig], int] = 0
    self_clearing: bool = False
    values: Mapping[str, int] = field(default_factory=dict)

    @property
    def mask(self) -> int:
        """The bits of the field in its register."""
        return (1 << self.width) - 1 << self.low

    def extract(self, value: int) -> int:
        """The field in a value of its register."""
        return (value & self.mask) >> self.low

    def reset_value(self, config: CoreConfig) -> int:
        """Value after reset in a core of this configuration."""
        return self.reset(config) if callable(self.reset) else self.reset


@dataclass(frozen=True)
class Register:
    """A register of the host's address map.

    Parameters
    ----------
    name : str
    offset : int
        Byte address, a multiple of 4.
    meaning : str
    fields : tuple of Field
        In the order of their bits.
    access : Access
    width : int
        32, or 64 for two words, low word first.
    count : int
        Registers of this kind, one after the other.
    constant : bool
        Always reads the reset values of its fields.
    exists : callable
        Whether a core of a configuration has it.

    Raises
    ------
    ValueError
        For a misaligned offset, a width other than 32 and 64, and fields that overlap or do not fit.
    """

    name: str
    offset: int
    meaning: str
    fields: tuple[Field, ...]
    access: Access = Access.READ_ONLY
    width: int = WORD_BITS
    count: int = 1
    constant: bool = False
    exists: Callable[[CoreConfig], bool] = lambda _: True

    def __post_init__(self) -> None:
        if self.offset % WORD_BYTES:
            raise ValueError(
                f"Offset of {self.name} must be a multiple of {WORD_BYTES}, not {self.offset:#x}"
            )
        if self.width not in (WORD_BITS, 2 * WORD_BITS):
            raise ValueError(f"Width of {self.name} must be {WORD_BITS} or {2 * WORD_BITS}, not {self.width}")
        end = 0
        for item in self.fields:
            if item.low < end:
                raise ValueError(f"Field {item.name} of {self.name} must begin at bit {end} or above")
            end = item.low + item.width
        if end > self.width:
            raise ValueError(f"Fields of {self.name} must end at bit {self.width} or below, not at {end}")

    @property
    def readable(self) -> bool:
        """Whether a host may read it."""
        return "r" in self.access.value

    @property
    def writable(self) -> bool:
        """Whether a host may write it."""
        return "w" in self.access.value

    @property
    def addresses(self) -> range:
        """Byte addresses of its words."""
        return range(self.offset, self.offset + self.count * self.width // 8, WORD_BYTES)

    def __getitem__(self, name: str) -> Field:
        for item in self.fields:
            if item.name == name:
                return item
        raise KeyError(f"{self.name} has no field {name}")

    def unpack(self, value: int) -> dict[str, int]:
        """The fields of a value, by name."""
        return {item.name: item.extract(value) for item in self.fields}

    def reset_value(self, config: CoreConfig) -> int:
        """Value after reset in a core of this configuration."""
        return sum(item.reset_value(config) << item.low for item in self.fields)
