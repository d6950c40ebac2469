"""Within the simulation: one process for each mutant, all from one that has been started and has not moved.

The module is what cocotb runs instead of a unit's own tests, which it takes over. Its first test splits off
a process for each mutant; that one goes on with the unit's tests, and ends at the first that fails. So
nothing is started twice, and every mutant begins with the same state.
"""

import json
import os
import signal
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Final

import cocotb
from cocotb.regression import Test

from regression.mutation.settings import (
    CURRENT_TEST,
    ENDED,
    FAILED,
    SELECT,
    SURVIVED,
    TIMES,
    VARIABLE,
    Settings,
)
from sim.testbench.limited import TESTS

_POLL_SECONDS: Final = 0.01

settings = Settings(**json.loads(os.environ[VARIABLE]))
_seconds: dict[str, float] = {}


@cocotb.test
async def choose_mutant(dut: Any) -> None:
    """Become each mutant in turn; the process that was there first only waits for them."""
    CURRENT_TEST.write_text("")
    for number in settings.mutants:
        deadline = time.monotonic() + settings.wall_seconds
        child = os.fork()
        if child == 0:
            getattr(dut, SELECT).value = number
            return
        ended = {
            "number": number,
            "status": os.waitstatus_to_exitcode(_wait(child, deadline)),
            "test": CURRENT_TEST.read_text(),
        }
        with ENDED.open("a") as file:
            print(json.dumps(ended), file=file)
    os._exit(0)  # the unit's tests are the mutants' business


def _wait(child: int, deadline: float) -> int:
    """Wait for a mutant, and end it if it hangs without computing; its status."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1]
        time.sleep(_POLL_SECONDS)


def _limited(test: Test, is_last: bool) -> Test:
    """A test that ends its process if it fails, if it is the last, or if it takes far longer than usual."""
    body: Callable[..., Awaitable[None]] = test.func
    limit = settings.limits.get(test.name, settings.limit)

    async def limited(dut: Any, *arguments: Any, **keywords: Any) -> None:
        CURRENT_TEST.write_text(test.name)
        signal.setitimer(signal.ITIMER_PROF, limit)
        began = time.process_time()
        try:
            await body(dut, *arguments, **keywords)
        except BaseException:  # noqa: BLE001  # whatever it is, the test has not passed
            if not settings.limits:
                traceback.print_exc()
            os._exit(FAILED)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if not settings.limits:
            _seconds[test.name] = time.process_time() - began
            TIMES.write_text(json.dumps(_seconds))
        if is_last:
            os._exit(SURVIVED)

    test.func = limited
    return test


_chosen = [test for test in TESTS if not settings.cases or test.name.endswith(tuple(settings.cases))]
_chosen.sort(key=lambda test: settings.limits.get(test.name, 0.0))  # the shortest first
globals().update({f"test_{index}": _limited(test, test is _chosen[-1]) for index, test in enumerate(_chosen)})
