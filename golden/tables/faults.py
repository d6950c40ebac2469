"""What can go wrong while a machine executes: the causes, and the one exception that carries them."""

from enum import IntEnum

__all__ = ["Cause", "Fault"]


class Cause(IntEnum):
    """Why a command was not executed; the values are those of the core's fault register.

    Where several apply, the one with the smallest value is reported, by every machine.
    """

    ILLEGAL_INSTRUCTION = 1
    """A command word that is in no table, or that the configuration leaves out."""
    REGISTER_RANGE = 2
    """A fragment that does not lie wholly in the register file."""
    MISALIGNED_ADDRESS = 3
    """The address is not a multiple of the fragment's size in bytes."""
    SHORT_STRIDE = 4
    """The stride is less than the leading dimension."""
    MISALIGNED_STRIDE = 5
    """The stride in bytes is not a multiple of the fragment's size in bytes."""
    ADDRESS_RANGE = 6
    """The address, or the end of the last row or column, exceeds the core's address width."""
    READ_SLAVE_ERROR = 7
    """The memory answered a read with SLVERR."""
    READ_DECODE_ERROR = 8
    """The memory answered a read with DECERR: nothing lives at that address."""
    WRITE_SLAVE_ERROR = 9
    """The memory answered a write with SLVERR."""
    WRITE_DECODE_ERROR = 10
    """The memory answered a write with DECERR: nothing lives at that address."""


class Fault(Exception):
    """A command stopped before it changed a register or memory.

    Only a store that fails on the bus may have written part of its lines.

    Parameters
    ----------
    cause : Cause
        What was wrong.
    index : int
        How many commands the machine had executed before this one.
    detail : str
        The offending value and the rule, for a reader.
    """

    def __init__(self, cause: Cause, index: int, detail: str = "") -> None:
        self.cause = cause
        self.index = index
        self.detail = detail
        name = cause.name.lower().replace("_", " ")
        super().__init__(f"instruction {index}: {name}" + (f": {detail}" if detail else ""))
