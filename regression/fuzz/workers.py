"""Processes that run inputs within bounds of memory and time, and are replaced when an input ends one."""

import faulthandler
import gc
import multiprocessing
import os
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import platformdirs
from numba.core import event
from numba.core.event import Listener

from regression.fuzz.kind import ROOT, UNDER_TEST, Closed, Files
from regression.fuzz.kinds import KINDS
from regression.fuzz.outcomes import Outcome, judge

__all__ = ["Limits", "Task", "Worker", "make", "opened_workers", "run_tasks"]

os.environ.setdefault("NUMBA_CACHE_DIR", platformdirs.user_cache_dir("openwmma"))
"""Workers have a cache folder of their own, except for the compiled arithmetic."""

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
    """What one input may use.

    Parameters
    ----------
    seconds : float
        Of processor time.
    waiting : float
        Seconds after which an input is ended that takes no processor time.
    memory : int
        Bytes of address space beyond the idle worker.
    tasks : int
        Inputs after which a worker is replaced.
    """

    seconds: float = 20
    waiting: float = 180
    memory: int = 2 << 30
    tasks: int = 2000


@dataclass(frozen=True)
class Task:
    """An input to run.

    Parameters
    ----------
    kind : str
        Of `regression.fuzz.kinds.KINDS`.
    seed, number : int
    files : mapping or None
        The input, where it is not the one of the seed and the number.
    times : int
        2 to require the same outcome of a second run.
    """

    kind: str
    seed: int = 0
    number: int = 0
    files: Files | None = None
    times: int = 1

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


def run_tasks(
    tasks: Iterable[Task], *, jobs: int = 1, limits: Limits, prepare: Callable[[], None] | None = None
) -> Iterator[tuple[Task, Outcome]]:
    """Run inputs in other processes.

    Parameters
    ----------
    tasks : iterable of Task
    jobs : int
        Processes at once.
    limits : Limits
    prepare : callable or None
        Called in each process before its first input; it has a name in a module.

    Yields
    ------
    (Task, Outcome)
        In the order in which they end.
    """
    waiting = iter(tasks)
    with opened_workers(jobs, limits, prepare) as workers:
        busy = [worker for worker in workers if worker.begin(next(waiting, None))]
        while busy:
            wait([worker.connection for worker in busy], timeout=1)
            for worker in tuple(busy):
                task, outcome = worker.task, worker.outcome()
                if outcome is None:
                    continue
                if not worker.begin(next(waiting, None)):
                    busy.remove(worker)
                assert task is not None
                yield task, outcome


@contextmanager
def opened_workers(
    jobs: int, limits: Limits, prepare: Callable[[], None] | None = None
) -> "Iterator[list[Worker]]":
    """Start processes; in the end they are stopped, and what they wrote is removed."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        workers = [Worker(limits, prepare, Path(folder, str(number))) for number in range(jobs)]
        try:
            yield workers
        finally:
            for worker in workers:
                worker.stop()


class Worker:
    """One process, and the input that it runs.

    Parameters
    ----------
    limits : Limits
    prepare : callable or None
    folder : Path
        What its inputs write; a file beside it gets the traceback of an input that ends the process.
    """

    def __init__(self, limits: Limits, prepare: Callable[[], None] | None, folder: Path) -> None:
        self._limits = limits
        self._prepare = prepare
        self._folder = folder
        self._trace = folder.with_suffix(".txt")
        folder.mkdir()
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        self.connection, there = context.Pipe()
        self._process = context.Process(
            target=_work, args=(there, self._limits, self._prepare, self._folder, self._trace)
        )
        self._process.start()
        there.close()
        self.connection.recv()
        self._done = 0

    def run(self, task: Task) -> Outcome:
        """Run one input to its end."""
        self.begin(task)
        while (outcome := self.outcome()) is None:
            self.connection.poll(1)
        return outcome

    def begin(self, task: Task | None) -> bool:
        """Run an input; False for none."""
        if task is None:
            return False
        if self._done >= self._limits.tasks:
            self.stop()
            self._start()
        self.task = task
        self._end = time.monotonic() + self._limits.waiting * task.times
        self.connection.send(task)
        return True

    def outcome(self) -> Outcome | None:
        """The outcome of the input once there is one; a process that has ended is replaced."""
        late = time.monotonic() > self._end
        if not late and not self.connection.poll():
            return None
        try:
            if not late:
                self._done += 1
                found: Outcome = self.connection.recv()
                return found
        except EOFError:
            pass
        if late and self._process.pid is not None:
            os.kill(self._process.pid, signal.SIGPROF)  # which writes where it is
        self._process.join(1)
        code = self._process.exitcode
        self.stop()
        trace = self._trace.read_text(errors="replace")
        self._start()
        slow = "waits too long" if late else "takes too long"
        what = slow if code in (None, -signal.SIGPROF) else f"ends the process with {code}"
        return Outcome("failure", f"{what}: {_innermost(trace)}", trace[-1500:])

    def stop(self) -> None:
        """End the process."""
        self.connection.close()
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


def _work(
    connection: Connection, limits: Limits, prepare: Callable[[], None] | None, folder: Path, trace: Path
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + limits.memory, used + limits.memory))
    os.chdir(tempfile.mkdtemp(dir=folder))
    tempfile.tempdir = str(folder)
    event.register("numba:compile", _UntimedCompilation())  # type: ignore[no-untyped-call]
    os.environ.update(XDG_CACHE_HOME=str(folder), HOME=str(folder), COLUMNS="100", NO_COLOR="1")
    with trace.open("w") as file:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        faulthandler.enable(file)
        faulthandler.register(signal.SIGPROF, file, chain=True)
        for door in DOORS:
            mock.patch(door, side_effect=Closed).start()
        if prepare is not None:
            prepare()
        gc.collect()
        gc.freeze()
        connection.send("ready")
        while True:
            try:
                task: Task = connection.recv()
            except EOFError:
                return
            signal.setitimer(signal.ITIMER_PROF, limits.seconds * task.times)
            outcome = task.run()
            signal.setitimer(signal.ITIMER_PROF, 0)
            connection.send(outcome)
