"""A testbench of a core's example in SystemVerilog, with results of the golden model, for any simulator."""

import json
from pathlib import Path
from typing import Final

from hdl.command import COMMAND_WORDS
from hdl.config import CoreConfig
from hdl.control.host.register_map import IDENTITY, REGISTER_MAP, REGISTERS, SHARED_WINDOW, WINDOW
from hdl.memory.axi import HOST_ADDRESS_BITS
from openwmma.verilog_stimulus import Kind, Stimulus

TESTBENCH: Final = "openwmma_testbench"
"""Name of the testbench's module."""

_SOURCE: Final = Path(__file__).with_name("testbench.sv")
_IN_A_ROW: Final = 4


def generate_testbench(config: CoreConfig, stimulus: Stimulus, file: str | None = None) -> str:
    """Generate a testbench that drives the core through its host port, and the example's memory directly.

    It queues commands as fast as the core takes them, compares registers and memory with what the golden
    model has computed, and prints ``PASS``, or ends with ``$fatal`` and the first difference. `file`
    names what ``$readmemh`` reads the words from; None for words within the testbench. Core and example
    are in files of their own.
    """
    status, words = REGISTER_MAP["STATUS"], stimulus.words
    values = {
        **{kind.name: kind.value for kind in Kind},
        "IDENTITY": IDENTITY,
        "ADDRESS_BITS": HOST_ADDRESS_BITS,
        "COMMAND_REGISTER": REGISTERS["COMMAND"],
        "COMMAND_WORDS": COMMAND_WORDS,
        "STATUS": status.offset,
        "BUSY": status["busy"].low,
        "FAULT": status["fault"].low,
        "FREE_SHIFT": status["free"].low,
        "FREE_MASK": status["free"].mask >> status["free"].low,
        "WARP": REGISTERS["WARP"],
        "WARPS": config.warps,
        "WINDOW": WINDOW,
        "SHARED_WINDOW": SHARED_WINDOW,
        "MEMORY_WORDS": 1 << stimulus.memory_bits - 2,
        "ROW_WORDS": config.data_bits // 32,
        "WORDS": words.size,
    }
    data = f"  initial $readmemh({json.dumps(file)}, stimulus);" if file else _assigned(words.tolist())
    parts = {
        "  // PARAMETERS": "\n".join(f"  localparam {name} = {value};" for name, value in values.items()),
        "  // STIMULUS": data,
        "      // LINES": "\n".join(
            f"      {number}: text = {_quoted(line)};" for number, line in enumerate(stimulus.lines)
        ),
    }
    text = _SOURCE.read_text()
    for mark, part in parts.items():
        text = text.replace(mark, part, 1)
    return text


def _quoted(text: str) -> str:
    return json.dumps(" ".join(text.encode("ascii", "replace").decode().split()))


def _assigned(words: list[int]) -> str:
    """Assignments of words, several in a row."""
    rows = []
    for place in range(0, len(words), _IN_A_ROW):
        row = words[place : place + _IN_A_ROW]
        names = ", ".join(f"stimulus[{place + number}]" for number in range(len(row)))
        values = "_".join(f"{word:08x}" for word in row)
        rows.append(f"    {{{names}}} = {32 * len(row)}'h{values};")
    return "\n".join(("  initial begin", *rows, "  end"))
