"""The syntax tree of a PTX module."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from golden.ptx.scalar_types import ScalarType
from golden.ptx.source import Location, Source

__all__ = [
    "Address",
    "EntryDefinition",
    "Guard",
    "Immediate",
    "Module",
    "Operand",
    "Parameter",
    "Register",
    "SpecialRegister",
    "Statement",
    "Symbol",
    "Variable",
    "Vector",
]


@dataclass(frozen=True)
class Register:
    """A declared register.

    Parameters
    ----------
    name : str
        As written.
    key : str
        The same for all uses of one register, different for registers of the same name in different blocks.
    type : ScalarType
        As declared.
    location : Location
    """

    name: str
    key: str
    type: ScalarType
    location: Location


@dataclass(frozen=True)
class SpecialRegister:
    """A predefined register such as ``%tid.x``."""

    name: str
    location: Location


@dataclass(frozen=True)
class Immediate:
    """A constant.

    Parameters
    ----------
    value : int
        The integer, or the bit pattern of the float.
    kind : {"integer", "f32", "f64"}
        ``0f...`` is an f32; ``0d...`` and decimal fractions are f64.
    location : Location
    """

    value: int
    kind: Literal["integer", "f32", "f64"]
    location: Location


@dataclass(frozen=True)
class Symbol:
    """The name of a label, a parameter or a variable; `offset` is in bytes."""

    name: str
    location: Location
    offset: int = 0


@dataclass(frozen=True)
class Address:
    """``[base + offset]``, the offset in bytes."""

    base: Register | Symbol | Immediate
    offset: int
    location: Location


@dataclass(frozen=True)
class Vector:
    """``{element, element, ...}``."""

    elements: tuple[Register | SpecialRegister | Immediate | Symbol, ...]
    location: Location


Operand = Register | SpecialRegister | Immediate | Symbol | Address | Vector


@dataclass(frozen=True)
class Guard:
    """``@p`` or ``@!p`` before an instruction."""

    register: Register
    negated: bool


@dataclass(frozen=True)
class Statement:
    """One instruction.

    Parameters
    ----------
    opcode : tuple of str
        Mnemonic and qualifiers without their dots.
    operands : tuple of Operand
        In the order written.
    guard : Guard or None
    location : Location
        Of the opcode.
    """

    opcode: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    location: Location

    @property
    def name(self) -> str:
        """The opcode as written."""
        return ".".join(self.opcode)


@dataclass(frozen=True)
class Parameter:
    """A parameter of an entry.

    Parameters
    ----------
    name : str
    type : ScalarType
    size : int or None
        Elements of an array; None for a scalar.
    location : Location
    """

    name: str
    type: ScalarType
    size: int | None
    location: Location


@dataclass(frozen=True)
class Variable:
    """A variable in memory.

    Parameters
    ----------
    name : str
    space : str
        Its state space, without the dot.
    size : int or None
        Bytes; None for an array of no given length.
    alignment : int
        What its address must be a multiple of.
    initialised : bool
        Whether values are given for it.
    location : Location
        Of its name.
    """

    name: str
    space: str
    size: int | None
    alignment: int
    initialised: bool
    location: Location


@dataclass(frozen=True)
class EntryDefinition:
    """A kernel.

    Parameters
    ----------
    name : str
    parameters : tuple of Parameter
    statements : tuple of Statement
    labels : mapping of str to int
        Index of the statement that each label stands before.
    variables : mapping of str to Variable
        Those declared in the module before the entry, and in the entry, in this order.
    location : Location
        Of its name.
    pragmas : frozenset of str
        The strings of the ``.pragma`` directives between its parameters and its body.
    """

    name: str
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
    labels: Mapping[str, int]
    variables: Mapping[str, Variable]
    location: Location
    pragmas: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Module:
    """A parsed file.

    Parameters
    ----------
    source : Source
    version : (int, int)
        PTX ISA version.
    target : tuple of str
        Target specifiers, the architecture first.
    entries : tuple of EntryDefinition
        In the order written.
    """

    source: Source
    version: tuple[int, int]
    target: tuple[str, ...]
    entries: tuple[EntryDefinition, ...]
