"""The Dask cluster of a campaign, processes of this machine or one that is there, and what its workers do."""

import asyncio
import logging
import os
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

import dask
from dask.utils import parse_timedelta
from distributed import Client, LocalCluster, Worker, WorkerPlugin, get_worker
from distributed.core import rpc
from distributed.scheduler import Scheduler
from distributed.utils import get_mp_context

from openwmma.usage_error import UsageError
from regression.campaign.kind import Configuration, Kind, Outcome, Report, Task
from regression.identity import Identity, identity

DEATHS: Final = 3
"""A task that ended so many workers is recorded as a failure and not tried again."""

_WORKER_SECONDS: Final = 300

_LINES: Final = 30
"""Of a traceback."""


class _Leader(WorkerPlugin):
    """Makes a worker the leader of a process group, where all is that its tasks start."""

    def setup(self, worker: Worker) -> None:
        os.setpgid(0, 0)


class ClusterLost(UsageError):
    """A cluster that cannot be reached, or that is gone."""


@contextmanager
def connected(scheduler: str | None, jobs: int, module: str) -> Iterator[Client]:
    """A client of a cluster with at least one worker; ClusterLost if there is none.

    The cluster has the address `scheduler`. Without one it consists of `jobs` processes of this machine, of
    one thread each, and ends with the campaign. The process that forks these imports `module`, which tasks
    need.
    """
    settings: dict[str, Any] = {
        "distributed.scheduler.worker-saturation": 1.0,
        "distributed.worker.multiprocessing-method": "forkserver",
    }
    with dask.config.set(settings), ExitStack() as stack:
        # What goes wrong is told in one sentence, by the client, and not by distributed's log messages.
        logging.disable(logging.CRITICAL)
        stack.callback(logging.disable, logging.NOTSET)
        if scheduler is None:
            get_mp_context().set_forkserver_preload(["distributed.nanny", __name__, module])
            local = LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                processes=True,
                memory_limit=None,
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
            with local, Client(local) as client:
                client.register_plugin(_Leader())
                try:
                    yield _ready(client, "the local cluster")
                finally:
                    stack.callback(_end, [nanny.pid for nanny in local.workers.values() if nanny.pid])
            return
        try:
            asyncio.run(_identify(scheduler))
            client = Client(scheduler, set_as_default=False)
        except Exception as error:  # noqa: BLE001  # whatever an address brings about
            reason = str(error).splitlines()[0] if str(error) else "it does not answer as a scheduler"
            raise ClusterLost(f"scheduler {scheduler} cannot be reached: {reason}") from None
        stack.callback(client.close, timeout=5)
        yield _ready(client, scheduler)


async def _identify(scheduler: str) -> None:
    """Ask a scheduler who it is: a client that cannot connect leaves threads that end in tracebacks."""
    seconds = parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
    async with rpc(scheduler, timeout=seconds) as remote:
        await asyncio.wait_for(remote.identity(), 2 * seconds)


def _end(groups: list[int]) -> None:
    """End what the tasks of some workers have started and a worker that ends leaves behind."""
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def restore_workers(client: Client) -> None:
    """Start workers of this machine again that Dask has dropped, since they were slow to come back."""
    cluster = client.cluster
    if isinstance(cluster, LocalCluster) and len(cluster.workers) < len(cluster.worker_spec):
        cluster.scale(len(cluster.worker_spec))


def _ready(client: Client, name: str) -> Client:
    client.run_on_scheduler(_report_deaths)
    try:
        client.wait_for_workers(1, timeout=_WORKER_SECONDS)
    except TimeoutError:
        raise ClusterLost(f"{name} has no worker, {_WORKER_SECONDS} s after the campaign began") from None
    return client


def _report_deaths(dask_scheduler: Scheduler) -> None:
    """The client counts deaths: the scheduler would blame a task that it gave to a worker already dead."""
    dask_scheduler.allowed_failures = 0


def work(kind: type[Kind], seed: int, configuration: Configuration, task: Task, needed: Identity) -> Report:
    """Do a task on a Dask worker.

    A worker whose identity is not the client's, which is `needed`, does nothing but say so.
    """
    address = get_worker().address
    difference = needed.difference(identity())
    if difference is not None:
        refusal = f"worker {address} is refused: {difference}"
        return Report(outcome=Outcome(cases=()), seconds=0, worker=address, refusal=refusal)
    began = time.perf_counter()
    outcome = perform(kind(seed, configuration), task)
    return Report(outcome=outcome, seconds=time.perf_counter() - began, worker=address)


def perform(kind: Kind, task: Task) -> Outcome:
    """Do a task in this process. An exception is a failure of the task."""
    try:
        return kind.run(task)
    except Exception:  # noqa: BLE001  # whatever it is, other tasks go on
        text = "\n".join(traceback.format_exc().splitlines()[-_LINES:])
        return Outcome(cases=(kind.case(task, text),))
