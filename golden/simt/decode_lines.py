"""Instructions that a line of syntax and the kinds of their operands describe, with what executes them."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from golden.ptx.accesses import HINT
from golden.ptx.decoding import Context, Step
from golden.ptx.syntax import Address, Instruction, Operand, Sink, Symbol, TensorAddress
from golden.qualifier_lines import chosen_qualifiers
from golden.simt.code import call_step

RANKS: Final = ("1d", "2d", "3d", "4d", "5d")
_MAX_CHOICES: Final = 20
"""Lines that a message lists."""

_WIDTHS: Final = {"size": 32, "mask": 16, "u32": 32, "f32": 32, "u64": 64, "b64": 64}
_DESTINATIONS: Final = {"policy": 64, ">u32": 32, ">u64": 64, ">pred": 1, "_": 64}
_MBARRIERS: Final = ("shared", "shared::cta", "shared::cluster")


class Line(NamedTuple):
    """An instruction."""

    syntax: str
    """As `golden.qualifier_lines`."""
    kinds: tuple[str | range, ...] = ()
    """Of the operands: a range of a constant; a state space of an address, ``address`` in any, ``map`` and
    ``mbarrier`` in the one that the instruction names; ``tensor`` of a map with coordinates; of a destination
    ``policy``, a type behind ``>``, or ``_`` for none; otherwise of a source, behind ``&`` an address. A
    ``mask`` is there with ``.multicast::cluster``.
    """
    method: str = ""
    """Of the block, which takes threads and operands; none where it has no effect and gives zeros. Or a call,
    in which ``{0}``, ``{1}`` and so on are the operands without destinations, ``{threads}`` the threads and
    ``{index}`` the number of the instruction.
    """
    keywords: Mapping[str, Any] = {}
    pure: bool = False
    """Whether it does nothing but give a value."""


def decode_line(lines: Iterable[Line], context: Context, instruction: Instruction, index: int) -> Step:
    """Decode an instruction of one of some lines."""
    words = instruction.opcode[1:]
    named = [line for line in lines if line.syntax.split()[0] == instruction.opcode[0]]
    fitting = [line for line in named if chosen_qualifiers(line.syntax, words) is not None]
    if not fitting:
        if len(named) >= _MAX_CHOICES:
            named = [line for line in named if line.syntax.split()[1].lstrip(".") in words]
        choices = dict.fromkeys(line.syntax for line in named)
        told = f"there are: {', '.join(choices)}" if 0 < len(choices) < _MAX_CHOICES else ""
        raise context.unsupported(instruction, told)
    hinted, kinds = HINT in words, [_present(line, words) for line in fitting]
    counts = sorted(len(each) + hinted for each in kinds)
    operands = list(context.operands(instruction, counts[0], counts[-1]))
    if hinted:
        context.require_source(operands.pop(), 64)
    place = next(i for i, each in enumerate(kinds) if len(each) == len(operands))
    line, found = fitting[place], _Operands(context, instruction)
    for operand, kind in zip(operands, kinds[place], strict=True):
        found.add(operand, kind)
    if not line.method and not found.targets:
        return context.step(instruction, index, (), (), lambda writer: None, select=False)
    if "(" in line.method:
        call = line.method.format(*found.texts, threads="{threads}", index=index)
    elif line.method:
        keywords = (f"{name}={value!r}" for name, value in line.keywords.items())
        call = f"B.{line.method}({', '.join(('{threads}', *found.texts, *keywords))})"
    else:
        call = "full({threads}.size, 0, 'u8')"
    sources, pure = found.sources if line.method else (), line.pure or not line.method
    return call_step(
        context, instruction, index, call, sources, found.targets, places=found.places, pure=pure
    )


def _present(line: Line, words: Iterable[str]) -> list[str | range]:
    """The kinds of the operands that an instruction with some words has, but for the policy of a hint."""
    return [kind for kind in line.kinds if kind != "mask" or "multicast::cluster" in words]


class _Operands:
    """The operands of an instruction, checked one after the other: `texts` are the arguments of the call."""

    def __init__(self, context: Context, instruction: Instruction) -> None:
        self._context, self._instruction = context, instruction
        self.texts: list[str] = []
        self.sources: list[tuple[Operand, int]] = []
        self.targets: list[tuple[Operand, int]] = []
        self.places: dict[str, Address] = {}

    def add(self, operand: Operand, kind: str | range) -> None:
        """Check the next operand."""
        if isinstance(kind, range):
            number = len(self.texts) + 1
            self.texts.append(str(self._context.require_constant(operand, f"operand {number}", kind)))
        elif kind == "tensor":
            self._tensor(operand)
        elif kind in _WIDTHS:
            type_ = kind if kind[0] == "f" else "integer"
            self._context.require_source(operand, _WIDTHS[kind], type_)
            self.texts.append("{}")
            self.sources.append((operand, _WIDTHS[kind]))
        elif kind in _DESTINATIONS:
            if kind == "_" and not isinstance(operand, Sink):
                raise self._context.error(operand, "an arrival in .shared::cluster has no state: write _")
            self._context.require_destination(operand, _DESTINATIONS[kind])
            self.targets.append((operand, _DESTINATIONS[kind]))
        elif kind == "address":
            self._context.require_address(operand)
        elif kind == "mbarrier":
            self._mbarrier(operand)
        elif kind[0] == "&":
            self._shared(operand, _WIDTHS[kind[1:]])
        else:
            spaces = {"global": "global", "shared::cta": "shared"}
            given = (spaces[word] for word in self._instruction.opcode if word in spaces)
            space = next(given, "generic") if kind == "map" else kind
            self.texts.append(f"({space!r}, {{{self._place(operand, space)}}})")

    def _tensor(self, operand: Operand) -> None:
        """A map and coordinates."""
        name = self._instruction.name
        if not isinstance(operand, TensorAddress):
            raise self._context.error(operand, "expected a map and coordinates, as in [%rd1, {%r1, %r2}]")
        rank = next(RANKS.index(word) + 1 for word in self._instruction.opcode if word in RANKS)
        if len(operand.coordinates) != rank:
            message = f"{name} takes {rank} coordinates, not {len(operand.coordinates)}"
            raise self._context.error(operand, message)
        place = self._place(operand.address, "generic")
        self.texts += [f"{{{place}}}", f"({'{}, ' * rank})"]
        self.sources += [(item, 32) for item in operand.coordinates]

    def _mbarrier(self, operand: Operand) -> None:
        """A barrier in shared memory, whose address is generic where the instruction names no space."""
        spaces = [word for word in self._instruction.opcode if word in _MBARRIERS]
        address = self._context.require_address(operand, next(iter(spaces), "generic"))
        named = self._context.space_of(address)
        if named not in (None, "shared"):
            space = "param" if named == "entry" else named
            raise self._context.error(address, f"an mbarrier lies in .shared, not in .{space}")
        self.places["barrier"] = address
        self.texts.append("{barrier}" if named or spaces else "B.to_shared({barrier})")

    def _shared(self, operand: Operand, bits: int) -> None:
        """An address of shared memory in a register, or a variable where the instruction names the space."""
        if not isinstance(operand, Symbol):
            self._context.require_source(operand, bits)
            self.texts.append("{}")
            self.sources.append((operand, bits))
            return
        if (
            self._context.symbol(operand)[0].space != "shared"
            or "shared::cluster" not in self._instruction.opcode
        ):
            message = f"{self._instruction.name} needs an address of .shared::cluster"
            raise self._context.error(operand, message)
        self.places["place"] = Address(operand, 0, operand.location)
        self.texts.append("{place}.addresses")

    def _place(self, operand: Operand, space: str) -> str:
        """The name of an address in a state space."""
        address = self._context.require_address(operand, space)
        named = self._context.space_of(address)
        if named not in (None, space) and (space, named) not in (("generic", "global"), ("generic", "const")):
            message = f"{self._instruction.name} needs an address in .{space}, not in .{named}"
            raise self._context.error(operand, message)
        self.places[name := f"place{len(self.places)}"] = address
        return name
