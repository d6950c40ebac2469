# amaranth: UnusedElaboratable=no
"""The credit queue behind a pipeline that the testbench plays, against a list.

The first line is for the components that the constructor refuses: nobody can use them.
"""

import random
from collections import deque
from typing import Any

import cocotb
import pytest
from amaranth.hdl import unsigned
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import start
from hdl.stream.elastic import CreditQueue
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

WIDTH = 16
SCRAMBLING = 0x9E37
"""Odd, so that all operands of a while differ, and in all bits."""


@cocotb.test
async def nothing_lost_and_nothing_twice(dut: Any) -> None:
    """Operations enter when they may, come out of the pipeline later, and leave in order."""
    rng = random.Random(cocotb.RANDOM_SEED)
    depth, latency = parameters()["depth"], parameters()["latency"]
    dut.enter.value = dut.push.value = dut.output_ready.value = 0
    await start(dut)
    pipeline: deque[int | None] = deque([None] * latency)
    waiting: deque[int] = deque()
    under_way = entered = full = 0
    for cycle in range(6_000):
        eager = (0.0, 1.0, 0.5, 0.9, 0.2)[cycle // 100 % 5]
        enter = int(bool(dut.ready.value) and rng.random() < 0.9)
        pipeline.append(entered * SCRAMBLING % (1 << WIDTH) if enter else None)
        pushed = pipeline.popleft()
        dut.enter.value = enter
        dut.push.value = pushed is not None
        dut.payload.value = rng.getrandbits(WIDTH) if pushed is None else pushed
        dut.output_ready.value = int(rng.random() < eager)
        ready, valid = bool(dut.ready.value), bool(dut.output_valid.value)
        assert ready == (under_way < depth), f"cycle {cycle}: {under_way} in flight"
        assert valid == bool(waiting), f"cycle {cycle}: {len(waiting)} waiting"
        full += not ready
        if valid:
            assert int(dut.output_payload.value) == waiting[0]
        await RisingEdge(dut.aclk)
        if valid and dut.output_ready.value:
            waiting.popleft()
            under_way -= 1
        if pushed is not None:
            waiting.append(pushed)
        under_way += enter
        entered += enter
        # Let the registers take their new values before they are read again.
        await cocotb.triggers.ReadOnly()
        await cocotb.triggers.NextTimeStep()
    assert full > 200
    assert entered > 1_000


@pytest.mark.parametrize(("depth", "latency"), [(2, 1), (4, 7), (8, 6), (32, 25)])
def test_elastic(simulate: Simulate, depth: int, latency: int) -> None:
    design = unit_design(f"elastic-{depth}", CreditQueue(unsigned(WIDTH), depth=depth))
    simulate(design, __name__, values={"depth": depth, "latency": latency})


@pytest.mark.parametrize("depth", [-4, 0, 1, 3, 12])
def test_depth_must_be_a_power_of_two(depth: int) -> None:
    with pytest.raises(ValueError, match=f"depth must be a power of two above 1, not {depth}$"):
        CreditQueue(unsigned(WIDTH), depth=depth)
