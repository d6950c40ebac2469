"""Generates a SoC with LiteX, in a process of its own: LiteX changes folder, prints, and keeps global state.

    python -m boards.gateware.generate BOARD FOLDER [--without-software]
    python -m boards.gateware.generate BOARD FOLDER --simulated console|bridge [--program FILE] [--trace]

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
from boards.gateware.settings import SETTINGS
from boards.gateware.simulated_soc import SimulatedSoc
from boards.soc.toolchain import SERIAL_PORT

__all__ = ["board_soc", "generate_board", "generate_simulation"]


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
    soc = target.BaseSoC(sys_clk_freq=board.clock_hz, **board.options, **SETTINGS)
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


def generate_simulation(
    board: Board, folder: Path, program: bytes | None, *, is_bridged: bool, is_traced: bool
) -> None:
    """Write everything for a simulation up to Verilator.

    Parameters
    ----------
    board : Board
    folder : Path
    program : bytes or None
        What the memory begins with.
    is_bridged : bool
        Whether the serial line is the host's bridge, at the TCP port `SERIAL_PORT`.
    is_traced : bool
        Whether a waveform is written.
    """
    words = None
    if program is not None:
        padded = program + bytes(-len(program) % 4)
        words = list(struct.unpack(f"<{len(padded) // 4}I", padded))
    soc = SimulatedSoc(board, folder, words, is_bridged=is_bridged)
    config = SimConfig()
    config.add_clocker("sys_clk", freq_hz=board.clock_hz)
    if is_bridged:
        config.add_module("serial2tcp", "serial", args={"port": SERIAL_PORT})
    else:
        config.add_module("serial2console", "serial")
    builder = Builder(soc, output_dir=str(folder))
    builder.build(sim_config=config, run=False, trace=is_traced, opt_level="O2", jobs=2)


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("board", choices=BOARDS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--simulated", choices=("console", "bridge"))
    parser.add_argument("--program", type=Path)
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--without-software", action="store_true")
    options = parser.parse_args()
    board, folder = BOARDS[options.board], options.folder.absolute()
    if options.simulated is None:
        generate_board(board, folder, with_software=not options.without_software)
        return
    program = options.program.read_bytes() if options.program else None
    is_bridged = options.simulated == "bridge"
    generate_simulation(board, folder, program, is_bridged=is_bridged, is_traced=options.trace)


if __name__ == "__main__":
    _main()
