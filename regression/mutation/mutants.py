"""Mutants as yosys lists them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
_SOURCE = re.compile(r"(?P<file>[^|\s]+\.py):(?P<line>\d+)$")
_CLOCKS = frozenset({"CLK", "RD_CLK", "WR_CLK"})
_CONSTANTS: Final = {"const0": "0", "const1": "1"}
_WORDS: Final = {
    "inv": "inverted",
    "const0": "stuck at 0",
    "const1": "stuck at 1",
    "cnot0": "inverted where bit {} is 0",
    "cnot1": "inverted where bit {} is 1",
}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One bit at one port of one cell that is not what it should be."""

    command: str
    """How yosys makes it, without what controls it."""
    what: str
    """The fault in words."""
    source: str
    """The line that made the cell, as ``file:line``; empty where it is not known."""

    @property
    def text(self) -> str:
        """The source line itself, stripped."""
        name, _, line = self.source.rpartition(":")
        path = ROOT / name
        return path.read_text().splitlines()[int(line) - 1].strip() if path.is_file() else ""


def parse(line: str, netlist: Mapping[str, Any]) -> Mutant:
    """Read one line of ``mutate -list``; the netlist is its module, as yosys writes it as JSON."""
    options = _options(line)
    cell = netlist["cells"][options["cell"]]
    fault = _WORDS[options["mode"]].format(options.get("ctrlbit"))
    name = f" ({options['wire']}[{options['wirebit']}])" if "wire" in options else ""
    what = f"{cell['type'].lstrip('$')}.{options['port']}[{options['portbit']}]{name} {fault}"
    command = re.sub(r" -(?:src|wire|wirebit) \S+", "", line.strip())
    return Mutant(command=command, what=what, source=_source(cell["attributes"].get("src", "")))


def worth_simulating(line: str, netlist: Mapping[str, Any], used: frozenset[int]) -> bool:
    """Whether a fault is one at all; `used` has the bits that something reads.

    It is not where a constant becomes what it is, where nothing reads the bit, or where the bit is already
    undefined. Faults of clocks are left out: no simulation of cycles can judge them.
    """
    options = _options(line)
    cell = netlist["cells"][options["cell"]]
    bits = cell["connections"][options["port"]]
    bit = bits[int(options["portbit"])]
    if options["port"] in _CLOCKS or cell["type"].startswith("$meminit"):
        return False
    if bit == "x" or ("ctrlbit" in options and bits[int(options["ctrlbit"])] == "x"):
        return False
    if cell["port_directions"][options["port"]] == "output":
        return bit in used
    return bool(bit != _CONSTANTS.get(options["mode"]))


def _options(line: str) -> dict[str, str]:
    words = line.split()[1:]
    return {words[index].lstrip("-"): words[index + 1] for index in range(0, len(words), 2)}


def _source(attribute: str) -> str:
    match = next(filter(None, map(_SOURCE.search, attribute.split("|"))), None)
    if match is None:
        return ""
    path = Path(match["file"])
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    return f"{name}:{match['line']}"
