"""What a machine executes: an instruction with the values of its operands."""

from dataclasses import dataclass

from golden.tables.elements import ElementOperation, ElementType
from golden.tables.instruction_set import LoadInstruction, MmaInstruction, StoreInstruction

__all__ = ["Command", "Elementwise", "Fill", "Load", "Mma", "Move", "Store", "Uniform"]


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
"""What a core executes, and every machine."""


@dataclass(frozen=True)
class Uniform:
    """A source operand that is the same in every lane; `pattern` has the width of a register of its type."""

    pattern: int


@dataclass(frozen=True)
class Elementwise:
    """The same arithmetic on every element of a fragment: work of the host, between a core's commands.

    No core executes it: it has no encoding and is in no counter. The host reads the registers, computes, and
    writes them back; `golden.elementwise.execute_elementwise` does so on any machine.

    Parameters
    ----------
    operation : {"add", "sub", "mul", "fma", "min", "max"}
    type : {"f16", "f32", "f64", "s32", "u32"}
        Of an element: a register holds two f16, an f64 takes two registers.
    destination : int
        First register of the results.
    sources : tuple of int or Uniform
        First register of each operand, or its value, which is two f16 for f16.
    count : int
        32-bit registers of results, worked on one element after the other from the first on.
    flush : bool
        Whether subnormal operands and results become zeros.
    """

    operation: ElementOperation
    type: ElementType
    destination: int
    sources: tuple[int | Uniform, ...]
    count: int
    flush: bool = False

    def __str__(self) -> str:
        sources = ", ".join(
            f"{source.pattern:#x}" if isinstance(source, Uniform) else f"registers {source} on"
            for source in self.sources
        )
        flushed = ", flushed" if self.flush else ""
        return (
            f"{self.operation} of {self.type}{flushed} on {sources} to {self.count} registers "
            f"from {self.destination} on"
        )
