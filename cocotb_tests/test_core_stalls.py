"""The whole core when its memory stands still, and when it is reset in the middle of work."""

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.core_bench import SCRATCH, SQUARE, CoreBench, start_bench
from cocotb_tests.core_commands import multiply_of, random_load, random_load_to
from cocotb_tests.core_design import core_design
from cocotb_tests.streams import reset
from golden.tables.commands import Command, Fill, Mma, Store
from golden.tables.matrix_instructions import StoreInstruction


@cocotb.test
@cocotb.parametrize(channel=["ar", "r", "aw", "w", "b"])
async def long_stalls(dut: Any, channel: str) -> None:
    """A channel of the memory stands still for thousands of cycles: the core waits, and nothing is lost."""
    made = await start_bench(dut, 0)
    store = StoreInstruction(layout="col", shape=SQUARE, type="f32")
    for before in (0, 2):
        commands = [
            random_load_to(made, 0),
            Store(store, 8, SCRATCH),
            random_load_to(made, 16),
            Mma(multiply_of(SQUARE, "f32", "f32"), 24, 0, 16, 24),
            Store(store, 24, SCRATCH + 0x400),
        ]
        for place, command in enumerate(commands):
            if place == before:
                await made.cycles(made.rng.randrange(40))
                made.bus.hold(channel, hold=True)
            made.golden.execute(command)
            await made.push(command)
        await made.cycles(3000)
        assert await made.host.get("STATUS") & 1, "it can only wait"
        made.bus.hold(channel, hold=False)
        assert await made.wait() is None
        made.compare_memory(commands)
    await made.compare()


@cocotb.test
async def reset_in_a_burst(dut: Any) -> None:
    """Reset during a load, a store or a multiply leaves a clean core, as after the first reset."""
    made = await start_bench(dut)
    store = StoreInstruction(layout="row", shape=SQUARE, type="f32")
    for round_number in range(9):
        load = random_load(made)
        command: Command = (
            load,
            Store(store, 8, SCRATCH),
            Mma(multiply_of(SQUARE, "f32", "f32"), 0, 8, 16, 0),
        )[round_number % 3]
        made.bus.pause(made.rng, 0.3)
        await made.push(command)
        await made.push(Fill(0, 4, 0xFFFF_FFFF))
        await until_midway(made, command)
        await reset(dut, made.rng.randrange(2, 6))
        assert await made.host.get("STATUS") == made.config.queue_depth << 8
        for name in ("INSTRUCTIONS", "CYCLES", "DOT_PRODUCT_CYCLES", "READ_BEATS", "WRITE_BEATS"):
            assert await made.host.counter(name) == 0, name
        assert await made.host.get("FAULT_CAUSE") == 0
        await made.restart()
        assert await made.run(Mma(multiply_of(SQUARE, "f32", "f32"), 24, 8, 16, 0)) is None
        await made.compare()


async def until_midway(made: CoreBench, command: Command) -> None:
    """Until a burst is in flight, or some results have been made."""
    if isinstance(command, Mma):
        await made.cycles(made.rng.randrange(40, 120))
        return
    counted = made.checker.read_beats + made.checker.write_beats
    goal = counted + made.rng.randrange(2, 40)
    for _ in range(3000):
        if made.checker.read_beats + made.checker.write_beats >= goal:
            return
        await RisingEdge(made.dut.aclk)
    raise AssertionError("no burst")


def test_core_stalls(simulate: Simulate) -> None:
    simulate(core_design("tiny"), __name__, values={"preset": "tiny"})
