"""Generates a SoC with LiteX, in a process of its own: LiteX changes folder, prints, and keeps global state.

    python -m boards.gateware.generate BOARD FOLDER [--without-software]
    python -m boards.gateware.generate BOARD FOLDER --simulated PROGRAM

FOLDER takes ``gateware`` and ``software`` as LiteX lays them out, and ``csr.csv``. For a board the result is
Verilog, constraints and the maker's scripts; for a simulation what LiteX compiles with Verilator.
"""

import argparse
import shutil
import struct
from importlib import import_module
from pathlib import Path

from litex.build.sim.config import SimConfig
from litex.soc.integration.builder import Builder
from litex.soc.integration.soc_core import SoCCore

from boards.boards import BOARDS, Board
from boards.gateware.core import add_tensor_core
from boards.gateware.registered_soc import RegisteredSoC
from boards.gateware.settings import SETTINGS
from boards.gateware.simulated_soc import BRIDGE, CONSOLE, SimulatedSoc
from boards.soc.toolchain import SERIAL_PORT


def board_soc(board: Board, folder: Path) -> SoCCore:
    """The SoC of a board: LiteX's target with a core.

    Parameters
    ----------
    board : Board
    folder : Path
        Takes the core's Verilog.

    Returns
    -------
    SoCCore
    """
    target = import_module(f"litex_boards.targets.{board.target}")
    kind = type("BoardSoC", (RegisteredSoC, target.BaseSoC), {})
    soc = kind(sys_clk_freq=board.clock_hz, **board.options, **SETTINGS)
    add_tensor_core(soc, board.core, folder)
    return soc


def generate_board(board: Board, folder: Path, *, with_software: bool = True) -> None:
    """Write everything for a board up to synthesis; without software, the BIOS is missing."""
    gateware = folder / "gateware"
    soc = board_soc(board, gateware)
    builder = Builder(soc, output_dir=str(folder), compile_software=with_software)
    builder.build(build_name=board.top, run=False)
    # So that the folder is whole, and may be moved to where the maker's tools are.
    scripts = {path: path.read_text() for path in gateware.iterdir() if path.suffix in (".ys", ".tcl")}
    for source, *_ in soc.platform.sources:
        copy = gateware / Path(source).name
        if not copy.exists() or not copy.samefile(source):
            shutil.copyfile(source, copy)
        scripts = {path: text.replace(str(source), copy.name) for path, text in scripts.items()}
    for path, text in scripts.items():
        path.write_text(text)


def generate_simulation(board: Board, folder: Path, program: bytes) -> None:
    """Write everything for a simulation up to Verilator.

    Parameters
    ----------
    board : Board
    folder : Path
    program : bytes
        What the memory begins with; its end is filled to a word.
    """
    words = [word for (word,) in struct.iter_unpack("<I", program + bytes(-len(program) % 4))]
    soc = SimulatedSoc(board, folder, words)
    config = SimConfig()
    config.add_clocker("sys_clk", freq_hz=board.clock_hz)
    config.add_module("serial2console", [("serial", CONSOLE)])
    config.add_module("serial2tcp", [("serial", BRIDGE)], args={"port": SERIAL_PORT})
    builder = Builder(soc, output_dir=str(folder))
    # Signals are dumped while the program says so.
    builder.build(sim_config=config, run=False, trace=True, opt_level="O2", jobs=2)


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("board", choices=BOARDS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--simulated", type=Path, metavar="PROGRAM")
    parser.add_argument("--without-software", action="store_true")
    options = parser.parse_args()
    board, folder = BOARDS[options.board], options.folder.absolute()
    if options.simulated is None:
        generate_board(board, folder, with_software=not options.without_software)
        return
    generate_simulation(board, folder, options.simulated.read_bytes())


if __name__ == "__main__":
    _main()
