"""Builds one design with Verilator and runs the cocotb tests of a module on it."""

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from unittest import mock

import cocotb_tools.runner
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import VerilatorControlFile, Verilog, get_runner

from sim.verilate import VERILATOR_ROOT, WAIVED, verilator_environment

__all__ = ["BenchFailure", "Design", "build", "parameters", "run"]

BUILD: Final = Path(__file__).parents[1] / "build" / "cocotb"
"""Where simulations are kept, one folder a design."""

_PARAMETERS: Final = "OPENWMMA_BENCH_PARAMETERS"
_LOG_TAIL: Final = 12_000

# The model is compiled anew at every change and runs for seconds, so the compiler optimises little.
# The Python package of Verilator leaves out how a compiler is told to read a precompiled header.
_MAKE_VARIABLES: Final = {
    "OPT_FAST": "-O1",
    "OPT_GLOBAL": "-O1",
    "OPT_SLOW": "-O0",
    "CFG_CXXFLAGS_PCH_I": "-include",
}
_VERILATOR_FLAGS: Final = ("--assert", "--no-public-flat-rw", *(f"-Wno-{name}" for name in WAIVED))
_RUNTIME_OBJECTS: Final = "verilated*.o"


class BenchFailure(AssertionError):
    """A simulation that did not build, or whose cocotb tests did not all pass.

    Parameters
    ----------
    what : str
        What failed.
    log : Path
        The log, of which the end is shown.
    """

    def __init__(self, what: str, log: Path) -> None:
        text = log.read_text(errors="replace") if log.exists() else "no log was written"
        super().__init__(f"{what}; the end of {log}:\n{text[-_LOG_TAIL:]}")


@dataclass(frozen=True, kw_only=True)
class Design:
    """Verilog to be simulated.

    Parameters
    ----------
    name : str
        Folder of the build; designs that differ want different names.
    verilog : str
        Text of all modules.
    top : str
        The top module; only its ports can be seen from Python.
    """

    name: str
    verilog: str
    top: str


def parameters() -> dict[str, Any]:
    """Within the simulation: what `run` was given."""
    return dict(json.loads(os.environ[_PARAMETERS]))


def build(design: Design, *, waves: bool = False) -> Path:
    """Build a design's simulation, or find it built.

    Parameters
    ----------
    design : Design
    waves : bool
        Whether it can write waveforms.

    Returns
    -------
    Path
        Folder of the simulation.

    Raises
    ------
    BenchFailure
    """
    folder = BUILD / (design.name + ("-waves" if waves else ""))
    folder.mkdir(parents=True, exist_ok=True)
    key = folder / "key"
    digest = _digest(design.verilog, waves)
    with _locked(folder.with_suffix(".lock")):
        if key.exists() and key.read_text() == digest:
            return folder
        shutil.rmtree(folder)
        folder.mkdir()
        source = folder / f"{design.top}.v"
        source.write_text(design.verilog)
        visible = folder / "visible.vlt"
        visible.write_text(f'`verilator_config\npublic_flat_rw -module "{design.top}" -var "*"\n')
        runtime = BUILD / f"runtime-{_digest('', waves)}"
        for item in runtime.glob(_RUNTIME_OBJECTS):
            kept = Path(shutil.copyfile(item, folder / item.name))
            later = time.time() + 3600  # make compares objects with the makefile, which is yet to be written
            os.utime(kept, (later, later))
        log = folder / "build.log"
        with _environment(), mock.patch.object(cocotb_tools.runner, "MAX_PARALLEL_BUILD_JOBS", 1):
            try:
                get_runner("verilator").build(
                    sources=[Verilog(source), VerilatorControlFile(visible)],
                    hdl_toplevel=design.top,
                    build_dir=folder,
                    build_args=list(_VERILATOR_FLAGS),
                    timescale=("1ns", "1ps"),
                    waves=waves,
                    log_file=log,
                )
            except RuntimeError as error:
                raise BenchFailure(f"{design.name}: {error}", log) from None
        _keep_runtime(folder, runtime)
        key.write_text(digest)
    return folder


def run(
    design: Design,
    module: str,
    *,
    values: Mapping[str, Any] | None = None,
    seed: int = 1,
    waves: bool = False,
    cases: tuple[str, ...] = (),
) -> None:
    """Run every cocotb test of a module on a design, in a process of its own.

    Parameters
    ----------
    design : Design
    module : str
        Import path of the module with the cocotb tests.
    values : mapping
        What `parameters` returns there; anything JSON can hold.
    seed : int
        Seed of all randomness.
    waves : bool
        Write ``dump.vcd`` beside the log.
    cases : tuple of str
        Run only the cocotb tests of these names.

    Raises
    ------
    BenchFailure
        If one fails, or there is none.
    """
    folder = build(design, waves=waves)
    place = folder / module.rpartition(".")[2]
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    log = place / "simulation.log"
    results = place / "results.xml"
    print(f"{design.name}: {module}, seed {seed}, log {log}")
    outcome = ""
    with _environment():
        try:
            get_runner("verilator").test(
                test_module=module,
                hdl_toplevel=design.top,
                hdl_toplevel_lang="verilog",
                build_dir=folder,
                test_dir=place,
                testcase=list(cases) or None,
                seed=seed,
                extra_env={_PARAMETERS: json.dumps(dict(values or {}))},
                results_xml=str(results),
                waves=waves,
                log_file=log,
            )
        except (RuntimeError, SystemExit) as error:
            outcome = f"{error}"
    if not results.exists():
        raise BenchFailure(f"{design.name}: {module}, seed {seed}: no results: {outcome}", log)
    count, failed = get_results(results)
    if failed or outcome or count < max(1, len(cases)):
        raise BenchFailure(f"{design.name}: {module}, seed {seed}: {failed} of {count} tests failed", log)


def _digest(text: str, waves: bool) -> str:
    parts = (
        *(text, version("verilator"), version("cocotb"), str(VERILATOR_ROOT), *_VERILATOR_FLAGS),
        *(f"{name}={value}" for name, value in _MAKE_VARIABLES.items()),
        str(waves),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _keep_runtime(folder: Path, runtime: Path) -> None:
    """Keep the objects that are the same in every simulation: they take longer than most units."""
    if runtime.exists():
        return
    part = runtime.with_name(f"{runtime.name}-{os.getpid()}")
    part.mkdir()
    for item in folder.glob(_RUNTIME_OBJECTS):
        shutil.copyfile(item, part / item.name)
    try:
        part.rename(runtime)
    except OSError:
        shutil.rmtree(part)  # another process was quicker


@contextmanager
def _environment() -> Iterator[None]:
    """The process environment of Verilator, make and the simulation."""
    flags = " ".join(f"{name}={value}" for name, value in _MAKE_VARIABLES.items())
    with mock.patch.dict(os.environ, {**verilator_environment(), "MAKEFLAGS": flags}):
        os.environ.pop("PYTEST_CURRENT_TEST", None)  # with it cocotb's runner judges the results by itself
        yield


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one process at a time, so that parallel callers build once."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
