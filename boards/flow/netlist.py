"""What a synthesised netlist takes, by unit of the design."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boards.flow.devices import RESOURCES, Device

_SCOPE = "$scopeinfo"


@dataclass(frozen=True, kw_only=True)
class Utilisation:
    """What a design takes of an FPGA.

    Parameters
    ----------
    device : Device
    units : mapping
        Path of a unit in the design to what it takes of each of `RESOURCES`, those inside it included; the
        path of the whole is empty.
    cells : mapping
        Type of a cell to their number.
    """

    device: Device
    units: Mapping[str, tuple[float, ...]]
    cells: Mapping[str, int]

    @property
    def total(self) -> tuple[float, ...]:
        """Of each of `RESOURCES`."""
        return self.units[""]

    @property
    def excess(self) -> list[str]:
        """A sentence for each resource of which the FPGA has too little."""
        return [
            f"{used:,.0f} {name}, {used / available:.1f} times the {available:,} there are"
            for name, used, available in zip(RESOURCES, self.total, self.device.available, strict=True)
            if used > available
        ]


def utilisation(netlist: Path, top: str, device: Device) -> Utilisation:
    """Count the cells of a netlist by the unit they belong to.

    Synthesis flattens the design, but a cell's name begins with the path of its unit: registers and memories
    keep their names, and a look-up table is called after the one beside it. So between two units
    that are joined by logic the border is where the names put it.

    Parameters
    ----------
    netlist : Path
        JSON from yosys.
    top : str
        Name of the top module.
    device : Device

    Returns
    -------
    Utilisation
    """
    found = json.loads(netlist.read_text())["modules"][top]["cells"]
    types = {name: cell["type"] for name, cell in found.items()}
    scopes = scopes_of(found)
    units: dict[str, list[float]] = {"": [0.0] * len(RESOURCES)}
    for name, type_ in types.items():
        amounts = device.taken(type_)
        if not any(amounts):
            continue
        parts = unit_of(name, scopes).split(".")
        for path in {"", *(".".join(parts[:depth]) for depth in range(1, len(parts) + 1))}:
            unit = units.setdefault(path, [0.0] * len(RESOURCES))
            for index, amount in enumerate(amounts):
                unit[index] += amount
    cells = Counter(type_ for type_ in types.values() if type_ != _SCOPE)
    return Utilisation(
        device=device,
        units={path: tuple(unit) for path, unit in sorted(units.items())},
        cells=dict(sorted(cells.items())),
    )


def scopes_of(cells: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    """The paths of the units of a design, which yosys keeps when it flattens it.

    Parameters
    ----------
    cells : mapping
        Those of the netlist, by name.
    """
    return frozenset(name for name, cell in cells.items() if cell["type"] == _SCOPE)


def unit_of(name: str, scopes: frozenset[str]) -> str:
    """The longest of the scopes that a cell's name begins with; empty if none.

    Parameters
    ----------
    name : str
    scopes : frozenset of str
        Paths of the units of the design.
    """
    parts = name.split(".")
    for depth in range(len(parts) - 1, 0, -1):
        path = ".".join(parts[:depth])
        if path in scopes:
            return path
    return ""
