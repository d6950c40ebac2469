"""Within a simulation of cocotb: the tests of a unit on each mutant.

The module is what cocotb runs instead of a unit's own tests, which it takes over. Its first test splits off
a process for each mutant; that one goes on with the unit's tests, and ends at the first that fails.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import cocotb
from cocotb.regression import Test

from regression.mutation.forks import become_mutant, limited, settings
from regression.mutation.settings import SELECT
from sim.testbench.limited import TESTS


@cocotb.test
async def choose_mutant(dut: Any) -> None:
    """Become each mutant in turn."""
    getattr(dut, SELECT).value = become_mutant()


def _limited(test: Test, *, is_last: bool) -> Test:
    body: Callable[..., Awaitable[None]] = test.func

    async def limited_body(dut: Any, *arguments: Any, **keywords: Any) -> None:
        with limited(test.name, is_last=is_last):
            await body(dut, *arguments, **keywords)

    test.func = limited_body
    return test


_chosen = [test for test in TESTS if not settings().cases or test.name.endswith(tuple(settings().cases))]
_chosen.sort(key=lambda test: settings().limits.get(test.name, 0.0))  # the shortest first
globals().update(
    {f"test_{index}": _limited(test, is_last=test is _chosen[-1]) for index, test in enumerate(_chosen)}
)
