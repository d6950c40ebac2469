"""Within the simulation: the tests of a module, each with a limit of simulated time.

cocotb imports this module in place of the tests' own, which it takes over. A unit that never answers then
fails its test; without a limit the test would wait for the answer for ever.
"""

from importlib import import_module
from typing import Final

from cocotb.regression import Test, TestGenerator

from sim.testbench.parameters import bench_module

LIMIT_MS: Final = 10
"""Milliseconds of simulated time that a test may take which has no limit of its own: a million cycles."""


def _tests(module: str) -> list[Test]:
    found: list[Test] = []
    for item in vars(import_module(module)).values():
        if isinstance(item, Test):
            found.append(item)
        elif isinstance(item, TestGenerator):
            found += item.generate_tests()
    for test in found:
        test.timeout = test.timeout or (LIMIT_MS, "ms")
    return found


TESTS: Final = _tests(bench_module()) if bench_module() else []
"""All tests of the module, in its order; none outside a simulation."""

globals().update({f"test_{number}": test for number, test in enumerate(TESTS)})
