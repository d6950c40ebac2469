"""Delay lines in memories of look-up tables, where synthesis has one register for each cycle.

An ECP5 has no shift registers as other FPGAs do, but memories of 16 x 4 bits. One that is read and then
written at the place of a counter gives what was written when the counter was there before.
"""

import copy
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from boards.flow.netlist import name_key, rewritten

__all__ = ["SHORTEST", "fold_delay_lines"]

SHORTEST: Final = 5
"""Registers of a delay line from which on a memory takes their place: with 4, it saves 3 for 1.5 look-up
tables."""

_REGISTER: Final = "TRELLIS_FF"
_PLAIN: Final = {"CEMUX": "1", "CLKMUX": "CLK", "GSR": "DISABLED", "REGSET": "RESET"}
"""Of a register that takes what it is offered in every cycle, and begins with zero."""

_WORDS: Final = 16
_WIDTH: Final = 4
"""Of a memory."""

_MEMORIES: Final = 32
"""As many share a counter."""


def fold_delay_lines(netlist: Path, top: str) -> int:
    """Put delay lines of registers without enable and reset into memories, all but their last registers.

    What can be seen is the same in every cycle from configuration on. Neighbours by name, which are the bits
    of one signal, share a memory.

    Parameters
    ----------
    netlist : Path
        Flattened, of yosys for an ECP5; it is rewritten.
    top : str
        Name of the module.

    Returns
    -------
    int
        How many registers are gone; counters have come for some.
    """
    with rewritten(netlist, top) as module:
        return _Lines(module).fold()


class _Lines:
    """A module with delay lines."""

    def __init__(self, module: Mapping[str, Any]) -> None:
        self._cells: dict[str, Any] = module["cells"]
        self._names: dict[str, Any] = module["netnames"]
        self._ports: Mapping[str, Any] = module["ports"]
        nets = (bit for net in self._names.values() for bit in net["bits"] if isinstance(bit, int))
        self._free = 1 + max(nets)

    def fold(self) -> int:
        """Fold all that are long enough; return how many registers are gone."""
        lines: defaultdict[tuple[int, int], list[Sequence[str]]] = defaultdict(list)
        for line in self._lines():
            for first in range(0, len(line), _WORDS + 1):
                part = line[first : first + _WORDS + 1]
                if len(part) >= SHORTEST:
                    lines[self._net(part[0], "CLK"), len(part) - 1].append(part)
        for (_, cycles), alike in sorted(lines.items()):
            alike.sort(key=lambda line: name_key(line[-1]))
            for first in range(0, len(alike), _WIDTH):
                if first % (_MEMORIES * _WIDTH) == 0:
                    counter, always = self._counter(alike[first][-1], cycles)
                self._memory(alike[first : first + _WIDTH], counter, always)
        return sum(len(alike) * cycles for (_, cycles), alike in lines.items())

    def _lines(self) -> Iterator[Sequence[str]]:
        """Registers that feed each other and nothing else, from the first to the last."""
        read = Counter(net for name in self._cells for net in self._reads(name))
        read.update(bit for port in self._ports.values() for bit in port["bits"])
        plain = {name for name, cell in sorted(self._cells.items()) if _is_plain(cell)}
        sources = {self._net(name, "Q"): name for name in plain if read[self._net(name, "Q")] == 1}
        before = {}
        for name in plain:
            source = sources.get(self._net(name, "DI"))
            if source and self._net(source, "CLK") == self._net(name, "CLK"):
                before[name] = source
        for last in sorted(plain - set(before.values())):
            line = [last]
            while (source := before.get(line[-1])) is not None:
                line.append(source)
            yield line[::-1]

    def _reads(self, name: str) -> Iterator[Any]:
        cell = self._cells[name]
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] != "output":
                yield from bits

    def _net(self, name: str, port: str) -> Any:
        (net,) = self._cells[name]["connections"][port]
        return net

    def _counter(self, like: str, cycles: int) -> tuple[Sequence[int], int]:
        """Make a counter of so many cycles, and what is always one; return their nets."""
        stem = f"{like}_delayed_{cycles}"
        bits = [self._new_net(f"{stem}_count_{bit}") for bit in range(_WIDTH)]
        for bit, output in enumerate(bits):
            after = self._new_net(f"{stem}_after_{bit}")
            register = copy.deepcopy(self._cells[like])
            register["connections"] |= {"DI": [after], "Q": [output]}
            self._cells[f"{stem}_count_{bit}"] = register
            table = [(place + 1) % cycles >> bit & 1 if place < cycles else 0 for place in range(_WORDS)]
            self._cells[f"{stem}_after_{bit}"] = _look_up_table(table, bits, after)
        always = self._new_net(f"{stem}_always")
        self._cells[f"{stem}_always"] = _look_up_table([1] * _WORDS, bits, always)
        return bits, always

    def _memory(self, lines: Sequence[Sequence[str]], counter: Sequence[int], always: int) -> None:
        """Put up to four lines into a memory; of each, the last register stays and what it reads."""
        unused = _WIDTH - len(lines)
        offered = [self._net(line[0], "DI") for line in lines]
        delayed = [self._net(line[-1], "DI") for line in lines]
        spare = [self._new_net(f"{lines[0][-1]}_unused_{bit}") for bit in range(unused)]
        self._cells[f"{lines[0][-1]}_delayed"] = {
            "hide_name": 1,
            "type": "TRELLIS_DPR16X4",
            "parameters": {"INITVAL": "0" * _WORDS * _WIDTH, "WCKMUX": "WCK", "WREMUX": "WRE"},
            "attributes": {},
            "port_directions": dict.fromkeys(("DI", "RAD", "WAD", "WCK", "WRE"), "input") | {"DO": "output"},
            "connections": {
                "DI": [*offered, *["0"] * unused],
                "DO": [*delayed, *spare],
                "RAD": list(counter),
                "WAD": list(counter),
                "WCK": [self._net(lines[0][-1], "CLK")],
                "WRE": [always],
            },
        }
        for line in lines:
            for name in line[:-1]:
                del self._cells[name]

    def _new_net(self, name: str) -> int:
        net, self._free = self._free, self._free + 1
        self._names[f"{name}_net"] = {"hide_name": 1, "bits": [net], "attributes": {}}
        return net


def _is_plain(cell: Mapping[str, Any]) -> bool:
    """Whether it is a register with no enable and no reset that is ever on."""
    if cell["type"] != _REGISTER or "keep" in cell["attributes"]:
        return False
    parameters, connections = cell["parameters"], cell["connections"]
    found = {name: parameters.get(name, "").strip() for name in _PLAIN}
    return found == _PLAIN and connections.get("LSR", ["0"]) == ["0"] and "M" not in connections


def _look_up_table(table: Sequence[int], inputs: Sequence[int], output: int) -> dict[str, Any]:
    ports = "ABCD"
    return {
        "hide_name": 1,
        "type": "LUT4",
        "parameters": {"INIT": "".join(str(value) for value in reversed(table))},
        "attributes": {},
        "port_directions": {**dict.fromkeys(ports, "input"), "Z": "output"},
        "connections": {**{port: [net] for port, net in zip(ports, inputs, strict=True)}, "Z": [output]},
    }
