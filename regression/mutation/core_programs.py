"""What the mutants of the whole core must pass: random programs, and every testbench of the core."""

from typing import Any, Final

import cocotb
from cocotb.utils import get_sim_time

from cocotb_tests.conftest import Simulate
from cocotb_tests.core_bench import start_bench
from cocotb_tests.core_design import core_design
from cocotb_tests.streams import reset
from cocotb_tests.test_core import COUNT_FROM, captured_multiplies, random_programs
from cocotb_tests.test_core_addresses import memory, registers
from cocotb_tests.test_core_faults import (
    bus_errors,
    errors_among_others,
    memory_ends,
    refused_commands,
    unknown_words,
)
from cocotb_tests.test_core_host import full_queue, window
from cocotb_tests.test_core_stalls import long_stalls
from golden.programs.buffers import BASE
from regression.random_programs.generator import make_program
from regression.random_programs.program import observations, observed_bytes
from sim.testbench.parameters import parameters

__all__ = [
    "bus_errors",
    "captured_multiplies",
    "core_programs",
    "errors_among_others",
    "full_queue",
    "generated_programs",
    "long_stalls",
    "memory",
    "memory_ends",
    "random_programs",
    "refused_commands",
    "registers",
    "unknown_words",
    "window",
]

_PROGRAMS: Final = 8
_MULTIPLIES: Final = 10
"""Of a program."""


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def generated_programs(dut: Any) -> None:
    """Programs of `regression.random_programs`, each after a reset: all registers and memory in the end."""
    made = await start_bench(dut, 0)
    for number in range(_PROGRAMS):
        program = make_program(parameters()["preset"], cocotb.RANDOM_SEED, number, _MULTIPLIES)
        made.pause(made.rng.choice((0, 0.2, 0.5)))
        await reset(dut)
        made.started_ns = get_sim_time("ns")
        await made.host.set("INTERRUPT_ENABLE", 3)
        made.golden, made.bus.memory = program.golden(), program.fresh_memory()
        observed_from = BASE + program.memory.size - observed_bytes(made.config)
        assert await made.run(*program.commands, *observations(made.config, observed_from)) is None
        made.compare_memory(number)
        await made.compare_counters()


def core_programs(simulate: Simulate, preset: str) -> None:
    """Simulate a preset of one warp."""
    values = {"preset": preset, "every": 5, "rounds": 8, "count_from": COUNT_FROM}
    simulate(core_design(preset, count_from=COUNT_FROM), __name__, values=values)
