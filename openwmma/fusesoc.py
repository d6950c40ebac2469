"""The core file by which FuseSoC uses a core: lint, a self-checking simulation, and a fileset for designs."""

import json
from pathlib import Path
from string import Template
from typing import Any, Final

_TEMPLATE: Final = Path(__file__).with_name("fusesoc_core.txt")


def identifier(description: dict[str, Any]) -> tuple[str, str, str]:
    """Vendor, library and name of a core that `hdl.verilog.core_verilog.describe` describes.

    The name is that of its preset, or ``custom``.
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

    The targets are ``default`` for designs that depend on the core, ``lint`` by Verilator, and ``sim`` by
    Icarus Verilog. `version` is of this software; `rtl`, `example`, `testbench` and `data`, which the
    testbench reads, are names of files in the folder of the core file.
    """
    read = "" if data is None else f", {{{json.dumps(data)}: {{file_type: user}}}}"
    return Template(_TEMPLATE.read_text()).substitute(
        name=":".join((*identifier(description), version)),
        top=description["top"],
        rtl=json.dumps(rtl),
        example=json.dumps(example),
        testbench=json.dumps(testbench) + read,
    )
