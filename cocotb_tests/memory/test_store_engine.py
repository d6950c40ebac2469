"""The store engine between the registers and a memory, against the golden layouts."""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.configurations import MEMORY_PATHS
from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.memory.accesses import (
    BEAT,
    PAGE,
    Access,
    alignment_of,
    beat_of,
    far_access,
    random_access,
)
from cocotb_tests.memory.burst_memory import BurstMemory
from cocotb_tests.register_ports import RegisterPorts
from cocotb_tests.streams import StreamSource, pauses, reset, start
from golden.tables.faults import Cause
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Shape
from golden.tables.layouts import LANES, fragment
from hdl.config import QUADS, CoreConfig
from hdl.memory.assembly_queue import ASSEMBLED
from hdl.memory.bank_mapping import BUFFERS
from hdl.memory.fragment_geometry import fragment_geometry, legal_fragments
from hdl.memory.store_engine import BURSTS_IN_FLIGHT, BURSTS_OF_STORE, STORES_IN_FLIGHT, StoreEngine
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design
from sim.testbench.with_banks import WithBanks

SQUARE = Shape(16, 16, 16)
BASE = 0x10000
SIZE = 0x4000
LATENCY = 20
STORES = STORES_IN_FLIGHT
_ANY_NUMBER = 1 << 30


class Bench:
    """The engine, its surroundings, and what it should have done."""

    def __init__(self, dut: Any, share: float, size: int = SIZE) -> None:
        self.dut = dut
        self.config: CoreConfig = MEMORY_PATHS[parameters()["preset"]]
        self.rows = [row for row in legal_fragments(self.config) if row[0] == "d"]
        # Of the rows that the engine cannot tell apart, one.
        self.distinct = list({tuple(fragment_geometry(*row).values()): row for row in self.rows}.values())
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.stalled: set[str] = set()
        self.most_bursts = _ANY_NUMBER
        bits = np.random.default_rng(cocotb.RANDOM_SEED)
        self.expected = bits.integers(0, 256, size, dtype=np.uint8)
        self.request = StreamSource(dut, "request", pauses(self.rng, share))
        self.memory = BurstMemory(
            dut,
            self.config,
            self.expected.copy(),
            BASE,
            latency=LATENCY,
            pauses={name: self.waits(name, share) for name in ("bursts", "beats", "responses")},
        )
        self.registers = RegisterPorts(dut, self.config, read_pause=self.waits("read", share))
        self.registers.values[:] = bits.integers(
            0, 1 << 32, (self.config.all_registers, LANES), dtype=np.uint32
        )
        self.results: list[tuple[int, int]] = []
        self.fetched: list[int] = []
        self.taken = 0
        cocotb.start_soon(self._watch())

    def waits(self, name: str, share: float) -> Iterator[bool]:
        """Pause at random, for as long as the stream is `stalled`, and behind `most_bursts`."""
        for pause in pauses(random.Random(self.rng.random()), share):
            is_enough = name == "bursts" and len(self.memory.bursts) >= self.most_bursts
            yield pause or name in self.stalled or is_enough

    async def _watch(self) -> None:
        edge = RisingEdge(self.dut.aclk)
        dut = self.dut
        while True:
            await edge
            if not dut.aresetn.value:
                continue
            self.taken += bool(dut.request_valid.value and dut.request_ready.value)
            if dut.fetched.value:
                self.fetched.append(self.registers.reads)
            if dut.done.value:
                cause = int(dut.cause.value)
                self.results.append((cause, int(dut.progress.value) if cause else 0))

    def access(self, row: tuple[Any, ...] | None = None) -> Access:
        """A random store."""
        return random_access(self.rng, row or self.rng.choice(self.rows), BASE, SIZE, self.config)

    def outcome(self, access: Access) -> tuple[int, int]:
        """Do a store to the memory that is expected; returns its cause and progress."""
        before = self.expected.copy()
        access.store(self.expected, BASE, self.registers.values)
        result = (0, 0)
        for index, (first, beats) in enumerate(access.bursts):
            size = access.beat
            bad = [beat for beat in range(first, first + size * beats, size) if beat in self.memory.faults]
            for beat in bad:
                place = slice(beat - BASE, beat - BASE + size)
                self.expected[place] = before[place]
            if bad and not result[0]:
                decode = self.memory.faults[bad[0]] == 3
                result = (Cause.WRITE_DECODE_ERROR if decode else Cause.WRITE_SLAVE_ERROR).value, index
        return result

    def reads(self, access: Access) -> int:
        """Reads of the registers of a store."""
        return access.registers * QUADS // self.config.beat_quads

    async def run(self, accesses: list[Access]) -> None:
        """Ask for stores in a row; compare causes, bursts, reads and memory when all are done."""
        expected = [self.outcome(access) for access in accesses]
        for record in (self.results, self.fetched, self.memory.bursts):
            record.clear()
        read = self.registers.reads
        self.request.put(*(access.payload(self.config) for access in accesses))
        for _ in range(20_000):
            await RisingEdge(self.dut.aclk)
            if len(self.results) >= len(accesses):
                break
        assert self.results == expected, accesses
        for access, fetched in zip(accesses, self.fetched, strict=True):
            read += self.reads(access)
            assert fetched >= read, f"{access}: fetched with {read - fetched} reads to come"
        assert self.registers.reads == read, "each register is read once"
        bursts = [(access.space, *burst) for access in accesses for burst in access.bursts]
        assert self.memory.bursts == bursts, accesses
        places = np.flatnonzero(self.memory.data != self.expected)
        assert not len(places), f"{accesses}: memory at {[hex(BASE + int(place)) for place in places[:4]]}"
        assert self.memory.idle


