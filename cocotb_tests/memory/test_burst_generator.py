"""The burst generator against a walk over the bytes of each run or line."""

import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.memory.accesses import BEAT, PAGE, split_at_pages
from cocotb_tests.packing import Packing
from cocotb_tests.streams import StreamSink, StreamSource, pauses, reset, start
from hdl.config import CoreConfig
from hdl.memory.beats import STRIDE_BITS, access_layout, space_burst_layout
from hdl.memory.burst_generator import BurstGenerator
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIGS = {
    1: CoreConfig(address_bits=40),
    4: CoreConfig(address_bits=40, dot_product_units=16, data_bits=512),
}
"""By the quads of a beat; what passes has the same form."""
CONFIG = CONFIGS[1]
LAYOUT = Packing(access_layout(CONFIG))
Burst = tuple[int, int, int]


def expected_bursts(fields: dict[str, int]) -> list[Burst]:
    """Space, address and beats of each burst."""
    lines, length = 1 << fields["lines_log2"], 1 << fields["line_log2"]
    pieces = [(fields["address"] + line * fields["stride"], length) for line in range(lines)]
    if fields["contiguous"]:
        pieces = [(fields["address"], lines * length)]
    beat = BEAT * parameters()["quads"]
    return [(fields["space"], *burst) for piece in pieces for burst in split_at_pages(*piece, beat)]


def random_fields(rng: random.Random) -> dict[str, int]:
    lines_log2, line_log2 = rng.randrange(2, 6), rng.randrange(3, 8)
    if lines_log2 + line_log2 > 10:
        line_log2 = 10 - lines_log2
    unit = rng.choice([4, 8, BEAT, BEAT, 2 * BEAT])
    contiguous = rng.random() < 0.4
    address = unit * rng.randrange(1 << 20)
    if rng.random() < 0.5:
        address = PAGE * rng.randrange(1, 1 << 12) - unit * rng.randrange(9 if rng.random() < 0.5 else 70)
    stride = 1 << line_log2
    if not contiguous:
        widest = 1 << STRIDE_BITS
        stride = unit * rng.choice(
            [rng.randrange(256), rng.randrange(1 << 28), rng.randrange(widest // unit)]
        )
    end = address + ((1 << lines_log2) - 1) * stride + (1 << line_log2)
    address += PAGE * rng.randrange(((1 << CONFIG.address_bits) - end) // PAGE + 1)
    return {
        "space": rng.randrange(4),
        "address": address,
        "stride": stride,
        "lines_log2": lines_log2,
        "line_log2": line_log2,
        "contiguous": contiguous,
    }


def bursts_of(payloads: list[int]) -> list[Burst]:
    items = map(space_burst_layout(CONFIG).from_bits, payloads)
    return [(int(item.space), int(item.address), int(item.length) + 1) for item in items]


def payload(fields: dict[str, int]) -> int:
    geometry = {name: fields[name] for name in ("lines_log2", "line_log2")}
    rest = {name: value for name, value in fields.items() if name not in geometry}
    return LAYOUT.pack({"geometry": geometry, **rest})


@cocotb.test
async def random_lines(dut: Any) -> None:
    """Runs and lines at random, half of them around the end of a page, with random backpressure."""
    rng = random.Random(cocotb.RANDOM_SEED)
    source = StreamSource(dut, "access", pauses(rng, 0.3))
    sink = StreamSink(dut, "bursts", pauses(rng, 0.3))
    await start(dut)
    finals: list[int] = []

    async def watch() -> None:
        while True:
            await RisingEdge(dut.aclk)
            if dut.bursts_valid.value and dut.bursts_ready.value:
                finals.append(int(dut.ends.value))

    cocotb.start_soon(watch())
    expected: list[Burst] = []
    ends: list[int] = []
    split = {False: 0, True: 0}
    for _ in range(400):
        fields = random_fields(rng)
        bursts = expected_bursts(fields)
        split[bool(fields["contiguous"])] += len(bursts) > (
            1 if fields["contiguous"] else 1 << fields["lines_log2"]
        )
        source.put(payload(fields))
        expected += bursts
        ends += [*[0] * (len(bursts) - 1), 1]
    assert min(split.values()) > 20, "both runs and lines are to be split at the end of a page"
    assert bursts_of(await sink.take(len(expected), 60_000)) == expected
    assert finals == ends
    for _ in range(20):
        await RisingEdge(dut.aclk)
    assert not sink.received


@cocotb.test
async def one_burst_per_cycle(dut: Any) -> None:
    """Without waits the bursts of all requests come in successive cycles."""
    rng = random.Random(cocotb.RANDOM_SEED)
    source = StreamSource(dut, "access")
    sink = StreamSink(dut, "bursts")
    await start(dut)
    work = [random_fields(rng) for _ in range(60)]
    expected = [burst for fields in work for burst in expected_bursts(fields)]
    source.put(*map(payload, work))
    while not (dut.access_valid.value and dut.access_ready.value):
        await RisingEdge(dut.aclk)
    for cycle in range(len(expected)):
        await RisingEdge(dut.aclk)
        assert dut.bursts_valid.value, cycle
    await RisingEdge(dut.aclk)
    assert not dut.bursts_valid.value
    assert bursts_of(await sink.take(len(expected))) == expected


@cocotb.test
async def resets(dut: Any) -> None:
    """After a reset between two bursts of a fragment, the next one is right."""
    rng = random.Random(cocotb.RANDOM_SEED)
    source = StreamSource(dut, "access")
    sink = StreamSink(dut, "bursts", pauses(rng, 0.3))
    await start(dut)
    for _ in range(40):
        await source.send(payload(random_fields(rng)))
        for _ in range(rng.randrange(12)):
            await RisingEdge(dut.aclk)
        await reset(dut)
        sink.received.clear()
        fields = random_fields(rng)
        source.put(payload(fields))
        expected = expected_bursts(fields)
        assert bursts_of(await sink.take(len(expected))) == expected


@pytest.mark.parametrize("quads", CONFIGS)
def test_burst_generator(simulate: Simulate, quads: int) -> None:
    design = unit_design(f"burst_generator_{quads}", BurstGenerator(CONFIGS[quads]))
    simulate(design, __name__, values={"quads": quads})
