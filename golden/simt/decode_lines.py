"""Instructions that a line of syntax and the kinds of their operands describe, with what executes them."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from golden.ptx.accesses import HINT
from golden.ptx.decoding import Context, Step
from golden.ptx.syntax import Address, Instruction, Operand, TensorAddress
from golden.qualifier_lines import chosen_qualifiers
from golden.simt.code import call_step

RANKS: Final = ("1d", "2d", "3d", "4d", "5d")
_MAX_CHOICES: Final = 20
"""Lines that a message lists."""

_WIDTHS: Final = {"size": 32, "mask": 16, "u32": 32, "f32": 32, "u64": 64, "b64": 64}


class Line(NamedTuple):
    """An instruction."""

    syntax: str
    """As `golden.qualifier_lines`."""
    kinds: tuple[str | range, ...] = ()
    """Of the operands: a range of a constant; a state space of an address, ``address`` in any, ``map`` in the
    one that the instruction names; ``tensor`` of a map with coordinates; ``policy`` of what is written;
    otherwise of a source. A ``mask`` is there with ``.multicast::cluster``.
    """
    method: str = ""
    """Of the block, which executes it; none where it has no effect."""
    keywords: Mapping[str, Any] = {}


def decode_line(lines: Iterable[Line], context: Context, instruction: Instruction, index: int) -> Step:
    """Decode an instruction of one of some lines."""
    words = instruction.opcode[1:]
    named = [line for line in lines if line.syntax.split()[0] == instruction.opcode[0]]
    fitting = [line for line in named if chosen_qualifiers(line.syntax, words) is not None]
    if not fitting:
        choices = ", ".join(dict.fromkeys(line.syntax for line in named))
        raise context.unsupported(instruction, f"there are: {choices}" if len(named) < _MAX_CHOICES else "")
    hinted, kinds = HINT in words, [_present(line, words) for line in fitting]
    counts = sorted(len(each) + hinted for each in kinds)
    operands = list(context.operands(instruction, counts[0], counts[-1]))
    if hinted:
        context.require_source(operands.pop(), 64)
    place = next(i for i, each in enumerate(kinds) if len(each) == len(operands))
    line, found = fitting[place], _Operands(context, instruction)
    for operand, kind in zip(operands, kinds[place], strict=True):
        found.add(operand, kind)
    if kinds[place][:1] == ["policy"]:
        call = "full({threads}.size, 0, 'u8')"
        return call_step(context, instruction, index, call, (), [(operands[0], 64)], pure=True)
    if not line.method:
        return context.step(instruction, index, (), (), lambda writer: None, select=False)
    keywords = (f"{name}={value!r}" for name, value in line.keywords.items())
    call = f"B.{line.method}({', '.join(('{threads}', *found.texts, *keywords))})"
    return call_step(context, instruction, index, call, found.sources, (), places=found.places)


def _present(line: Line, words: Iterable[str]) -> list[str | range]:
    """The kinds of the operands that an instruction with some words has, but for the policy of a hint."""
    return [kind for kind in line.kinds if kind != "mask" or "multicast::cluster" in words]


class _Operands:
    """The operands of an instruction, checked one after the other: `texts` are the arguments of the call."""

    def __init__(self, context: Context, instruction: Instruction) -> None:
        self._context, self._instruction = context, instruction
        self.texts: list[str] = []
        self.sources: list[tuple[Operand, int]] = []
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
        elif kind == "policy":
            self._context.require_destination(operand, 64)
        elif kind == "address":
            self._context.require_address(operand)
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

    def _place(self, operand: Operand, space: str) -> str:
        """The name of an address in a state space."""
        address = self._context.require_address(operand, space)
        named = self._context.space_of(address)
        if named not in (None, space) and (space, named) not in (("generic", "global"), ("generic", "const")):
            message = f"{self._instruction.name} needs an address in .{space}, not in .{named}"
            raise self._context.error(operand, message)
        self.places[name := f"place{len(self.places)}"] = address
        return name
