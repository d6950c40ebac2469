"""Builds one design with Verilator or Icarus Verilog and runs the cocotb tests of a module on it."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from unittest import mock

import cocotb_tools.runner
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import VerilatorControlFile, Verilog, get_runner

from hdl.verilog.modules import Conversion
from sim.blocks import BLOCK_SOURCES
from sim.cache import cached, checksum, is_whole
from sim.compiler import compiler
from sim.files import locked
from sim.testbench.design import Design
from sim.testbench.parameters import bench_variables
from sim.testbench.precompiled import precompiled_header
from sim.verilate import (
    COVERAGE_FLAGS,
    OBSERVED_INSTANCES,
    VERILATOR_ROOT,
    WAIVED,
    take_apart,
    verilator_environment,
)

BUILD: Final = Path(__file__).parents[2] / "build" / "cocotb"
"""Where simulations are kept, one folder a design."""

SIMULATORS: Final = ("verilator", "icarus")
"""By the names that cocotb has for them; the first comes with the Python environment."""

_LOG_TAIL: Final = 12_000

# The model is compiled anew at every change and runs for seconds, so the compiler optimises little.
_OPTIMISATION: Final = {"OPT_FAST": "-O1", "OPT_GLOBAL": "-O1", "OPT_SLOW": "-O0"}
_VERILATOR_FLAGS: Final = ("--assert", "--no-public-flat-rw", *(f"-Wno-{name}" for name in WAIVED))
_RUNTIME_OBJECTS: Final = "verilated*.o"
_TIMESCALE: Final = ("1ns", "1ps")
# By default cocotb rewrites the assertions of all modules, numpy's too, which takes a second a simulation.
_REWRITTEN: Final = "cocotb_tests/*.py"
_LIMITED: Final = "sim.testbench.limited"


class SimulatorMissing(RuntimeError):
    """Icarus Verilog is wanted and not there."""


class UnsuitableFolder(RuntimeError):
    """Simulations are to be kept where make cannot build them."""


class BenchFailure(AssertionError):
    """A simulation that did not build, or whose tests did not all pass, with the end of its log."""

    def __init__(self, what: str, log: Path) -> None:
        text = log.read_text(errors="replace") if log.exists() else "no log was written"
        super().__init__(f"{what}; the end of {log}:\n{text[-_LOG_TAIL:]}")


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Where Verilator's counts are kept, and how designs are converted so that counts have a place."""

    folder: Path
    """Takes the counts and, under the same name, the Verilog that their lines are of."""
    conversion: Conversion


def iverilog() -> str:
    """The compiler of Icarus Verilog, or SimulatorMissing."""
    program = shutil.which("iverilog")
    if program is None:
        remedy = "on Debian or Ubuntu: apt-get install iverilog"
        raise SimulatorMissing(f"there is no program iverilog, Icarus Verilog; {remedy}")
    return program


def build(
    design: Design, *, waves: bool = False, simulator: str = SIMULATORS[0], coverage: bool = False
) -> Path:
    """Build a design's simulation, or find it built: the folder of the simulation.

    With `waves` it can write waveforms; with `coverage` Verilator's simulation counts what is executed and
    what toggles. `simulator` is one of `SIMULATORS`. BenchFailure, SimulatorMissing or UnsuitableFolder where
    it cannot be built.
    """
    for needed in (BUILD, VERILATOR_ROOT):
        if len(str(needed).split()) > 1:
            remedy = "copy the project into a folder without spaces in its path"
            raise UnsuitableFolder(
                f"testbenches cannot be built in {needed}: make splits paths at spaces; {remedy}"
            )
    flags = (*_VERILATOR_FLAGS, *(COVERAGE_FLAGS if coverage else ()))
    variant = f"-{simulator}" if simulator != SIMULATORS[0] else ""
    variant += ("-waves" if waves else "") + ("-coverage" if coverage else "")
    folder = BUILD / (design.name + variant)
    folder.mkdir(parents=True, exist_ok=True)
    key = folder / "key"
    digest = _digest(design.verilog, flags, waves, simulator)
    with locked(folder.with_suffix(".lock")):
        product = folder / ("sim.vvp" if simulator == "icarus" else design.top)
        is_there = key.is_file() and product.is_file()
        if is_there and key.read_bytes() == f"{digest} {checksum(product)}".encode():
            return folder
        shutil.rmtree(folder)
        folder.mkdir()
        source = folder / f"{design.top}.v"
        source.write_text(design.verilog)
        if simulator == "icarus":
            # What cocotb adds to write waveforms is no Verilog-2001.
            _compile(simulator, design, folder, [Verilog(source)], [] if waves else ["-g2001"], waves)
        else:
            _build_verilator(design, folder, source, flags, waves)
        key.write_text(f"{digest} {checksum(product)}")
    return folder


