"""``cp.async.bulk``, ``cp.reduce.async.bulk`` and ``tensormap``: copies of boxes of tensors and of bytes."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from golden.ptx.accesses import HINT
from golden.ptx.decoding import Context, Step
from golden.ptx.syntax import Address, Instruction, Operand, TensorAddress
from golden.qualifier_lines import chosen_qualifiers
from golden.simt.atomics import REDUCTIONS
from golden.simt.code import call_step

_BYTES: Final = ".mbarrier::complete_tx::bytes"
_LOADED: Final = (
    f".shared::cluster .global {_BYTES} .multicast::cluster? .{HINT}?",
    f".shared::cta .global {_BYTES} .{HINT}?",
)
_SENT: Final = f".shared::cluster .shared::cta {_BYTES}"
_STORED: Final = f".global .shared::cta .bulk_group .{HINT}?"
_RANKS: Final = ("1d", "2d", "3d", "4d", "5d")
_TENSOR: Final = f".tensor {'|'.join(f'.{rank}' for rank in _RANKS)} .tile?"
_GROUPS: Final = range(1 << 31)

_SENT_TYPES: Final = ("u32", "s32", "b32")
"""Of a reduction in shared memory, which adds u64 too."""

_FIELDS: Final[Mapping[str, tuple[range | str, ...]]] = {
    **{"global_address": ("u64",), "rank": ("u32",), "global_stride": (range(4), "u64")},
    **dict.fromkeys(("box_dim", "global_dim", "element_stride"), (range(5), "u32")),
    **{"elemtype": (range(13),), "interleave_layout": (range(3),), "swizzle_mode": (range(4),)},
    "fill_mode": (range(2),),
}
"""What follows the address of a ``tensormap.replace``: the number of the dimension, and the value."""


class _Line(NamedTuple):
    syntax: str
    """As `golden.qualifier_lines`."""
    kinds: tuple[str | range, ...]
    """Of the operands; a range of a constant."""
    method: str = ""
    """Of the block, which executes it; none for a hint."""
    keywords: Mapping[str, Any] = {}


def _reductions() -> Iterator[_Line]:
    for name, types in REDUCTIONS.items():
        keywords: dict[str, Any] = {"operation": name}
        line = f"cp .reduce .async .bulk {_TENSOR} {_STORED} .{name}"
        yield _Line(line, ("tensor", "shared"), "store_tensor", keywords)
        for type_ in types:
            flush = ".noftz " if name == "add" and type_.endswith("f16") else ""
            end, keywords = f".{name} {flush}.{type_}", {"reduction": (name, type_)}
            line = f"cp .reduce .async .bulk {_STORED} {end}"
            yield _Line(line, ("global", "shared", "size"), "copy_bulk", keywords)
            if type_ in _SENT_TYPES or (name, type_) == ("add", "u64"):
                line = f"cp .reduce .async .bulk {_SENT} {end}"
                yield _Line(line, ("shared", "shared", "size", "shared"), "copy_bulk", keywords)


def _fields() -> Iterator[_Line]:
    for name, kinds in _FIELDS.items():
        bits = 64 if "u64" in kinds else 32
        line = f"tensormap .replace .tile .{name} .global|.shared::cta? .b1024 .b{bits}"
        yield _Line(line, ("map", *kinds), "replace_field", {"name": name})


_LINES: Final = (
    _Line("cp .async .bulk .commit_group", (), "commit_bulk"),
    _Line("cp .async .bulk .wait_group", (_GROUPS,), "await_bulk"),
    _Line("cp .async .bulk .wait_group .read", (_GROUPS,), "await_bulk", {"reads": True}),
    *(
        _Line(f"cp .async .bulk {_TENSOR} {end}", ("shared", "tensor", "shared", "mask"), "load_tensor")
        for end in _LOADED
    ),
    _Line(f"cp .async .bulk {_TENSOR} {_STORED}", ("tensor", "shared"), "store_tensor"),
    _Line(f"cp .async .bulk .prefetch {_TENSOR} .L2 .global .{HINT}?", ("tensor",)),
    *(
        _Line(f"cp .async .bulk {end}", ("shared", "global", "size", "shared", "mask"), "copy_bulk")
        for end in _LOADED
    ),
    _Line(f"cp .async .bulk {_SENT}", ("shared", "shared", "size", "shared"), "copy_bulk"),
    _Line(f"cp .async .bulk {_STORED}", ("global", "shared", "size"), "copy_bulk"),
    _Line(f"cp .async .bulk .prefetch .L2 .global .{HINT}?", ("global", "size")),
    *_reductions(),
    *_fields(),
    _Line(
        "tensormap .cp_fenceproxy .global .shared::cta .tensormap::generic .release "
        ".cta|.cluster|.gpu|.sys .sync .aligned",
        ("global", "shared", range(128, 129)),
        "copy_map",
    ),
)
_WIDTHS: Final = {"size": 32, "mask": 16, "u32": 32, "u64": 64}
_ABSENT: Final = ("im2col", "gather4", "scatter4", "cp_mask")
"""Beginnings of words of copies that are not run."""


def decode_bulk(context: Context, instruction: Instruction, index: int) -> Step:
    """Decode an instruction of one of the lines."""
    words = instruction.opcode[1:]
    for word in words:
        if word.removeprefix("tile::").startswith(_ABSENT):
            raise context.unsupported(instruction, f"copies with .{word} are not run")
    lines = (line for line in _LINES if line.syntax.split()[0] == instruction.opcode[0])
    line = next((line for line in lines if chosen_qualifiers(line.syntax, words) is not None), None)
    if line is None:
        raise context.unsupported(instruction)
    kinds = [kind for kind in line.kinds if kind != "mask" or "multicast::cluster" in words]
    operands = list(context.operands(instruction, len(kinds) + (HINT in words)))
    if HINT in words:
        context.require_source(operands.pop(), 64)
    found = _Operands(context, instruction)
    for operand, kind in zip(operands, kinds, strict=True):
        found.add(operand, kind)
    if not line.method:
        return context.step(instruction, index, (), (), lambda writer: None, select=False)
    keywords = (f"{name}={value!r}" for name, value in line.keywords.items())
    call = f"B.{line.method}({', '.join(('{threads}', *found.texts, *keywords))})"
    return call_step(context, instruction, index, call, found.sources, (), places=found.places)


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
            self.texts.append("{}")
            self.sources.append((operand, _WIDTHS[kind]))
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
        rank = next(_RANKS.index(word) + 1 for word in self._instruction.opcode if word in _RANKS)
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


DECODERS: Final = {"tensormap": decode_bulk}