async def bench(dut: Any, share: float = 0.25, size: int = SIZE) -> Bench:
    made = Bench(dut, share, size)
    await start(dut)
    return made


@cocotb.test
async def every_fragment(dut: Any) -> None:
    """Every legal fragment, several at a time, at random places with random strides and waits.

    A move of a matrix stores a single register, as only fragments of A and B have.
    """
    made = await bench(dut)
    singles = [row for row in legal_fragments(made.config) if fragment(*row[:3]).registers == 1]
    order = (made.rows + singles) * 8
    made.rng.shuffle(order)
    accesses = [made.access(row) for row in order]
    shapes = {(access.contiguous, access.address % BEAT != 0) for access in accesses}
    assert len(shapes) == 4, "runs and lines, at beats and within"
    while accesses:
        count = made.rng.choice([1, 3, 12])
        await made.run(accesses[:count])
        del accesses[:count]


@cocotb.test
async def anywhere(dut: Any) -> None:
    """The bytes of stores from all over the address space."""
    made = await bench(dut)
    for _ in range(6):
        await made.run([far_access(made.rng, made.rng.choice(made.rows), made.config) for _ in range(8)])


@cocotb.test
async def bad_beats(dut: Any) -> None:
    """Stores with a bad beat or two among good ones: the first counts, all other beats are written."""
    made = await bench(dut)
    failures = 0
    for _ in range(40):
        accesses = [made.access() for _ in range(5)]
        made.memory.faults = {}
        for access in made.rng.sample(accesses, 2):
            beats = access.beats
            for place in {made.rng.choice([beats[0], beats[-1], made.rng.choice(beats)]) for _ in range(2)}:
                made.memory.faults[place] = made.rng.choice([2, 3])
        await made.run(accesses)
        failures += sum(cause != 0 for cause, _ in made.results)
    assert failures > 60


@cocotb.test
async def every_progress(dut: Any) -> None:
    """Stores of as many bursts as there can be, refused from any of them on."""
    made = await bench(dut, 0, (BURSTS_OF_STORE + 1) * PAGE)
    most = {}
    for row in made.rows:
        _, name, _, _ = row
        access = Access(
            row=row,
            register=0,
            address=BASE + PAGE - alignment_of(row),
            stride=8 * PAGE // FORMATS[name].bits,
            beat=beat_of(made.config),
        )
        most[len(access.bursts)] = access
    assert max(most) == BURSTS_OF_STORE
    access = most[max(most)]
    for number in range(len(access.bursts)):
        made.memory.faults = {
            first: made.rng.choice([2, 3])
            for index, (first, _) in enumerate(access.bursts)
            if index == number or (index > number and made.rng.random() < 0.5)
        }
        await made.run([access])


