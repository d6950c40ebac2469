"""The core file by which FuseSoC uses a core: lint, a self-checking simulation, and a fileset for designs."""

import json
from typing import Any

from hdl.verilog.example import EXAMPLE
from openwmma.verilog_testbench import TESTBENCH


def identifier(description: dict[str, Any]) -> tuple[str, str, str]:
    """Vendor, library and name of a core: the name of its preset, or ``custom``.

    Parameters
    ----------
    description : dict
        Of the core, from `hdl.verilog.core_verilog.describe`.
    """
    return "openwmma", "core", description["preset"] or "custom"


def fusesoc_core(
    description: dict[str, Any],
    version: str,
    rtl: str,
    example: str,
    testbench: str,
    *,
    data: str | None = None,
) -> str:
    """Describe a core in FuseSoC's format CAPI2.

    Parameters
    ----------
    description : dict
        Of the core, from `hdl.verilog.core_verilog.describe`.
    version : str
        Of this software.
    rtl, example, testbench : str
        Names of the files, in the folder of the core file.
    data : str or None
        Name of the file that the testbench reads.

    Returns
    -------
    str
        Targets ``default`` for designs that depend on the core, ``lint`` by Verilator, and ``sim`` by Icarus
        Verilog.
    """
    top = description["top"]
    read = "" if data is None else f", {{{json.dumps(data)}: {{file_type: user}}}}"
    return f"""\
CAPI=2:
name: {":".join((*identifier(description), version))}
description: An open tensor core with an AXI4 master and an AXI4-Lite host port

filesets:
  rtl:
    files: [{json.dumps(rtl)}]
    file_type: verilogSource
  example:
    files: [{json.dumps(example)}]
    file_type: verilogSource
  testbench:
    files: [{json.dumps(testbench)}{read}]
    file_type: systemVerilogSource

targets:
  default:
    filesets: [rtl]
    toplevel: {top}
  lint:
    filesets: [rtl, example]
    toplevel: {EXAMPLE}
    flow: lint
    flow_options:
      tool: verilator
      verilator_options: [-Wall]
  sim:
    filesets: [rtl, example, testbench]
    toplevel: {TESTBENCH}
    flow: sim
    flow_options:
      tool: icarus
      iverilog_options: [-g2012]
"""
