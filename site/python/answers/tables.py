"""Instruction set, profiles and fragments as JSON, for the choices that a page offers."""

from typing import Any

from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import (
    FAMILIES,
    LAYOUTS,
    NARROW_FAMILIES,
    USES,
    WGMMA_FAMILIES,
    Family,
    Shape,
    Use,
)
from golden.tables.layouts import LANES, fragment
from golden.tables.profiles import EXACT_PROFILES, PROFILES

TAUGHT = (*FAMILIES, *WGMMA_FAMILIES, *(family for family in NARROW_FAMILIES if family.mnemonic == "mma"))
"""Families that a page offers."""


def instruction_tables() -> dict[str, Any]:
    """Families of instructions, formats and profiles.

    Returns
    -------
    dict
        ``families``, ``formats``, and ``profiles`` with the families (by position) that each executes.
    """
    profiles = [
        {
            "name": profile.name,
            "exact": False,
            "families": [index for index, family in enumerate(TAUGHT) if profile.executes(family)],
            "fractionBits": profile.fraction_bits,
            "measured": profile.name == "hopper",
        }
        for profile in PROFILES.values()
    ]
    everything = list(range(len(TAUGHT)))
    profiles += [
        {"name": name, "exact": True, "families": everything, "fractionBits": None, "measured": False}
        for name in EXACT_PROFILES
    ]
    return {
        "families": [_family(family) for family in TAUGHT],
        "formats": {name: _format(name) for name in FORMATS},
        "profiles": profiles,
    }


def _family(family: Family) -> dict[str, Any]:
    return {
        "mnemonic": family.mnemonic,
        "kinds": [".".join((family.kind, *scales)) for scales in family.scales or ((),)],
        "shapes": [{"text": str(shape), "m": shape.m, "n": shape.n, "k": shape.k} for shape in family.shapes],
        "multiplicands": family.multiplicands,
        "mixed": family.mixed,
        "accumulators": family.accumulators,
        "sameAccumulators": family.same_accumulators,
        "fixedLayout": family.fixed_layout,
        "saturate": family.saturate,
        "roundings": family.roundings,
        "operations": family.operations,
    }


def _format(name: str) -> dict[str, Any]:
    format = FORMATS[name]
    if isinstance(format, FloatFormat):
        return {
            "float": True,
            "bits": format.bits,
            "exponentBits": format.exponent_bits,
            "fractionBits": format.fraction_bits,
        }
    return {"float": False, "bits": format.bits, "minimum": format.minimum, "maximum": format.maximum}


def fragment_tables() -> dict[str, Any]:
    """Every fragment, and the position tables that they share.

    Returns
    -------
    dict
        ``positions``: lists of element indices (``row * columns + column``) of lane 0's elements in register
        order, then lane 1's, and so on. ``fragments``: use, type, shape, mnemonic, rows, columns, registers
        per lane, bits per element, the allowed memory layouts, and the index of the positions.
    """
    fragments: list[dict[str, Any]] = []
    numbers: dict[tuple[int, ...], int] = {}
    for family in FAMILIES:
        for shape in family.shapes:
            for use in USES:
                for type in family.types(use):
                    positions = _positions(use, type, shape)
                    entry = _fragment(family, use, type, shape)
                    entry["positions"] = numbers.setdefault(positions, len(numbers))
                    if entry not in fragments:
                        fragments.append(entry)
    return {"lanes": LANES, "fragments": fragments, "positions": [list(positions) for positions in numbers]}


def _fragment(family: Family, use: Use, type: str, shape: Shape) -> dict[str, Any]:
    rows, columns = shape.extent(use)
    only = {"a": ["row"], "b": ["col"]} if family.fixed_layout else {}
    return {
        "mnemonic": family.mnemonic,
        "use": use,
        "type": type,
        "shape": str(shape),
        "rows": rows,
        "columns": columns,
        "bits": FORMATS[type].bits,
        "registers": fragment(use, type, shape).registers,
        "layouts": only.get(use, list(LAYOUTS)),
    }


def _positions(use: Use, type: str, shape: Shape) -> tuple[int, ...]:
    columns = shape.extent(use)[1]
    lanes = fragment(use, type, shape).positions
    return tuple(row * columns + column for places in lanes for row, column in places)
