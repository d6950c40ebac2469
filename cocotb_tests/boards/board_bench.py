"""A board at its pins: the host's software at the serial line, and a golden machine beside it."""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import cocotb
import numpy as np
from cocotb.task import bridge as in_thread
from cocotb.triggers import RisingEdge, Timer

from boards.gateware.board_config import BoardConfig
from boards.gateware.top import LEDS, RESET_CYCLES
from boards.host.board_machine import BoardMachine
from boards.host.link import Link
from cocotb_tests.boards.serial_line import CLOCK_PS, PinTransport, SerialLine
from cocotb_tests.streams import start
from golden.memory import Memory
from golden.tables.commands import Command
from sim.testbench.reference import golden_machine

__all__ = ["TIMEOUT_BITS", "BoardBench"]

TIMEOUT_BITS: Final = 600
"""How long the host waits for an answer."""

_TRIES: Final = 12


class BoardBench:
    """The pins, and a golden machine that is given the same commands.

    Parameters
    ----------
    dut : handle
    config : BoardConfig
    """

    def __init__(self, dut: Any, config: BoardConfig) -> None:
        self.dut = dut
        self.config = config
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.line = SerialLine(dut, config.divider)
        self.golden = golden_machine(config.core, Memory(config.memory_bytes, config.memory_base))

    async def begin(self) -> None:
        """Start the clock, and reset the board."""
        await start(self.dut)
        await self.cycles(RESET_CYCLES + 10)

    async def with_machine(self, work: Callable[[BoardMachine], None]) -> Link:
        """Run the host's software until its work is done; returns its link."""
        link = Link(PinTransport(self.line, TIMEOUT_BITS), tries=_TRIES)

        def session() -> None:
            machine = BoardMachine(self.config.core, link)
            work(machine)
            machine.close()

        await in_thread(session)()
        return link

    async def program_over_a_bad_line(
        self,
        program: Sequence[Command],
        errors: Callable[[int], Iterable[int]],
        *,
        fill: Callable[[BoardMachine], None],
        compare: Callable[[BoardMachine], None],
    ) -> None:
        """Run a program while there are errors on the line, both ways: no command runs twice.

        Parameters
        ----------
        program : sequence of Command
        errors : callable
            What becomes of a byte, often enough that requests have to be repeated.
        fill, compare : callable
            What is done before and after it.
        """
        self.line.to_unit = self.line.from_unit = errors

        def work(machine: BoardMachine) -> None:
            fill(machine)
            for command in program:
                self.golden.execute(command)
            machine.execute_batch(program)
            assert machine.counters.instructions == len(program)
            compare(machine)

        link = await self.with_machine(work)
        assert link.repeated > 3, link.repeated

    def compare(self, machine: BoardMachine) -> None:
        """Registers and memory of both."""
        np.testing.assert_array_equal(machine.read_registers(), self.golden.read_registers())
        self.compare_memory(machine)

    def compare_memory(self, machine: BoardMachine) -> None:
        """Memory of both."""
        memory = self.golden.memory
        np.testing.assert_array_equal(machine.memory.read(memory.base, memory.size), memory.data)

    def lit(self) -> set[str]:
        """The lamps that are on."""
        return {name for place, name in enumerate(LEDS) if int(self.dut.leds.value) >> place & 1}

    async def cycles(self, count: int) -> None:
        """Let time pass."""
        await Timer(count * CLOCK_PS, "ps")
        await RisingEdge(self.dut.aclk)
