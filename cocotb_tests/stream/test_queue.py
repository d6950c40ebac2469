# amaranth: UnusedElaboratable=no
"""The queue against a list: order, room for `depth`, level, latency, one payload per cycle.

The first line is for the components that the constructor refuses: nobody can use them.
"""

import random
from collections import deque
from typing import Any

import cocotb
import pytest
from amaranth.hdl import unsigned
from cocotb.triggers import FallingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import start
from hdl.stream.queue import Queue
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

WIDTH = 16


@cocotb.test
async def nothing_lost_and_nothing_twice(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    depth, latency = parameters()["depth"], parameters()["latency"]
    dut.input_valid.value = dut.output_ready.value = 0
    await start(dut)
    waiting: deque[tuple[int, int]] = deque()
    """Payloads, with the cycle in which each is offered at the latest if no other is before it."""
    moved = full = empty = 0
    refused = False
    for cycle in range(6_000):
        await FallingEdge(dut.aclk)
        eager_in, eager_out = ((1.0, 1.0), (1.0, 0.2), (0.2, 1.0), (0.5, 0.5))[cycle // 100 % 4]
        valid, ready = int(rng.random() < eager_in), int(rng.random() < eager_out)
        payload = rng.getrandbits(WIDTH)
        dut.input_valid.value, dut.input_payload.value, dut.output_ready.value = valid, payload, ready
        assert int(dut.level.value) == len(waiting), f"cycle {cycle}"
        assert bool(dut.input_ready.value) == (len(waiting) < depth), f"cycle {cycle}"
        full += len(waiting) == depth
        empty += not waiting
        assert dut.output_valid.value or not refused, f"cycle {cycle}: what was refused is offered no more"
        leaves = bool(dut.output_valid.value) and ready
        refused = bool(dut.output_valid.value) and not ready
        if dut.output_valid.value:
            assert int(dut.output_payload.value) == waiting[0][0], f"cycle {cycle}"
        late = not dut.output_valid.value and bool(waiting) and waiting[0][1] <= cycle
        assert not late, f"cycle {cycle}: nothing is offered until somebody is ready"
        if valid and dut.input_ready.value:
            waiting.append((payload, cycle + latency))
        if leaves:
            waiting.popleft()
            moved += 1
    assert moved > 1_500
    assert full > 100
    assert empty > 100


@cocotb.test
async def latency_and_throughput(dut: Any) -> None:
    """A payload comes `latency` cycles after it was put in, and from then on one in each cycle."""
    latency, depth = parameters()["latency"], parameters()["depth"]
    dut.input_valid.value = 0
    await start(dut)
    await FallingEdge(dut.aclk)
    dut.output_ready.value = 1
    dut.input_valid.value = 1
    for cycle in range(40):
        dut.input_payload.value = cycle
        if depth > latency:
            assert dut.input_ready.value
        assert bool(dut.output_valid.value) == (cycle >= latency), f"cycle {cycle}"
        if cycle >= latency:
            assert int(dut.output_payload.value) == cycle - latency
        await FallingEdge(dut.aclk)


@pytest.mark.parametrize(
    ("depth", "buffered", "early"),
    [(2, False, 0), (5, False, 0), (16, False, 0), (8, True, 0), (16, True, 0), (8, True, 3)],
)
def test_queue(simulate: Simulate, depth: int, buffered: bool, early: int) -> None:
    queue = Queue(unsigned(WIDTH), depth, buffered=buffered, style="block" if early else "", early=early)
    design = unit_design(f"queue-{depth}-{buffered:d}-{early}", queue)
    simulate(design, __name__, values={"depth": depth, "latency": 1 + buffered})


@pytest.mark.parametrize("depth", [0, -1])
def test_depth_is_at_least_one(depth: int) -> None:
    with pytest.raises(ValueError, match=f"Depth must be at least 1, not {depth}$"):
        Queue(unsigned(WIDTH), depth)
