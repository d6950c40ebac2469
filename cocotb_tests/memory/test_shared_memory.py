# amaranth: UnusedElaboratable=no
"""The on-chip memory against an array of bytes."""

import random
from dataclasses import dataclass, field
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiResp

from cocotb_tests.conftest import Simulate
from cocotb_tests.memory.burst_traffic import Burst, BurstTraffic, access_word
from cocotb_tests.streams import reset, start
from golden.memory import Memory
from hdl.config import MAX_SHARED_BYTES, PAGE_BYTES, CoreConfig
from hdl.memory.axi import burst_layout
from hdl.memory.shared_memory import WORD_READ_LATENCY, SharedMemory, shared_word_signature
from sim.testbench.unit import unit_design

CONFIG = CoreConfig(shared_bytes=3 * PAGE_BYTES, address_bits=34)
PAGES = 3
READ_LATENCY = 2
"""Cycles from the burst to its first beat."""


@dataclass
class Bench:
    """The memory, what drives it, and what it must hold."""

    dut: Any
    rng: random.Random
    traffic: BurstTraffic
    model: Memory = field(default_factory=lambda: Memory(CONFIG.shared_bytes))

    def burst(self, pages: list[int], most: int = 12) -> Burst:
        """A burst within one of some pages, often to its very end."""
        beats = self.rng.choice([1, 1, 2, self.rng.randrange(1, most + 1)])
        last = PAGE_BYTES // 16 - beats
        place = self.rng.choice([0, last, self.rng.randrange(last + 1)])
        return Burst(address=self.rng.choice(pages) * PAGE_BYTES + 16 * place, beats=beats)

    def beats(self, burst: Burst) -> list[tuple[int, int]]:
        """Data and strobes."""
        return [(self.rng.getrandbits(128), self.strobes()) for _ in range(burst.beats)]

    def strobes(self) -> int:
        """All, some or none."""
        return self.rng.choice([0xFFFF, self.rng.getrandbits(16), 0])

    async def read(self, bursts: list[Burst]) -> None:
        """Read, and compare."""
        for burst, answers in zip(bursts, await self.traffic.read(bursts), strict=True):
            for place, (data, response) in enumerate(answers):
                address = burst.address + 16 * place
                exists = self.model.contains(address, 16)
                assert response == (AxiResp.OKAY if exists else AxiResp.DECERR), (burst, place)
                if exists:
                    assert data == int.from_bytes(self.model.read(address, 16).tobytes(), "little"), (
                        f"{address:#x}: {data:032x}"
                    )

    async def write(self, bursts: list[Burst]) -> None:
        """Write, here and to the model."""
        beats = [self.beats(burst) for burst in bursts]
        for burst, values in zip(bursts, beats, strict=True):
            for place, (value, strobes) in enumerate(values):
                for byte in range(16):
                    address = burst.address + 16 * place + byte
                    if strobes >> byte & 1 and self.model.contains(address, 1):
                        self.model.data[address] = value >> 8 * byte & 0xFF
        responses = await self.traffic.write(bursts, beats)
        for burst, response in zip(bursts, responses, strict=True):
            exists = self.model.contains(burst.address, 16 * burst.beats)
            assert response == (AxiResp.OKAY if exists else AxiResp.DECERR), burst

    async def fill(self) -> None:
        """Write every byte."""
        for page in range(PAGES):
            bursts = [Burst(address=page * PAGE_BYTES, beats=256)]
            values = [[(self.rng.getrandbits(128), 0xFFFF) for _ in range(256)]]
            assert await self.traffic.write(bursts, values) == [AxiResp.OKAY]
            content = b"".join(value.to_bytes(16, "little") for value, _ in values[0])
            self.model.data[page * PAGE_BYTES :][:PAGE_BYTES] = list(content)

    async def check_all(self) -> None:
        """Read every byte."""
        await self.read([Burst(address=page * PAGE_BYTES, beats=256) for page in range(PAGES)])


async def bench(dut: Any, share: float = 0.3) -> Bench:
    rng = random.Random(cocotb.RANDOM_SEED)
    made = Bench(dut, rng, BurstTraffic(dut, burst_layout(CONFIG), CONFIG, rng, share))
    dut.words_enable.value = 0
    await start(dut)
    await made.fill()
    return made


@cocotb.test
async def both_ways_at_once(dut: Any) -> None:
    """Pages that are read while others are written, bursts of one beat and more, bytes left out."""
    for share in (0.0, 0.3, 0.7):
        made = await bench(dut, share)
        for _ in range(12):
            written = made.rng.sample(range(PAGES), 1)
            read = [page for page in range(PAGES) if page not in written]
            writes = [made.burst(written) for _ in range(made.rng.randrange(1, 20))]
            reads = [made.burst(read) for _ in range(made.rng.randrange(1, 20))]
            writing = cocotb.start_soon(made.write(writes))
            await made.read(reads)
            await writing
        await made.check_all()
        made.traffic.stop()


