"""Room in the middle of the FPGA: places that no cell of the design takes.

Placers pack cells as densely as they may. What is joined to everything then stands in the middle, wall to
wall, where the wires pass too that go from one side to the other, and these do not suffice, while the corners
of the FPGA stay empty. Look-up tables that nobody uses, with places of their own, draw the design out.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from boards.flow.netlist import rewritten

__all__ = ["keep_room"]

_MIDDLE: Final = (range(24, 84), range(29, 76, 2))
"""Columns and rows of an LFE5U-85F: every second row of the middle. Chains of carries go through all slices
of the tiles of a row, so whole rows stay free for them, among these all those with multipliers."""

_AROUND: Final = (range(8, 116), range(17, 84, 4))
"""Every fourth row of what is around the middle."""

_SITES: Final = tuple(f"SLICE{slice_}.K{number}" for slice_ in "CD" for number in range(2))
"""The look-up tables of a tile that are kept free: every second one."""

_INPUTS: Final = "ABCD"
_OUTPUT: Final = "Z"


def keep_room(netlist: Path, top: str) -> int:
    """Add look-up tables that take up places and nothing else.

    Parameters
    ----------
    netlist : Path
        Flattened, of yosys for an LFE5U-85F; it is rewritten.
    top : str
        Name of the module.

    Returns
    -------
    int
        How many there are. nextpnr counts each as one TRELLIS_COMB.
    """
    places = list(_places())
    with rewritten(netlist, top) as module:
        module["cells"] |= {f"room.{place}": _unused(place) for place in places}
    return len(places)


def _places() -> Iterator[str]:
    tiles = {(row, column) for columns, rows in (_MIDDLE, _AROUND) for row in rows for column in columns}
    for row, column in sorted(tiles):
        for site in _SITES:
            yield f"X{column}/Y{row}/{site}"


def _unused(place: str) -> dict[str, Any]:
    """A look-up table that is joined to nothing."""
    return {
        "type": "LUT4",
        "parameters": {"INIT": "0" * 16},
        "attributes": {"BEL": place},
        "port_directions": {**dict.fromkeys(_INPUTS, "input"), _OUTPUT: "output"},
        "connections": {port: [] for port in (*_INPUTS, _OUTPUT)},
    }
