"""Operands of a program of one warp: what may stand where."""

from dataclasses import dataclass, field
from typing import Final, TypeGuard

from golden.ptx.decoding import Context
from golden.ptx.matrix import WarpStatement
from golden.ptx.special_registers import SPECIAL
from golden.ptx.syntax import (
    Address,
    Instruction,
    Operand,
    Register,
    SpecialRegister,
    Symbol,
    Variable,
)
from golden.tables.commands import OPERAND_COUNTS

_SUPPORTED: Final = ("shared", "global")
_ON_FRAGMENTS: Final = (
    "only mov to a register of the same width and arithmetic on whole elements may read it: "
    f"{', '.join(OPERAND_COUNTS)} and neg in f16x2, f32 and f64, "
    "add, sub, mul.lo, mad.lo, min and max in s32 and u32"
)
_ELEMENTWISE: Final = frozenset({*OPERAND_COUNTS, "mad", "neg"})
"""First words of the opcodes that may read fragment registers, and then write one."""


@dataclass(kw_only=True)
class WarpContext(Context):
    """As `Context`, for one warp whose fragments are in the registers of a machine."""

    raw: bool
    """Whether the entry names machine registers; see `golden.ptx.allocation`."""
    fragments: dict[str, Register] = field(default_factory=dict)
    """The registers that are registers of the machine, by key."""
    matrix: dict[int, WarpStatement] = field(default_factory=dict)
    """The matrix statements, by the number of the statement."""

    def is_fragment(self, operand: Operand) -> TypeGuard[Register]:
        """Whether an operand is a register of the machine."""
        return isinstance(operand, Register) and operand.key in self.fragments

    def spread(self, instruction: Instruction) -> bool:
        """Note that the destination of a copy of a fragment register, or of arithmetic on one, is one too.

        Whether it is a new one.
        """
        if instruction.opcode[0] not in ("mov", *_ELEMENTWISE):
            return False
        target, *sources = instruction.operands or (None,)
        if not isinstance(target, Register) or target.key in self.fragments:
            return False
        spreads = any(self.is_fragment(item) and item.type.bits == target.type.bits for item in sources)
        if spreads:
            self.fragments[target.key] = target
        return spreads

    def symbol(self, symbol: Symbol) -> tuple[Variable, int]:
        """As `Context.symbol`, of parameters and of variables that the machine has memory for."""
        variable, address = super().symbol(symbol)
        if variable.space not in (*_SUPPORTED, "entry"):
            raise self.error(
                symbol,
                f"{symbol.name} is in .{variable.space}; supported: variables in .shared and .global",
            )
        if variable.initialiser is not None:
            raise self.error(symbol, f"{symbol.name} has values at the start, which is not supported")
        return variable, address

    def require_source(self, operand: Operand, bits: int, *, wider: bool = False) -> None:
        """As `Context.require_source`, without fragment registers and clocks."""
        super().require_source(operand, bits, wider=wider)
        if self.is_fragment(operand):
            raise self.error(
                operand,
                f"{operand.name} belongs to a fragment and differs between lanes; {_ON_FRAGMENTS}",
            )
        if isinstance(operand, SpecialRegister) and SPECIAL[operand.name].varies:
            raise self.error(operand, f"{operand.name} is not supported: a program of one warp has no clock")

    def base_bits(self, address: Address) -> int:
        """The width of the base of an address, which must not be a fragment register."""
        if not isinstance(address.base, Register):
            return 64
        self.require_source(address.base, address.base.type.bits)
        return address.base.type.bits
