"""What can go wrong while a machine executes: the causes, and the one exception that carries them."""

from enum import IntEnum


class Cause(IntEnum):
    """Why a command was not executed; the values are as in the core's fault register.

    Where several apply, every machine reports `WARP_RANGE`, and else the one with the smallest value.
    """

    ILLEGAL_INSTRUCTION = 1
    """A command word that is in no table, or that the configuration leaves out."""
    REGISTER_RANGE = 2
    """A fragment that does not lie wholly in the register file."""
    MISALIGNED_ADDRESS = 3
    """The address is not a multiple of the bytes that the access asks for."""
    MISALIGNED_STRIDE = 5
    """The stride in bytes is not a multiple of them. No cause has the value 4."""
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
    WARP_RANGE = 11
    """A command for a warp that the core does not have. Warp 0 refuses it."""
    UNDEFINED_METADATA = 12
    """An undefined nibble in the metadata of a sparse multiply."""

    @property
    def is_of_memory(self) -> bool:
        """Whether a memory reports it, when the command has been started; others are known before."""
        return Cause.READ_SLAVE_ERROR <= self <= Cause.WRITE_DECODE_ERROR


class Fault(Exception):
    """A command stopped before it changed a register or memory.

    Only a store that fails on the bus may have written part of its lines.

    Parameters
    ----------
    cause : Cause
        What was wrong.
    index : int
        How many commands its warp had executed before this one.
    detail : str
        The offending value and the rule, for a reader.
    warp : int
        The warp that refused it.
    """

    def __init__(self, cause: Cause, index: int, detail: str = "", *, warp: int = 0) -> None:
        self.cause = cause
        self.index = index
        self.detail = detail
        self.warp = warp
        name = cause.name.lower().replace("_", " ")
        of_warp = f"warp {warp}, " if warp else ""
        super().__init__(f"{of_warp}instruction {index}: {name}" + (f": {detail}" if detail else ""))
