"""Command words that are in no table: every way to break one field of a legal command."""

from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Any, Final

from amaranth.lib import data
from numpy.random import Generator

from golden.tables.commands import MATRIX_COUNTS, MATRIX_SPACES
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import CORE_FAMILIES, LAYOUTS, SHAPES, SPACES, USES
from golden.tables.matrix_instructions import MmaInstruction
from hdl.command import (
    COMMAND_WORDS,
    MatrixCommand,
    MatrixMove,
    MemoryCommand,
    MmaCommand,
    Opcode,
    shape_code,
    type_code,
)
from hdl.config import PRESETS, CoreConfig
from hdl.memory.fragment_geometry import legal_fragments
from regression.random_programs.choices import multiplies_of

_MEMORY, _MULTIPLY = data.Layout.cast(MemoryCommand), data.Layout.cast(MmaCommand)
_MATRIX = data.Layout.cast(MatrixCommand)
_WITHOUT_MEMORY = "core without on-chip memory"

_ALL: Final = PRESETS["small"]
"""A core of all families."""

WORD_WAYS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "unknown": ("opcode in no table",),
        **dict.fromkeys(
            ("load", "store"),
            (
                "shape code in no table",
                "type code in no table",
                "space code in no table",
                "use of another opcode",
                "combination in no table",
                "space that the core has not",
                "family that the core has not",
            ),
        ),
        "multiply": (
            "shape code in no table",
            "type code in no table",
            "combination in no table",
            "saturation that the family has not",
            "rounding that the family has not",
            "family that the core has not",
        ),
        **dict.fromkeys(
            ("ldmatrix", "stmatrix"),
            ("count code in no table", "space code in no table", "space of no matrix", _WITHOUT_MEMORY),
        ),
        "movmatrix": ("move code in no table", _WITHOUT_MEMORY),
    }
)
"""How a command of each kind may be illegal."""


def with_fields(words: tuple[int, ...], layout: data.Layout, values: Mapping[str, int]) -> tuple[int, ...]:
    """The words of a command with other values in some of its fields."""
    bits = sum(word << 32 * place for place, word in enumerate(words))
    for name, value in values.items():
        field = layout[name]
        mask = (1 << field.width) - 1
        bits = bits & ~(mask << field.offset) | (value & mask) << field.offset
    return tuple(bits >> 32 * word & 0xFFFF_FFFF for word in range(COMMAND_WORDS))


def illegal_words(
    random: Generator, config: CoreConfig, kind: str, way: str, legal: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Break the words of a legal command of a kind in one of `WORD_WAYS`.

    None where the core leaves no such way: one that has all families has none missing.
    """
    if kind == "unknown":
        known = {item.value for item in Opcode}
        opcodes = [opcode for opcode in range(8) if opcode not in known]
        return with_fields(legal, _MEMORY, {"opcode": int(random.choice(opcodes))})
    if kind in ("ldmatrix", "stmatrix", "movmatrix"):
        candidates, layout = list(_move_fields(config, way)), _MATRIX
    else:
        candidates, layout = list(_fields(config, kind, way)), _MULTIPLY if kind == "multiply" else _MEMORY
    if not candidates:
        return None
    return with_fields(legal, layout, candidates[random.integers(len(candidates))])


def _move_fields(config: CoreConfig, way: str) -> Iterator[dict[str, int]]:
    """The fields that break a move of matrices; a core without on-chip memory has none to break."""
    if (way == _WITHOUT_MEMORY) == bool(config.shared_bytes):
        return
    if way == _WITHOUT_MEMORY:
        yield {}
    elif way == "count code in no table":
        yield {"count_log2": len(MATRIX_COUNTS)}
    elif way == "space code in no table":
        yield {"space": len(SPACES)}
    elif way == "space of no matrix":
        yield from ({"space": SPACES.index(space)} for space in SPACES if space not in MATRIX_SPACES)
    else:
        yield {"move": len(MatrixMove)}


def _fields(config: CoreConfig, kind: str, way: str) -> Iterator[dict[str, int]]:
    """The fields that break a command, one choice after the other."""
    if way == "shape code in no table":
        yield from ({"tile_shape": code} for code in range(len(SHAPES), 16))
    elif way == "type code in no table":
        names = ("a_type", "b_type", "c_type", "d_type") if kind == "multiply" else ("element_type",)
        yield from ({name: code} for name in names for code in range(len(FORMATS), 16))
    elif way == "space code in no table":
        yield {"space": len(SPACES)}
    elif way == "space that the core has not":
        if not config.shared_bytes:
            yield {"space": SPACES.index("shared")}
    elif kind == "multiply":
        yield from _multiply_fields(config, way)
    else:
        yield from _memory_fields(config, kind, way)


def _memory_fields(config: CoreConfig, kind: str, way: str) -> Iterator[dict[str, int]]:
    legal = set(legal_fragments(config))
    everywhere = set(legal_fragments(_ALL))
    uses = [use for use in USES if (use == "d") == (kind == "store")]
    if way == "use of another opcode":
        for use, name, shape, layout in sorted(legal, key=str):
            if use not in uses:
                yield _memory_values(use, name, shape, layout)
        return
    missing = way == "family that the core has not"
    for row in product(uses, FORMATS, SHAPES, LAYOUTS):
        if row not in legal and (row in everywhere) == missing:
            yield _memory_values(*row)


def _memory_values(use: Any, name: str, shape: Any, layout: str) -> dict[str, int]:
    return {
        "use": USES.index(use),
        "layout": int(layout == "col"),
        "tile_shape": shape_code(shape),
        "element_type": type_code(name),
    }


def _multiply_fields(config: CoreConfig, way: str) -> Iterator[dict[str, int]]:
    legal = {_key(item) for item in multiplies_of(config)}
    everywhere = {_key(item) for item in multiplies_of()}
    if way in ("saturation that the family has not", "rounding that the family has not"):
        for instruction in multiplies_of(config):
            values = _multiply_values(_key(instruction))
            if way.startswith("saturation") and instruction.family.saturate == "never":
                yield {**values, "saturate": 1, "rounding": 0}
            elif way.startswith("rounding") and not instruction.family.roundings:
                yield from ({**values, "saturate": 0, "rounding": code} for code in (1, 2, 3))
    elif way == "family that the core has not":
        yield from (_multiply_values(key) for key in sorted(everywhere - legal, key=str))
    else:
        for family in CORE_FAMILIES:
            names = (*family.multiplicands, "f32", "s32", "f16")
            for key in product(family.shapes, names, names, names, names):
                if key not in everywhere:
                    yield _multiply_values(key)


def _key(instruction: MmaInstruction) -> tuple[Any, ...]:
    return (instruction.shape, *(instruction.types[use] for use in USES))


def _multiply_values(key: tuple[Any, ...]) -> dict[str, int]:
    shape, *types = key
    codes = {f"{use}_type": type_code(name) for use, name in zip(USES, types, strict=True)}
    return {"tile_shape": shape_code(shape), **codes}
