"""A process that runs inputs within bounds of memory and time, and is replaced when an input ends it."""

import faulthandler
import gc
import multiprocessing
import os
import resource
import signal
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest import mock

import platformdirs
from numba.core import event
from numba.core.event import Listener

from regression.fuzz.calls import API, ARRAYS
from regression.fuzz.command_lines import COMMAND_LINES
from regression.fuzz.control_programs import CONTROL_PROGRAMS
from regression.fuzz.kind import UNDER_TEST, Closed, Files, Kind, Outcome, judge
from regression.fuzz.launches import LAUNCHES
from regression.fuzz.ptx import PTX
from regression.fuzz.scalar_programs import SCALAR_PROGRAMS
from regression.fuzz.server_requests import REQUESTS
from regression.identity import ROOT

os.environ.setdefault("NUMBA_CACHE_DIR", platformdirs.user_cache_dir("openwmma"))
"""Workers have a cache folder of their own, except for the compiled arithmetic."""

KINDS: Final[Mapping[str, Kind]] = {
    "ptx": PTX,
    "valid": SCALAR_PROGRAMS,
    "control": CONTROL_PROGRAMS,
    "launch": LAUNCHES,
    "array": ARRAYS,
    "api": API,
    "cli": COMMAND_LINES,
    "server": REQUESTS,
}

_OFTEN: Final = {"ptx": 7, "valid": 1, "control": 1, "launch": 3, "array": 3, "api": 3, "cli": 1, "server": 1}

SCHEDULE: Final = tuple(name for name, count in _OFTEN.items() for _ in range(count))
"""The kind of input `number` is ``SCHEDULE[number % len(SCHEDULE)]`` in a campaign of all kinds."""

DOORS = (
    "openwmma.commands.build.build_board",
    "openwmma.commands.campaign.run_campaign",
    "openwmma.commands.verilog.write_verilog",
    "openwmma.commands.learn.page_server",
    "openwmma.cuda_source._compile",
    "sim.rtl_machine.build_core",
    "sim.rtl_machine.core_verilog",
)
"""What takes minutes, or serves for ever; in a worker it raises `Closed`."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one input may use in a worker."""

    seconds: float = 20
    """Of processor time."""
    waiting: float = 180
    """Seconds after which an input is ended that takes no processor time."""
    memory: int = 2 << 30
    """Bytes of address space beyond the idle worker."""
    prepare: Callable[[], None] | None = None
    """Called in each process before its first input; it has a name in a module."""


@dataclass(frozen=True)
class Input:
    """An input to run."""

    kind: str
    """Of `KINDS`."""
    seed: int = 0
    number: int = 0
    files: Files | None = None
    """The input, where it is not the one of the seed and the number."""
    times: int = 1
    """2 to require the same outcome of a second run."""

    def run(self) -> Outcome:
        """Run it in this process."""
        kind = KINDS[self.kind]
        files = make(self.kind, self.seed, self.number) if self.files is None else self.files
        outcome = judge(kind, files)
        for _ in range(self.times - 1):
            if not outcome.is_failure and (again := judge(kind, files)) != outcome:
                return Outcome("failure", f"two outcomes of one {self.kind} input", f"{outcome}\n{again}")
        return outcome


def make(kind: str, seed: int, number: int) -> Files:
    """The input of a kind, a seed and a number: the same whenever and wherever it is made."""
    return KINDS[kind].make(Random(f"{seed} {kind} {number}"))


class Worker:
    """The process, while the context is entered."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def __enter__(self) -> "Worker":
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-")
        self._trace = Path(self._folder.name, "trace")
        """Gets the traceback of an input that ends the process."""
        self._start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()
        self._folder.cleanup()

    def run(self, drawn: Input) -> Outcome:
        """Run an input; a process that it ends is replaced."""
        self._connection.send(drawn)
        is_late = not self._connection.poll(self._limits.waiting * drawn.times)
        try:
            if not is_late:
                found: Outcome = self._connection.recv()
                return found
        except EOFError:
            pass
        if is_late and self._process.pid is not None:
            os.kill(self._process.pid, signal.SIGPROF)  # which writes where it is
        self._process.join(1)
        code = self._process.exitcode
        self._stop()
        trace = self._trace.read_text(errors="replace")
        self._start()
        slow = "waits too long" if is_late else "takes too long"
        what = slow if code in (None, -signal.SIGPROF) else f"ends the process with {code}"
        return Outcome("failure", f"{what}: {_innermost(trace)}", trace[-1500:])

    def _start(self) -> None:
        # A worker of Dask is a daemon, to which multiprocessing allows no children: it might leave them
        # behind. This one ends with the connection.
        multiprocessing.process.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        self._connection, there = context.Pipe()
        self._process = context.Process(target=_work, args=(there, self._limits, self._trace))
        self._process.start()
        there.close()
        self._connection.recv()

    def _stop(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.join()


def _innermost(trace: str) -> str:
    """The innermost function of the project in what faulthandler wrote."""
    lines = [line.strip() for line in trace.splitlines() if 'File "' in line]
    own = [line for line in lines if any(f'"{folder}' in line for folder in UNDER_TEST)]
    if not lines:
        return "nowhere known"
    _, file, place = (own or lines)[0].split('"')
    return f"{file.removeprefix(f'{ROOT}/')}:{place.split(' in ')[-1]}"


class _UntimedCompilation(Listener):
    """Stops the clock while the arithmetic is compiled, which happens once on a computer."""

    def __init__(self) -> None:
        self._depth = 0
        self._left = (0.0, 0.0)

    def on_start(self, event: Any) -> None:
        if not self._depth:
            self._left = signal.setitimer(signal.ITIMER_PROF, 0)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            signal.setitimer(signal.ITIMER_PROF, *self._left)


def _work(connection: Connection, limits: Limits, trace: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + limits.memory, used + limits.memory))
    folder = tempfile.tempdir = tempfile.mkdtemp(dir=trace.parent)
    event.register("numba:compile", _UntimedCompilation())  # type: ignore[no-untyped-call]
    os.environ.update(XDG_CACHE_HOME=folder, HOME=folder, COLUMNS="100", NO_COLOR="1")
    with trace.open("w") as file:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        faulthandler.enable(file)
        faulthandler.register(signal.SIGPROF, file, chain=True)
        for door in DOORS:
            mock.patch(door, side_effect=Closed).start()
        if limits.prepare is not None:
            limits.prepare()
        gc.collect()
        gc.freeze()
        connection.send("ready")
        while True:
            try:
                drawn: Input = connection.recv()
            except EOFError:
                return
            signal.setitimer(signal.ITIMER_PROF, limits.seconds * drawn.times)
            outcome = drawn.run()
            signal.setitimer(signal.ITIMER_PROF, 0)
            connection.send(outcome)
