"""An example of the core's use: Verilog that puts it beside a memory, and leaves its host port as ports."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

EXAMPLE: Final = "openwmma_example"
"""Name of the example's module."""

_MEMORY: Final = Path(__file__).with_name("example_memory.v")
_MEMORY_PREFIX: Final = "m_axi_"


def generate_example(description: dict[str, Any], memory_bits: int = 16) -> str:
    """Generate the Verilog of an example: an instance of the core, joined to a memory.

    A host on the AXI4-Lite port can do everything with it: it sets fragment registers through the window,
    stores them to memory, loads and multiplies them.

    Parameters
    ----------
    description : dict
        Of the core, from `hdl.verilog.core_verilog.describe`.
    memory_bits : int
        The memory has ``2**memory_bits`` bytes.

    Returns
    -------
    str
        The modules `EXAMPLE` and ``openwmma_example_memory``; the core itself is in its own file.
    """
    lines = ("// verilator lint_off DECLFILENAME", *_lines(description, memory_bits), "", _MEMORY.read_text())
    return "\n".join(lines) + "// verilator lint_on DECLFILENAME\n"


def _lines(description: dict[str, Any], memory_bits: int) -> Iterator[str]:
    ports = description["ports"]
    outside = [port for port in ports if not port["name"].startswith(_MEMORY_PREFIX)]
    inside = [port for port in ports if port["name"].startswith(_MEMORY_PREFIX)]
    yield f"// {description['top']} with a memory of its own. A host writes commands to the registers behind"
    yield "// s_axil_ and waits for irq; the JSON file beside the core's Verilog has their addresses."
    yield f"module {EXAMPLE} ("
    yield ",\n".join(f"  {port['direction']} wire {_range(port)}{port['name']}" for port in outside)
    yield ");"
    yield from (f"  wire {_range(port)}{port['name']};" for port in inside)
    yield ""
    yield f"  {description['top']} core ("
    yield _connections({port["name"]: port["name"] for port in ports})
    yield "  );"
    yield ""
    widths = {port["name"]: port["width"] for port in ports}
    data_bits = widths["m_axi_rdata"]
    yield "  openwmma_example_memory #("
    yield f"    .ADDRESS_BITS({widths['m_axi_araddr']}),"
    yield f"    .DATA_BITS({data_bits}),"
    yield f"    .LANE_BITS({(data_bits // 8).bit_length() - 1}),"
    yield f"    .SIZE_BITS({memory_bits})"
    yield "  ) memory ("
    common = {name: name for name in ("aclk", "aresetn")}
    yield _connections(common | {port["name"].replace("m_", "s_", 1): port["name"] for port in inside})
    yield "  );"
    yield "endmodule"


def _range(port: dict[str, Any]) -> str:
    return f"[{port['width'] - 1}:0] " if port["width"] > 1 else ""


def _connections(connected: dict[str, str]) -> str:
    return ",\n".join(f"    .{port}({net})" for port, net in connected.items())
