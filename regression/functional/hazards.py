"""Coverpoints of dependences between commands that may be in flight at once."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, product
from typing import Final, NamedTuple

from golden.lines import gather_lines
from golden.matrix_descriptors import CHUNK
from golden.tables.commands import MATRIX_ROW_BYTES, Command, Load, LoadMatrix, Mma, Store, StoreMatrix, Wgmma
from golden.tables.instruction_set import SCALES, Space
from golden.warpgroup_share import descriptors
from hdl.config import PRESETS, CoreConfig
from regression.functional.model import Coverpoint, Seen, bin_name, coverpoint
from regression.random_programs.choices import (
    OPTIONS,
    UNITS,
    commands_of,
    operands_of,
    registers_of,
    unit_of,
)

_NEAR: Final = 4
"""So many commands behind another a command may find it still at work."""

SIDE: Final = ("metadata", *SCALES)
"""Fields of registers that are no fragments of a multiply."""

EXTENTS: Final = ("all", "part")
_SHARE_KINDS: Final = ("share after store", "store after share")
MEMORY_KINDS: Final = ("load after store", "store after load", "store after store")
BYTES: Final = ("all", "part", "between lines")
MOVES: Final = ("older", "younger", "both")
ROW_BYTES: Final = ("some", "none")
_CONFIG: Final = PRESETS["small"]
_SHARED_BASE: Final = _CONFIG.shared_base

ROLES: Final[Mapping[str, tuple[str, str]]] = {
    "read after write": ("writes", "reads"),
    "write after read": ("reads", "writes"),
    "write after write": ("writes", "writes"),
}
"""What the older and the younger command of each hazard do with the registers."""


@cache
def sizes(config: CoreConfig, unit: str, role: str) -> frozenset[int]:
    """How many registers an operand of a unit's commands may have; none of a unit that the core lacks.

    Metadata and scales are no operands here.
    """
    operands = {item for command in commands_of(unit, config) for item in operands_of(command).items()}
    return frozenset(
        count
        for name, (count, is_written) in operands
        if is_written == (role == "writes") and name not in SIDE
    )


def impossible(kind: str, older: str, younger: str, extent: str, config: CoreConfig = _CONFIG) -> str | None:
    """Why there is no such register hazard in a core; None where there is one."""
    roles = list(zip((older, younger), ROLES[kind], strict=True))
    first, second = (sizes(config, unit, role) for unit, role in roles)
    for unit, role in roles:
        if not sizes(config, unit, role):
            return f"a {unit} {role} no register"
    if extent == "all" and not first & second:
        return f"no operand of a {younger} has as many registers as one of a {older}"
    if extent == "part" and first == second == {1}:
        return "one register is the whole operand"
    return None


POINTS: Final = (
    coverpoint(
        "register hazard",
        f"Registers in common of two commands at most {_NEAR} apart, by their units: the same ones, or some.",
        {"kind": tuple(ROLES), "older": UNITS, "younger": UNITS, "registers": EXTENTS},
        impossible,
    ),
    coverpoint(
        "memory hazard",
        f"Bytes in common of two accesses at most {_NEAR} apart: the same ones, some, or none although "
        "the one lies between the lines of the other; the memory named alike, or by a generic address and "
        "by its space.",
        {
            "kind": MEMORY_KINDS,
            "memory": ("global", "shared"),
            "named": ("alike", "differently"),
            "bytes": BYTES,
        },
    ),
    coverpoint(
        "row hazard",
        f"Bytes in common of two accesses at most {_NEAR} apart of which one or both move matrices, or none: "
        "their rows may be anywhere, so the younger one waits all the same.",
        {"kind": MEMORY_KINDS, "moves": MOVES, "memory": ("global", "shared"), "bytes": ROW_BYTES},
    ),
)


def option_points(config: CoreConfig) -> Iterator[Coverpoint]:
    """Hazards with units that few cores have."""
    options = [unit for unit in OPTIONS if commands_of(unit, config)]
    if options:
        yield coverpoint(
            "option hazard",
            f"Registers in common of two commands at most {_NEAR} apart, one or both of an option.",
            {
                "kind": tuple(ROLES),
                "older": (*UNITS, *options),
                "younger": (*UNITS, *options),
                "registers": EXTENTS,
            },
            partial(_no_option_hazard, config),
        )
    if config.wgmma:
        yield coverpoint(
            "share hazard",
            f"Bytes in common of a share and a store at most {_NEAR} apart, or none.",
            {"kind": _SHARE_KINDS, "store": ("store", "stmatrix"), "bytes": ROW_BYTES},
        )


def _no_option_hazard(config: CoreConfig, kind: str, older: str, younger: str, extent: str) -> str | None:
    if not {older, younger} & set(OPTIONS):
        return "neither is of an option"
    return impossible(kind, older, younger, extent, config)


def sample_hazards(seen: Seen, commands: Sequence[Command], rows: Mapping[int, Sequence[int]]) -> None:
    """Note what commands of one warp that overlapped, or could have, had in common.

    `rows` has the generic addresses of the rows of each move of matrices, by its place among the commands.
    """
    facts = [(unit_of(command), registers_of(command, without=SIDE)) for command in commands]
    accesses = [_access(command, rows.get(index, ())) for index, command in enumerate(commands)]
    for warp in {command.warp for command in commands}:
        of_warp = [index for index, command in enumerate(commands) if command.warp == warp]
        for place, younger in enumerate(of_warp):
            for older in of_warp[max(0, place - _NEAR) : place]:
                _sample_registers(seen, facts[older], facts[younger])
                _sample_side_operands(seen, commands[older], commands[younger])
                _sample_accesses(seen, accesses[older], accesses[younger])


def _sample_side_operands(seen: Seen, older: Command, younger: Command) -> None:
    for kind, multiply, other in (("read after write", younger, older), ("write after read", older, younger)):
        if not isinstance(multiply, Mma) or unit_of(other) not in UNITS:
            continue
        written = set(chain(*registers_of(other)["writes"]))
        for name in multiply.instruction.side_registers:
            if getattr(multiply, name) in written:
                point, names = ("scale hazard", (name,)) if name in SCALES else ("metadata hazard", ())
                seen[point, bin_name(*names, kind, unit_of(other))] += 1


def _sample_accesses(seen: Seen, first: "_Access | None", second: "_Access | None") -> None:
    if first is None or second is None or "store" not in (first.kind, second.kind):
        return
    kind = f"{second.kind} after {first.kind}"
    if kind in _SHARE_KINDS:
        stores = first if first.kind == "store" else second
        extent = "some" if _touch(first.lines, second.lines) else "none"
        seen["share hazard", bin_name(kind, "store" if stores.space else "stmatrix", extent)] += 1
        return
    sample = _sample_memory if first.space and second.space else _sample_rows
    sample(seen, first, second)


Facts = tuple[str, dict[str, list[range]]]


def _sample_registers(seen: Seen, older: Facts, younger: Facts) -> None:
    (older_unit, before), (younger_unit, after) = older, younger
    for kind, (first, second) in ROLES.items():
        for one, other in product(before[first], after[second]):
            if max(one.start, other.start) < min(one.stop, other.stop):
                extent = "all" if one == other else "part"
                point = "option hazard" if {older_unit, younger_unit} & set(OPTIONS) else "register hazard"
                seen[point, bin_name(kind, older_unit, younger_unit, extent)] += 1


Lines = list[tuple[int, int]]
"""Generic addresses and sizes."""


class _Access(NamedTuple):
    """An access to memory; a move of matrices has no space, and neither has a share."""

    kind: str
    space: Space | None
    lines: Lines


def _touch(first: Lines, second: Lines) -> bool:
    return any(a < b + m and b < a + n for a, n in first for b, m in second)


def _access(command: Command, rows: Sequence[int]) -> _Access | None:
    match command:
        case Load(instruction, _, address, stride) | Store(instruction, _, address, stride):
            shift = _SHARED_BASE if instruction.space == "shared" else 0
            lines = gather_lines(instruction, address + shift, stride)
            return _Access(type(command).__name__.lower(), instruction.space, lines)
        case LoadMatrix() | StoreMatrix() if rows:
            kind = "load" if isinstance(command, LoadMatrix) else "store"
            return _Access(kind, None, [(row, MATRIX_ROW_BYTES) for row in rows])
        case Wgmma():
            places = chain(
                *(
                    found.chunks(rows, order).reshape(-1).tolist()
                    for found, rows, order in descriptors(command)
                )
            )
            return _Access("share", None, [(_SHARED_BASE + place, CHUNK) for place in places])
    return None


def _sample_memory(seen: Seen, older: _Access, younger: _Access) -> None:
    first, second = older.lines, younger.lines
    if first[0][0] >= sum(second[-1]) or second[0][0] >= sum(first[-1]):
        return
    extent = "all" if first == second else "part" if _touch(first, second) else "between lines"
    memory = "shared" if first[0][0] >= _SHARED_BASE else "global"
    named = "alike" if older.space == younger.space else "differently"
    seen["memory hazard", bin_name(f"{younger.kind} after {older.kind}", memory, named, extent)] += 1


def _sample_rows(seen: Seen, older: _Access, younger: _Access) -> None:
    """Note two accesses of which one at least moves matrices."""
    who = "both" if older.space is younger.space is None else "younger" if older.space else "older"
    for memory in ("global", "shared"):
        first, second = (
            [line for line in item.lines if (line[0] >= _SHARED_BASE) == (memory == "shared")]
            for item in (older, younger)
        )
        if first and second:
            extent = "some" if _touch(first, second) else "none"
            seen["row hazard", bin_name(f"{younger.kind} after {older.kind}", who, memory, extent)] += 1
