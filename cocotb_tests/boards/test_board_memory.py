"""The board's memory under bursts of cocotbext-axi's master and accesses of words, against bytes of numpy."""

import logging
import random
from functools import partial
from typing import Any

import cocotb
import numpy as np
import pytest
from amaranth.hdl import Const, Signal, Value
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiMaster, AxiResp
from numpy.typing import NDArray

from boards.gateware.board_config import BoardConfig
from boards.gateware.board_memory import BoardMemory, WordRequest
from cocotb_tests.axi_checker import AxiChecker
from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import StreamSink, StreamSource, pause_channels, pauses, reset, start
from hdl.config import PAGE_BYTES, CoreConfig
from hdl.verilog.top import Top
from sim.testbench.design import Design
from sim.testbench.unit import TOP

CONFIG = BoardConfig(
    core=CoreConfig(),
    memory_bytes=4 * PAGE_BYTES,
    memory_base=3 * PAGE_BYTES,
    clock_hz=50_000_000,
    baud=1_000_000,
)
BASE, SIZE = CONFIG.memory_base, CONFIG.memory_bytes
BEAT = 16
READS = 64


def slave_design(name: str) -> Design:
    """The memory with its AXI4 port named as that of a slave, ids included."""
    memory = BoardMemory(CONFIG)
    top = Top(memory)
    axi = memory.axi
    for channel, burst in (("ar", axi.ar), ("aw", axi.aw)):
        top.input(f"s_axi_{channel}addr", burst.payload.address)
        top.input(f"s_axi_{channel}len", burst.payload.length)
        for unused, width in (("size", 3), ("burst", 2), ("id", 1)):
            top.input(f"s_axi_{channel}{unused}", Signal(width))
    for channel, fields in (("r", ("data", "resp", "last")), ("b", ())):
        for field in fields:
            top.output(f"s_axi_{channel}{field}", getattr(axi.r.payload, field))
        top.output(f"s_axi_{channel}id", Const(0, 1))
    top.output("s_axi_bresp", axi.b.payload)
    for field in ("data", "strb", "last"):
        top.input(f"s_axi_w{field}", getattr(axi.w.payload, field))
    for channel in ("ar", "aw", "w"):
        top.input(f"s_axi_{channel}valid", getattr(axi, channel).valid)
        top.output(f"s_axi_{channel}ready", getattr(axi, channel).ready)
    for channel in ("r", "b"):
        top.output(f"s_axi_{channel}valid", getattr(axi, channel).valid)
        top.input(f"s_axi_{channel}ready", getattr(axi, channel).ready)
    top.input("request_payload", Value.cast(memory.request.payload))
    top.input("request_valid", memory.request.valid)
    top.output("request_ready", memory.request.ready)
    top.output("answer_payload", Value.cast(memory.answer.payload))
    top.output("answer_valid", memory.answer.valid)
    top.input("answer_ready", memory.answer.ready)
    return Design(name=name, top=TOP, write=partial(top.convert, TOP))


class Bench:
    """Both masters, and what memory must hold."""

    def __init__(self, dut: Any, share: float = 0, *, checked: bool = True) -> None:
        logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.bytes: NDArray[np.uint8] = np.zeros(SIZE, dtype=np.uint8)
        self.master = AxiMaster(
            AxiBus.from_prefix(dut, "s_axi"),
            dut.aclk,
            dut.aresetn,
            reset_active_level=False,
            max_burst_len=16,
        )
        self.checker = AxiChecker(dut, READS, "s_axi_", any_strobes=True) if checked else None
        self.source = StreamSource(dut, "request", pauses(self.rng, share))
        self.sink = StreamSink(dut, "answer", pauses(self.rng, share))
        write, read = self.master.write_if, self.master.read_if
        pause_channels(
            (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel),
            self.rng,
            share,
        )

    async def begin(self) -> None:
        """Reset, and write all of memory."""
        await start(self.dut)
        for first in range(0, SIZE, PAGE_BYTES):
            await self.write(first, self.rng.randbytes(PAGE_BYTES))

    async def write(self, place: int, values: bytes) -> None:
        """Write a range with bursts."""
        answer = await self.master.write(BASE + place, values, awid=0)
        assert answer.resp == AxiResp.OKAY
        self.bytes[place : place + len(values)] = list(values)

    async def read(self, place: int, count: int) -> None:
        """Read a range with bursts, and compare it."""
        answer = await self.master.read(BASE + place, count, arid=0)
        assert answer.resp == AxiResp.OKAY
        assert answer.data == self.bytes[place : place + count].tobytes(), hex(place)

    async def word(self, address: int, value: int | None = None) -> tuple[int, bool]:
        """Read or write a word; returns what was answered: the word, and whether it is missing."""
        fields = {"address": address, "write": value is not None, "data": value or 0}
        self.source.put(WordRequest.const(fields).as_value().value)
        [answer] = await self.sink.take(1)
        return answer & 0xFFFF_FFFF, bool(answer >> 32)

    async def write_word(self, place: int, value: int) -> None:
        """Write a word that exists."""
        assert not (await self.word(BASE + place, value))[1]
        self.bytes[place : place + 4] = list(value.to_bytes(4, "little"))

    async def read_word(self, place: int) -> None:
        """Read a word that exists, and compare it."""
        expected = int.from_bytes(self.bytes[place : place + 4].tobytes(), "little")
        assert await self.word(BASE + place) == (expected, False), hex(place)

    async def compare(self) -> None:
        """Read all of memory with bursts."""
        for first in range(0, SIZE, PAGE_BYTES):
            await self.read(first, PAGE_BYTES)
        for _ in range(10):
            await RisingEdge(self.dut.aclk)
        if self.checker is not None:
            self.checker.assert_quiet()


