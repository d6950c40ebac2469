"""Command words that are in no table: every way to break one field of a legal command."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any, Final

from amaranth.lib import data
from numpy.random import Generator

from golden.tables.commands import MATRIX_COUNTS, MATRIX_SPACES
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import CORE_FAMILIES, LAYOUTS, SHAPES, SPACES, USES
from golden.tables.matrix_instructions import MmaInstruction
from hdl import command as commands
from hdl.config import PRESETS, CoreConfig
from hdl.memory.fragment_geometry import legal_fragments
from regression.random_programs.choices import multiplies_of

_ALL: Final = PRESETS["small"]
"""A core of all families."""

Fields = dict[str, int]
Way = Callable[[CoreConfig, str], Iterable[Fields]]
"""From a core and a kind of command to the choices of fields that break it, if there are any."""


def _unknown(names: Iterable[str], known: Collection[Any]) -> Way:
    """A code that no table has, in one of several four-bit fields."""
    found = [{name: code} for name in names for code in range(len(known), 16)]
    return lambda config, kind: found


def _other_uses(config: CoreConfig, kind: str) -> Iterator[Fields]:
    """A legal access with the opcode of the other direction."""
    for row in sorted(legal_fragments(config), key=str):
        if (row[0] == "d") != (kind == "store"):
            yield _access_fields(*row)


def _accesses(config: CoreConfig, kind: str, *, elsewhere: bool) -> Iterator[Fields]:
    """Accesses that the core has not, but another one has, or none."""
    legal, everywhere = set(legal_fragments(config)), set(legal_fragments(_ALL))
    uses = [use for use in USES if (use == "d") == (kind == "store")]
    for row in product(uses, FORMATS, SHAPES, LAYOUTS):
        if row not in legal and (row in everywhere) == elsewhere:
            yield _access_fields(*row)


def _access_fields(use: Any, name: str, shape: Any, layout: str) -> Fields:
    return {
        "use": USES.index(use),
        "layout": int(layout == "col"),
        "tile_shape": commands.shape_code(shape),
        "element_type": commands.type_code(name),
    }


def _multiplies(config: CoreConfig, kind: str, *, elsewhere: bool) -> Iterator[Fields]:
    """Multiplies that the core has not, but another one has, or none."""
    everywhere = {_key(item) for item in multiplies_of()}
    if elsewhere:
        keys = sorted(everywhere - {_key(item) for item in multiplies_of(config)}, key=str)
        yield from map(_multiply_fields, keys)
        return
    for family in CORE_FAMILIES:
        names = (*family.multiplicands, "f32", "s32", "f16")
        for key in product(family.shapes, names, names, names, names):
            if key not in everywhere:
                yield _multiply_fields(key)


def _saturated(config: CoreConfig, kind: str) -> Iterator[Fields]:
    for item in multiplies_of(config):
        if item.family.saturate == "never":
            yield {**_multiply_fields(_key(item)), "saturate": 1, "rounding": 0}


def _rounded(config: CoreConfig, kind: str) -> Iterator[Fields]:
    for item in multiplies_of(config):
        if not item.family.roundings:
            for code in (1, 2, 3):
                yield {**_multiply_fields(_key(item)), "saturate": 0, "rounding": code}


def _key(instruction: MmaInstruction) -> tuple[Any, ...]:
    return (instruction.shape, *(instruction.types[use] for use in USES))


def _multiply_fields(key: tuple[Any, ...]) -> Fields:
    shape, *types = key
    codes = {f"{use}_type": commands.type_code(name) for use, name in zip(USES, types, strict=True)}
    return {"tile_shape": commands.shape_code(shape), **codes}


def _on_chip(*fields: Fields) -> Way:
    """Fields of a move of matrices; a core without on-chip memory has none to break."""
    return lambda config, kind: fields if config.shared_bytes else ()


_SHAPE: Final = _unknown(["tile_shape"], SHAPES)
_UNKNOWN_SPACE: Final = {"space": len(SPACES)}
_WITHOUT_MEMORY: Final[dict[str, Way]] = {
    "core without on-chip memory": lambda config, kind: () if config.shared_bytes else [{}]
}
_ACCESS: Final[dict[str, Way]] = {
    "shape code in no table": _SHAPE,
    "type code in no table": _unknown(["element_type"], FORMATS),
    "space code in no table": lambda config, kind: [_UNKNOWN_SPACE],
    "use of another opcode": _other_uses,
    "combination in no table": partial(_accesses, elsewhere=False),
    "space that the core has not": lambda config, kind: (
        () if config.shared_bytes else [{"space": SPACES.index("shared")}]
    ),
    "family that the core has not": partial(_accesses, elsewhere=True),
}
_MOVE: Final[dict[str, Way]] = {
    "count code in no table": _on_chip({"count_log2": len(MATRIX_COUNTS)}),
    "space code in no table": _on_chip(_UNKNOWN_SPACE),
    "space of no matrix": _on_chip(
        *({"space": SPACES.index(space)} for space in SPACES if space not in MATRIX_SPACES)
    ),
    **_WITHOUT_MEMORY,
}

WORD_WAYS: Final[Mapping[str, Mapping[str, Way]]] = {
    "unknown": {
        "opcode in no table": lambda config, kind: [
            {"opcode": code} for code in range(8) if code not in {item.value for item in commands.Opcode}
        ]
    },
    "load": _ACCESS,
    "store": _ACCESS,
    "multiply": {
        "shape code in no table": _SHAPE,
        "type code in no table": _unknown([f"{use}_type" for use in USES], FORMATS),
        "combination in no table": partial(_multiplies, elsewhere=False),
        "saturation that the family has not": _saturated,
        "rounding that the family has not": _rounded,
        "family that the core has not": partial(_multiplies, elsewhere=True),
    },
    "ldmatrix": _MOVE,
    "stmatrix": _MOVE,
    "movmatrix": {"move code in no table": _on_chip({"move": len(commands.MatrixMove)}), **_WITHOUT_MEMORY},
}
"""How a command of each kind may be illegal."""


def illegal_words(
    random: Generator, config: CoreConfig, kind: str, way: str, legal: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Break the words of a legal command of a kind in one of `WORD_WAYS`.

    None where the core leaves no such way: one that has all families has none missing.
    """
    choices = list(WORD_WAYS[kind][way](config, kind))
    if not choices:
        return None
    moved = "matrix" in kind
    command = commands.MatrixCommand if moved else commands.MmaCommand if kind == "multiply" else None
    layout = data.Layout.cast(command or commands.MemoryCommand)
    bits = sum(word << 32 * place for place, word in enumerate(legal))
    for name, value in choices[random.integers(len(choices))].items():
        field = layout[name]
        mask = (1 << field.width) - 1
        bits = bits & ~(mask << field.offset) | (value & mask) << field.offset
    return tuple(bits >> 32 * word & 0xFFFF_FFFF for word in range(commands.COMMAND_WORDS))
