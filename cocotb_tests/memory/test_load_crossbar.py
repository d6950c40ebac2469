"""The loads' crossbar against the golden fragments."""

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
from hdl.memory.load_crossbar import LoadCrossbar, LoadedWord, PlacedSegment
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

SEGMENT, WORD = Packing(PlacedSegment), Packing(LoadedWord)


def rows() -> list[tuple[Any, ...]]:
    return [row for row in legal_fragments(PRESETS[parameters()["preset"]]) if row[0] != "d"]


def segments_and_words(
    rng: random.Random, row: tuple[Any, ...], cause: int = 0
) -> tuple[list[int], list[tuple[int, int, int]]]:
    """What goes in, and data, last and cause of what comes out: repeated registers once."""
    lines, words = random_fragment(rng, row)
    if row[1] == "f16" and row[0] in "ab":
        words = words[: len(lines) * len(lines[0])]
    payloads = []
    for line, segments in enumerate(lines):
        for index, segment in enumerate(segments):
            last = line == len(lines) - 1 and index == len(segments) - 1
            fields = {
                "data": segment,
                "geometry": fragment_geometry(*row),
                "line": line,
                "segment": index,
                "last": last,
                "cause": cause if last else 0,
            }
            payloads.append(SEGMENT.pack(fields))
    if cause:
        return payloads, [(0, 1, cause)]
    return payloads, [(word, index == len(words) - 1, 0) for index, word in enumerate(words)]


def words_of(payloads: list[int]) -> list[tuple[int, int, int]]:
    words = map(WORD.unpack, payloads)
    return [(0 if word.cause else word.data, word.last, word.cause) for word in words]


@cocotb.test
async def every_fragment(dut: Any) -> None:
    """Every legal fragment, in random order, with random backpressure; some of them have failed."""
    rng = random.Random(cocotb.RANDOM_SEED)
    source = StreamSource(dut, "segments", pauses(rng, 0.25))
    sink = StreamSink(dut, "words", pauses(rng, 0.25))
    await start(dut)
    order = rows() * 2
    rng.shuffle(order)
    expected = []
    for row in order:
        segments, words = segments_and_words(rng, row, rng.choice([0, 0, 0, 0, 7, 8]))
        source.put(*segments)
        expected += words
    assert words_of(await sink.take(len(expected), 60_000)) == expected
    for _ in range(20):
        await RisingEdge(dut.aclk)
    assert not sink.received


@cocotb.test
async def nothing_before_the_last_segment(dut: Any) -> None:
    """Words appear only when all segments are in; the first seven cycles after the last."""
    rng = random.Random(cocotb.RANDOM_SEED)
    source = StreamSource(dut, "segments")
    sink = StreamSink(dut, "words")
    await start(dut)
    for row in rows():
        segments, words = segments_and_words(rng, row)
        await source.send(*segments[:-1])
        for _ in range(20):
            await RisingEdge(dut.aclk)
            assert not dut.words_valid.value, row
        await source.send(segments[-1])
        for _ in range(7):
            assert not dut.words_valid.value, row
            await RisingEdge(dut.aclk)
        for _ in words:
            assert dut.words_valid.value, row
            await RisingEdge(dut.aclk)
        assert words_of(await sink.take(len(words))) == words, row


@cocotb.test
async def a_segment_per_cycle(dut: Any) -> None:
    """Fragments follow each other without a gap on either side, the smallest too."""
    rng = random.Random(cocotb.RANDOM_SEED)
    source = StreamSource(dut, "segments")
    sink = StreamSink(dut, "words")
    await start(dut)
    for row in rows():
        expected = []
        count = cycles = 0
        for _ in range(8):
            segments, words = segments_and_words(rng, row)
            source.put(*segments)
            expected += words
            count += len(segments)
        sent = count
        while not dut.segments_valid.value:
            await RisingEdge(dut.aclk)
        while count:
            count -= bool(dut.segments_valid.value and dut.segments_ready.value)
            await RisingEdge(dut.aclk)
            cycles += 1
        assert cycles == sent, row
        assert words_of(await sink.take(len(expected))) == expected, row


@cocotb.test
async def full(dut: Any) -> None:
    """While no word is taken, as many fragments go in as there are buffers, and none is overwritten."""
    rng = random.Random(cocotb.RANDOM_SEED)
    stopped = True

    def stops() -> Any:
        while True:
            yield stopped

    source = StreamSource(dut, "segments")
    sink = StreamSink(dut, "words", stops())
    await start(dut)
    row = rows()[0]
    work = [segments_and_words(rng, row) for _ in range(BUFFERS + 3)]
    taken = 0
    for segments, _ in work:
        source.put(*segments)
    for _ in range(2000):
        await RisingEdge(dut.aclk)
        taken += bool(dut.segments_valid.value and dut.segments_ready.value)
    assert taken == BUFFERS * len(work[0][0])
    stopped = False
    expected = [word for _, words in work for word in words]
    assert words_of(await sink.take(len(expected))) == expected


@cocotb.test
async def resets(dut: Any) -> None:
    """After a reset in the middle of a fragment, the next one is right."""
    rng = random.Random(cocotb.RANDOM_SEED)
    source = StreamSource(dut, "segments", pauses(rng, 0.1))
    sink = StreamSink(dut, "words", pauses(rng, 0.1))
    await start(dut)
    for _ in range(30):
        row = rng.choice(rows())
        segments, _ = segments_and_words(rng, row)
        await source.send(*segments[: rng.randrange(1, len(segments) + 1)])
        for _ in range(rng.randrange(20)):
            await RisingEdge(dut.aclk)
        await reset(dut)
        sink.received.clear()
        row = rng.choice(rows())
        segments, words = segments_and_words(rng, row)
        source.put(*segments)
        assert words_of(await sink.take(len(words))) == words, row


@pytest.mark.parametrize("preset", ["tiny", "small"])
def test_load_crossbar(simulate: Simulate, preset: str) -> None:
    unit = LoadCrossbar(PRESETS[preset])
    simulate(unit_design(f"load_crossbar_{preset}", unit), __name__, values={"preset": preset})