async def bursts_in_page(bench: Bench, page: int, count: int) -> None:
    """Reads and writes of whole rows at random within a page."""
    rng = bench.rng
    for _ in range(count):
        first = rng.randrange(PAGE_BYTES // BEAT)
        beats = rng.randrange(1, min(40, PAGE_BYTES // BEAT - first) + 1)
        place = page * PAGE_BYTES + first * BEAT
        if rng.random() < 0.5:
            await bench.write(place, rng.randbytes(beats * BEAT))
        else:
            await bench.read(place, beats * BEAT)


async def words_in_page(bench: Bench, page: int, count: int) -> None:
    """Reads and writes of words at random within a page."""
    for _ in range(count):
        place = page * PAGE_BYTES + 4 * bench.rng.randrange(PAGE_BYTES // 4)
        if bench.rng.random() < 0.5:
            await bench.write_word(place, bench.rng.getrandbits(32))
        else:
            await bench.read_word(place)


@cocotb.test
async def all_at_once(dut: Any) -> None:
    """Bursts in three pages and words in the fourth, the pages changing hands, with waits everywhere."""
    bench = Bench(dut, 0.3)
    await bench.begin()
    for round_number in range(4):
        tasks = [cocotb.start_soon(bursts_in_page(bench, (page + round_number) % 4, 15)) for page in range(3)]
        tasks.append(cocotb.start_soon(words_in_page(bench, (3 + round_number) % 4, 40)))
        for task in tasks:
            await task
    await bench.compare()


@cocotb.test
async def nothing_there(dut: Any) -> None:
    """Below, behind and far from the memory every beat is answered with DECERR, and nothing is written."""
    bench = Bench(dut, 0.2)
    await bench.begin()
    places = [
        BASE - BEAT,
        BASE - 4 * BEAT,
        BASE + SIZE,
        BASE + SIZE + PAGE_BYTES - BEAT,
        0,
        1 << 31,
        -64 % 2**32,
    ]
    places += [place ^ 1 << bit for bit in range(14, 32) for place in (BASE, BASE + SIZE - BEAT)]
    places = [place for place in places if not BASE <= place < BASE + SIZE]
    assert len(places) > 30
    for place in places:
        beats = bench.rng.choice([1, 1, 3]) if place % PAGE_BYTES <= PAGE_BYTES - 3 * BEAT else 1
        answer = await bench.master.write(place, bench.rng.randbytes(beats * BEAT), awid=0)
        assert answer.resp == AxiResp.DECERR, hex(place)
        assert (await bench.master.read(place, beats * BEAT, arid=0)).resp == AxiResp.DECERR, hex(place)
        assert (await bench.word(place, 0xDEAD_BEEF))[1], hex(place)
        assert (await bench.word(place))[1], hex(place)
    for place in (BASE, BASE + SIZE - 4):
        await bench.read_word(place - BASE)
    await bench.compare()


@cocotb.test
async def parts_of_rows(dut: Any) -> None:
    """Writes that begin and end anywhere change exactly their bytes."""
    bench = Bench(dut, 0.2, checked=False)
    await bench.begin()
    for _ in range(80):
        place = bench.rng.randrange(SIZE - 64)
        await bench.write(place, bench.rng.randbytes(bench.rng.randrange(1, 64)))
    await bench.compare()


@cocotb.test
async def answers_held(dut: Any) -> None:
    """While nobody takes the responses, few beats are taken; then each burst has its own response."""
    bench = Bench(dut)
    await bench.begin()
    assert bench.checker is not None
    before = bench.checker.write_beats
    bench.master.write_if.b_channel.pause = True
    writes = [cocotb.start_soon(bench.write(BEAT * row, bench.rng.randbytes(BEAT))) for row in range(12)]
    for _ in range(60):
        await RisingEdge(dut.aclk)
    assert bench.checker.write_beats - before <= 4
    bench.master.write_if.b_channel.pause = False
    for write in writes:
        await with_timeout(write, 10, "us")
    await bench.compare()


@cocotb.test
async def beat_in_every_cycle(dut: Any) -> None:
    """Sixteen bursts of sixteen beats pass without a gap both ways at once, the first after four cycles."""
    bench = Bench(dut)
    await bench.begin()
    when: dict[str, list[int]] = {"ar": [], "r": [], "w": []}

    async def watch() -> None:
        cycle = 0
        while True:
            await RisingEdge(dut.aclk)
            cycle += 1
            for channel, cycles in when.items():
                valid, ready = getattr(dut, f"s_axi_{channel}valid"), getattr(dut, f"s_axi_{channel}ready")
                if valid.value and ready.value:
                    cycles.append(cycle)

    watching = cocotb.start_soon(watch())
    reading = cocotb.start_soon(bench.read(0, PAGE_BYTES))
    await bench.write(PAGE_BYTES, bench.rng.randbytes(PAGE_BYTES))
    await reading
    watching.cancel()
    assert len(when["r"]) == len(when["w"]) == PAGE_BYTES // BEAT
    assert when["r"][-1] - when["r"][0] == PAGE_BYTES // BEAT - 1
    assert when["w"][-1] - when["w"][0] == PAGE_BYTES // BEAT - 1
    assert when["r"][0] - when["ar"][0] == 4
    await bench.compare()


@cocotb.test
async def word_in_time(dut: Any) -> None:
    """With no burst under way a word is answered within four cycles; with one, when it is over."""
    bench = Bench(dut)
    await bench.begin()
    for value in (None, 0x1234_5678):
        for busy in (False, True):
            burst = None
            if busy:
                access = bench.read(0, 2048) if value is None else bench.write(0, bench.rng.randbytes(2048))
                burst = cocotb.start_soon(access)
                for _ in range(20):
                    await RisingEdge(dut.aclk)
            word = bench.read_word(2048) if value is None else bench.write_word(2048, value)
            asked = cocotb.start_soon(word)
            while not (dut.request_valid.value and dut.request_ready.value):
                await RisingEdge(dut.aclk)
            cycles = 0
            while not dut.answer_valid.value:
                await RisingEdge(dut.aclk)
                cycles += 1
            assert cycles > 20 if busy else cycles <= 4, (value, busy, cycles)
            await asked
            if burst is not None:
                await burst
    await bench.compare()


@cocotb.test
async def resets(dut: Any) -> None:
    """Reset in the middle of bursts and words: silence, and afterwards everything works."""
    bench = Bench(dut, 0.3)
    await bench.begin()
    for _ in range(12):
        place = PAGE_BYTES * bench.rng.randrange(4)
        reading = cocotb.start_soon(bench.master.read(BASE + place, PAGE_BYTES, arid=0))
        writing = cocotb.start_soon(
            bench.master.write(BASE + place, bench.bytes[place : place + PAGE_BYTES].tobytes(), awid=0)
        )
        asking = cocotb.start_soon(bench.word(BASE + place))
        for _ in range(bench.rng.randrange(5, 150)):
            await RisingEdge(dut.aclk)
        dut.aresetn.value = 0
        bench.source.drop()
        for task in (reading, writing, asking):
            task.cancel()
        await RisingEdge(dut.aclk)
        await RisingEdge(dut.aclk)
        await ReadOnly()
        for name in ("s_axi_rvalid", "s_axi_bvalid", "answer_valid"):
            assert not getattr(dut, name).value, name
        await RisingEdge(dut.aclk)
        await reset(dut)
        bench.sink.received.clear()
        await bursts_in_page(bench, bench.rng.randrange(4), 3)
        await words_in_page(bench, bench.rng.randrange(4), 3)
    await bench.compare()


def test_board_memory(simulate: Simulate) -> None:
    simulate(slave_design("board_memory"), __name__)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"core": CoreConfig(data_bits=64)}, "Data bits of a board's core must be 128, not 64"),
        ({"memory_bytes": 5000}, "Memory bytes must be a power of two from 4096 to 1048576, not 5000"),
        ({"memory_bytes": 2048}, "not 2048"),
        ({"memory_bytes": 1 << 21}, "not 2097152"),
        ({"memory_base": 100}, "Memory base must be a multiple of 4096, not 0x64"),
        ({"memory_base": -4096}, "not -0x1000"),
        ({"memory_base": 0xFFFF_F000}, "Memory must end at or below 0x100000000, not at 0x100003000"),
        ({"core": CoreConfig(shared_bytes=4096, shared_base=0x6000)}, "Memory must not overlap"),
        ({"clock_hz": 0}, "Clock and baud must be positive, not 0 and 1000000"),
        ({"clock_hz": 3_000_000}, "Clocks of a bit must be from 4 to 65535, not 3"),
        ({"clock_hz": 4_400_000}, "Baud must be within 2% of 4400000 Hz by a whole number; 1000000 is not"),
        ({"access_cycles": 63}, "Access cycles must be from 64 to 65536, not 63"),
        ({"access_cycles": 65_537}, "Access cycles must be from 64 to 65536, not 65537"),
        ({"clock_hz": 40_000, "baud": 10_000, "access_cycles": 4001}, "from 64 to 4000, not 4001"),
        ({"gap_microseconds": 39}, "Gap must be at least 40 bits, 40 us, not 39"),
    ],
)
def test_configurations_refused(changes: dict[str, Any], message: str) -> None:
    values: dict[str, Any] = {
        "core": CONFIG.core,
        "memory_bytes": SIZE,
        "memory_base": BASE,
        "clock_hz": 50_000_000,
        "baud": 1_000_000,
    }
    BoardConfig(**values)
    with pytest.raises(ValueError, match=message):
        BoardConfig(**{**values, **changes})
