"""The whole core between a host and a memory, beside a golden machine that is given the same commands."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge, with_timeout
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiResp
from numpy.typing import NDArray

from cocotb_tests.axi_checker import AxiChecker
from cocotb_tests.axi_memory import BusMemory
from cocotb_tests.host_port import HostPort
from cocotb_tests.memory.accesses import beat_of
from cocotb_tests.streams import start
from golden.lines import gather_lines, matrix_of_lines, matrix_to_lines
from golden.memory import Memory
from golden.tables.commands import Command, Load, Store
from golden.tables.faults import Cause, Fault
from golden.tables.instruction_set import Layout, Shape, Use
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from hdl.command import encode
from hdl.config import PRESETS, CoreConfig
from hdl.control.host.register_map import COUNTERS
from sim.testbench.parameters import parameters
from sim.testbench.reference import golden_machine

__all__ = ["BASE", "BUS_CAUSES", "SCRATCH", "SIZE", "SQUARE", "CoreBench", "start_bench"]

BASE: Final = 0x20000
SIZE: Final = 0x8000
SCRATCH: Final = BASE + SIZE - 0x2000
"""Where `CoreBench.compare` stores the registers."""

SQUARE: Final = Shape(16, 16, 16)
BUS_CAUSES: Final = frozenset(cause for cause in Cause if cause.is_of_memory)
"""What only a memory can find wrong."""

_PER_FRAGMENT: Final = 8
_FRAGMENT_BYTES: Final = 1024
_LIMIT_US: Final = 200
_CLOCK_NS: Final = 10
"""As `cocotb_tests.streams.start` clocks it."""


class CoreBench:
    """A core, its host and its memory; everything is compared with the golden machine.

    Commands that are run together belong to one warp; `run` draws it.

    Parameters
    ----------
    dut : handle
    config : CoreConfig
    """

    def __init__(self, dut: Any, config: CoreConfig) -> None:
        self.dut = dut
        self.config = config
        self.count_from = parameters().get("count_from", 0)
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.bits = np.random.default_rng(cocotb.RANDOM_SEED)
        self.host = HostPort(dut)
        self.bus = BusMemory(dut, Memory(SIZE, BASE), beat_of(config))
        self.checker = AxiChecker(dut, config.outstanding_reads, beat=beat_of(config))
        self.golden = golden_machine(self.config, Memory(SIZE, BASE))

    async def start(self, pause: float = 0.2) -> None:
        """Reset, and fill memory and registers with finite f16 numbers."""
        self.pause(pause)
        await start(self.dut)
        self.started_ns = get_sim_time("ns")
        await self.restart()

    def pause(self, share: float) -> None:
        """Make every channel of both ports wait in `share` of the cycles."""
        self.bus.pause(self.rng, share)
        self.host.pause(self.rng, share)

    async def restart(self) -> None:
        """After a reset: a new golden machine, known memory and registers, interrupts enabled."""
        await self.host.set("INTERRUPT_ENABLE", 3)
        self.golden = golden_machine(self.config, Memory(SIZE, BASE))
        self.bus.memory.data[:] = self.golden.memory.data[:] = self.finite(SIZE // 2).view(np.uint8)
        await self.randomize()

    async def randomize(self) -> None:
        """Load every register of every warp from random places."""
        load = LoadInstruction(use="c", layout="row", shape=SQUARE, type="f32")
        for warp, register in self._fragments():
            place = BASE + 32 * self.rng.randrange((SIZE - 0x2000 - _FRAGMENT_BYTES) // 32)
            await self.run(Load(load, register, place), warp=warp)

    def _fragments(self) -> Iterator[tuple[int, int]]:
        """The first registers of fragments that are all registers, with their warps."""
        return product(range(self.config.warps), range(0, self.config.registers, _PER_FRAGMENT))

    def finite(self, count: int) -> NDArray[np.uint16]:
        """Random f16 numbers between 2**-7 and 2**5, of both signs."""
        exponents = self.bits.integers(8, 21, count, dtype=np.uint16) << np.uint16(10)
        rest = self.bits.integers(0, 1 << 16, count, dtype=np.uint16) & np.uint16(0x83FF)
        return exponents | rest

    def place(
        self,
        matrix: NDArray[Any],
        use: Use,
        layout: Layout,
        shape: Shape,
        type: str,
        address: int,
        stride: int,
    ) -> Load:
        """Put a matrix into memory; returns the load that fetches it, to register 0."""
        instruction = LoadInstruction(use=use, layout=layout, shape=shape, type=type)
        lines = matrix_to_lines(matrix, instruction)
        for (line, count), values in zip(gather_lines(instruction, address, stride), lines, strict=True):
            for memory in (self.bus.memory, self.golden.memory):
                memory.data[line - BASE : line - BASE + count] = values
        return Load(instruction, 0, address, stride)

    def stored(self, command: Store) -> NDArray[Any]:
        """The matrix that lies in memory where a store put it."""
        lines = gather_lines(command.instruction, command.address, command.stride)
        data = np.stack([self.bus.memory.read(address, count) for address, count in lines])
        return matrix_of_lines(data, command.instruction)

    async def push(self, command: Command | Sequence[int]) -> None:
        """Queue a command as soon as there is room."""
        words = command if isinstance(command, list | tuple) else encode(command)  # type: ignore[arg-type]
        for _ in range(2000):
            if await self.host.get("STATUS") >> 8:
                assert await self.host.push(words) == AxiResp.OKAY
                return
        raise AssertionError("the queue never had room")

    async def wait(self) -> Cause | None:
        """Wait until the core is idle or at fault; returns the fault's cause."""
        for _ in range(100):
            if not self.dut.irq.value:
                await with_timeout(RisingEdge(self.dut.irq), _LIMIT_US, "us")
            status = await self.host.get("STATUS")
            if status & 2:
                self.checker.assert_quiet()
                return Cause(await self.host.get("FAULT_CAUSE"))
            if not status & 1:
                self.checker.assert_quiet()
                assert await self.host.get("FAULT_CAUSE") == 0
                return None
        raise AssertionError("the core never came to rest")

    async def clear(self) -> None:
        """Clear the fault."""
        await self.host.set("CONTROL", 1)
        assert not await self.host.get("STATUS") & 3
        assert await self.host.get("FAULT_CAUSE") == 0

    async def run(self, *work: Command, warp: int | None = None) -> Fault | None:
        """Run commands on both to their end or first fault, which must be the same; clears it.

        Where a memory is to refuse one, the core works in serial mode: then nothing younger has been started,
        as on the golden machine.
        """
        if warp is None:
            warp = self.rng.randrange(self.config.warps)
        if self.config.warps > 1:
            await self.host.set("WARP", warp)
        commands = [replace(command, warp=warp) for command in work]
        expected: Fault | None = None
        for command in commands:
            try:
                self.golden.execute(command)
            except Fault as fault:
                expected = fault
                break
        serial = expected is not None and expected.cause in BUS_CAUSES
        if serial:
            await self.host.set("MODE", 1)
        for command in commands:
            if expected and await self.host.get("STATUS") & 2:
                break
            await self.push(command)
        cause = await self.wait()
        assert cause == (expected.cause if expected else None), f"{commands}: {cause}, but {expected}"
        if expected:
            assert await self.host.get("FAULT_INDEX") == self.index_of(expected.index), commands
            assert await self.host.get("FAULTS") == 1 << expected.warp, commands
            await self.clear()
        if serial:
            await self.host.set("MODE", 0)
        return expected

    def index_of(self, command: int) -> int:
        """What the host reads of a command's number."""
        return (self.count_from + command) % (1 << 32)

    async def fail(self, command: Command, cause: Cause) -> None:
        """Run a command that only the memory refuses, so that golden does not know; clears the fault."""
        await self.push(command)
        assert await self.wait() == cause, command
        assert await self.host.get("FAULT_INDEX") == self.index_of(self.golden.counters.instructions)
        await self.clear()

    def memory_after(self, command: Command) -> NDArray[np.uint8]:
        """What golden memory would hold after a command, which is not executed here."""
        other = golden_machine(self.config, Memory(SIZE, BASE))
        other.memory.data[:] = self.golden.memory.data
        other.write_registers(0, self.golden.read_registers())
        other.execute(command)
        return other.memory.data

    async def compare(self) -> None:
        """Store every register of every warp on both, and compare all of memory."""
        store = StoreInstruction(layout="row", shape=SQUARE, type="f32")
        for warp, register in self._fragments():
            place = SCRATCH + _FRAGMENT_BYTES * (register // _PER_FRAGMENT % 8)
            assert await self.run(Store(store, register, place), warp=warp) is None
            self.compare_memory(f"registers of warp {warp} from {register} on")
        await self.compare_counters()

    async def compare_counters(self) -> None:
        """Compare the commands executed with golden's, and the other counters with the time that passed."""
        executed = 0
        for warp in range(self.config.warps):
            if self.config.warps > 1:
                await self.host.set("WARP", warp)
            executed += await self.host.counter("INSTRUCTIONS") - self.count_from
        assert executed == self.golden.counters.instructions
        cycles = (get_sim_time("ns") - self.started_ns) / _CLOCK_NS
        for name in COUNTERS[1:]:
            units = self.config.dot_product_units if name == "DOT_PRODUCT_CYCLES" else self.config.warps
            assert 0 <= await self.host.counter(name) - self.count_from <= units * cycles, name

    def compare_memory(self, what: object) -> None:
        """Compare all of memory."""
        places = np.flatnonzero(self.bus.memory.data != self.golden.memory.data)
        assert not len(places), f"{what}: memory differs at {[hex(BASE + int(at)) for at in places[:4]]}"

    async def cycles(self, count: int) -> None:
        """Let time pass."""
        for _ in range(count):
            await RisingEdge(self.dut.aclk)


async def start_bench(dut: Any, pause: float = 0.2) -> CoreBench:
    """A bench for the preset and warps that `sim.testbench.parameters.parameters` names, started."""
    config = replace(PRESETS[parameters()["preset"]], warps=parameters().get("warps", 1))
    bench = CoreBench(dut, config)
    await bench.start(pause)
    return bench
