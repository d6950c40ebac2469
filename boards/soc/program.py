"""Programs for a SoC's processor: the driver, the runtime and a C source, linked for the shared memory."""

import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from boards.boards import Board
from boards.soc.headers import write_headers
from boards.soc.toolchain import environment, run_logged
from sim.verilate import BuildError


def build_program(
    board: Board, soc: Path, source: Path, data: str | None, folder: Path, *, dumps: bool = False
) -> Path:
    """Compile a program.

    Parameters
    ----------
    board : Board
    soc : Path
        Folder of the generated SoC, with LiteX's libraries.
    source : Path
        C with a ``main`` that returns the exit code.
    data : str or None
        A Python file with its arguments; what it prints becomes ``data.h``.
    folder : Path
        Takes everything that is built.
    dumps : bool
        Whether a simulation writes a waveform from the beginning of ``main`` on.

    Returns
    -------
    Path
        The image of the memory from its beginning on.

    Raises
    ------
    BuildError
        When the compiler or the Python file fails, with what it said.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_headers(board.core, folder)
    if data is not None:
        (folder / "data.h").write_text(_printed(data))
    image = folder / "program.bin"
    image.unlink(missing_ok=True)
    driver = files("boards") / "soc" / "software"
    variables = {
        "BUILD_DIR": soc.absolute(),
        "SOURCE_DIR": driver,
        "PROGRAM": source.absolute(),
        "DUMPS": int(dumps),
    }
    command = [
        "make",
        "-f",
        str(driver / "Makefile"),
        *(f"{key}={value}" for key, value in variables.items()),
    ]
    run_logged(str(source), command, folder, folder / "program.log")
    return image


def _printed(command: str) -> str:
    """What a Python file prints."""
    done = subprocess.run(
        [sys.executable, *shlex.split(command)],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    if done.returncode:
        raise BuildError(command, done.stderr.strip() or f"it ended with exit code {done.returncode}")
    return done.stdout
