"""Copies of what drives too much, which routers like better than one net all over the FPGA."""

import copy
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from boards.flow.netlist import rewritten

__all__ = ["MOST_SINKS", "split_fanout"]

MOST_SINKS: Final = 256
"""Inputs of cells that one copy drives."""

_OUTPUTS: Final = {"LUT4": "Z", "TRELLIS_FF": "Q", "PFUMX": "Z", "L6MUX21": "Z"}
"""The cells of an ECP5 that are copied."""

_JOINED: Final = {"PFUMX": ("ALUT", "BLUT"), "L6MUX21": ("D0", "D1")}
"""Inputs of multiplexers that are wired to cells of their own, so these are copied with them."""

_CLOCKS: Final = ("CLK", "WCK")
"""How the names of inputs for clocks begin: a net to one of these stays whole."""


def split_fanout(netlist: Path, top: str, most: int = MOST_SINKS) -> int:
    """Copy the cells that drive more inputs than `most`, each copy for some of these.

    Some signals reach thousands of registers all over the FPGA: the reset, what lets a queue advance, a
    format that synthesis found to be the same in four units. As one net such a signal is torn up and laid
    anew, whole, with each conflict of one of its branches, and routing does not end. The inputs are shared
    out in the order of their cells' names, which begin with their units: so a copy serves neighbours.

    What copies read is read once more by each, so that a net that was looked at before may drive a few more.

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
    with rewritten(netlist, top) as module:
        return _Copies(module).split(most)


_Sink = tuple[str, str, int]
"""Cell, port, and which bit of it."""


class _Copies:
    """A module in which cells are copied."""

    def __init__(self, module: dict[str, Any]) -> None:
        self._cells = module["cells"]
        self._names = module["netnames"]
        nets = (bit for net in self._names.values() for bit in net["bits"] if isinstance(bit, int))
        self._free = 1 + max(nets)
        self._drivers: dict[int, str] = {}
        self._sinks: defaultdict[int, list[_Sink]] = defaultdict(list)
        for name, cell in sorted(self._cells.items()):
            if output := _OUTPUTS.get(cell["type"]):
                self._drivers[cell["connections"][output][0]] = name
            for sink, net in self._inputs(name):
                self._sinks[net].append(sink)

    def split(self, most: int) -> int:
        """Copy what drives more than `most`; return how often."""
        copies = 0
        for net, driver in list(self._drivers.items()):
            sinks = self._sinks[net]
            if len(sinks) <= most or any(port.startswith(_CLOCKS) for _, port, _ in sinks):
                continue
            self._sinks[net] = sinks[:most]
            for first in range(most, len(sinks), most):
                own = self._copy(driver)
                for cell, port, bit in sinks[first : first + most]:
                    self._cells[cell]["connections"][port][bit] = own
                copies += 1
        return copies

    def _copy(self, name: str) -> int:
        """Copy a cell and those that are wired to it alone, and return the net that the copy drives."""
        cell = copy.deepcopy(self._cells[name])
        net, self._free = self._free, self._free + 1
        new = f"{name}_copy_{net}"
        cell["connections"][_OUTPUTS[cell["type"]]] = [net]
        for port in _JOINED.get(cell["type"], ()):
            (joined,) = cell["connections"][port]
            cell["connections"][port] = [self._copy(self._drivers[joined])]
        self._cells[new] = cell
        self._names[f"{new}_net"] = {"hide_name": 1, "bits": [net], "attributes": {}}
        for sink, read in self._inputs(new):
            self._sinks[read].append(sink)
        return net

    def _inputs(self, name: str) -> Iterator[tuple[_Sink, int]]:
        cell = self._cells[name]
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "input":
                yield from (((name, port, bit), net) for bit, net in enumerate(bits) if isinstance(net, int))
