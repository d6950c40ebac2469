"""The unit for sums of groups at its streams: order, pauses, reset in the middle of work, throughput."""

import random
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.omma.corners import CORNERS
from cocotb_tests.omma.operands import KINDS, SCALE_TYPES, random_batch
from cocotb_tests.streams import StreamSink, StreamSource, never, pauses, reset, start
from hdl.omma.unit import GroupSumUnit
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design


def operations(count: int, seed: int) -> tuple[list[int], list[int]]:
    """Random operations of all kinds in random order, and golden's results."""
    each = -(-count // (len(KINDS) * len(SCALE_TYPES)))
    batches = [random_batch(type_, kind, each, seed) for type_ in SCALE_TYPES for kind in KINDS]
    words = np.concatenate([batch.pack() for batch in batches])
    results = np.concatenate([batch.expected() for batch in batches])
    order = np.random.default_rng(seed).permutation(len(results))[:count]
    return payloads(words[order]), [int(value) for value in results[order]]


def payloads(words: np.ndarray) -> list[int]:
    """Packed operations as integers."""
    return [int.from_bytes(row.tobytes(), "little") for row in words]


async def begin(dut: Any) -> None:
    """Reset, with nothing left over from the test before."""
    dut.operands_valid.value = 0
    dut.result_ready.value = 0
    await start(dut)


@cocotb.test
@cocotb.parametrize(shares=[(0.0, 0.0), (0.3, 0.0), (0.0, 0.6), (0.05, 0.97)])
async def results_in_order(dut: Any, shares: tuple[float, float]) -> None:
    """Every kind of operand while both sides pause as they like."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await begin(dut)
    source = StreamSource(dut, "operands", pauses(rng, shares[0]))
    sink = StreamSink(dut, "result", pauses(rng, shares[1]))
    operands, expected = operations(300, rng.getrandbits(30))
    source.put(*operands)
    assert await sink.take(len(expected), limit=60_000) == expected
    for _ in range(parameters()["depth"] + 10):
        await RisingEdge(dut.aclk)
    assert not sink.received, "results that nobody asked for"


@cocotb.test
async def directed_operations(dut: Any) -> None:
    """Some of every directed corner, and every kind of random operand."""
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    await begin(dut)
    source, sink = StreamSource(dut, "operands"), StreamSink(dut, "result")
    operands, expected = operations(600, int(rng.integers(1 << 30)))
    for corner in CORNERS.values():
        for batch in corner():
            chosen = rng.choice(len(batch.c), 150, replace=False)
            operands += payloads(batch.pack()[chosen])
            expected += [int(value) for value in batch.expected()[chosen]]
    source.put(*operands)
    assert await sink.take(len(expected), limit=60_000) == expected


@cocotb.test
async def reset_in_the_middle_of_work(dut: Any) -> None:
    """Whatever was in flight is forgotten, also between the two cycles of an operation."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await begin(dut)
    for round_ in range(12):
        forgotten, _ = operations(24, rng.getrandbits(30))
        dut.result_ready.value = round_ % 2
        dut.operands_valid.value = 1
        for _ in range(rng.randrange(30)):
            dut.operands_payload.value = rng.choice(forgotten)
            await RisingEdge(dut.aclk)
        dut.operands_valid.value = 0
        dut.result_ready.value = 0
        await reset(dut, cycles=1)
        assert not dut.result_valid.value
        operands, expected = operations(12, rng.getrandbits(30))
        assert await exchange(dut, operands, rng) == expected


async def exchange(dut: Any, operands: list[int], rng: random.Random) -> list[int]:
    """Send all operands with pauses on both sides; what comes until the unit has long been silent."""
    received: list[int] = []
    sent = silent = 0
    offering = False
    while silent < parameters()["depth"] + 30:
        await FallingEdge(dut.aclk)
        offering = offering or (sent < len(operands) and rng.random() < 0.7)
        dut.operands_valid.value = offering
        if offering:
            dut.operands_payload.value = operands[sent]
        dut.result_ready.value = ready = rng.random() < 0.7
        silent += 1
        if offering and dut.operands_ready.value:
            sent, offering, silent = sent + 1, False, 0
        if ready and dut.result_valid.value:
            received.append(int(dut.result_payload.value))
            silent = 0
    dut.operands_valid.value = 0
    return received


@cocotb.test
async def one_in_two_cycles(dut: Any) -> None:
    """Without pauses an operation enters and a result leaves every other cycle, after the stated latency."""
    await begin(dut)
    operands, expected = operations(60, cocotb.RANDOM_SEED)
    source, sink = StreamSource(dut, "operands", never()), StreamSink(dut, "result", never())
    source.put(*operands)
    accepted, left = [], []
    for cycle in range(200):
        await RisingEdge(dut.aclk)
        if dut.operands_valid.value and dut.operands_ready.value:
            accepted.append(cycle)
        if dut.result_valid.value and dut.result_ready.value:
            left.append(cycle)
    assert accepted == list(range(accepted[0], accepted[0] + 2 * len(operands), 2))
    assert left == [cycle + parameters()["depth"] for cycle in accepted]
    assert sink.received == expected


@cocotb.test
async def offered_results_stay(dut: Any) -> None:
    """A receiver that takes nothing for long sees one result, then gets all of them."""
    await begin(dut)
    source = StreamSource(dut, "operands")
    operands, expected = operations(60, cocotb.RANDOM_SEED)
    source.put(*operands)
    for _ in range(200):
        await RisingEdge(dut.aclk)
    await ReadOnly()
    assert dut.result_valid.value
    assert int(dut.result_payload.value) == expected[0]
    assert not dut.operands_ready.value
    await RisingEdge(dut.aclk)
    sink = StreamSink(dut, "result")
    assert await sink.take(len(expected)) == expected


@cocotb.test
async def no_path_between_the_ports(dut: Any) -> None:
    """Within a cycle, neither port's ready or valid follows an input."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await begin(dut)
    operands, _ = operations(12, cocotb.RANDOM_SEED)
    dut.operands_payload.value = operands[0]
    seen = set()
    for _ in range(300):
        await RisingEdge(dut.aclk)
        ready = int(rng.random() < 0.3)
        observed = []
        for flip in (1, 0):
            dut.operands_valid.value = 1
            dut.result_ready.value = ready ^ flip
            await (FallingEdge(dut.aclk) if flip else ReadOnly())
            observed.append((int(dut.operands_ready.value), int(dut.result_valid.value)))
        assert observed[0] == observed[1]
        seen.add(observed[0])
    assert seen >= {(0, 1), (1, 0)}


@pytest.mark.parametrize(
    "depth",
    [pytest.param(depth, marks=() if depth == 14 else SLOW) for depth in (1, 14, GroupSumUnit.depths[-1])],
)
def test_omma_unit(simulate: Simulate, depth: int) -> None:
    simulate(unit_design(f"omma-{depth}", GroupSumUnit(depth)), __name__, values={"depth": depth})
