"""Operands of a program of one warp: what may stand where, and how its value is found."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeGuard

from golden.ptx.decoding import Context, constant_bits
from golden.ptx.evaluation import Evaluation, LaneValue, by_lane, difference
from golden.ptx.matrix import WarpStatement
from golden.ptx.special_registers import SPECIAL, Geometry
from golden.ptx.syntax import (
    Address,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Register,
    SpecialRegister,
    Symbol,
    Variable,
)
from golden.tables.commands import OPERAND_COUNTS
from golden.tables.layouts import LANES

Reader = Callable[[Evaluation], LaneValue]
"""How to find the bits of an operand."""

UniformReader = Callable[[Evaluation], int]
"""As `Reader`, of an operand that is the same in all lanes."""

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

    geometry: Geometry
    """Of the only block."""
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

    def reader(self, operand: Operand, bits: int) -> Reader:
        """How to find the low bits of a source operand."""
        mask = (1 << bits) - 1
        if isinstance(operand, Immediate):
            constant = constant_bits(operand, bits)
            return lambda _: constant
        if isinstance(operand, SpecialRegister):
            value, geometry = SPECIAL[operand.name].value, self.geometry
            lanes = tuple(value(geometry, lane, None) & mask for lane in range(LANES))
            special = by_lane(int, lanes)
            return lambda _: special
        if isinstance(operand, Symbol):
            key, offset = operand.key, operand.offset
            if self.symbol(operand)[0].space == "entry":
                raise self.error(operand, f"{operand.name} is a parameter, which has no address")
            return lambda evaluation: evaluation.addresses[key] + offset & mask
        if isinstance(operand, Negated):
            register = operand.register
            return lambda evaluation: by_lane(lambda bit: 1 - bit, evaluation.read(register))
        assert isinstance(operand, Register), operand
        found = operand
        if found.type.bits == bits:
            return lambda evaluation: evaluation.read(found)
        return lambda evaluation: by_lane(lambda value: value & mask, evaluation.read(found))

    def uniform(self, operand: Operand, bits: int, what: str) -> UniformReader:
        """How to find the bits of a source operand that must be the same in all lanes; `what` it is."""
        read = self.reader(operand, bits)

        def checked(evaluation: Evaluation) -> int:
            value = read(evaluation)
            if isinstance(value, tuple):
                raise self.error(operand, f"{what} {difference(value)}; it must be the same in all lanes")
            return value

        return checked

    def address_reader(self, address: Address) -> Reader:
        """How to find an address, which may differ between lanes."""
        read, mask = self.reader(address.base, self.base_bits(address)), (1 << 64) - 1
        return lambda evaluation: by_lane(lambda value: value + address.offset & mask, read(evaluation))

    def base_bits(self, address: Address) -> int:
        """The width of the base of an address, which must not be a fragment register."""
        if not isinstance(address.base, Register):
            return 64
        self.require_source(address.base, address.base.type.bits)
        return address.base.type.bits
