"""C headers of the driver: the registers, by PeakRDL, and the fields and codes of commands."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from amaranth.lib import data

from golden.tables.faults import Cause
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import LAYOUTS, SHAPES, SPACES, USES
from hdl.command import (
    COMMAND_WORDS,
    MemoryCommand,
    MmaCommand,
    Opcode,
    RegisterCommand,
    shape_code,
    type_code,
)
from hdl.config import CoreConfig
from hdl.control.host.register_map import VERSION
from hdl.verilog.core_verilog import TOP
from hdl.verilog.systemrdl import systemrdl
from sim.verilate import BuildError

_STRUCTS: Final = {"MEMORY": MemoryCommand, "MMA": MmaCommand, "REGISTER": RegisterCommand}


def write_headers(config: CoreConfig, folder: Path) -> None:
    """Write ``openwmma_core.h`` and ``openwmma_commands.h``.

    Parameters
    ----------
    config : CoreConfig
    folder : Path
        Takes the registers' SystemRDL as well.

    Raises
    ------
    BuildError
        When PeakRDL fails.
    """
    rdl = folder / f"{TOP}.rdl"
    rdl.write_text(systemrdl(config))
    command = [sys.executable, "-m", "peakrdl", "c-header", str(rdl), "-o", str(rdl.with_suffix(".h"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError("peakrdl", done.stderr or done.stdout)
    (folder / "openwmma_commands.h").write_text(command_header())


def command_header() -> str:
    """The header of commands: the first bit of each field, and the codes that fields take."""
    return "\n".join(("#ifndef OPENWMMA_COMMANDS_H", "#define OPENWMMA_COMMANDS_H", *_lines(), "#endif", ""))


def _lines() -> Iterator[str]:
    yield f"#define OPENWMMA_COMMAND_WORDS {COMMAND_WORDS}"
    yield f"#define OPENWMMA_VERSION {VERSION:#x}"
    for name, struct in _STRUCTS.items():
        for field, place in data.Layout.cast(struct):
            yield f"#define OPENWMMA_{name}_{str(field).upper()} {place.offset}"
    codes: dict[str, dict[str, int]] = {
        "OPCODE": {item.name: item.value for item in Opcode},
        "USE": {name: code for code, name in enumerate(USES)},
        "LAYOUT": {name: code for code, name in enumerate(LAYOUTS)},
        "SPACE": {name: code for code, name in enumerate(SPACES)},
        "SHAPE": {str(shape): shape_code(shape) for shape in SHAPES},
        "TYPE": {name: type_code(name) for name in FORMATS},
    }
    for group, members in codes.items():
        for name, code in members.items():
            yield f"#define OPENWMMA_{group}_{name.upper()} {code}"
    causes = ["NONE", *("UNKNOWN" for _ in range(max(Cause)))]
    for cause in Cause:
        causes[cause] = cause.name
    names = ", ".join(f'"{name.lower().replace("_", " ")}"' for name in causes)
    yield f"#define OPENWMMA_CAUSES {{ {names} }}"
