"""The layout of every fragment of one warp as JSON: the element at each place of each lane."""

from typing import Any

from golden.tables.formats import FORMATS
from golden.tables.instruction_set import FAMILIES, LAYOUTS, USES, Family, Shape, Use
from golden.tables.layouts import LANES, fragment


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
