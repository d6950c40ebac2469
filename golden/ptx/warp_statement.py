"""A matrix statement of a program of one warp: every register is one of the machine's."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from golden.ptx.matrix import MatrixStatement
from golden.ptx.syntax import Register
from golden.tables.instruction_set import Use

__all__ = ["WarpStatement"]


@dataclass(frozen=True, kw_only=True)
class WarpStatement(MatrixStatement):
    """As `golden.ptx.matrix.MatrixStatement`, with what the statement has for itself.

    Parameters
    ----------
    fragments : mapping of {"a", "b", "c", "d"} to tuple of Register
        A constant has a register of the statement's own, as a dropped result has.
    address : Address or None
        None also of `ldmatrix` and `stmatrix` where `rows` holds the addresses already.
    rows : Register or None
        Of `ldmatrix` and `stmatrix`: the register with the address of a row in each lane. Where `address` is
        not None, the statement sets it to that.
    constants : mapping of str to int
        What the statement sets registers of its own to, by their keys.
    """

    fragments: Mapping[Use, tuple[Register, ...]]
    rows: Register | None = None
    constants: Mapping[str, int] = field(default_factory=dict)

    @property
    def read(self) -> tuple[Register, ...]:
        """The registers that it reads and has not set."""
        found = [item for use, items in self.fragments.items() if use != self.destination for item in items]
        if self.rows is not None and self.address is None:
            found.append(self.rows)
        return tuple(register for register in found if register.key not in self.constants)

    @property
    def written(self) -> tuple[Register, ...]:
        """The registers that it writes or sets."""
        found = [item for items in self.fragments.values() for item in items if item.key in self.constants]
        if self.rows is not None and self.address is not None:
            found.append(self.rows)
        return (*found, *(self.fragments[self.destination] if self.destination is not None else ()))
