"""The burst generator against a walk over the bytes of each line."""

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import StreamSink, StreamSource, pauses, start
from cocotb_tests.unit import unit_design
from hdl.config import CoreConfig
from hdl.memory.bursts import BurstGenerator, burst_layout, lines_layout

CONFIG = CoreConfig()
PAGE = 4096
CHUNK = 16


def expected_bursts(address: int, stride: int, lines: int, length: int) -> list[tuple[int, int]]:
    """Address and beats of each burst: as long as a line of `length` bytes and a page allow."""
    bursts = []
    for line in range(lines):
        start_of_line = (address + line * stride) // CHUNK * CHUNK
        end_of_line = -(-(address + line * stride + length) // CHUNK) * CHUNK
        while start_of_line < end_of_line:
            end = min(end_of_line, (start_of_line // PAGE + 1) * PAGE)
            bursts.append((start_of_line, (end - start_of_line) // CHUNK))
            start_of_line = end
    return bursts


def lines_payload(address: int, stride: int, lines_log2: int, line_log2: int) -> int:
    fields = {"address": address, "stride": stride, "lines_log2": lines_log2, "line_log2": line_log2}
    return lines_layout(CONFIG).const(fields).as_bits()


def bursts_of(payloads: list[int]) -> list[tuple[int, int]]:
    layout = burst_layout(CONFIG)
    return [(item.address, item.length + 1) for item in map(layout.from_bits, payloads)]


@cocotb.test
async def random_lines(dut: Any) -> None:
    """Lines at random, half of them around the end of a page, with random backpressure."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut)
    source = StreamSource(dut, "lines", pauses(rng, 0.3))
    sink = StreamSink(dut, "bursts", pauses(rng, 0.3))
    crossings = 0
    for _ in range(300):
        lines_log2, line_log2 = rng.randrange(6), rng.randrange(3, 8)
        unit = rng.choice([4, 8, CHUNK, CHUNK])
        stride = unit * rng.choice([1 << (line_log2 - 2), rng.randrange(256), rng.randrange(1 << 22)])
        address = unit * rng.randrange(1 << 20)
        if rng.random() < 0.5:
            address = PAGE * rng.randrange(1, 1 << 12) - unit * rng.randrange(9)
        expected = expected_bursts(address, stride, 1 << lines_log2, 1 << line_log2)
        crossings += len(expected) > 1 << lines_log2
        source.put(lines_payload(address, stride, lines_log2, line_log2))
        assert bursts_of(await sink.take(len(expected))) == expected
    assert crossings > 50
    for _ in range(20):
        await RisingEdge(dut.aclk)
    assert not sink.received


@cocotb.test
async def one_burst_per_cycle(dut: Any) -> None:
    """Without waits the bursts of a fragment come in successive cycles, from one after the request on."""
    await start(dut)
    source = StreamSource(dut, "lines")
    sink = StreamSink(dut, "bursts")
    source.put(lines_payload(0x1000, 64, 4, 5))
    while not (dut.lines_valid.value and dut.lines_ready.value):
        await RisingEdge(dut.aclk)
    for cycle in range(16):
        await RisingEdge(dut.aclk)
        assert dut.bursts_valid.value, cycle
    await RisingEdge(dut.aclk)
    assert not dut.bursts_valid.value
    assert bursts_of(await sink.take(16)) == expected_bursts(0x1000, 64, 16, 32)


def test_bursts(simulate: Simulate) -> None:
    simulate(unit_design("bursts", BurstGenerator(CONFIG)), __name__)
