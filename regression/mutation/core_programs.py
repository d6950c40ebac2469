"""What the mutants of the whole core must pass: random programs, and the testbenches of the core."""

from importlib import import_module
from typing import Any, Final

import cocotb
from cocotb.regression import Test, TestGenerator
from cocotb.utils import get_sim_time

from golden.programs.buffers import BASE
from regression.random_programs.generator import make_program
from regression.random_programs.program import observations, observed_bytes
from sim.testbench.parameters import parameters

_BENCHES: Final = ("core", "core_addresses", "core_faults", "core_host", "core_stalls")
_UNFIT: Final = frozenset({"hazards", "reset_in_a_burst", "counters_and_interrupt"})
"""They need more registers than `tiny` has, or counters that begin with zero."""

_PROGRAMS: Final = 8
_MULTIPLIES: Final = 10
"""Of a program."""


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


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def generated_programs(dut: Any) -> None:
    """Programs of `regression.random_programs`, each after a reset: all registers and memory in the end."""
    made = await _bench("core_bench").start_bench(dut, 0)
    for number in range(_PROGRAMS):
        program = make_program(parameters()["preset"], cocotb.RANDOM_SEED, number, _MULTIPLIES)
        made.pause(made.rng.choice((0, 0.2, 0.5)))
        await _bench("streams").reset(dut)
        made.started_ns = get_sim_time("ns")
        await made.host.set("INTERRUPT_ENABLE", 3)
        made.golden, made.bus.memory = program.golden(), program.fresh_memory()
        observed_from = BASE + program.memory.size - observed_bytes(made.config)
        assert await made.run(*program.commands, *observations(made.config, observed_from)) is None
        made.compare_memory(number)
        await made.compare_counters()


def core_programs(simulate: Any, preset: str) -> None:
    """Simulate a preset of one warp."""
    count_from = _bench("test_core").COUNT_FROM
    values = {"preset": preset, "every": 5, "rounds": 8, "count_from": count_from}
    simulate(_bench("core_design").core_design(preset, count_from=count_from), __name__, values=values)
