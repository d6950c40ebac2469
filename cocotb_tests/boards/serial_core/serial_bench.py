"""A serial core and its memory, driven by the host's software through its ports instead of a serial line."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Final

import cocotb
import numpy as np
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.task import bridge as in_thread
from cocotb.task import resume
from cocotb.triggers import RisingEdge, Timer
from numpy.typing import NDArray

from boards.gateware.board_config import BoardConfig
from boards.gateware.board_memory import WordAnswer, WordRequest
from boards.gateware.frames import Kind
from boards.gateware.serial_memory import SerialMemory
from boards.host.board_machine import BoardMachine
from boards.host.link import BoardIdentity, BoardRefusal
from boards.serial_core.core import SerialCore
from boards.serial_core.serial_config import SerialConfig
from cocotb_tests.boards.serial_line import CLOCK_PS
from cocotb_tests.packing import Packing
from cocotb_tests.streams import start
from golden.memory import Memory
from golden.tables.commands import Command
from golden.tables.faults import Fault
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import MmaInstruction
from hdl.config import PAGE_BYTES
from hdl.control.host import REGISTERS
from hdl.memory.axi import Axi4LiteSignature
from hdl.multiply.multiplies import legal_multiplies
from sim.testbench.design import Design
from sim.testbench.reference import golden_machine
from sim.testbench.unit import unit_design

__all__ = ["BASE", "CONFIG", "SIZE", "PortLink", "SerialBench", "serial_design", "with_spram_model"]

CONFIG: Final = BoardConfig(
    core=SerialConfig(registers=32, queue_depth=8, address_bits=16),
    memory_bytes=2 * PAGE_BYTES,
    clock_hz=24_000_000,
    baud=1_000_000,
)
BASE: Final = CONFIG.memory_base
SIZE: Final = CONFIG.memory_bytes

_OKAY: Final = 0
_MODEL: Final = Path(__file__).with_name("sb_spram256ka.v")
_WAIT_CYCLES: Final = 30
_REQUEST, _ANSWER = Packing(WordRequest), Packing(WordAnswer)


class _System(wiring.Component):
    """The core and its memory."""

    def __init__(self) -> None:
        super().__init__(
            {
                "host": In(Axi4LiteSignature()),
                "irq": Out(1),
                "request": In(stream.Signature(WordRequest)),
                "answer": Out(stream.Signature(WordAnswer)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = SerialCore(CONFIG.core)
        m.submodules.memory = memory = SerialMemory(CONFIG)
        connect(m, flipped(self.host), core.host)
        connect(m, core.memory, memory.core)
        connect(m, flipped(self.request), memory.request)
        connect(m, memory.answer, flipped(self.answer))
        m.d.comb += self.irq.eq(core.irq)
        return m


def with_spram_model(design: Design) -> Design:
    """The design with a model of the RAM that every iCE40UP has."""
    return replace(design, write=lambda conversion: design.write(conversion) + _MODEL.read_text())


def serial_design() -> Design:
    """Core and memory, as the tests drive them."""
    return with_spram_model(unit_design("serial_core", _System()))


class PortLink:
    """What the board machine takes for its link to a board: the methods of `boards.host.link.Link`.

    Parameters
    ----------
    dut : handle

    Attributes
    ----------
    accesses : int
        Words read and written so far.
    """

    def __init__(self, dut: Any) -> None:
        self.accesses = 0
        self._dut = dut
        self._edge = RisingEdge(dut.aclk)
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready"):
            getattr(dut, f"s_axil_{name}").value = 0
        dut.request_valid.value = 0
        dut.answer_ready.value = 0
        self._read_words = resume(self.read_host_words)
        self._write_words = resume(self._write_host)
        self._memory = resume(self._access_memory)

    def identify(self) -> BoardIdentity:
        """What a board would say."""
        return BoardIdentity(
            memory_base=BASE,
            memory_bytes=SIZE,
            clock_hz=CONFIG.clock_hz,
            dropped=0,
            access_cycles=CONFIG.access_cycles,
        )

    def read_host(self, address: int, count: int) -> NDArray[np.uint32]:
        """Successive words of the host interface."""
        values, done = self._read_words(address, count)
        if done < count:
            raise BoardRefusal(Kind.READ_HOST, address, done)
        return values

    def write_host(self, address: int, values: NDArray[np.uint32]) -> None:
        """Set successive words of the host interface."""
        words = [(address + 4 * place, value) for place, value in enumerate(np.ravel(values).tolist())]
        self._write_all(Kind.WRITE_HOST, address, words)

    def read_memory(self, address: int, count: int) -> NDArray[np.uint32]:
        """Successive words of the memory."""
        values, done = self._memory(address, [0] * count, write=False)
        if done < count:
            raise BoardRefusal(Kind.READ_MEMORY, address, done)
        return values

    def write_memory(self, address: int, values: NDArray[np.uint32]) -> None:
        """Set successive words of the memory."""
        words = np.ravel(values).tolist()
        _, done = self._memory(address, words, write=True)
        if done < len(words):
            raise BoardRefusal(Kind.WRITE_MEMORY, address, done)

    def queue_commands(self, address: int, commands: NDArray[np.uint32]) -> None:
        """Queue encoded commands, word 0 of each last."""
        words = [
            (address + 4 * index, int(command[index])) for command in commands for index in (1, 2, 3, 4, 0)
        ]
        self._write_all(Kind.QUEUE_COMMANDS, address, words)

    def close(self) -> None:
        """Nothing is held."""

    async def read_host_words(self, address: int, count: int) -> tuple[NDArray[np.uint32], int]:
        """Words, and how many were not refused."""
        dut, values = self._dut, []
        if address == REGISTERS["STATUS"]:
            await Timer(_WAIT_CYCLES * CLOCK_PS, "ps")
            await self._edge
        for place in range(count):
            self.accesses += 1
            dut.s_axil_araddr.value = address + 4 * place
            dut.s_axil_arvalid.value = 1
            await self._until(dut.s_axil_arready)
            dut.s_axil_arvalid.value = 0
            dut.s_axil_rready.value = 1
            await self._until(dut.s_axil_rvalid)
            dut.s_axil_rready.value = 0
            if int(dut.s_axil_rresp.value) != _OKAY:
                break
            values.append(int(dut.s_axil_rdata.value))
        return np.array(values, dtype=np.uint32), len(values)

    async def write_host_word(self, address: int, value: int, strobes: int = 0b1111) -> bool:
        """Whether a word was accepted."""
        dut = self._dut
        self.accesses += 1
        dut.s_axil_awaddr.value = address
        dut.s_axil_wdata.value = value
        dut.s_axil_wstrb.value = strobes
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 1
        await self._until(dut.s_axil_awready)
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 0
        dut.s_axil_bready.value = 1
        await self._until(dut.s_axil_bvalid)
        dut.s_axil_bready.value = 0
        return int(dut.s_axil_bresp.value) == _OKAY

    def _write_all(self, kind: Kind, address: int, words: list[tuple[int, int]]) -> None:
        done = self._write_words(words)
        if done < len(words):
            raise BoardRefusal(kind, address, done)

    async def _write_host(self, words: list[tuple[int, int]]) -> int:
        for done, (address, value) in enumerate(words):
            if not await self.write_host_word(address, value):
                return done
        return len(words)

    async def _access_memory(
        self, address: int, values: list[int], *, write: bool
    ) -> tuple[NDArray[np.uint32], int]:
        dut, found = self._dut, []
        for place, value in enumerate(values):
            self.accesses += 1
            fields = {"address": address + 4 * place, "write": write, "data": value}
            dut.request_payload.value = _REQUEST.pack(fields)
            dut.request_valid.value = 1
            await self._until(dut.request_ready)
            dut.request_valid.value = 0
            dut.answer_ready.value = 1
            await self._until(dut.answer_valid)
            dut.answer_ready.value = 0
            answer = _ANSWER.unpack(int(dut.answer_payload.value))
            if answer.missing:
                break
            found.append(answer.data)
        return np.array(found, dtype=np.uint32), len(found)

    async def _until(self, signal: Any) -> None:
        await self._edge
        while not signal.value:
            await self._edge


class SerialBench:
    """The core beside a golden machine that is given the same commands.

    Parameters
    ----------
    dut : handle
    """

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.bits = np.random.default_rng(cocotb.RANDOM_SEED)
        self.golden = golden_machine(CONFIG.core, Memory(SIZE, BASE))
        self.link = PortLink(dut)
        self.machine: BoardMachine

    async def run(self, work: Callable[[], None]) -> None:
        """Start the clock, and let the host's software do its work in a thread."""
        await start(self.dut)

        def session() -> None:
            self.machine = BoardMachine(CONFIG.core, self.link)
            work()
            self.machine.close()

        await in_thread(session)()

    def randomize_registers(self) -> None:
        """The same noise in both machines' registers."""
        noise = self.bits.integers(0, 1 << 32, (CONFIG.core.registers, LANES), dtype=np.uint32)
        self.write_registers(0, noise)

    def write_registers(self, first: int, values: NDArray[np.uint32]) -> None:
        """The same registers in both."""
        self.machine.write_registers(first, values)
        self.golden.write_registers(first, values)

    def randomize_memory(self) -> None:
        """The same noise in both machines' memories."""
        noise = self.bits.integers(0, 256, SIZE, dtype=np.uint8)
        self.machine.memory.write(BASE, noise)
        self.golden.memory.write(BASE, noise)

    def execute(self, *commands: Command) -> Fault | None:
        """Execute commands on both, the core's as a batch; the first that faults must do so on both."""
        expected = found = None
        for command in commands:
            try:
                self.golden.execute(command)
            except Fault as fault:
                expected = fault
                break
        try:
            self.machine.execute_batch(commands)
        except Fault as fault:
            found = fault
        told = [(fault.cause, fault.index) if fault else None for fault in (found, expected)]
        assert told[0] == told[1], f"{commands}: the core {found}, golden {expected}"
        return expected

    def compare_registers(self, what: object) -> None:
        """All registers of both."""
        found, expected = self.machine.read_registers(), self.golden.read_registers()
        places = np.argwhere(found != expected)
        assert not len(places), f"{what}: {len(places)} differ, the first (register, lane) {places[0]}"

    def compare_memory(self, what: object) -> None:
        """All of both memories."""
        found, expected = self.machine.memory.read(BASE, SIZE), self.golden.memory.data
        places = np.flatnonzero(found != expected)
        assert not len(places), f"{what}: {len(places)} bytes differ, the first at {BASE + places[0]:#x}"


def every_multiply() -> Iterator[MmaInstruction]:
    """Every multiply of the core with every modifier."""
    for instruction in legal_multiplies(CONFIG.core):
        family = instruction.family
        saturations = (False,) if family.saturate == "never" else (False, True)
        for saturate, operation in product(saturations, family.operations or (None,)):
            yield replace(instruction, saturate=saturate, operation=operation)
