"""The programs that synthesise, place and route, and pack; each comes as a wheel from PyPI."""

import shutil
import subprocess
import sys
from pathlib import Path

from golden.installation import install_command
from sim.verilate import BuildError

_SHOWN_LINES = 20


def run_tool(
    name: str,
    arguments: list[str],
    folder: Path,
    log: str,
    *,
    makes: str | None = None,
    seconds: float | None = None,
) -> None:
    """Run a program and keep what it prints.

    Parameters
    ----------
    name : str
        As its wheel calls it.
    arguments : list of str
    folder : Path
        Where it runs; files are named relative to it, since these programs see no others.
    log : str
        The file in `folder` that takes its output.
    makes : str or None
        A file in `folder` that it must write. One that is there already is removed first: a yosys that has
        its mapper inside ends where that begins, without a word and with exit code 0, if ``-q`` is missing.
    seconds : float or None
        After which it is ended, and `subprocess.TimeoutExpired` raised.

    Raises
    ------
    BuildError
        If it is not installed, fails or has not made its file; says the end of what it printed.
    """
    program = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if program is None:
        extra = "gowin" if name.endswith("gowin") else "fpga"
        raise BuildError(name, f"it is not installed: {install_command(extra)}")
    if makes:
        (folder / makes).unlink(missing_ok=True)
    with (folder / log).open("w") as output:
        code = subprocess.run(
            [program, *arguments],
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=seconds,
        ).returncode
    missing = makes is not None and not (folder / makes).exists()
    if code or missing:
        end = (folder / log).read_text(errors="replace").splitlines()[-_SHOWN_LINES:]
        if missing:
            end.append(f"it ended with exit code {code} and has not written {makes}")
        raise BuildError(name, "\n".join([*end, f"(all of it in {folder / log})"]))
