"""The syntax tree of a PTX module."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from golden.ptx.scalar_types import ScalarType
from golden.ptx.source import Location, Source, Token


@dataclass(frozen=True)
class Register:
    """A declared register."""

    name: str
    key: str
    """The same for all uses of one register, different for registers of the same name in different blocks."""
    type: ScalarType
    location: Location


@dataclass(frozen=True)
class SpecialRegister:
    """A predefined register such as ``%tid.x``."""

    name: str
    location: Location


@dataclass(frozen=True)
class Immediate:
    """A constant."""

    value: int
    """The integer, or the bit pattern of the float."""
    kind: Literal["integer", "f32", "f64"]
    """``0f...`` is an f32; ``0d...`` and decimal fractions are f64."""
    location: Location


@dataclass(frozen=True)
class Symbol:
    """The name of a label, a function, a parameter or a variable."""

    name: str
    key: str
    """The key of what it names, in the body, the parameters or the module."""
    location: Location
    offset: int = 0
    """Bytes to add to the address."""


@dataclass(frozen=True)
class Sink:
    """``_``: a result that is dropped."""

    location: Location


Element = Register | SpecialRegister | Immediate | Symbol | Sink
"""An operand that consists of no others."""


@dataclass(frozen=True)
class Address:
    """``[base + offset]``, the offset in bytes."""

    base: Register | Symbol | Immediate
    offset: int
    location: Location


@dataclass(frozen=True)
class TensorAddress:
    """``[map, {x, y}]``: coordinates in the tensor of a map."""

    address: Address
    """Of the map."""
    coordinates: tuple[Element, ...]
    location: Location


@dataclass(frozen=True)
class Vector:
    """``{element, element, ...}``, or the name of a vector of registers."""

    elements: tuple[Element, ...]
    location: Location
    wide: bool = False
    """Whether it is a ``.b128`` register: its elements are its halves."""


@dataclass(frozen=True)
class Arguments:
    """``(a, b)``: the parameters or results of a call."""

    elements: tuple[Element, ...]
    location: Location


@dataclass(frozen=True)
class Negated:
    """``!p``: the complement of a predicate."""

    register: Register
    location: Location


@dataclass(frozen=True)
class Selected:
    """``-r.b3``: a part of a register, or its negative, in a video instruction."""

    register: Register
    selector: str
    """The part without its dot; empty for the whole register."""
    negative: bool
    location: Location


@dataclass(frozen=True)
class Pair:
    """``d|p``: two results."""

    first: Register | Sink
    second: Register | Sink
    location: Location


Operand = Element | Address | TensorAddress | Vector | Arguments | Negated | Selected | Pair


def parts(operand: Operand) -> tuple[Element, ...]:
    """The registers, constants and names in an operand, in the order written."""
    if isinstance(operand, Address):
        return (operand.base,)
    if isinstance(operand, TensorAddress):
        return operand.address.base, *operand.coordinates
    if isinstance(operand, Vector | Arguments):
        return operand.elements
    if isinstance(operand, Negated | Selected):
        return (operand.register,)
    if isinstance(operand, Pair):
        return operand.first, operand.second
    return (operand,)


def mapped(operand: Operand, change: Callable[[Any], Any]) -> Operand:
    """An operand with other registers, constants and names in it."""
    if isinstance(operand, Address):
        return replace(operand, base=change(operand.base))
    if isinstance(operand, TensorAddress):
        address = replace(operand.address, base=change(operand.address.base))
        return replace(operand, address=address, coordinates=tuple(map(change, operand.coordinates)))
    if isinstance(operand, Vector | Arguments):
        return replace(operand, elements=tuple(map(change, operand.elements)))
    if isinstance(operand, Negated | Selected):
        return replace(operand, register=change(operand.register))
    if isinstance(operand, Pair):
        return replace(operand, first=change(operand.first), second=change(operand.second))
    found: Operand = change(operand)
    return found


@dataclass(frozen=True)
class Guard:
    """``@p`` or ``@!p`` before an instruction."""

    register: Register
    negated: bool


@dataclass(frozen=True)
class Instruction:
    """One instruction of a body."""

    opcode: tuple[str, ...]
    """Mnemonic and qualifiers without their dots."""
    operands: tuple[Operand, ...]
    guard: Guard | None
    location: Location
    """Of the opcode."""

    @classmethod
    def of(cls, name: str, location: Location, *operands: Operand, guard: Guard | None = None) -> Self:
        """An instruction whose opcode is given as written."""
        return cls(tuple(name.split(".")), operands, guard, location)

    @property
    def name(self) -> str:
        """The opcode as written."""
        return ".".join(self.opcode)


def elements(statements: Iterable[Instruction]) -> Iterator[Element]:
    """The registers, constants and names in the operands of statements, in the order written."""
    return (part for statement in statements for operand in statement.operands for part in parts(operand))


def named(statements: Iterable[Instruction]) -> frozenset[str]:
    """The keys of what statements name."""
    return frozenset(element.key for element in elements(statements) if isinstance(element, Symbol))


@dataclass(frozen=True)
class Piece:
    """A part of an initialiser: bytes, or an address, at an offset."""

    offset: int
    size: int
    """Bytes."""
    value: int
    """The bits; of an address what is added to it."""
    location: Location
    symbol: str | None = None
    """The variable whose address it is."""
    shift: int = 0
    """By how many bits the address is shifted to the right: a byte of it is an element of its own."""


@dataclass(frozen=True)
class Variable:
    """A variable in memory, or a parameter."""

    key: str
    """Its name; of one declared in a body, unique among all of that name."""
    name: str
    space: str
    """State space without its dot; ``"reg"`` for a parameter of a function in a register."""
    type: ScalarType
    """Of an element."""
    size: int | None
    """Bytes; None for an array of no given length."""
    alignment: int
    """What its address is a multiple of."""
    location: Location
    """Of its name."""
    external: bool = False
    is_array: bool = False
    """Whether it is an array or a vector."""
    initialiser: tuple[Piece, ...] | None = None
    """The values given for it; None where there are none."""


@dataclass
class Body:
    """The inside of a function."""

    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    """Index of the instruction that each label stands before, by key."""
    variables: dict[str, Variable] = field(default_factory=dict)
    """Those declared in it, by key, in the order written."""
    targets: dict[str, tuple[Symbol, ...]] = field(default_factory=dict)
    """What each ``.branchtargets`` and ``.calltargets`` lists, by the key of its own label."""
    prototypes: dict[str, tuple[tuple[Variable, ...], tuple[Variable, ...]]] = field(default_factory=dict)
    """The results and parameters of each ``.callprototype``, by the key of its label."""
    frames: dict[str, tuple[Register, int]] = field(default_factory=dict)
    """Of each variable on the stack the register with the address of its frame, and its offset there."""
    calls: list[int] = field(default_factory=list)
    """Where calls have been replaced by what they call: before which instructions one begins or ends, in
    ascending order."""


@dataclass(frozen=True)
class Function:
    """An entry or a function, its body still in tokens: see `golden.ptx.body.parse_body`."""

    name: str
    kind: Literal["entry", "function"]
    results: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    tokens: tuple[Token, ...]
    """The body from brace to brace, then an ``end`` token; empty for a declaration alone."""
    location: Location
    """Of its name."""
    directives: Mapping[str, tuple[int, ...]]
    """Performance directives, such as ``.maxntid``."""
    pragmas: frozenset[str]
    """The strings of the ``.pragma`` directives before its body."""


@dataclass(frozen=True)
class Module:
    """A parsed file."""

    source: Source
    version: tuple[int, int]
    """PTX ISA version."""
    target: tuple[str, ...]
    """Target specifiers, the architecture first."""
    variables: Mapping[str, Variable]
    """Those declared outside of every function, in the order written."""
    functions: Mapping[str, Function]
    """Entries and functions, in the order written; where there is a body, that one."""
