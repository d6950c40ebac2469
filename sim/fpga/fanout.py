"""Copies of what drives too much, which routers like better than one net all over the FPGA."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

__all__ = ["MOST_SINKS", "split_fanout"]

MOST_SINKS: Final = 256
"""Inputs of registers' resets that one copy drives."""

_COPIED: Final = frozenset({"LUT4", "TRELLIS_FF"})
_REGISTER: Final = "TRELLIS_FF"
_OUTPUTS: Final = {"LUT4": "Z", "TRELLIS_FF": "Q"}
_RESET: Final = "LSR"


def split_fanout(netlist: Path, top: str, most: int = MOST_SINKS) -> int:
    """Copy the cells that drive the resets of more registers than `most`, each copy for some of these.

    The reset of a core reaches thousands of registers. As one net it is torn up and laid anew, whole, with
    each of its conflicts, and routing does not end. The registers are shared out in the order of their names,
    which begin with their units: so a copy serves what lies together.

    Parameters
    ----------
    netlist : Path
        Flattened, of yosys for an ECP5; it is rewritten.
    top : str
        Name of the module.
    most : int

    Returns
    -------
    int
        How many copies there are now.
    """
    design = json.loads(netlist.read_text())
    module = design["modules"][top]
    cells = module["cells"]
    driver = {
        cell["connections"][_OUTPUTS[cell["type"]]][0]: name
        for name, cell in cells.items()
        if cell["type"] in _COPIED
    }
    sinks = defaultdict(list)
    for name, cell in sorted(cells.items()):
        if cell["type"] == _REGISTER and (reset := cell["connections"].get(_RESET)):
            sinks[reset[0]].append(name)
    free = 1 + max(_bits(module))
    copies = 0
    for net, names in sinks.items():
        if net not in driver or len(names) <= most:
            continue
        for first in range(most, len(names), most):
            name = f"{driver[net]}_copy_{first // most}"
            cells[name] = copy = json.loads(json.dumps(cells[driver[net]]))
            copy["connections"][_OUTPUTS[copy["type"]]] = [free]
            module["netnames"][f"{name}_net"] = {"hide_name": 1, "bits": [free], "attributes": {}}
            for sink in names[first : first + most]:
                cells[sink]["connections"][_RESET] = [free]
            free += 1
            copies += 1
    netlist.write_text(json.dumps(design))
    return copies


def _bits(module: dict[str, Any]) -> list[int]:
    return [bit for net in module["netnames"].values() for bit in net["bits"] if isinstance(bit, int)]
