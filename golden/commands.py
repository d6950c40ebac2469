"""What a machine executes: an instruction with the values of its operands."""

from dataclasses import dataclass

from golden.instruction_set import LoadInstruction, MmaInstruction, StoreInstruction

__all__ = ["Command", "Fill", "Load", "Mma", "Move", "Store"]


@dataclass(frozen=True)
class Load:
    """Load a fragment from memory.

    Parameters
    ----------
    instruction : LoadInstruction
    register : int
        First of the fragment's consecutive 32-bit registers.
    address : int
        Byte address of the first element.
    stride : int or None
        Elements from one row (column) to the next; None for the default.
    """

    instruction: LoadInstruction
    register: int
    address: int
    stride: int | None = None


@dataclass(frozen=True)
class Store:
    """Store a fragment to memory; parameters as for `Load`."""

    instruction: StoreInstruction
    register: int
    address: int
    stride: int | None = None


@dataclass(frozen=True)
class Mma:
    """Multiply and accumulate: D = A B + C; d may be c.

    Parameters
    ----------
    instruction : MmaInstruction
    d, a, b, c : int
        First registers of the four fragments.
    """

    instruction: MmaInstruction
    d: int
    a: int
    b: int
    c: int


@dataclass(frozen=True)
class Fill:
    """Set `count` registers from `register` on to the 32-bit `value`, in every lane."""

    register: int
    count: int
    value: int


@dataclass(frozen=True)
class Move:
    """Copy `count` registers, one after the other, from `source` on to `destination` on, in every lane."""

    destination: int
    source: int
    count: int


Command = Load | Store | Mma | Fill | Move