@cocotb.test
async def a_word_in_each_cycle(dut: Any) -> None:
    """Words that are read one behind the other, each there `WORD_READ_LATENCY` cycles later."""
    await bench(dut)
    words = 24
    for address in range(words):
        await access_word(dut, address, 0x9E37_79B9 * (address + 1) & 0xFFFF_FFFF)
    dut.words_enable.value = 1
    dut.words_is_write.value = 0
    for cycle in range(words + WORD_READ_LATENCY):
        dut.words_address.value = cycle % words
        await RisingEdge(dut.aclk)
        assert dut.words_ready.value
        address = cycle - WORD_READ_LATENCY
        if address >= 0:
            assert int(dut.words_read_data.value) == 0x9E37_79B9 * (address + 1) & 0xFFFF_FFFF, address
    dut.words_enable.value = 0


@cocotb.test
async def a_word_is_read_behind_its_write(dut: Any) -> None:
    """Without a pause between the two, the read waits a cycle and sees what was written."""
    await bench(dut)
    edge = RisingEdge(dut.aclk)
    for address in range(8):
        value = 0x9E37_79B9 * (address + 1) & 0xFFFF_FFFF
        dut.words_enable.value = dut.words_is_write.value = 1
        dut.words_address.value = address
        dut.words_write_data.value = value
        await edge
        assert dut.words_ready.value
        dut.words_is_write.value = 0
        for is_ready in (False, True):
            await edge
            assert bool(dut.words_ready.value) == is_ready
        dut.words_enable.value = 0
        for _ in range(WORD_READ_LATENCY):
            await edge
        assert int(dut.words_read_data.value) == value


@cocotb.test
async def past_the_end(dut: Any) -> None:
    """Bursts that begin past the end are answered beat by beat, change nothing, and disturb no other."""
    made = await bench(dut)
    top = (1 << CONFIG.address_bits) // PAGE_BYTES
    pages = [0, PAGES - 1, PAGES, PAGES + 1, 4 * PAGES, 1 << 16, 1 << 20 | 1, top - 1]
    for page in [*pages, *(1 << bit for bit in range(2, top.bit_length() - 1))]:
        beyond = [
            Burst(address=page * PAGE_BYTES + place, beats=beats) for place, beats in ((0, 1), (4000, 6))
        ]
        await made.write(beyond)
        await made.read(beyond)
    for _ in range(10):
        await made.write([made.burst(pages) for _ in range(10)])
        await made.read([made.burst(pages) for _ in range(10)])
    await made.check_all()


@cocotb.test
async def words(dut: Any) -> None:
    """Single words of the host, in peace and while bursts have precedence; every lane of a beat."""
    made = await bench(dut)
    view = made.model.data.view("<u4")
    places = [0, 1, 2, 3, view.size - 1, *(made.rng.randrange(view.size) for _ in range(60))]
    for place in places:
        if made.rng.random() < 0.5:
            value = made.rng.getrandbits(32)
            await access_word(dut, place, value)
            view[place] = value
        assert await access_word(dut, place) == view[place], place
    await made.check_all()
    mine = PAGE_BYTES // 4
    for _ in range(40):
        bursts = [made.burst([1, 2]) for _ in range(made.rng.randrange(1, 4))]
        work = cocotb.start_soon(made.write(bursts) if made.rng.random() < 0.5 else made.read(bursts))
        for _ in range(made.rng.randrange(6)):
            await RisingEdge(dut.aclk)
        place, value = made.rng.randrange(mine), made.rng.getrandbits(32)
        await access_word(dut, place, value)
        view[place] = value
        other = made.rng.randrange(mine)
        assert await access_word(dut, other) == view[other], other
        await work
    await made.check_all()


@cocotb.test
async def beats_in_every_cycle(dut: Any) -> None:
    """Short bursts follow each other without a gap, in both directions at once; the latency as promised."""
    made = await bench(dut, 0.0)
    counts = {"read_beats": [0], "write_beats": [0], "read_bursts": [0]}
    cycle = 0

    async def watch() -> None:
        nonlocal cycle
        while True:
            await RisingEdge(dut.aclk)
            cycle += 1
            for name, cycles in counts.items():
                if getattr(dut, f"{name}_valid").value and getattr(dut, f"{name}_ready").value:
                    cycles.append(cycle)

    watching = cocotb.start_soon(watch())
    for beats in (1, 2, 7):
        for cycles in counts.values():
            cycles.clear()
        writing = cocotb.start_soon(
            made.write([Burst(address=16 * beats * at, beats=beats) for at in range(30)])
        )
        await made.read([Burst(address=PAGE_BYTES + 16 * beats * at, beats=beats) for at in range(30)])
        await writing
        for name in ("read_beats", "write_beats"):
            assert len(counts[name]) == 30 * beats
            assert counts[name][-1] - counts[name][0] == 30 * beats - 1, (name, counts[name])
        assert counts["read_beats"][0] - counts["read_bursts"][0] == READ_LATENCY
    watching.cancel()


