"""The command queue of a serial core, against a list."""

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, Timer

from boards.serial_core.queue import CommandQueue
from boards.serial_core.serial_config import SerialConfig
from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import start
from hdl.command import COMMAND_WORDS
from sim.testbench.unit import unit_design

DEPTH = 4


@cocotb.test
async def random_traffic(dut: Any) -> None:
    """Commands written, taken and read in any order, at every level; some are dropped."""
    rng = random.Random(cocotb.RANDOM_SEED)
    edge = RisingEdge(dut.aclk)
    for name in ("write", "push", "pop", "clear"):
        getattr(dut, name).value = 0
    await start(dut)
    writing: list[int | None] = [None] * COMMAND_WORDS
    queued: list[list[int]] = []
    current: list[int] | None = None
    wanted: int | None = None
    levels, dropped = set(), 0
    for _ in range(20_000):
        write = rng.random() < 0.6
        index, value = rng.randrange(1, COMMAND_WORDS), rng.getrandbits(32)
        push = write and None not in writing[1:] and len(queued) < DEPTH
        pop = bool(queued) and rng.random() < 0.12
        clear = rng.random() < 0.002
        if push:
            index = 0
        dut.write.value, dut.write_index.value, dut.value.value = write, index, value
        dut.push.value, dut.pop.value, dut.clear.value = push, pop, clear and not pop and not push
        read = rng.randrange(COMMAND_WORDS)
        dut.index.value = read
        await Timer(1, "ps")
        assert int(dut.room.value) == DEPTH - len(queued)
        assert int(dut.waiting.value) == bool(queued)
        levels.add(len(queued))
        if wanted is not None:
            assert int(dut.word.value) == wanted
        source = (queued[0] if queued else None) if read == 0 else current
        wanted = source[read] if source else None
        await edge
        if write:
            writing[index] = value
        if push:
            queued.append([word for word in writing if word is not None])
            writing = [None] * COMMAND_WORDS
        if pop:
            current = queued.pop(0)
        if clear and not pop and not push:
            dropped += len(queued)
            queued.clear()
    assert levels == set(range(DEPTH + 1))
    assert dropped > 5


def test_serial_queue(simulate: Simulate) -> None:
    simulate(unit_design("serial_queue", CommandQueue(SerialConfig(queue_depth=DEPTH))), __name__)
