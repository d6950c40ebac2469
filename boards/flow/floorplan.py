"""Places for multipliers: those of a unit side by side, which placers do not see to.

An ECP5 has its multipliers in three rows. A placer that moves everything a little at a time in the end puts
each multiplier where there is room, anywhere in a row, and so draws its unit out over the whole FPGA.
Placed before all else, multipliers draw their unit together.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from boards.flow.netlist import name_key, rewritten, scopes_of, unit_of

__all__ = ["place_multipliers"]

_TYPE: Final = "MULT18X18D"

_PLACE: Final = "BEL"
"""The attribute by which nextpnr takes the place of a cell as given."""

_ROWS: Final = (58, 34, 58, 34, 10)
"""Rows of multipliers of an LFE5U-85F, which is 95 high, as units take turns at them: more often where more
room is around."""

_BLOCKS: Final = (4, 13, 22, 31, 40, 49, 58, 69, 78, 87, 96, 105, 114)
"""The columns at which a block of multipliers begins, in each of the rows."""

_IN_BLOCK: Final = (0, 1, 4, 5)
"""The multipliers of a block, by number, which is also the column from where it begins."""

_STACKED: Final = 4
"""The number of equally large units from which on each stands in two rows."""


def place_multipliers(netlist: Path, top: str) -> int:
    """Give the multipliers of each unit places side by side.

    The largest unit comes first. Units in the same row share it evenly. A unit that fits in no row is left to
    the placer. Where four units or more are as large as the largest, each stands in two rows, the first half
    of its multipliers over the other: wires to multipliers lie along their row, and so each row has half as
    many.

    Parameters
    ----------
    netlist : Path
        Flattened, of yosys for an LFE5U-85F; it is rewritten.
    top : str
        Name of the module.

    Returns
    -------
    int
        How many multipliers have a place.
    """
    placed = 0
    with rewritten(netlist, top) as module:
        cells = module["cells"]
        for row, units in _rows(_multipliers(cells)).items():
            for unit, sites in zip(units, _sites(row, units), strict=True):
                for name, site in zip(unit, sites, strict=False):
                    cells[name]["attributes"][_PLACE] = site
                placed += len(unit)
    return placed


_Unit = Sequence[str]
"""Names of its multipliers."""


def _multipliers(cells: Mapping[str, Any]) -> list[_Unit]:
    """Those of each unit, in the order of the numbers in their names; the largest unit first."""
    scopes = scopes_of(cells)
    units = defaultdict(list)
    for name in sorted((name for name, cell in cells.items() if cell["type"] == _TYPE), key=name_key):
        units[unit_of(name, scopes)].append(name)
    return sorted(units.values(), key=len, reverse=True)


def _rows(units: Sequence[_Unit]) -> dict[int, list[_Unit]]:
    rows: dict[int, list[_Unit]] = {row: [] for row in _ROWS}
    stacked = _stacked(units)
    for unit in stacked:
        rows[_ROWS[0]].append(unit[: _half(unit)])
        rows[_ROWS[1]].append(unit[_half(unit) :])
    for turn, unit in enumerate(units[len(stacked) :], len(stacked)):
        for row in (*_ROWS[turn % len(_ROWS) :], *_ROWS):
            if sum(map(_blocks, (*rows[row], unit))) <= len(_BLOCKS):
                rows[row].append(unit)
                break
    return rows


def _stacked(units: Sequence[_Unit]) -> list[_Unit]:
    """The units that stand in two rows each, from left to right; none if they are few or do not fit.

    They stand in the order of a Gray code: of four dot-product units, two whose numbers differ in one bit
    take the same row of X or of Y.
    """
    large = [unit for unit in units if len(unit) == len(units[0])]
    blocks = sum(_blocks(unit[: _half(unit)]) for unit in large)
    if len(large) < _STACKED or _blocks(large[0]) == 1 or blocks > len(_BLOCKS):
        return []
    codes = (number ^ number >> 1 for number in range(2 * len(large)))
    return [large[code] for code in codes if code < len(large)]


def _half(unit: _Unit) -> int:
    return -(-len(unit) // 2)


def _blocks(unit: _Unit) -> int:
    return -(-len(unit) // len(_IN_BLOCK))


def _sites(row: int, units: Sequence[_Unit]) -> Iterator[list[str]]:
    """The names of the places of each unit, with as much room on its left as on its right."""
    room = len(_BLOCKS) - sum(map(_blocks, units))
    taken = 0
    for index, unit in enumerate(units):
        # Rounded to the nearest, half a block down.
        first = taken + (room * (2 * index + 1) + len(units) - 1) // (2 * len(units))
        taken += _blocks(unit)
        yield [
            f"X{column + number}/Y{row}/MULT18_{number}"
            for column in _BLOCKS[first : first + _blocks(unit)]
            for number in _IN_BLOCK
        ]
