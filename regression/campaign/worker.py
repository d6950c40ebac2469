"""What a worker does: one task after the other, each judged before it is begun."""

import time
import traceback
from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, Final

from distributed import get_worker

from regression.campaign.identity import Identity, identity
from regression.campaign.kind import Configuration, Kind, Outcome, Report, Task

_LINES: Final = 30
"""Of a traceback."""


def work(
    kind: str,
    seed: int,
    configuration: Configuration,
    key: str,
    arguments: Mapping[str, Any],
    needed: Identity,
) -> Report:
    """Do a task of the kind at a `Kind.place` on a Dask worker.

    A worker whose identity is not the client's, which is `needed`, does nothing but say so.
    """
    address = get_worker().address
    difference = needed.difference(identity())
    if difference is not None:
        refusal = f"worker {address} is refused: {difference}"
        return Report(outcome=Outcome(cases=()), seconds=0, worker=address, refusal=refusal)
    began = time.perf_counter()
    outcome = perform(resolve_name(kind)(seed, configuration), Task(key=key, arguments=arguments))
    return Report(outcome=outcome, seconds=time.perf_counter() - began, worker=address)


def perform(kind: Kind, task: Task) -> Outcome:
    """Do a task in this process. An exception is a failure of the task."""
    try:
        return kind.run(task)
    except Exception:  # noqa: BLE001  # whatever it is, other tasks go on
        text = "\n".join(traceback.format_exc().splitlines()[-_LINES:])
        return Outcome(cases=(kind.case(task, text),))
