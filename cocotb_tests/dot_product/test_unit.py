"""The dot-product unit's streams: order, backpressure, throughput, reset in mid work."""

import random
from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge, Timer

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.dot_product.captures import captured_tiles
from cocotb_tests.streams import StreamSink, StreamSource, never, pauses, reset, start
from hdl.config import DotProductConfig
from hdl.dot_product.operands import Operation
from hdl.dot_product.unit import DotProductUnit
from sim.testbench.depths import SETTINGS
from sim.testbench.dot_product_operands import MODES, Batch, random_batch
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"}))


def payloads(words: np.ndarray) -> list[int]:
    """Packed operations as integers."""
    return [int.from_bytes(row.tobytes(), "little") for row in words]


async def begin(dut: Any) -> None:
    """Reset, with nothing left over from the test before."""
    dut.operands_valid.value = 0
    dut.result_ready.value = 0
    await start(dut)


def random_operations(seed: int, count: int) -> tuple[list[int], list[int]]:
    """Operations of all modes in random order, and golden's results."""
    batches = [random_batch(mode, -(-count // len(MODES)), seed=seed) for mode in MODES]
    operands = np.concatenate([batch.pack() for batch in batches])
    results = np.concatenate([batch.expected() for batch in batches])
    order = np.random.default_rng(seed).permutation(len(results))[:count]
    return payloads(operands[order]), [int(value) for value in results[order]]


@cocotb.test
async def captured_operations(dut: Any) -> None:
    """Some elements of every captured tile that takes one operation per element."""
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    await begin(dut)
    source = StreamSource(dut, "operands")
    sink = StreamSink(dut, "result")
    expected = []
    for _, blocks, d in captured_tiles():
        if len(blocks) == 1:
            chosen = rng.choice(len(d), 8, replace=False)
            source.put(*payloads(blocks[0].take(chosen).pack()))
            expected += [int(value) for value in d[chosen]]
    assert len(expected) > 300
    assert await sink.take(len(expected)) == expected


@cocotb.test
@cocotb.parametrize(input_share=[0.0, 0.4], output_share=[0.0, 0.3, 0.8])
async def random_backpressure(dut: Any, input_share: float, output_share: float) -> None:
    """All modes mixed; results in order, none lost or repeated."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await begin(dut)
    source = StreamSource(dut, "operands", pauses(rng, input_share) if input_share else never())
    sink = StreamSink(dut, "result", pauses(rng, output_share) if output_share else never())
    operands, expected = random_operations(rng.getrandbits(30), 300)
    source.put(*operands)
    assert await sink.take(len(expected)) == expected
    for _ in range(parameters()["depth"] + 10):
        await RisingEdge(dut.aclk)
    assert not sink.received


@cocotb.test
async def all_single_bits(dut: Any) -> None:
    """Single bits of which all differ, or none."""
    await begin(dut)
    source = StreamSource(dut, "operands")
    sink = StreamSink(dut, "result")
    xor = next(mode for mode in MODES if mode.operation == "xor")
    a = np.random.default_rng(cocotb.RANDOM_SEED).integers(0, 2, (20, 128))
    differs = np.arange(len(a))[:, None] % 2
    batch = Batch(mode=xor, a=a, b=a ^ differs, c=np.zeros(len(a), dtype=np.int32))
    source.put(*payloads(batch.pack()))
    assert await sink.take(len(a)) == [0, 128] * 10


@cocotb.test
async def c_beyond_s32(dut: Any) -> None:
    """A sum that has left s32 and comes back is clamped only if it does not come back far enough."""
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    await begin(dut)
    source = StreamSource(dut, "operands")
    sink = StreamSink(dut, "result")
    modes = [mode for mode in MODES if mode.format in ("i8", "i4")]
    clamped = 0
    for mode in modes:
        plain = random_batch(mode, 60, seed=int(rng.integers(1 << 30)))
        reach = 1 << (15 if mode.format == "i8" else 7)
        beyond = rng.integers(0, reach, 60)
        wide = np.where(rng.random(60) < 0.5, (1 << 31) + beyond, -(1 << 31) - 1 - beyond)
        words = replace(plain, c=wide).pack()
        words[:, 17] |= 1 << Operation.as_shape().size
        wrapped = (wide & 0xFFFF_FFFF).astype(np.uint32).view(np.int32)
        expected = replace(plain, c=wide if mode.saturate else wrapped).expected()
        clamped += int(np.isin(expected, [0x7FFF_FFFF, 0x8000_0000]).sum()) if mode.saturate else 0
        source.put(*payloads(words))
        assert await sink.take(60) == [int(value) for value in expected], mode
    assert 0.1 < clamped / (30 * len(modes)) < 0.95, "both must happen"


@cocotb.test
async def latency_and_throughput(dut: Any) -> None:
    """The first result after `latency` cycles, then one in every cycle."""
    await begin(dut)
    operands, expected = random_operations(cocotb.RANDOM_SEED, 40)
    dut.result_ready.value = 1
    await FallingEdge(dut.aclk)
    while not dut.operands_ready.value:
        await FallingEdge(dut.aclk)
    received = []
    for cycle in range(len(operands) + parameters()["depth"] - 1):
        if cycle < len(operands):
            assert dut.operands_ready.value, cycle
            dut.operands_payload.value = operands[cycle]
        dut.operands_valid.value = cycle < len(operands)
        await FallingEdge(dut.aclk)
        assert bool(dut.result_valid.value) == (cycle + 1 >= parameters()["depth"]), cycle
        if dut.result_valid.value:
            received.append(int(dut.result_payload.value))
    assert received == expected


@cocotb.test
async def no_path_from_ready_to_ready(dut: Any) -> None:
    """Within a cycle, neither the receiver's ready nor the sender's valid moves anything but at the clock."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await begin(dut)
    operands, _ = random_operations(cocotb.RANDOM_SEED, 200)
    for payload in operands:
        dut.operands_payload.value = payload
        dut.operands_valid.value = rng.random() < 0.8
        seen = set()
        for ready in (0, 1, 0, 1):
            dut.result_ready.value = ready
            await Timer(1, "ns")
            seen.add((int(dut.operands_ready.value), int(dut.result_valid.value)))
        assert len(seen) == 1
        dut.result_ready.value = rng.random() < 0.4
        await RisingEdge(dut.aclk)
        await Timer(1, "ns")


@cocotb.test
async def offered_results_stay(dut: Any) -> None:
    """A receiver that takes nothing for long sees one result, then gets all of them."""
    await begin(dut)
    source = StreamSource(dut, "operands")
    operands, expected = random_operations(cocotb.RANDOM_SEED, 60)
    source.put(*operands)
    for _ in range(150):
        await RisingEdge(dut.aclk)
    await ReadOnly()
    assert dut.result_valid.value
    assert int(dut.result_payload.value) == expected[0]
    assert not dut.operands_ready.value
    await RisingEdge(dut.aclk)
    sink = StreamSink(dut, "result")
    assert await sink.take(len(expected)) == expected


async def exchange(dut: Any, operands: list[int], rng: random.Random) -> list[int]:
    """Send all operands with pauses on both sides; what comes until the unit has long been silent."""
    received: list[int] = []
    sent = silent = 0
    while silent < parameters()["depth"] + 20:
        await FallingEdge(dut.aclk)
        dut.operands_valid.value = offering = sent < len(operands) and rng.random() < 0.7
        if offering:
            dut.operands_payload.value = operands[sent]
        dut.result_ready.value = ready = rng.random() < 0.7
        sent += bool(offering and dut.operands_ready.value)
        silent += 1
        if ready and dut.result_valid.value:
            received.append(int(dut.result_payload.value))
            silent = 0
    dut.operands_valid.value = 0
    return received


@cocotb.test
async def reset_in_mid_work(dut: Any) -> None:
    """Whatever was in flight is gone, and the next operations are right."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await begin(dut)
    for _ in range(12):
        abandoned, _ = random_operations(rng.getrandbits(30), 60)
        dut.result_ready.value = rng.random() < 0.5
        dut.operands_valid.value = 1
        for payload in abandoned[: rng.randrange(60)]:
            dut.operands_payload.value = payload
            await RisingEdge(dut.aclk)
        dut.operands_valid.value = 0
        dut.result_ready.value = 0
        await reset(dut, 1)
        operands, expected = random_operations(rng.getrandbits(30), 20)
        assert await exchange(dut, operands, rng) == expected


@pytest.mark.parametrize(
    "depth", [pytest.param(depth, marks=SLOW if depth in (4, 8, 16) else ()) for depth in SETTINGS]
)
def test_unit(simulate: Simulate, depth: int) -> None:
    unit = DotProductUnit(replace(CONFIG, depth=depth))
    simulate(unit_design(f"dot_product_unit-{depth}", unit), __name__, values={"depth": depth})