def run(
    design: Design,
    module: str,
    *,
    values: Mapping[str, Any] | None = None,
    seed: int = 1,
    waves: bool = False,
    cases: tuple[str, ...] = (),
    simulator: str = SIMULATORS[0],
    coverage: Coverage | None = None,
) -> None:
    """Run every cocotb test of a module on a design, in a process of its own.

    A test fails after a limit of simulated time (`sim.testbench.limited`).

    Parameters
    ----------
    design : Design
    module : str
        Import path of the module with the cocotb tests.
    values : mapping
        What `sim.testbench.parameters.parameters` returns there; anything JSON can hold.
    seed : int
        Seed of all randomness.
    waves : bool
        Write ``dump.vcd`` beside the log; of Icarus Verilog, an FST file into the folder above it.
    cases : tuple of str
        Run only the cocotb tests of these names.
    simulator : str
        One of `SIMULATORS`.
    coverage : Coverage or None
        Keep Verilator's counts; the design is converted for them.

    Raises
    ------
    BenchFailure
        If one fails, or there is none; other errors as of `build`.
    """
    if coverage is not None:
        design = design.converted(coverage.conversion)
    folder = build(design, waves=waves, simulator=simulator, coverage=coverage is not None)
    place = folder / module.rpartition(".")[2]
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    log = place / "simulation.log"
    results = place / "results.xml"
    print(f"{design.name}: {module}, {simulator}, seed {seed}, log {log}")
    outcome = ""
    with tool_environment():
        try:
            get_runner(simulator).test(
                test_module=_LIMITED,
                hdl_toplevel=design.top,
                hdl_toplevel_lang="verilog",
                build_dir=folder,
                test_dir=place,
                testcase=list(cases) or None,
                seed=seed,
                extra_env=bench_variables(module, values),
                results_xml=str(results),
                waves=waves,
                timescale=_TIMESCALE,
                log_file=log,
            )
        except (RuntimeError, SystemExit) as error:
            outcome = f"{error}"
    if not results.exists():
        raise BenchFailure(f"{design.name}: {module}, seed {seed}: no results: {outcome}", log)
    count, failed = get_results(results)
    if coverage is not None:
        _keep_counts(place / "coverage.dat", design, coverage.folder)
    if failed or outcome or count < max(1, len(cases)):
        raise BenchFailure(f"{design.name}: {module}, seed {seed}: {failed} of {count} tests failed", log)


def _keep_counts(counts: Path, design: Design, folder: Path) -> None:
    """Keep what a run has counted; of runs of one design the names differ."""
    folder.mkdir(parents=True, exist_ok=True)
    number, kept = tempfile.mkstemp(prefix=f"{design.name}-", suffix=".dat", dir=folder)
    os.close(number)
    shutil.copyfile(counts, kept)
    Path(kept).with_suffix(".v").write_text(design.verilog)


