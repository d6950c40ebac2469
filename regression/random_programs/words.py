"""Command words that are in no table: every way to break one field of a legal command."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
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

Fields = dict[str, int]
Ways = Mapping[str, Sequence[Fields]]
"""How a command may be illegal, and the choices of fields that make it so; none where a core leaves none."""

_UNKNOWN_SPACE: Final = {"space": len(SPACES)}

_CORE_TYPES: Final = {
    type_ for family in CORE_FAMILIES for type_ in (*family.multiplicands, *family.accumulators)
}
"""Types that have the first codes; those behind them are golden's alone."""


def _unknown(names: Iterable[str], known: Collection[Any]) -> list[Fields]:
    """A code that no core has, in one of several four-bit fields."""
    return [{name: code} for name in names for code in range(len(known), 16)]


def _access_ways(config: CoreConfig, kind: str) -> Ways:
    legal, everywhere = set(legal_fragments(config)), set(legal_fragments(PRESETS["small"]))
    uses = [use for use in USES if (use == "d") == (kind == "store")]
    others = [row for row in product(uses, FORMATS, SHAPES, LAYOUTS) if row not in legal]
    turned = [row for row in sorted(legal, key=str) if row[0] not in uses]
    return {
        "shape code in no table": _unknown(["tile_shape"], SHAPES),
        "type code that no core has": _unknown(["element_type"], _CORE_TYPES),
        "space code in no table": [_UNKNOWN_SPACE],
        "use of another opcode": [_access_fields(*row) for row in turned],
        "combination in no table": [_access_fields(*row) for row in others if row not in everywhere],
        "space that the core has not": [{"space": SPACES.index("shared")}] * (not config.shared_bytes),
        "family that the core has not": [_access_fields(*row) for row in others if row in everywhere],
    }


def _access_fields(use: Any, name: str, shape: Any, layout: str) -> Fields:
    return {
        "use": USES.index(use),
        "layout": int(layout == "col"),
        "tile_shape": commands.shape_code(shape),
        "element_type": commands.type_code(name),
    }


def _multiply_ways(config: CoreConfig) -> Ways:
    legal = [item for item in multiplies_of(config) if not item.is_sparse]
    everywhere = {_key(item) for item in multiplies_of()}
    # Elements of 6 and 4 bits are of few cores.
    known = _CORE_TYPES | {item.types[use] for item in legal for use in USES}
    missing = sorted(everywhere - {_key(item) for item in legal}, key=str)
    unknown = [
        key
        for family in CORE_FAMILIES
        if not family.is_sparse
        for key in product(family.shapes, *4 * [(*family.multiplicands, "f32", "s32", "f16")])
        if key not in everywhere
    ]
    plain = {"saturate": 0, "rounding": 0}
    fields = [(item.family, {**_multiply_fields(_key(item)), **plain}) for item in legal]
    return {
        "shape code in no table": _unknown(["tile_shape"], SHAPES),
        "type code that no core has": [
            {f"{use}_type": commands.type_code(name)} for use in USES for name in FORMATS if name not in known
        ],
        "combination in no table": [_multiply_fields(key) for key in unknown],
        "saturation that the family has not": [
            {**its, "saturate": 1} for family, its in fields if family.saturate == "never"
        ],
        "rounding that the family has not": [
            {**its, "rounding": code} for family, its in fields if not family.roundings for code in (1, 2, 3)
        ],
        "family that the core has not": [_multiply_fields(key) for key in missing],
    }


def _key(instruction: MmaInstruction) -> tuple[Any, ...]:
    return (instruction.shape, *(instruction.types[use] for use in USES))


def _multiply_fields(key: tuple[Any, ...]) -> Fields:
    shape, *types = key
    codes = {f"{use}_type": commands.type_code(name) for use, name in zip(USES, types, strict=True)}
    return {"tile_shape": commands.shape_code(shape), **codes}


def _move_ways(config: CoreConfig, kind: str) -> Ways:
    """Without on-chip memory a core has no moves of matrices, and no field of one to break."""
    ways: dict[str, list[Fields]] = {"move code in no table": [{"move": len(commands.MatrixMove)}]}
    if kind != "movmatrix":
        ways = {
            "count code in no table": [{"count_log2": len(MATRIX_COUNTS)}],
            "space code in no table": [_UNKNOWN_SPACE],
            "space of no matrix": [{"space": SPACES.index(s)} for s in SPACES if s not in MATRIX_SPACES],
        }
    if config.shared_bytes:
        return {**ways, "core without on-chip memory": []}
    return {**dict.fromkeys(ways, ()), "core without on-chip memory": [{}]}


@cache
def word_ways(config: CoreConfig, kind: str) -> Ways:
    """How a command of one of `KINDS` may be illegal on a core."""
    match kind:
        case "unknown":
            options = {commands.Opcode.SPARSE: config.sparse, commands.Opcode.WGMMA: config.wgmma}
            lost = [{"opcode": item.value} for item, has in options.items() if not has]
            return {"opcode in no table": lost}
        case "load" | "store":
            return _access_ways(config, kind)
        case "multiply":
            return _multiply_ways(config)
    return _move_ways(config, kind)


KINDS: Final = ("unknown", "load", "store", "multiply", "ldmatrix", "stmatrix", "movmatrix")
"""Of commands; an unknown one has an opcode of none."""


def illegal_words(
    random: Generator, config: CoreConfig, kind: str, way: str, legal: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Break the words of a legal command of a kind in one of its `word_ways`.

    None where the core leaves no such way: one that has all families has none missing.
    """
    choices = word_ways(config, kind)[way]
    if not choices:
        return None
    moved = "matrix" in kind
    command = commands.MatrixCommand if moved else commands.MmaCommand if kind == "multiply" else None
    layout = data.Layout.cast(command or commands.MemoryCommand)
    bits = sum(word << 32 * place for place, word in enumerate(legal))
    for name, value in choices[int(random.integers(len(choices)))].items():
        field = layout[name]
        mask = (1 << field.width) - 1
        bits = bits & ~(mask << field.offset) | (value & mask) << field.offset
    return tuple(bits >> 32 * word & 0xFFFF_FFFF for word in range(commands.COMMAND_WORDS))
