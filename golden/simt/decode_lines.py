"""Decodes the instructions of `golden.simt.instruction_lines`."""

from collections.abc import Iterable
from typing import Final

from golden.ptx.decoding import Context, Step
from golden.ptx.scalar_types import TYPES
from golden.ptx.syntax import Address, Immediate, Instruction, Operand, Register, Sink, Symbol, TensorAddress
from golden.qualifier_lines import chosen_qualifiers
from golden.simt.code import Writer
from golden.simt.instruction_lines import HINT, LINES, RANKS, Kind, Line

_MAX_CHOICES: Final = 20
"""Lines that a message lists."""

_ABSENT: Final = ("im2col", "gather4", "scatter4", "cp_mask")
"""Beginnings of words of copies that are not run."""

_WIDTHS: Final = {"size": 32, "mask": 16, "u32": 32, "f32": 32, "u64": 64, "b64": 64}
_DESTINATIONS: Final = {"policy": 64, ">b32": 32, ">u32": 32, ">u64": 64, ">pred": 1, "_": 64}
_SPACES: Final = {"global": "global", "shared::cta": "shared"}
_MBARRIERS: Final = ("shared", "shared::cta", "shared::cluster")
_ORDERED: Final = ("shared", "shared::cta", "global")
"""Of ``cp.async``, which names first where it copies to."""


def decode_line(context: Context, instruction: Instruction, index: int) -> Step:
    """Decode an instruction of one of the lines; PtxError where none fits."""
    opcode = instruction.opcode
    length = max((length for length in range(1, 6) if ".".join(opcode[:length]) in LINES), default=0)
    lines, words = LINES.get(".".join(opcode[:length]), []), opcode[length:]
    ordered = _ORDERED if lines and lines[0].syntax.startswith("cp.async ") else ()
    fitting = [line for line in lines if chosen_qualifiers(line.syntax, words, ordered) is not None]
    if not fitting:
        raise context.unsupported(instruction, _allowed(lines, words, opcode[0]))
    hinted, absent = HINT in words, () if "multicast::cluster" in words else ("mask",)
    kinds = [[kind for kind in line.kinds if kind not in absent] for line in fitting]
    counts = sorted(len(each) + hinted for each in kinds)
    operands = list(context.operands(instruction, counts[0], counts[-1]))
    if hinted:
        context.require_source(operands.pop(), 64)
    place = next(i for i, each in enumerate(kinds) if len(each) == len(operands))
    line, found = fitting[place], _Operands(context, instruction)
    for operand, kind in zip(operands, kinds[place], strict=True):
        found.add(operand, kind)
    if "(" in line.method:
        call = line.method.format(*found.texts, threads="{threads}", index=index)
    elif line.method:
        keywords = (f"{name}={value!r}" for name, value in line.keywords.items())
        call = f"B.{line.method}({', '.join(('{threads}', *found.texts, *keywords))})"
    else:
        call = "full({threads}.size, 0, 'u8')" if found.targets else ""
    sources = found.sources if line.method else []

    def write_code(writer: Writer) -> None:
        if call:
            accesses = {name: writer.access(context, address) for name, address in found.places.items()}
            values = [writer.array(operand, bits) for operand, bits in sources]
            writer.results(call.format(*values, threads=writer.threads, **accesses), found.targets)

    reads = [*found.places.values(), *(source for source, _ in sources)] if call else []
    writes, pure = [target for target, _ in found.targets], bool(call) and (line.pure or not line.method)
    return context.step(instruction, index, reads, writes, write_code, select=False, pure=pure)


def _allowed(lines: list[Line], words: Iterable[str], opcode: str) -> str:
    """What a message about words that fit none of the lines tells."""
    for word in words:
        if word.removeprefix("tile::").startswith(_ABSENT):
            return f"copies with .{word} are not run"
    if len(lines) >= _MAX_CHOICES:
        lines = [line for line in lines if line.syntax.split()[1].lstrip(".") in words]
    choices = dict.fromkeys(line.syntax for line in lines)
    if not lines:
        choices = dict.fromkeys(name for name in LINES if name.startswith(f"{opcode}."))
    return f"there are: {', '.join(choices)}" if 0 < len(choices) < _MAX_CHOICES else ""


