"""The loads' crossbar against the golden fragments: from beats of a memory to words of the register file."""

import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.configurations import MEMORY_PATHS
from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.memory.accesses import beat_of
from cocotb_tests.memory.placed_fragments import Placed
from cocotb_tests.packing import Packing
from cocotb_tests.streams import StreamSink, StreamSource, pauses, reset, start
from golden.tables.faults import Cause
from hdl.config import CoreConfig
from hdl.memory.assembly_queue import ASSEMBLED
from hdl.memory.bank_mapping import BUFFERS
from hdl.memory.beats import read_beat_layout
from hdl.memory.fragment_geometry import legal_fragments
from hdl.memory.load_crossbar import LoadCrossbar, loaded_layout
from hdl.registers.register_ports import QUAD_BITS
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design
from sim.testbench.with_banks import WithBanks

CAUSES = {2: Cause.READ_SLAVE_ERROR.value, 3: Cause.READ_DECODE_ERROR.value}
Word = tuple[int, int, int]


class Bench:
    """The unit's streams, and loads of every kind with the words that must come of them."""

    def __init__(self, dut: Any, share: float = 0.0, words: Any = None) -> None:
        self.config: CoreConfig = MEMORY_PATHS[parameters()["preset"]]
        self.rows = [row for row in legal_fragments(self.config) if row[0] != "d"]
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.accesses = StreamSource(dut, "access", pauses(self.rng, share))
        self.beats = StreamSource(dut, "beats", pauses(self.rng, share))
        self.sink = StreamSink(dut, "words", words or pauses(self.rng, share))
        self.layout = Packing(loaded_layout(self.config))
        self.beat = Packing(read_beat_layout(self.config))
        self.at_once = self.config.word_quads * self.config.word_registers
        self.failures = 0

    def placed(self, row: tuple[Any, ...] | None = None) -> Placed:
        """Any load, or one of a kind."""
        return Placed.random(self.rng, row or self.rng.choice(self.rows), beat_of(self.config))

    def payloads(self, placed: Placed, share_bad: float = 0.0) -> tuple[list[int], list[Word]]:
        """The beats; data, last and cause of the words: repeated registers once, one for a failed load."""
        payloads = []
        cause = 0
        for beat in placed.beats:
            response = self.rng.choice([1, 2, 3]) if self.rng.random() < share_bad else 0
            cause = cause or CAUSES.get(response, 0)
            content = bytes(self.rng.randrange(256) if byte is None else byte for byte in beat)
            fields = {"data": int.from_bytes(content, "little"), "response": response}
            payloads.append(self.beat.pack(fields))
        if cause:
            self.failures += 1
            return payloads, [(0, 1, cause)]
        quads = placed.quads
        if placed.access.row[1] == "f16" and placed.access.row[0] in "ab":
            quads = quads[: sum(len(line) for line in placed.segments)]
        each = self.at_once
        words = [
            sum(quad << QUAD_BITS * index for index, quad in enumerate(quads[at : at + each]))
            for at in range(0, len(quads), each)
        ]
        return payloads, [(word, index == len(words) - 1, 0) for index, word in enumerate(words)]

    def put(self, placed: Placed, share_bad: float = 0.0) -> list[Word]:
        """Ask for a load and answer it; returns the words that must come."""
        payloads, words = self.payloads(placed, share_bad)
        self.accesses.put(placed.access.payload(self.config))
        self.beats.put(*payloads)
        return words

    async def check(self, expected: list[Word]) -> None:
        """Compare the next words."""
        found = list(map(self.layout.unpack, await self.sink.take(len(expected), 60_000)))
        # Behind the only register of a fragment there is nothing.
        bits = [
            QUAD_BITS * self.config.word_quads * (2 if word >> QUAD_BITS * 8 else 1) for word, *_ in expected
        ]
        tags = [
            (0 if word.tag.failed else word.data & (1 << width) - 1, word.tag.last, word.tag.cause)
            for word, width in zip(found, bits, strict=True)
        ]
        assert tags == expected


@cocotb.test
async def every_fragment(dut: Any) -> None:
    """Every legal fragment at random offsets and strides, with random backpressure; some of them fail."""
    bench = Bench(dut, 0.25)
    await start(dut)
    order = bench.rows * 3
    bench.rng.shuffle(order)
    await bench.check([word for row in order for word in bench.put(bench.placed(row), 0.005)])
    assert 0 < bench.failures < len(order) / 2
    for _ in range(20):
        await RisingEdge(dut.aclk)
    assert not bench.sink.received


