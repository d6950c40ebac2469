"""Runs a campaign: gives tasks to workers, and records each as soon as it has ended."""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final

from distributed import Client, Future, KilledWorker
from distributed.comm.core import CommClosedError
from distributed.scheduler import Scheduler

from regression.campaign.cluster import DEATHS, ClusterLost, restore_workers, work
from regression.campaign.kind import Kind, Outcome, Report, Task
from regression.campaign.store import Store
from regression.identity import identity

_TICK_SECONDS: Final = 0.5
_AGAIN_SECONDS: Final = 1.0
"""Later a task is done again whose worker died: meanwhile the scheduler sees which others died with it."""

_PATIENCE_SECONDS: Final = 300
"""A campaign ends when it had no worker for so long."""


@dataclass(frozen=True, kw_only=True)
class Amount:
    """How much work; all of a kind whose tasks come to an end where nothing is given."""

    results: int | None = None
    """Results to reach."""
    seconds: float | None = None
    """Begin no further task after this time."""
    until_covered: bool = False
    """Whether to end when there are no holes."""


class Campaign:
    """A campaign of a kind on a cluster, recorded in a store, up to an amount of work."""

    def __init__(self, kind: Kind, store: Store, amount: Amount) -> None:
        self.kind = kind
        self.amount = amount
        self.tasks = self.results = self.failures = 0
        """Recorded in this run and in earlier ones."""
        self.workers = 0
        self.holes: int | None = None
        """Bins that are missing; None of a kind without coverage."""
        self._store = store
        self._done: set[str] = set()
        self._deaths: Counter[str] = Counter()
        self._running: dict[Future[Report], Task] = {}
        self._ended: SimpleQueue[Future[Report]] = SimpleQueue()
        self._again: list[tuple[float, Task]] = []
        for task, outcome in store.outcomes():
            self._count(task, outcome)
        self.resumed = self.tasks, self.results
        """Tasks and results of earlier runs."""
        self._planned = self.results
        tasks = kind.tasks()
        self.total: int | None = None
        """Tasks, where that is known."""
        if kind.amount is None and not kind.has_coverage:
            listed = list(tasks)
            self.total, tasks = len(listed), iter(listed)
        self._tasks = (task for task in tasks if task.key not in self._done)

    def has_tasks(self) -> bool:
        """Whether there is work for a cluster; of a campaign that has ended there is none."""
        first = self._next()
        if first is not None:
            self._again.append((0, first))
        return first is not None

    def run(self, client: Client, tell: Callable[[str], None], on_progress: Callable[[], None]) -> None:
        """Run tasks until the amount is reached; at most one runs on a worker's thread.

        `tell` is told of workers that are refused, `on_progress` is called twice a second. ClusterLost if
        the scheduler or all workers are gone, and StoreError.
        """
        of_kind = type(self.kind), self.kind.seed, self.kind.configuration
        end = None if self.amount.seconds is None else time.monotonic() + self.amount.seconds
        had_workers = time.monotonic()
        looked = float("-inf")
        try:
            while True:
                if client.status != "running":
                    raise self._lost("the scheduler is gone")
                now = time.monotonic()
                if now - looked >= _TICK_SECONDS:
                    looked, threads = now, client.nthreads()
                    self.workers = len(threads)
                    restore_workers(client)
                    on_progress()
                had_workers = now if threads else had_workers
                if now - had_workers > _PATIENCE_SECONDS:
                    raise self._lost(f"no worker for {_PATIENCE_SECONDS} s")
                is_over = end is not None and now > end
                is_empty = False
                while len(self._running) < sum(threads.values()) and not (is_over or is_empty):
                    is_due = bool(self._again) and self._again[0][0] <= now
                    task = self._again.pop(0)[1] if is_due else self._next()
                    is_empty = task is None
                    if task is not None:
                        future: Future[Report] = client.submit(work, *of_kind, task, identity(), pure=False)
                        self._running[future] = task
                        future.add_done_callback(self._ended.put)
                if self._running:
                    self._take(client, tell)
                elif is_over or (is_empty and not self._again):
                    return
                else:
                    time.sleep(_TICK_SECONDS)
        except CommClosedError:
            # The connection can break before the client has noticed that it is not running.
            raise self._lost("the scheduler is gone") from None
        finally:
            if client.status == "running":
                with suppress(CommClosedError):
                    client.cancel(list(self._running), force=True)

    def _next(self) -> Task | None:
        amount = self.amount
        if amount.results is not None and max(self._planned, self.results) >= amount.results:
            return None
        if amount.until_covered and not self.kind.holes():
            return None
        task = next(self._tasks, None)
        self._planned += task.results if task else 0
        return task

    def _take(self, client: Client, tell: Callable[[str], None]) -> None:
        """Wait for a task to end, and record it with all others that have ended meanwhile."""
        reports: list[tuple[Task, Report]] = []
        try:
            future: Future[Report] | None = self._ended.get(timeout=_TICK_SECONDS)
        except Empty:
            return
        try:
            while future is not None:
                task = self._running.pop(future)
                report = self._report(future, task)
                if report is None:
                    self._again.append((time.monotonic() + _AGAIN_SECONDS, task))
                elif report.refusal:
                    tell(report.refusal)
                    self._again.append((0, task))
                    future.release()
                    client.run_on_scheduler(_remove_worker, address=report.worker)
                    if not client.nthreads():
                        raise self._lost("no worker is left")
                else:
                    reports.append((task, report))
                future = None if self._ended.empty() else self._ended.get()
        finally:
            if reports:
                self._store.add(reports)
            for task, report in reports:
                self._count(task, report.outcome)

    def _report(self, future: Future[Report], task: Task) -> Report | None:
        """What came of a task; None if it is to be done again, since its worker died."""
        with suppress(KilledWorker):  # it died before its result had been fetched
            if future.status == "finished":
                report: Report = future.result()
                return report
        if future.status == "error":
            error = future.exception()
            if isinstance(error, KilledWorker):
                self._deaths[task.key] += 1
                if self._deaths[task.key] < DEATHS:
                    return None
                case = self.kind.case(task, f"ended its worker {DEATHS} times")
                return Report(outcome=Outcome(cases=(case,)), seconds=0, worker=error.last_worker.address)
            raise self._lost(f"workers cannot do tasks of this client: {type(error).__name__}: {error}")
        if future.status == "lost":  # with the worker, and the scheduler has noticed
            return None
        raise self._lost("the scheduler is gone")

    def _count(self, task: Task, outcome: Outcome) -> None:
        self._done.add(task.key)
        self.kind.add(task, outcome)
        self.tasks += 1
        self.results += outcome.results
        self.failures += len(outcome.failures)
        self.holes = len(self.kind.holes()) if self.kind.has_coverage else None

    def _lost(self, reason: str) -> ClusterLost:
        return ClusterLost(f"{reason}; {self.tasks} tasks are recorded, and the same command resumes")


async def _remove_worker(dask_scheduler: Scheduler, address: str) -> None:
    await dask_scheduler.remove_worker(address, stimulus_id=f"refused-{address}", expected=True)
