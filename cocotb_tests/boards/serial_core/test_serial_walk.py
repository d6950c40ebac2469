"""The walk of a serial core against the golden machine's rules and the lines of the golden layouts."""

import random
from collections import Counter
from typing import Any

import cocotb
import numpy as np
import pytest
from amaranth.lib import data
from cocotb.triggers import RisingEdge, Timer

from boards.serial_core.serial_config import SerialConfig
from boards.serial_core.walk import FragmentWalk, Step
from boards.serial_core.walk_geometry import WalkGeometry, walk_geometry
from cocotb_tests.conftest import Simulate
from cocotb_tests.memory.test_access import expected_cause, random_access
from cocotb_tests.streams import start
from golden.fragments import collect
from golden.lines import gather_lines, matrix_to_lines
from golden.tables.commands import Load
from golden.tables.faults import Cause
from golden.tables.layouts import LANES, fragment
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

GEOMETRY = data.Layout.cast(WalkGeometry)
WIDTHS = (18, 32)


class Bench:
    """The unit, stepped."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self._edge = RisingEdge(dut.aclk)

    async def step(self, step: Step, word: int = 0) -> int:
        """Take one step; returns the cause that is shown after it."""
        self.dut.step.value, self.dut.word.value = step.value, word
        await self._edge
        self.dut.step.value = Step.STAY.value
        await Timer(1, "ps")
        return int(self.dut.cause.value)

    async def check(self, command: Load) -> int:
        """Check an access as the sequencer does; returns the cause of its refusal, or zero."""
        dut = self.dut
        dut.has_stride.value = command.stride is not None
        address = command.address
        cause = await self.step(Step.ADDRESS, address & 0xFFFF_FFFF)
        if cause:
            return cause
        await self.step(Step.ADDRESS_HIGH, address >> 32)
        cause = await self.step(Step.STRIDE, command.stride or 0)
        if cause:
            return cause
        await self.step(Step.LINE_END)
        while not dut.is_last.value:
            await self.step(Step.NEXT_LINE)
        await self.step(Step.REWIND)
        return Cause.ADDRESS_RANGE if dut.beyond.value else 0

    async def places(self) -> list[tuple[int, int, int, int]]:
        """Go through all places: address, byte, lane and register of each."""
        names = ("address", "byte", "lane", "register_offset")
        found = []
        while True:
            found.append(tuple(int(getattr(self.dut, name).value) for name in names))
            if self.dut.is_last.value:
                return found
            await self.step(Step.NEXT)


def expected_bytes(command: Load) -> dict[tuple[int, int, int], int]:
    """Address of each byte, by register, lane and byte: golden stores a fragment of numbers."""
    instruction = command.instruction
    use, name, shape = instruction.use, instruction.type, instruction.shape
    registers = fragment(use, name, shape).registers
    lines = gather_lines(instruction, command.address, command.stride)
    addresses = np.concatenate([np.arange(start, start + count) for start, count in lines])
    found: dict[tuple[int, int, int], int] = {}
    # The number of a byte has 11 bits, so it is spelt in two rounds of eight.
    numbers = np.arange(registers * LANES * 4, dtype=np.uint32)
    rounds = []
    for shift in (0, 8):
        words = (numbers >> shift).astype(np.uint8).view(np.uint32).reshape(registers, LANES)
        matrix = collect(words, use, name, shape)
        rounds.append(matrix_to_lines(matrix, instruction).reshape(-1).astype(int))
    for address, number in zip(addresses.tolist(), (rounds[0] | rounds[1] << 8).tolist(), strict=True):
        found[number // 4 // LANES, number // 4 % LANES, number % 4] = address
    return found


@cocotb.test
async def random_accesses(dut: Any) -> None:
    """Causes of random accesses, and of those that are legal every address with what is there."""
    rng = random.Random(cocotb.RANDOM_SEED)
    config = SerialConfig(address_bits=parameters()["width"])
    bench = Bench(dut)
    dut.step.value = Step.STAY.value
    await start(dut)
    causes: Counter[int] = Counter()
    for _ in range(2500):
        command = random_access(rng, config)
        instruction = command.instruction
        row = (instruction.use, instruction.type, instruction.shape, instruction.layout)
        dut.geometry.value = GEOMETRY.const(walk_geometry(*row)).as_bits()
        cause = await bench.check(command)
        assert cause == expected_cause(config, command), command
        causes[cause] += 1
        if cause or causes[0] % 4:
            continue
        expected = expected_bytes(command)
        size = 1 if walk_geometry(*row)["bytewise"] else 4
        found = {
            (register, lane, byte + more): address + more
            for address, byte, lane, register in await bench.places()
            for more in range(size)
        }
        assert found == expected, command
    checks = (Cause.MISALIGNED_ADDRESS, Cause.SHORT_STRIDE, Cause.MISALIGNED_STRIDE, Cause.ADDRESS_RANGE)
    assert all(causes[cause] > 30 for cause in (0, *checks)), causes


@pytest.mark.parametrize("width", WIDTHS)
def test_serial_walk(simulate: Simulate, width: int) -> None:
    design = unit_design(f"serial_walk_{width}", FragmentWalk(SerialConfig(address_bits=width)))
    simulate(design, __name__, values={"width": width})
