"""What the mutants of the whole core must pass beside random programs: testbenches of its two buses."""

from importlib import import_module
from typing import Any, Final

from cocotb.regression import Test, TestGenerator

_BENCHES: Final = ("core_addresses", "core_faults", "core_host", "core_stalls")
_UNFIT: Final = frozenset({"reset_in_a_burst", "counters_and_interrupt"})
"""They need counters that begin with zero."""


def _bench(name: str) -> Any:
    return import_module(f"cocotb_tests.{name}")


globals().update(
    {
        name: item
        for bench in _BENCHES
        for name, item in vars(_bench(f"test_{bench}")).items()
        if isinstance(item, Test | TestGenerator) and name not in _UNFIT
    }
)


def core_benches(simulate: Any, preset: str) -> None:
    """Simulate a preset of one warp."""
    count_from = _bench("test_core").COUNT_FROM
    design = _bench("core_design").core_design(preset, count_from=count_from)
    simulate(design, __name__, values={"preset": preset, "count_from": count_from})