@cocotb.test
async def no_word_before_the_last_beat(dut: Any) -> None:
    """Words appear only when all beats are in; the first quad eight cycles after the last."""
    bench = Bench(dut)
    await start(dut)
    for row in bench.rows:
        placed = bench.placed(row)
        payloads, words = bench.payloads(placed)
        bench.accesses.put(placed.access.payload(bench.config))
        await bench.beats.send(*payloads[:-1])
        for _ in range(20):
            await RisingEdge(dut.aclk)
            assert not dut.words_valid.value, row
        bench.beats.put(payloads[-1])
        while not (dut.beats_valid.value and dut.beats_ready.value):
            await RisingEdge(dut.aclk)
        groups = min(bench.at_once, len(placed.quads)) // bench.config.beat_quads
        for _ in range(7 + groups - 1):
            await RisingEdge(dut.aclk)
            assert not dut.words_valid.value, row
        await RisingEdge(dut.aclk)
        assert dut.words_valid.value, row
        await bench.check(words)


@cocotb.test
async def a_beat_per_cycle(dut: Any) -> None:
    """Fragments follow each other without a gap: a cycle for each beat, or each line of eight bytes."""
    bench = Bench(dut)
    await start(dut)
    for row in bench.rows:
        work = [bench.placed(row) for _ in range(8)]
        expected = [word for placed in work for word in bench.put(placed)]
        cycles = sum(placed.load_steps for placed in work)
        left = sum(len(placed.beats) for placed in work)
        while not dut.beats_valid.value:
            await RisingEdge(dut.aclk)
        while not dut.access_valid.value:
            await RisingEdge(dut.aclk)
        elapsed = 0
        while left:
            left -= bool(dut.beats_valid.value and dut.beats_ready.value)
            await RisingEdge(dut.aclk)
            elapsed += 1
        assert elapsed == cycles, row
        await bench.check(expected)


@cocotb.test
async def buffers_limit_what_is_within(dut: Any) -> None:
    """While no word is taken, fragments go in until buffers and queue are full; none is overwritten."""
    stopped = True

    def stops() -> Any:
        while True:
            yield stopped

    bench = Bench(dut, words=stops())
    await start(dut)
    quads = len(bench.payloads(bench.placed(bench.rows[0]))[1]) * bench.at_once
    within = BUFFERS + ASSEMBLED * bench.at_once // quads
    work = [bench.placed(bench.rows[0]) for _ in range(within + 3)]
    expected = [word for placed in work for word in bench.put(placed)]
    taken = 0
    for _ in range(2000):
        await RisingEdge(dut.aclk)
        taken += bool(dut.beats_valid.value and dut.beats_ready.value)
    assert taken == sum(len(placed.beats) for placed in work[:within])
    stopped = False
    await bench.check(expected)


@cocotb.test
async def nothing_stays_after_a_reset(dut: Any) -> None:
    """After a reset behind any beat of a fragment, the next one is right."""
    bench = Bench(dut, 0.1)
    await start(dut)
    for _ in range(40):
        placed = bench.placed()
        payloads, _ = bench.payloads(placed)
        bench.accesses.put(placed.access.payload(bench.config))
        # Half of them are whole, and are being read out of the banks.
        sent = bench.rng.choice([len(payloads), bench.rng.randrange(1, len(payloads) + 1)])
        await bench.beats.send(*payloads[:sent])
        for _ in range(bench.rng.randrange(20)):
            await RisingEdge(dut.aclk)
        bench.accesses.drop()
        await reset(dut)
        bench.sink.received.clear()
        await bench.check(bench.put(bench.placed()))


@pytest.mark.parametrize(
    "preset",
    ["tiny", *(pytest.param(slow, marks=SLOW) for slow in ("small", "two_quads", "four_quads", "large"))],
)
def test_load_crossbar(simulate: Simulate, preset: str) -> None:
    config = MEMORY_PATHS[preset]
    unit = WithBanks(config, LoadCrossbar(config))
    simulate(unit_design(f"load_crossbar_{preset}", unit), __name__, values={"preset": preset})
