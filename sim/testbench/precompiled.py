"""Verilator's headers, compiled once for all designs, of which most need less time for their own code."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sim.blocks import COLD
from sim.cache import cached
from sim.compiler import compiler
from sim.verilate import VERILATOR_ROOT

_HEADER: Final = "headers.h"
_HEADERS: Final = ("verilated.h", "verilated_dpi.h", "verilated_vpi.h", str(COLD))
# As in the makefiles of a model without waves and coverage.
_MACROS: Final = (
    "VERILATOR=1",
    *(
        f"VM_{name}=0"
        for name in ("COVERAGE", "SC", "TIMING", "TRACE", "TRACE_FST", "TRACE_VCD", "TRACE_SAIF")
    ),
)


def precompiled_header(folder: Path, flags: Sequence[str]) -> Path | None:
    """Compile the header, or find it compiled: what the compiler is to include first.

    `folder` takes the header; one for each version of Verilator and of the compiler. `flags` are the
    compiler's, the same as for the models: g++ takes the header's text where they differ. None with clang++,
    which refuses what g++ ignores.
    """
    if compiler().is_clang:
        return None
    include = VERILATOR_ROOT / "include"
    options = (*flags, f"-I{include}", f"-I{include / 'vltstd'}", *(f"-D{name}" for name in _MACROS))

    def build(place: Path) -> tuple[Path, Path]:
        header = place / _HEADER
        compiled = header.with_suffix(".h.gch")
        header.write_text("".join(f'#include "{name}"\n' for name in _HEADERS))
        command = [*compiler().command, *options, "-x", "c++-header", str(header), "-o", str(compiled)]
        subprocess.run(command, check=True)
        return header, compiled

    folder.mkdir(parents=True, exist_ok=True)
    cached((folder / _HEADER, folder / f"{_HEADER}.gch"), build)
    return folder / _HEADER
