"""Coverpoints of shares of `wgmma`: where operands are, gangs, and conflicts of banks."""

from collections.abc import Iterator, Sequence
from typing import Final

from golden.matrix_descriptors import CHUNK, SPANS
from golden.tables.commands import Command, Wgmma
from golden.tables.matrix_instructions import TILE_COLUMNS
from golden.warpgroup_share import descriptors
from hdl.config import WARPS_OF_A_GROUP, CoreConfig
from regression.functional.model import Coverpoint, Seen, bin_name, coverpoint
from regression.random_programs.shares import share_forms, share_name

SWIZZLES: Final = {16: "none", **{span: f"{span} bytes" for span in SPANS[1:]}}
ORDERS: Final = ("k contiguous", "m or n contiguous")
_COLUMNS: Final = ("one tile", "an odd number of tiles", "an even number of tiles")
_SIGNS: Final = ("as they are", "A inverted", "B inverted", "both inverted")
_MEMBERS: Final = tuple(str(count) for count in range(1, WARPS_OF_A_GROUP + 1))


def points_of(config: CoreConfig) -> Iterator[Coverpoint]:
    """The coverpoints of a core with `wgmma`."""
    if not config.wgmma:
        return
    yield coverpoint(
        "share",
        "Every combination of types and modifiers of wgmma.",
        {"types": [share_name(forms[0]) for forms in share_forms(config)]},
    )
    yield coverpoint("share columns", "How many tiles of 8 columns a share has.", {"columns": _COLUMNS})
    yield coverpoint(
        "descriptor",
        "Every swizzle, order and operand, without a base offset and with one.",
        {
            "operand": ("A", "B"),
            "swizzle": tuple(SWIZZLES.values()),
            "order": ORDERS,
            "base offset": ("zero", "another"),
        },
    )
    yield coverpoint(
        "share operands",
        "Where A is, whether signs are inverted, and whether C is D or zero.",
        {"A": ("in memory", "in registers"), "signs": _SIGNS, "C": ("zero", "D")},
    )
    yield coverpoint(
        "common share",
        "Warps of a group whose neighbouring shares have B, types and modifiers in common.",
        {"warps": _MEMBERS},
    )
    yield coverpoint(
        "bank conflict",
        "Whether rows of each swizzle meet in a bank, if they lie packed.",
        {"swizzle": tuple(SWIZZLES.values()), "order": ORDERS, "conflict": ("seen", "none")},
        lambda swizzle, _, conflict: _no_conflict(config, swizzle, conflict == "seen"),
    )


def _no_conflict(config: CoreConfig, swizzle: str, is_seen: bool) -> str | None:
    if is_seen == has_conflicts(config, swizzle):
        return None
    return "the swizzle keeps the rows of a request in different banks" if is_seen else "both halves meet"


def has_conflicts(config: CoreConfig, swizzle: str) -> bool:
    """Whether packed rows of a swizzle meet in a bank: without one, if there are several banks."""
    return swizzle == "none" and config.beat_quads > 1


def sample_share(seen: Seen, command: Wgmma) -> None:
    """Note a share that was executed."""
    instruction = command.instruction
    seen["share", share_name(instruction)] += 1
    tiles = instruction.shape.n // TILE_COLUMNS
    seen["share columns", _COLUMNS[0 if tiles == 1 else 2 - tiles % 2]] += 1
    operands = ("B",) if command.a_in_registers else ("A", "B")
    for operand, (found, _, transposed) in zip(operands, descriptors(command), strict=True):
        base = "another" if found.base else "zero"
        seen["descriptor", bin_name(operand, SWIZZLES[found.span], ORDERS[transposed], base)] += 1
    a = "in registers" if command.a_in_registers else "in memory"
    signs = _SIGNS[command.negated[0] + 2 * command.negated[1]]
    seen["share operands", bin_name(a, signs, "D" if command.scale_d else "zero")] += 1


def sample_common(seen: Seen, commands: Sequence[Command]) -> None:
    """Note how many warps have a share in common, of shares next to each other."""
    common, warps = None, set[int]()
    for command in (item for item in commands if isinstance(item, Wgmma)):
        found = {**vars(command), "a": 0, "d": 0, "warp": command.warp // WARPS_OF_A_GROUP}
        if found != common or command.warp in warps:
            common, warps = found, set()
        warps.add(command.warp)
        seen["common share", str(len(warps))] += 1


def packed_descriptor(rows: int, span: int) -> int:
    """The bits of a descriptor of 16-bit elements without gaps, in either order, from the first byte on."""
    units = span // CHUNK
    leading, stride = (rows, 8) if units == 1 else (16 * units, 8 * units)
    return leading << 16 | stride << 32 | SPANS.index(span) << 62
