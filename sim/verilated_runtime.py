"""Verilator's own library, compiled once for each compiler and set of flags."""

import hashlib
import re
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Final

from sim.cache import cached
from sim.compiler import compiler

_NAME: Final = "libverilated.a"
_OPTIMISATION: Final = "-O2"
# Which sources belong to it, and with which macros they are compiled. Only model classes differ otherwise.
_SETTINGS: Final = re.compile(
    r"^(?:VM_GLOBAL_\w+ \+= \\\n(?:  .*\n)*|VM_(?!PARALLEL|PREFIX|MODPREFIX)\w+ = .*\n)", re.MULTILINE
)


def runtime_archive(
    objects: Path,
    prefix: str,
    flags: tuple[str, ...],
    keep: Path,
    make: Callable[[list[str]], None],
    *,
    headers: Path | None = None,
) -> Path:
    """Compile the library that a Verilated model is linked with, or find it compiled in the folder `keep`.

    Verilator has written the folder `objects`, with its makefiles, in a folder with a link ``harness``;
    `prefix` is of the model's classes and makefiles. `make` runs a command in the folder above `objects`, and
    raises an exception where that fails. `headers` is a folder of headers that replace headers of system
    libraries.
    """
    settings = _SETTINGS.findall((objects / f"{prefix}_classes.mk").read_text())
    replaced: list[str] = []
    if headers is not None:
        flags = (*flags, "-I../harness/fst")
        replaced = [path.read_text() for path in sorted(headers.glob("*.h"))]
    tool = compiler()
    parts = (version("verilator"), tool.version, *tool.command, _OPTIMISATION, *flags, *settings, *replaced)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    archive = keep / f"verilated-{digest}.a"

    def build(folder: Path) -> tuple[Path]:
        variables = {**tool.make_variables, "OPT_GLOBAL": _OPTIMISATION, "VM_USER_CFLAGS": " ".join(flags)}
        assignments = [f"{name}={value}" for name, value in variables.items()]
        make(["make", "-C", objects.name, "-f", f"{prefix}.mk", *assignments, _NAME])
        return (shutil.copyfile(objects / _NAME, folder / _NAME),)

    cached((archive,), build)
    return archive