class _Operands:
    """The operands of an instruction, checked one after the other: `texts` are the arguments of the call."""

    def __init__(self, context: Context, instruction: Instruction) -> None:
        self._context, self._instruction = context, instruction
        self.texts: list[str] = []
        self.sources: list[tuple[Operand, int]] = []
        self.targets: list[tuple[Operand, int]] = []
        self.places: dict[str, Address] = {}

    def add(self, operand: Operand, kind: Kind) -> None:
        """Check the next operand."""
        if not isinstance(kind, str):
            number = len(self.texts) + 1
            self.texts.append(str(self._context.require_constant(operand, f"operand {number}", kind)))
        elif kind == "tensor":
            self._tensor(operand)
        elif kind in _WIDTHS:
            self._source(operand, _WIDTHS[kind], kind if kind[0] == "f" else "integer")
        elif kind == "pointer":
            is_narrow = isinstance(operand, Register) and operand.type.bits == 32
            self._source(operand, 32 if is_narrow else 64)
        elif kind == "valid":
            self._valid(operand)
        elif kind in _DESTINATIONS:
            if kind == "_" and not isinstance(operand, Sink):
                raise self._context.error(operand, "an arrival in .shared::cluster has no state: write _")
            type_ = "b32" if kind == ">b32" else "integer"
            self._context.require_destination(operand, _DESTINATIONS[kind], type_)
            self.targets.append((operand, _DESTINATIONS[kind]))
        elif kind == "address":
            self._context.require_address(operand)
        elif kind == "mbarrier":
            self._mbarrier(operand)
        elif kind[0] == "&":
            self._shared(operand, _WIDTHS[kind[1:]])
        elif kind == "copied":
            self.texts.append(f"{{{self._place(operand, 'global', '')}}}")
        else:
            given = (_SPACES[word] for word in self._instruction.opcode if word in _SPACES)
            space = next(given, "generic") if kind == "map" else kind
            self.texts.append(f"({space!r}, {{{self._place(operand, space)}}})")

    def _source(self, operand: Operand, bits: int, type_: str = "integer") -> None:
        self._context.require_source(operand, bits, type_)
        self.texts.append(f"{{{len(self.sources)}}}")
        self.sources.append((operand, bits))

    def _valid(self, operand: Operand) -> None:
        """How many bytes of a copy are copied, or a predicate that none are."""
        size = int(self.texts[-1])
        if isinstance(operand, Immediate) and not 0 <= operand.value <= size:
            raise self._context.error(operand, f"of {size} bytes, 0 to {size} are copied")
        ignores = isinstance(operand, Register) and operand.type is TYPES["pred"]
        self._source(operand, 1 if ignores else 32)
        if ignores:
            self.texts[-1] = f"where({self.texts[-1]}, 0, {size})"

    def _tensor(self, operand: Operand) -> None:
        """A map and coordinates."""
        name = self._instruction.name
        if not isinstance(operand, TensorAddress):
            raise self._context.error(operand, "expected a map and coordinates, as in [%rd1, {%r1, %r2}]")
        rank = next(RANKS.index(word) + 1 for word in self._instruction.opcode if word in RANKS)
        if len(operand.coordinates) != rank:
            message = f"{name} takes {rank} coordinates, not {len(operand.coordinates)}"
            raise self._context.error(operand, message)
        self.texts.append(f"{{{self._place(operand.address, 'generic')}}}")
        first = len(self.texts)
        for item in operand.coordinates:
            self._source(item, 32)
        self.texts[first:] = [f"({''.join(f'{text}, ' for text in self.texts[first:])})"]

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
            self._source(operand, bits)
            return
        if (
            self._context.symbol(operand)[0].space != "shared"
            or "shared::cluster" not in self._instruction.opcode
        ):
            message = f"{self._instruction.name} needs an address of .shared::cluster"
            raise self._context.error(operand, message)
        self.places["place"] = Address(operand, 0, operand.location)
        self.texts.append("{place}.addresses")

    def _place(self, operand: Operand, space: str, width: str | None = None) -> str:
        """The name of an address in a state space; its width is for the space `width`, if that is another."""
        address = self._context.require_address(operand, space if width is None else width)
        self._context.require_space(address, space)
        self.places[name := f"place{len(self.places)}"] = address
        return name