@cocotb.test
async def the_bus_is_asked_for_what_was_read(dut: Any) -> None:
    """Stores are read while the last burst of the first waits, all that have room; only these are written."""
    made = await bench(dut, 0)
    stores = [Access(row=row, register=0, address=BASE, beat=beat_of(made.config)) for row in made.rows]
    store = min(stores, key=lambda access: len(access.beats))
    use, name, shape, layout = store.row
    lines = replace(store, stride=shape.default_stride(use, layout) + 512 // FORMATS[name].bits)
    accesses = [lines] + [store] * (STORES_IN_FLIGHT + 4)
    most = 0
    for count in range(1, STORES_IN_FLIGHT + 1):
        made.most_bursts = len(lines.bursts) - 1
        running = cocotb.start_soon(made.run(accesses))
        for _ in range(400):
            await RisingEdge(dut.aclk)
            if len(made.fetched) == count:
                break
        made.stalled = {"read"}
        for _ in range(10):
            await RisingEdge(dut.aclk)
        fetched = len(made.fetched)
        most = max(most, fetched)
        asked = accesses[:fetched]
        made.most_bursts = _ANY_NUMBER
        for _ in range(LATENCY + 20 + sum(len(access.beats) for access in asked)):
            await RisingEdge(dut.aclk)
        assert len(made.memory.bursts) == sum(len(access.bursts) for access in asked)
        assert len(made.results) == len(made.fetched) == fetched
        made.stalled = set()
        await running
    assert most == BUFFERS + 1 + ASSEMBLED // len(store.beats)


@cocotb.test
async def the_bus_is_asked_last(dut: Any) -> None:
    """No burst of a store before all its registers have been read, even when the last read waits for long."""
    made = await bench(dut, 0)
    for row in made.rows:
        access = made.access(row)
        reads = made.reads(access)
        before = made.registers.reads
        running = cocotb.start_soon(made.run([access]))
        while made.registers.reads < before + reads - 1:
            await RisingEdge(dut.aclk)
            if made.registers.reads == before + reads - 2:
                made.stalled = {"read"}
                for _ in range(30):
                    await RisingEdge(dut.aclk)
                    assert not dut.bursts_valid.value, access
                    assert not dut.fetched.value
                made.stalled = set()
        await running


@cocotb.test
async def long_stalls(dut: Any) -> None:
    """Each port in turn stands still for thousands of cycles; nothing is lost, nothing comes twice."""
    made = await bench(dut, 0.1)
    count = 24
    for name in ("bursts", "beats", "responses", "read"):
        accesses = [made.access() for _ in range(count)]

        async def stall(name: str = name) -> None:
            for _ in range(made.rng.randrange(200)):
                await RisingEdge(dut.aclk)
            made.stalled = {name}
            for _ in range(3000):
                await RisingEdge(dut.aclk)
            assert len(made.results) < count
            made.stalled = set()

        stalling = cocotb.start_soon(stall())
        await made.run(accesses)
        await stalling


@cocotb.test
async def bounds(dut: Any) -> None:
    """Without answers no more bursts are asked for than there is room to remember."""
    made = await bench(dut, 0)
    made.stalled = {"responses"}
    accesses = [
        Access(
            row=("d", "f32", SQUARE, "row"),
            register=0,
            address=BASE + 64 * index,
            stride=64,
            beat=beat_of(made.config),
        )
        for index in range(2 * STORES_IN_FLIGHT)
    ]
    running = cocotb.start_soon(made.run(accesses))
    for _ in range(2000):
        await RisingEdge(dut.aclk)
    assert len(made.memory.bursts) == BURSTS_IN_FLIGHT
    assert made.taken > STORES_IN_FLIGHT
    made.stalled = set()
    await running


@cocotb.test
async def resets(dut: Any) -> None:
    """A reset at any moment: nothing of the stores before it is left, and the stores after it are right."""
    made = await bench(dut, 0.1)
    for _ in range(25):
        accesses = [made.access() for _ in range(3)]
        await made.request.send(*(access.payload(made.config) for access in accesses))
        for _ in range(made.rng.randrange(250)):
            await RisingEdge(dut.aclk)
        await reset(dut)
        made.expected[:] = made.memory.data
        await made.run([made.access(), made.access()])


@cocotb.test
async def a_beat_per_cycle(dut: Any) -> None:
    """Stores follow each other on the bus without a gap, runs and lines alike."""
    made = await bench(dut, 0)
    for row in made.distinct:
        use, _, shape, layout = row
        for longer in (1, 2):
            access = Access(
                row=row,
                register=0,
                address=BASE,
                stride=longer * shape.default_stride(use, layout),
                beat=beat_of(made.config),
            )
            made.memory.busy_cycles.clear()
            await made.run([access] * STORES)
            busy = made.memory.busy_cycles
            cycles = busy[-1] - busy[0] + 1
            assert len(busy) == STORES * len(access.beats)
            dut._log.info(f"{row} {longer}: {cycles} cycles for {len(busy)} beats")
            assert cycles == len(busy), (row, longer, cycles)


# Flow control is the same with every preset; what the width of the bus changes runs with each.
WIDTHS = (
    *("every_fragment", "the_bus_is_asked_last", "the_bus_is_asked_for_what_was_read"),
    *("a_beat_per_cycle", "every_progress"),
)


@pytest.mark.parametrize(
    ("preset", "cases"),
    [
        *(("tiny", ()), ("standard", ())),
        *(pytest.param(preset, WIDTHS, marks=SLOW) for preset in ("small", "two_quads", "four_quads")),
        pytest.param("large", (), marks=SLOW),
    ],
)
def test_store_engine(simulate: Simulate, preset: str, cases: tuple[str, ...]) -> None:
    config = MEMORY_PATHS[preset]
    unit = WithBanks(config, StoreEngine(config))
    simulate(unit_design(f"store_engine_{preset}", unit), __name__, values={"preset": preset}, cases=cases)