def _build_verilator(design: Design, folder: Path, source: Path, flags: tuple[str, ...], waves: bool) -> None:
    visible = folder / "visible.vlt"
    # Coverage is counted in the whole design.
    covered = flags != _VERILATOR_FLAGS
    verilog, archives, inside = take_apart(design.verilog, sys.maxsize if covered else OBSERVED_INSTANCES)
    source.write_text(verilog)
    settings = ["`verilator_config", f'public_flat_rw -module "{design.top}" -var "*"', *inside]
    visible.write_text("\n".join(settings) + "\n")
    # Coverage adds an object and changes no other one.
    digest = _digest("", _VERILATOR_FLAGS, waves, "verilator")
    runtime = BUILD / f"runtime-{digest}"
    for item in filter(is_whole, runtime.glob(_RUNTIME_OBJECTS)):
        kept = Path(shutil.copyfile(item, folder / item.name))
        later = time.time() + 3600  # make compares objects with the makefile, which is yet to be written
        os.utime(kept, (later, later))
    sources = [Verilog(source), VerilatorControlFile(visible)]
    arguments = [*flags, *(part for archive in archives for part in ("-LDFLAGS", str(archive)))]
    if not waves and not covered:
        header = precompiled_header(BUILD / f"headers-{digest}", (_OPTIMISATION["OPT_FAST"],))
        arguments += ["--output-split", "0", *(("-CFLAGS", f"-include {header}") if header else ())]
    _compile("verilator", design, folder, sources, arguments, waves)
    _keep_runtime(folder, runtime)


def _compile(
    simulator: str, design: Design, folder: Path, sources: list[Any], arguments: list[str], waves: bool
) -> None:
    log = folder / "build.log"
    with tool_environment(), mock.patch.object(cocotb_tools.runner, "MAX_PARALLEL_BUILD_JOBS", 1):
        try:
            get_runner(simulator).build(
                sources=sources,
                hdl_toplevel=design.top,
                build_dir=folder,
                build_args=arguments,
                timescale=_TIMESCALE,
                waves=waves,
                log_file=log,
            )
        except RuntimeError as error:
            raise BenchFailure(f"{design.name}: {error}", log) from None


def _digest(text: str, flags: tuple[str, ...], waves: bool, simulator: str) -> str:
    if simulator == "icarus":
        said = subprocess.run([iverilog(), "-V"], capture_output=True, text=True, check=False).stdout
        tool: tuple[str, ...] = tuple(said.splitlines()[:1])
    else:
        tool = (
            *(version("verilator"), str(VERILATOR_ROOT), *flags),
            *(f"{name}={value}" for name, value in _make_variables().items()),
            *(path.read_text() for path in BLOCK_SOURCES),
            compiler().version,
        )
    parts = (text, simulator, version("cocotb"), str(waves), *tool)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _keep_runtime(folder: Path, runtime: Path) -> None:
    """Keep the objects that are the same in every simulation: they take longer than most units."""
    runtime.mkdir(exist_ok=True)
    for item in folder.glob(_RUNTIME_OBJECTS):
        cached((runtime / item.name,), partial(_copied, item))


def _copied(item: Path, folder: Path) -> tuple[Path]:
    return (shutil.copyfile(item, folder / item.name),)


def _make_variables() -> dict[str, str]:
    return {**_OPTIMISATION, **compiler().make_variables}


@contextmanager
def tool_environment() -> Iterator[None]:
    """The process environment of Verilator, make and the simulation."""
    assignments = (f"{name}={value}" for name, value in _make_variables().items())
    flags = " ".join(assignment.replace(" ", "\\ ") for assignment in assignments)
    variables = {"MAKEFLAGS": flags, "COCOTB_REWRITE_ASSERTION_FILES": _REWRITTEN}
    with mock.patch.dict(os.environ, {**verilator_environment(), **variables}):
        os.environ.pop("PYTEST_CURRENT_TEST", None)  # with it cocotb's runner judges the results by itself
        yield
