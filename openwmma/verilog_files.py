"""The Verilog of a core as files."""

import json
from dataclasses import dataclass
from pathlib import Path

from hdl.config import CoreConfig
from hdl.verilog.core_verilog import generate
from hdl.verilog.example import generate_example
from hdl.verilog.systemrdl import systemrdl
from sim.files import write_files

__all__ = ["VerilogFiles", "write_verilog", "written_files"]


@dataclass(frozen=True, kw_only=True)
class VerilogFiles:
    """The files that were written.

    Parameters
    ----------
    core : Path
        The Verilog of the core.
    description : Path
        Its ports, parameters, registers and constants, and all presets, as JSON.
    rdl : Path
        The host's registers and their fields in SystemRDL.
    example : Path
        A design that contains the core and a memory.
    lines : int
        Of the Verilog of the core.
    """

    core: Path
    description: Path
    rdl: Path
    example: Path
    lines: int


def written_files(output: Path) -> tuple[Path, Path, Path, Path]:
    """The files of core, description, registers and example."""
    example = output.with_name(f"{output.stem}_example.v")
    return output, output.with_suffix(".json"), output.with_suffix(".rdl"), example


def write_verilog(config: CoreConfig, output: Path) -> VerilogFiles:
    """Write a core as Verilog-2001, with a description, its registers and an example beside it.

    Parameters
    ----------
    config : CoreConfig
    output : Path
        The file of the core, in a folder that exists. Description and registers have the same name with
        the suffixes ``.json`` and ``.rdl``, the example ends in ``_example.v``. All are written, or none.

    Returns
    -------
    VerilogFiles

    Raises
    ------
    OSError
        When a file cannot be written.
    """
    text, description = generate(config)
    _, beside, rdl, example = written_files(output)
    write_files(
        {
            output: text,
            beside: json.dumps(description, indent=2) + "\n",
            rdl: systemrdl(config),
            example: generate_example(description),
        }
    )
    return VerilogFiles(
        core=output, description=beside, rdl=rdl, example=example, lines=len(text.splitlines())
    )