@cocotb.test
async def a_beat_is_offered_before_it_is_wanted(dut: Any) -> None:
    """The first beat of a burst comes in time, and stays, though nobody is ready for it."""
    made = await bench(dut, 0.0)
    made.traffic.stop()
    for ready in (0, 1):
        dut.read_beats_ready.value = ready
        dut.read_bursts_payload.value = 0
        dut.read_bursts_valid.value = 1
        await RisingEdge(dut.aclk)
        assert dut.read_bursts_ready.value
        dut.read_bursts_valid.value = 0
        for cycle in range(1, READ_LATENCY + 4 * (not ready) + 1):
            await RisingEdge(dut.aclk)
            assert bool(dut.read_beats_valid.value) == (cycle >= READ_LATENCY), cycle
        if not ready:
            dut.read_beats_ready.value = 1
            await RisingEdge(dut.aclk)
            await RisingEdge(dut.aclk)
        assert bool(dut.read_beats_valid.value) == bool(ready)
        await RisingEdge(dut.aclk)


@cocotb.test
async def a_word_is_never_read_while_it_is_written(dut: Any) -> None:
    """A read that meets a write of the same word comes a cycle later, with what was written.

    One that meets a write of another word does not wait, whichever bit of the address tells them apart.
    """
    made = await bench(dut, 0.0)

    async def latency() -> int:
        while not (dut.read_bursts_valid.value and dut.read_bursts_ready.value):
            await RisingEdge(dut.aclk)
        elapsed = 0
        while not dut.read_beats_valid.value:
            await RisingEdge(dut.aclk)
            elapsed += 1
        return elapsed

    async def meet(ahead: int, read: Burst, written: Burst) -> tuple[int, int, int]:
        """Begin a read so many cycles before or after a write: the data, the value written, the latency."""
        value = made.rng.getrandbits(128)
        measured = cocotb.start_soon(latency())
        both = [
            lambda: made.traffic.read([read]),
            lambda: made.traffic.write([written], [[(value, 0xFFFF)]]),
        ]
        tasks = []
        for task in both if ahead < 0 else reversed(both):
            tasks.append(cocotb.start_soon(task()))
            for _ in range(abs(ahead)):
                await RisingEdge(dut.aclk)
        answers = [await task for task in tasks]
        (((data, _),),) = answers[ahead >= 0]
        return data, value, await measured

    words = PAGES * PAGE_BYTES // 16
    for word in (0b01_0101_0101, 0b10_1010_1010):
        burst = Burst(address=16 * word, beats=1)
        found: dict[bool, list[int]] = {False: [], True: []}
        for ahead in range(-5, 6):
            (((before, _),),) = await made.traffic.read([burst])
            after, value, cycles = await meet(ahead, burst, burst)
            assert after in (before, value), ahead
            found[after == value].append(cycles)
        assert set(found[False]) == {READ_LATENCY}, "a read before the write does not wait"
        assert sorted(found[True])[-2:] == [READ_LATENCY, READ_LATENCY + 1], "one that meets it waits a cycle"
        for other in (word ^ 1 << bit for bit in range(words.bit_length())):
            for ahead in range(-5, 6) if other < words else ():
                _, _, cycles = await meet(ahead, burst, Burst(address=16 * other, beats=1))
                assert cycles == READ_LATENCY, (word, other, ahead)


@cocotb.test
async def reset_at_work(dut: Any) -> None:
    """After a reset nothing of what was in flight comes out any more."""
    made = await bench(dut)
    for _ in range(12):
        writing = cocotb.start_soon(made.write([made.burst([0], 40) for _ in range(20)]))
        reading = cocotb.start_soon(made.read([made.burst([1], 40) for _ in range(20)]))
        for _ in range(made.rng.randrange(3, 60)):
            await RisingEdge(dut.aclk)
        writing.cancel()
        reading.cancel()
        made.traffic.stop()
        made.traffic = BurstTraffic(dut, burst_layout(CONFIG), CONFIG, made.rng, 0.3)
        await reset(dut, made.rng.randrange(1, 4))
        for name in ("read_beats", "write_responses"):
            assert not getattr(dut, f"{name}_valid").value, name
        await made.fill()
        await made.check_all()


def test_shared_memory(simulate: Simulate) -> None:
    simulate(unit_design("shared_memory", SharedMemory(CONFIG)), __name__)


def test_no_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0 for an on-chip memory, not 0"):
        SharedMemory(CoreConfig(shared_bytes=0))


def test_words_are_within_the_port() -> None:
    """Every word of the largest memory has an address at the host's port."""
    address = shared_word_signature().members["address"].shape
    assert (MAX_SHARED_BYTES // 4 - 1).bit_length() <= address
