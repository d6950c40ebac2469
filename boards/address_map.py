"""Where a host finds the core in the address map of a SoC, and what the SoC says of itself."""

from dataclasses import astuple, dataclass
from typing import Final

from hdl.memory.axi import HOST_ADDRESS_BITS

ORIGIN: Final = 0x9000_0000
"""Address of the core's registers: in the part of the map that no cache of a LiteX processor holds."""

REGISTER_BYTES: Final = 1 << HOST_ADDRESS_BITS
"""Size of the register map with its windows."""

INFO: Final = ORIGIN + REGISTER_BYTES
"""Address of the words of `SocInfo`."""

IDENTITY: Final = 0x4F57_5343
"""The first word of a SoC's constants: the letters OWSC."""


@dataclass(frozen=True, kw_only=True)
class SocInfo:
    """What a SoC says of itself, in words of a read-only memory behind the core's registers.

    Parameters
    ----------
    memory_base, memory_bytes : int
        The memory that core, processor and host share.
    clock_hz : int
        Of the core, the processor and the bus.
    """

    memory_base: int
    memory_bytes: int
    clock_hz: int

    def words(self) -> list[int]:
        """The words at `INFO`."""
        return [IDENTITY, *astuple(self)]

    @classmethod
    def of(cls, words: list[int]) -> "SocInfo":
        """Read the words back.

        Raises
        ------
        ValueError
            For words that no SoC with a core has.
        """
        if len(words) != INFO_BYTES // 4 or words[0] != IDENTITY:
            found = " ".join(f"{word:#x}" for word in words[:1]) or "nothing"
            raise ValueError(f"a SoC with a core has {IDENTITY:#x} at {INFO:#x}, not {found}")
        return cls(memory_base=words[1], memory_bytes=words[2], clock_hz=words[3])


INFO_BYTES: Final = 16
