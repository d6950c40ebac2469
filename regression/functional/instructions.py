"""Coverpoints of the instruction set: every multiply, and every load and store at every kind of place."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from golden.lines import gather_lines
from golden.tables.commands import (
    MATRIX_COUNTS,
    MATRIX_ROW_BYTES,
    Fill,
    Load,
    LoadMatrix,
    Mma,
    Move,
    MoveMatrix,
    Store,
    StoreMatrix,
)
from hdl.config import PRESETS
from regression.functional.model import Seen, bin_name, coverpoint
from regression.random_programs.choices import (
    PLACES,
    ROW_PLACES,
    Access,
    accesses_of,
    default_stride,
    multiplies_of,
    registers_of,
    stride_unit,
    unit_of,
)

_CONFIG: Final = PRESETS["small"]
"""A core of all families, whose on-chip memory begins where it does in every preset."""

_BEAT, _PAGE = 16, 4096
_MOVES = ("ldmatrix", "stmatrix")
_AMOUNTS = ("none", "one", "several")
_STRIDES = ("none", "default", "wide", "less than a line", "0")
_PAGES = ("none", "between lines", "within a line")


def access_name(instruction: Access) -> str:
    """A load or store without its space: ``load.a f16 m16n16k16 row``."""
    kind = "store" if instruction.use == "d" else f"load.{instruction.use}"
    return f"{kind} {instruction.type} {instruction.shape} {instruction.layout}"


ACCESSES: Final = {access_name(access): access for access in accesses_of(_CONFIG)}


def _no_shorter(access: str, stride: str) -> str | None:
    item = ACCESSES[access]
    alone = stride_unit(item) == default_stride(item)
    return "a line is what strides are multiples of" if alone and stride == "less than a line" else None


def _beat_offset(access: str, offset: str) -> str | None:
    size = ACCESSES[access].core_alignment
    return None if int(offset) % size == 0 else f"its address is a multiple of {size}"


POINTS: Final = (
    coverpoint(
        "multiply",
        "Every multiply with all its qualifiers.",
        {"instruction": [str(instruction) for instruction in multiplies_of()]},
    ),
    coverpoint(
        "access place",
        "Every load and store in every space, a generic address meaning either memory.",
        {"access": list(ACCESSES), "place": PLACES},
    ),
    coverpoint(
        "access stride",
        "Every load and store without a stride, with the default one, with a wider one, with one of less "
        "than a line, and with 0, which makes all lines the same bytes.",
        {"access": list(ACCESSES), "stride": _STRIDES},
        _no_shorter,
    ),
    coverpoint(
        "access offset",
        "Every load and store at every place in a beat of the bus that its alignment allows.",
        {"access": list(ACCESSES), "bytes": ("0", "4", "8", "12")},
        _beat_offset,
    ),
    coverpoint(
        "page",
        "Where a 4 KiB boundary lies in what an access touches.",
        {"kind": ("load", "store"), "memory": ("global", "shared"), "boundary": _PAGES},
    ),
    coverpoint(
        "registers moved",
        "Fills and moves of no registers, one, and several; moves that overlap themselves.",
        {"kind": ("fill", "move"), "registers": (*_AMOUNTS, "onto itself, up", "onto itself, down")},
        lambda kind, count: "a fill has no source" if kind == "fill" and count.startswith("onto") else None,
    ),
    coverpoint(
        "matrix move",
        "Every form of ldmatrix and stmatrix, with rows in either memory and in both.",
        {
            "move": _MOVES,
            "matrices": [f"x{count}" for count in MATRIX_COUNTS],
            "order": ("by rows", "transposed"),
            "place": ROW_PLACES,
        },
    ),
    coverpoint(
        "matrix rows",
        "How the rows of ldmatrix and stmatrix lie to each other.",
        {"move": _MOVES, "rows": ("one behind the other", "apart", "one of them twice")},
    ),
    coverpoint(
        "matrix registers",
        "Whether a move of matrices writes the register that it reads: its addresses, or its matrix.",
        {"move": ("ldmatrix", "movmatrix"), "register": ("the same", "another")},
    ),
)


def sample_command(seen: Seen, command: object) -> None:
    """Note a command that was executed."""
    match command:
        case Mma(instruction):
            is_option = instruction.is_sparse or instruction.kind
            seen["option multiply" if is_option else "multiply", str(instruction)] += 1
        case Load() | Store():
            sample_access(seen, command)
        case LoadMatrix() | MoveMatrix():
            (read,), (written,) = registers_of(command).values()
            same = "the same" if read.start in written else "another"
            seen["matrix registers", bin_name(unit_of(command), same)] += 1
        case Fill(count=count) | Move(count=count):
            seen["registers moved", bin_name(unit_of(command), _AMOUNTS[min(count, 2)])] += 1
    if isinstance(command, Move) and 0 < abs(command.source - command.destination) < command.count:
        direction = "up" if command.destination > command.source else "down"
        seen["registers moved", bin_name("move", f"onto itself, {direction}")] += 1


def _stride_of(command: Load | Store) -> str:
    """One of `_STRIDES`."""
    line = default_stride(command.instruction)
    if command.stride is None:
        return "none"
    if 0 < command.stride < line:
        return "less than a line"
    return {0: "0", line: "default"}.get(command.stride, "wide")


def sample_access(seen: Seen, command: Load | Store) -> None:
    """Note a load or store that was executed."""
    instruction = command.instruction
    name = access_name(instruction)
    window = range(_CONFIG.shared_base, 1 << _CONFIG.address_bits)
    place: str = instruction.space
    if place == "generic":
        place += " to shared" if command.address in window else " to global"
    seen["access place", bin_name(name, place)] += 1
    seen["access stride", bin_name(name, _stride_of(command))] += 1
    seen["access offset", bin_name(name, str(command.address % _BEAT))] += 1
    lines = gather_lines(instruction, command.address, command.stride)
    inside = any(start // _PAGE != (start + count - 1) // _PAGE for start, count in lines)
    across = lines[0][0] // _PAGE != (sum(lines[-1]) - 1) // _PAGE
    boundary = "within a line" if inside else "between lines" if across else "none"
    memory = "shared" if "shared" in place else "global"
    seen["page", bin_name(unit_of(command), memory, boundary)] += 1


def sample_rows(seen: Seen, command: LoadMatrix | StoreMatrix, rows: Sequence[int]) -> None:
    """Note a move of matrices that was executed; `rows` are the generic addresses of its rows."""
    name = unit_of(command)
    in_shared = {row >= _CONFIG.shared_base for row in rows}
    place: str = command.space
    if place == "generic":
        place += " to both" if len(in_shared) == 2 else " to shared" if True in in_shared else " to global"
    order = "transposed" if command.transposed else "by rows"
    seen["matrix move", bin_name(name, f"x{command.count}", order, place)] += 1
    follow = all(second == first + MATRIX_ROW_BYTES for first, second in pairwise(rows))
    lie = "one of them twice" if len(set(rows)) < len(rows) else "one behind the other" if follow else "apart"
    seen["matrix rows", bin_name(name, lie)] += 1
