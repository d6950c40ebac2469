"""Operands of scalar instructions: what may stand where, and how its value is found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from golden.ptx.arithmetic import FLOAT_OPERATIONS, INTEGER_OPERATIONS
from golden.ptx.evaluation import Evaluation
from golden.ptx.lane_values import LaneValue, by_lane, difference
from golden.ptx.scalar_types import TYPES, ScalarType, float_bits, float_value
from golden.ptx.source import PtxError, Source
from golden.ptx.special_registers import UNIFORM, VARYING
from golden.ptx.syntax import (
    Body,
    Immediate,
    Instruction,
    Operand,
    Register,
    SpecialRegister,
    Symbol,
    Variable,
)

__all__ = ["Context", "Reader", "UniformReader"]

_ON_FRAGMENTS: Final = (
    f"{', '.join(FLOAT_OPERATIONS)} in f16x2, f32 and f64, {', '.join(INTEGER_OPERATIONS)} in s32 and u32"
)

Reader = Callable[[Evaluation], LaneValue]
"""How to find an operand's value; as a number if the operand's type is an integer, else as a bit pattern."""

UniformReader = Callable[[Evaluation], int]
"""As `Reader`, of an operand that is the same in all lanes."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """What is known while the statements of an entry are made ready.

    Parameters
    ----------
    source : Source
    body : Body
    parameters, variables : mapping of str to Variable
        By key; the variables are of the module and of the body.
    fragments : mapping of str to Register
        The registers that differ between lanes, by key.
    """

    source: Source
    body: Body
    parameters: Mapping[str, Variable]
    variables: Mapping[str, Variable]
    fragments: Mapping[str, Register]

    def error(self, where: Operand | Instruction, message: str) -> PtxError:
        """The error to raise about an operand or statement."""
        return self.source.error(where.location, message)

    def require_operands(self, statement: Instruction, count: int) -> None:
        """Refuse a statement with another number of operands."""
        if len(statement.operands) != count:
            plural = "" if count == 1 else "s"
            given = len(statement.operands)
            raise self.error(statement, f"{statement.name} takes {count} operand{plural}, not {given}")

    def destination(self, operand: Operand, type_: ScalarType, *, wider: bool = False) -> Register:
        """The register that takes a result of `type_`; `wider` is whether it may have more bits."""
        if not isinstance(operand, Register):
            raise self.error(operand, "the destination must be a register")
        self._require_type(operand, type_, wider=wider)
        return operand

    def reader(self, operand: Operand, type_: ScalarType, *, wider: bool = False) -> Reader:
        """How to find the value of a source operand of `type_`; of a `wider` register the low bits."""
        if isinstance(operand, Immediate):
            value = type_.interpret(self._constant(operand, type_))
            return lambda _: value
        if isinstance(operand, SpecialRegister):
            special = by_lane(type_.interpret, self._special(operand, type_))
            return lambda _: special
        if isinstance(operand, Symbol):
            raise self.error(operand, f"{operand.name} cannot stand here; only mov and cvta take an address")
        if not isinstance(operand, Register):
            raise self.error(operand, "expected a register or a constant")
        register = operand
        self._require_type(register, type_, wider=wider)
        if register.key in self.fragments:
            raise self.error(
                register,
                f"{register.name} belongs to a fragment and differs between lanes; "
                "only mov to a register of the same width and arithmetic on whole elements may read it: "
                f"{_ON_FRAGMENTS}",
            )
        return lambda evaluation: by_lane(type_.interpret, evaluation.read(register))

    def uniform(self, operand: Operand, type_: ScalarType, what: str) -> UniformReader:
        """How to find the value of a source operand that must be the same in all lanes; `what` it is."""
        read = self.reader(operand, type_)

        def checked(evaluation: Evaluation) -> int:
            value = read(evaluation)
            if isinstance(value, tuple):
                raise self.error(operand, f"{what} {difference(value)}; it must be the same in all lanes")
            return value

        return checked

    def is_fragment(self, operand: Operand) -> bool:
        """Whether an operand is a register that differs between lanes."""
        return isinstance(operand, Register) and operand.key in self.fragments

    def address(self, symbol: Symbol, type_: ScalarType) -> UniformReader:
        """How to find the address of a variable; those in ``.shared`` count from zero."""
        variable = self.variables.get(symbol.key)
        if variable is None:
            raise self.error(symbol, f"the address of {symbol.name} is not supported; only of variables")
        if variable.space not in ("shared", "global"):
            raise self.error(
                symbol, f"{symbol.name} is in .{variable.space}; supported: variables in .shared and .global"
            )
        if variable.initialiser is not None:
            raise self.error(symbol, f"{symbol.name} has values at the start, which is not supported")
        if type_.kind == "float" or (type_.bits != 64 and (variable.space, type_.bits) != ("shared", 32)):
            widths = "32 or 64" if variable.space == "shared" else "64"
            raise self.error(
                symbol, f"the address of {symbol.name} has {widths} bits, the instruction needs {type_}"
            )
        return lambda evaluation: type_.interpret(evaluation.addresses[symbol.key] + symbol.offset)

    def _require_type(self, register: Register, type_: ScalarType, *, wider: bool = False) -> None:
        holds = wider and register.type.bits > type_.bits and register.type.kind != "float"
        if not (holds or type_.accepts(register.type)):
            raise self.error(register, f"{register.name} is {register.type}, the instruction needs {type_}")

    def _special(self, operand: SpecialRegister, type_: ScalarType) -> LaneValue:
        if operand.name not in UNIFORM and operand.name not in VARYING:
            supported = ", ".join(sorted({*UNIFORM, *VARYING}))
            raise self.error(operand, f"{operand.name} is not supported; supported: {supported}")
        if type_.bits != 32 or type_.kind == "float":
            raise self.error(operand, f"{operand.name} is .u32, the instruction needs {type_}")
        return VARYING[operand.name] if operand.name in VARYING else UNIFORM[operand.name]

    def _constant(self, operand: Immediate, type_: ScalarType) -> int:
        if operand.kind == "integer":
            if type_.kind == "predicate":
                return int(operand.value != 0)
            if type_.kind == "float":
                raise self.error(operand, f"{operand.value} is an integer constant, not {type_}")
            value = TYPES["s64"].interpret(operand.value)
            if not -(1 << (type_.bits - 1)) <= value < 1 << type_.bits:
                raise self.error(operand, f"the constant {operand.value} does not fit {type_}")
            return type_.wrap(operand.value)
        width = 32 if operand.kind == "f32" else 64
        if type_.kind in ("float", "bits") and type_.bits == width:
            return operand.value
        if type_.name == "f32":
            return float_bits(float_value(operand.value, 64), 32)
        raise self.error(operand, f"an .{operand.kind} constant cannot stand for {type_}")
