"""The syntax tree of a whole PTX module, beyond what `golden.ptx.syntax` has for one warp."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from golden.ptx.lexer import Token
from golden.ptx.scalar_types import ScalarType
from golden.ptx.source import Location
from golden.ptx.syntax import Address, Guard, Immediate, Register, SpecialRegister, Symbol, Vector

__all__ = [
    "Arguments",
    "Body",
    "Function",
    "Instruction",
    "ModuleVariable",
    "Negated",
    "Operand",
    "Pair",
    "Parameter",
    "Piece",
    "Sink",
    "Storage",
]

Linkage = Literal["entry", "function"]


@dataclass(frozen=True)
class Negated:
    """``!p``: the complement of a predicate."""

    register: Register
    location: Location


@dataclass(frozen=True)
class Sink:
    """``_``: a result that is dropped."""

    location: Location


@dataclass(frozen=True)
class Pair:
    """``d|p``: two results."""

    first: Register | Sink
    second: Register | Sink
    location: Location


@dataclass(frozen=True)
class Arguments:
    """``(a, b)``: the parameters or results of a call."""

    elements: tuple[Register | Immediate | Symbol | Sink, ...]
    location: Location


Operand = (
    Register | SpecialRegister | Immediate | Symbol | Address | Vector | Negated | Sink | Pair | Arguments
)


@dataclass(frozen=True)
class Instruction:
    """One instruction of a body.

    Parameters
    ----------
    opcode : tuple of str
        Mnemonic and qualifiers without their dots.
    operands : tuple of Operand
        In the order written. A symbol is a label, a variable, a parameter or a function.
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
class Storage:
    """A variable in memory, or a parameter.

    Parameters
    ----------
    key : str
        Its name; of one declared in a body, unique among all of that name.
    name : str
        As written.
    space : str
        State space without its dot; ``"reg"`` for a parameter of a function in a register.
    type : ScalarType
        Of an element.
    size : int or None
        Bytes; None for an array of no given length.
    alignment : int
        What its address is a multiple of.
    location : Location
        Of its name.
    """

    key: str
    name: str
    space: str
    type: ScalarType
    size: int | None
    alignment: int
    location: Location
    external: bool = False
    is_array: bool = False


Parameter = Storage


@dataclass(frozen=True)
class Piece:
    """A part of an initialiser: bytes, or an address, at an offset.

    Parameters
    ----------
    offset, size : int
        Bytes.
    value : int
        The bits; of an address what is added to it.
    symbol : str or None
        The variable whose address it is.
    shift : int
        By how many bits the address is shifted to the right: a byte of it is an element of its own.
    location : Location
    """

    offset: int
    size: int
    value: int
    symbol: str | None
    shift: int
    location: Location


@dataclass(frozen=True)
class ModuleVariable:
    """A variable declared outside of every function, with its initial content."""

    storage: Storage
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Body:
    """The inside of a function.

    Parameters
    ----------
    instructions : tuple of Instruction
    labels : mapping of str to int
        Index of the instruction that each label stands before; keys are unique in the body.
    storage : mapping of str to Storage
        The variables declared in it, by key.
    targets : mapping of str to tuple of str
        The labels listed by each ``.branchtargets``.
    """

    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    storage: Mapping[str, Storage]
    targets: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Function:
    """An entry or a function, its body still in tokens.

    Parameters
    ----------
    name : str
    kind : {"entry", "function"}
    results, parameters : tuple of Parameter
    tokens : tuple of Token
        The body from brace to brace, then an ``end`` token; empty for a declaration alone.
    location : Location
        Of its name.
    directives : mapping of str to tuple of int
        Performance directives, such as ``.maxntid``.
    """

    name: str
    kind: Linkage
    results: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    tokens: tuple[Token, ...]
    location: Location
    directives: Mapping[str, tuple[int, ...]]
