"""The stores' crossbar against the golden fragments."""

import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.memory.fragments import random_fragment
from cocotb_tests.packing import Packing
from cocotb_tests.streams import StreamSink, StreamSource, pauses, reset, start
from hdl.config import PRESETS
from hdl.memory.bank_mapping import BUFFERS
from hdl.memory.fragment_geometry import fragment_geometry, legal_fragments
from hdl.memory.store_crossbar import LineSegment, PlacedWord, StoreCrossbar
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

WORD, SEGMENT = Packing(PlacedWord), Packing(LineSegment)


def rows() -> list[tuple[Any, ...]]:
    return [row for row in legal_fragments(PRESETS[parameters()["preset"]]) if row[0] == "d"]


def words_and_segments(
    rng: random.Random, row: tuple[Any, ...]
) -> tuple[list[int], list[tuple[int, bool, bool]]]:
    """What goes in, and data, line end and last of what comes out."""
    lines, words = random_fragment(rng, row)
    payloads = []
    for index, word in enumerate(words):
        fields = {
            "data": word,
            "geometry": fragment_geometry(*row),
            "word": index,
            "last": index == len(words) - 1,
        }
        payloads.append(WORD.pack(fields))
    segments = []
    for line, parts in enumerate(lines):
        for index, part in enumerate(parts):
            line_end = index == len(parts) - 1
            segments.append((part, line_end, line_end and line == len(lines) - 1))
    return payloads, segments


def segments_of(payloads: list[int]) -> list[tuple[int, bool, bool]]:
    segments = map(SEGMENT.unpack, payloads)
    return [(segment.data, bool(segment.line_end), bool(segment.last)) for segment in segments]


@cocotb.test
async def every_fragment(dut: Any) -> None:
    """Every legal fragment, in random order, with random backpressure."""
    rng = random.Random(cocotb.RANDOM_SEED)
    source = StreamSource(dut, "words", pauses(rng, 0.25))
    sink = StreamSink(dut, "segments", pauses(rng, 0.25))
    await start(dut)
    order = rows() * 5
    rng.shuffle(order)
    expected = []
    for row in order:
        words, segments = words_and_segments(rng, row)
        source.put(*words)
        expected += segments
    assert segments_of(await sink.take(len(expected), 60_000)) == expected
    for _ in range(20):
        await RisingEdge(dut.aclk)
    assert not sink.received


@cocotb.test
async def a_segment_per_cycle(dut: Any) -> None:
    """Six cycles from the last word to the first segment; fragments follow each other without a gap."""
    rng = random.Random(cocotb.RANDOM_SEED)
    source = StreamSource(dut, "words")
    sink = StreamSink(dut, "segments")
    await start(dut)
    for row in rows():
        work = [words_and_segments(rng, row) for _ in range(6)]
        each = len(work[0][0])
        source.put(*(word for words, _ in work for word in words))
        taken = 0
        while taken < each:
            assert not dut.segments_valid.value, row
            await RisingEdge(dut.aclk)
            taken += bool(dut.words_valid.value and dut.words_ready.value)
        for _ in range(5):
            await RisingEdge(dut.aclk)
            assert not dut.segments_valid.value, row
        expected = [segment for _, segments in work for segment in segments]
        for at in range(len(expected)):
            await RisingEdge(dut.aclk)
            assert dut.segments_valid.value, (row, at)
        assert segments_of(await sink.take(len(expected))) == expected, row


@cocotb.test
async def full(dut: Any) -> None:
    """While no segment is taken, as many fragments go in as there are buffers, and none is overwritten."""
    rng = random.Random(cocotb.RANDOM_SEED)
    stopped = True

    def stops() -> Any:
        while True:
            yield stopped

    source = StreamSource(dut, "words")
    sink = StreamSink(dut, "segments", stops())
    await start(dut)
    row = rows()[0]
    work = [words_and_segments(rng, row) for _ in range(BUFFERS + 3)]
    taken = 0
    for words, _ in work:
        source.put(*words)
    for _ in range(2000):
        await RisingEdge(dut.aclk)
        taken += bool(dut.words_valid.value and dut.words_ready.value)
    assert taken == BUFFERS * len(work[0][0])
    stopped = False
    expected = [segment for _, segments in work for segment in segments]
    assert segments_of(await sink.take(len(expected))) == expected


@cocotb.test
async def resets(dut: Any) -> None:
    """After a reset in the middle of a fragment, the next one is right."""
    rng = random.Random(cocotb.RANDOM_SEED)
    source = StreamSource(dut, "words", pauses(rng, 0.1))
    sink = StreamSink(dut, "segments", pauses(rng, 0.1))
    await start(dut)
    for _ in range(30):
        words, _ = words_and_segments(rng, rng.choice(rows()))
        await source.send(*words[: rng.randrange(1, len(words) + 1)])
        for _ in range(rng.randrange(20)):
            await RisingEdge(dut.aclk)
        await reset(dut)
        sink.received.clear()
        words, segments = words_and_segments(rng, rng.choice(rows()))
        source.put(*words)
        assert segments_of(await sink.take(len(segments))) == segments


@pytest.mark.parametrize("preset", ["tiny", "small"])
def test_store_crossbar(simulate: Simulate, preset: str) -> None:
    unit = StoreCrossbar(PRESETS[preset])
    simulate(unit_design(f"store_crossbar_{preset}", unit), __name__, values={"preset": preset})
