"""One process for each mutant, all from one that has been started and has not moved, and its tests there.

So nothing is started twice, and every mutant begins with the same state.
"""

import json
import os
import signal
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Timer

from regression.mutation.settings import (
    CURRENT_TEST,
    ENDED,
    FAILED,
    MEASURED,
    SETTINGS,
    SURVIVED,
    Settings,
)

_seconds: dict[str, float] = {}
_counted: dict[str, list[int]] = {}


@cache
def settings() -> Settings:
    """What this simulation is told; FileNotFoundError in the folder of anything else."""
    return Settings(**json.loads(SETTINGS.read_text()))


def become_mutant() -> int:
    """Go on as each mutant in turn; the process that was there first only waits for them, and ends."""
    CURRENT_TEST.write_text("")
    for number in settings().mutants:
        child = os.fork()
        if child == 0:
            return number
        # Ends a mutant that hangs without computing.
        watch = Timer(settings().wall_seconds, os.kill, (child, signal.SIGKILL))
        watch.start()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        watch.cancel()
        watch.join()  # before the next process splits off
        ended = {"number": number, "status": status, "test": CURRENT_TEST.read_text()}
        with ENDED.open("a") as file:
            print(json.dumps(ended), file=file)
    os._exit(0)  # the tests are the mutants' business


@contextmanager
def limited(test: str, *, is_last: bool) -> Iterator[None]:
    """A test that ends its process if it fails, if it is the last, or if it takes far longer than usual."""
    CURRENT_TEST.write_text(test)
    signal.setitimer(signal.ITIMER_PROF, settings().limits.get(test, settings().limit))
    began = time.process_time()
    try:
        yield
    except BaseException:  # noqa: BLE001  # whatever it is, the test has not passed
        if not settings().limits:
            traceback.print_exc()
        os._exit(FAILED)
    signal.setitimer(signal.ITIMER_PROF, 0)
    if not settings().limits:
        _seconds[test] = time.process_time() - began
        MEASURED.write_text(json.dumps({"seconds": _seconds, "cycles": _counted}))
    if is_last:
        os._exit(SURVIVED)


def compare_cycles(test: str, counts: Sequence[int]) -> None:
    """Compare what a test has counted with the same without a fault, where it is kept.

    AssertionError for a mutant in which anything takes another number of cycles.
    """
    counted = _counted.setdefault(test, [])
    expected = settings().cycles.get(test, ())[len(counted) :][: len(counts)]
    counted += counts
    if settings().limits and expected != [*counts]:
        CURRENT_TEST.write_text(f"cycles of {test}")
        raise AssertionError(f"{test}: {counts}")
