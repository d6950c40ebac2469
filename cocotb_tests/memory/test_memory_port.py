"""The memory port between bursts in three spaces and a bus of each width, against two golden memories."""

import random
from dataclasses import dataclass, field, replace
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiResp

from cocotb_tests.axi_checker import AxiChecker
from cocotb_tests.axi_memory import BusMemory
from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.memory.accesses import beat_of
from cocotb_tests.memory.burst_traffic import Burst, BurstTraffic, access_word
from cocotb_tests.streams import reset, start
from golden.memory import Memory
from golden.tables.instruction_set import SPACES
from hdl.config import PAGE_BYTES, CoreConfig
from hdl.memory.axi_writes import OUTSTANDING_WRITES
from hdl.memory.beats import space_burst_layout
from hdl.memory.port import MemoryPort
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

GLOBAL, SHARED, GENERIC = (SPACES.index(name) for name in ("global", "shared", "generic"))
BASE = 0x10000
SIZE = 0x6000
WINDOW = 0x13000
"""Of the on-chip memory: amid the addresses of the memory on the bus, which `.global` sees there."""
CONFIG = CoreConfig(outstanding_reads=5, shared_bytes=2 * PAGE_BYTES, shared_base=WINDOW)
MAX_BUS_BEATS = 256
Place = tuple[bool, int]
"""Whether on chip, and the page within that memory."""


@dataclass
class Bench:
    """The port, its surroundings, and what both memories must hold."""

    dut: Any
    config: CoreConfig
    rng: random.Random
    bus: BusMemory
    checker: AxiChecker
    traffic: BurstTraffic
    on_bus: Memory = field(default_factory=lambda: Memory(SIZE, BASE))
    on_chip: Memory = field(init=False)

    def __post_init__(self) -> None:
        self.on_chip = Memory(self.config.shared_bytes or PAGE_BYTES)

    @property
    def beat(self) -> int:
        """Bytes of a beat."""
        return beat_of(self.config)

    def renew(self, share: float) -> None:
        """Drop what is being sent, and wait in another share of the cycles."""
        self.bus.pause(self.rng, share)
        self.traffic.stop()
        self.traffic = BurstTraffic(self.dut, space_burst_layout(self.config), self.config, self.rng, share)

    def place(self, burst: Burst) -> tuple[bool, int]:
        """Whether the burst is for the on-chip memory, and its address there."""
        shared = self.config.shared_bytes
        if burst.space == SHARED:
            return True, burst.address
        if burst.space == GENERIC and shared and WINDOW <= burst.address < WINDOW + shared:
            return True, burst.address - WINDOW
        return False, burst.address

    def page(self, burst: Burst) -> Place:
        """The page that a burst is in."""
        chip, address = self.place(burst)
        return chip, address // PAGE_BYTES

    @property
    def most_beats(self) -> int:
        """Of a burst: as many as AXI4 has, or a page."""
        return min(MAX_BUS_BEATS * self.config.data_bits // (8 * self.beat), PAGE_BYTES // self.beat)

    def burst(self, most: int = 12) -> Burst:
        """A burst anywhere, also where nothing is, often at the edge of a page."""
        spaces = (GLOBAL, SHARED, GENERIC) if self.config.shared_bytes else (GLOBAL, GENERIC)
        space = self.rng.choice(spaces)
        beats = self.rng.choice([1, 1, 2, self.rng.randrange(1, most + 1)])
        last = PAGE_BYTES // self.beat - beats
        place = self.rng.choice([0, last, self.rng.randrange(last + 1)])
        near = [0, 1, 2] if space == SHARED else range(0xF, 0x17)
        far = self.rng.getrandbits(self.config.address_bits) // PAGE_BYTES
        page = self.rng.choice([*near, far])
        return Burst(space=space, address=page * PAGE_BYTES + self.beat * place, beats=beats)

    def bus_response(self, address: int, width: int) -> AxiResp:
        """The first error of the bus beats that make up some bytes."""
        step = min(self.beat, self.config.data_bits // 8)
        responses = [self.bus.response(part) for part in range(address, address + width, step)]
        return next((item for item in responses if item != AxiResp.OKAY), AxiResp.OKAY)

    async def read(self, bursts: list[Burst]) -> None:
        """Read, and compare."""
        for burst, answers in zip(bursts, await self.traffic.read(bursts), strict=True):
            chip, first = self.place(burst)
            memory = self.on_chip if chip else self.on_bus
            for index, (data, response) in enumerate(answers):
                address = first + self.beat * index
                expected = self.bus_response(address, self.beat)
                if chip:
                    expected = AxiResp.OKAY if memory.contains(address, self.beat) else AxiResp.DECERR
                assert response == expected, (burst, index, AxiResp(response), expected)
                if expected == AxiResp.OKAY:
                    stored = int.from_bytes(memory.read(address, self.beat).tobytes(), "little")
                    assert data == stored, f"{burst}, beat {index}: {data:032x} for {stored:032x}"

    async def write(self, bursts: list[Burst]) -> None:
        """Write, here and to the models."""
        beats = [self.beats(burst) for burst in bursts]
        expected = [self.apply(burst, values) for burst, values in zip(bursts, beats, strict=True)]
        responses = await self.traffic.write(bursts, beats)
        for burst, response, wanted in zip(bursts, responses, expected, strict=True):
            assert response == wanted, (burst, AxiResp(response), wanted)

    def beats(self, burst: Burst) -> list[tuple[int, int]]:
        """Data and strobes."""
        most = (1 << self.beat) - 1
        strobes = [self.rng.choice([most, self.rng.getrandbits(self.beat), 0]) for _ in range(burst.beats)]
        return [(self.rng.getrandbits(8 * self.beat), item) for item in strobes]

    def apply(self, burst: Burst, values: list[tuple[int, int]]) -> AxiResp:
        """Write to the models; returns the response to the burst."""
        chip, address = self.place(burst)
        memory = self.on_chip if chip else self.on_bus
        worst = AxiResp.OKAY
        if chip and not memory.contains(address, self.beat):
            worst = AxiResp.DECERR
        for value, strobes in values:
            for byte in (byte for byte in range(self.beat) if strobes >> byte & 1):
                response = worst if chip else self.bus.response(address + byte)
                worst = max(worst, response)
                if response == AxiResp.OKAY:
                    memory.data[address + byte - memory.base] = value >> 8 * byte & 0xFF
            address += self.beat
        return worst

    async def mixed(self, rounds: int, most: int = 12) -> None:
        """Read and write at once, never the same page."""
        for _ in range(rounds):
            writes = [self.burst(most) for _ in range(self.rng.randrange(1, 16))]
            touched = {self.page(burst) for burst in writes}
            reads = [self.burst(most) for _ in range(self.rng.randrange(1, 24))]
            reads = [burst for burst in reads if self.page(burst) not in touched]
            writing = cocotb.start_soon(self.write(writes))
            await self.read(reads)
            await writing
            self.compare()

    def compare(self) -> None:
        """What the bus has done."""
        self.checker.assert_quiet()
        places = np.flatnonzero(self.bus.memory.data != self.on_bus.data)
        assert not len(places), f"memory differs at {[hex(BASE + int(place)) for place in places[:4]]}"

    async def fill(self) -> None:
        """Set every byte: on the bus by hand, on chip by bursts."""
        self.bus.memory.data[:] = np.frombuffer(self.rng.randbytes(SIZE), np.uint8)
        self.on_bus.data[:] = self.bus.memory.data
        if not self.config.shared_bytes:
            return
        beats = self.most_beats
        for address in range(0, self.config.shared_bytes, beats * self.beat):
            burst = Burst(space=SHARED, address=address, beats=beats)
            values = [(self.rng.getrandbits(8 * self.beat), (1 << self.beat) - 1) for _ in range(beats)]
            self.apply(burst, values)
            assert await self.traffic.write([burst], [values]) == [AxiResp.OKAY]

    async def check_on_chip(self) -> None:
        """Read the whole on-chip memory."""
        beats = self.most_beats
        await self.read(
            [
                Burst(space=SHARED, address=address, beats=beats)
                for address in range(0, self.config.shared_bytes, beats * self.beat)
            ]
        )


def configuration() -> CoreConfig:
    given = parameters()
    return replace(CONFIG, **given)


async def bench(dut: Any, share: float = 0.3) -> Bench:
    rng = random.Random(cocotb.RANDOM_SEED)
    config = configuration()
    bus = BusMemory(dut, Memory(SIZE, BASE), beat_of(config))
    bus.pause(rng, share)
    made = Bench(
        dut,
        config,
        rng,
        bus,
        AxiChecker(dut, config.outstanding_reads, beat=beat_of(config), any_strobes=True),
        BurstTraffic(dut, space_burst_layout(config), config, rng, share),
    )
    dut.words_enable.value = 0
    await start(dut)
    await made.fill()
    return made


@cocotb.test
async def anything_anywhere(dut: Any) -> None:
    """Bursts in all spaces, both ways at once, some to where nothing is."""
    made = await bench(dut)
    for share in (0.0, 0.3, 0.7):
        made.renew(share)
        await made.mixed(12)
        await made.mixed(3, made.most_beats)
        await made.check_on_chip()


@cocotb.test
async def faults_on_the_bus(dut: Any) -> None:
    """Each bad beat is answered where it is, whichever part of a burst or of a beat it is."""
    made = await bench(dut)
    step = min(made.beat, made.config.data_bits // 8)
    kinds = (AxiResp.SLVERR, AxiResp.DECERR)
    for _ in range(25):
        page = made.rng.randrange(BASE // PAGE_BYTES, (BASE + SIZE) // PAGE_BYTES)
        places = [made.rng.randrange(64) for _ in range(10)]
        made.bus.faults = {page * PAGE_BYTES + place * step: made.rng.choice(kinds) for place in places}
        start = Burst(space=GLOBAL, address=page * PAGE_BYTES, beats=made.rng.randrange(1, 64))
        await made.read([start, made.burst(), start])
        await made.write([made.burst(), start, made.burst()])
        made.compare()
    made.bus.faults = {}
    await made.mixed(3)


@cocotb.test
async def every_bit_of_an_address(dut: Any) -> None:
    """Addresses that differ in one bit from one where memory is."""
    made = await bench(dut)
    spaces = {GLOBAL: BASE, GENERIC: BASE} | ({SHARED: 0} if made.config.shared_bytes else {})
    bursts = [
        Burst(space=space, address=base ^ 1 << bit, beats=1)
        for space, base in spaces.items()
        for bit in range(made.beat.bit_length() - 1, made.config.address_bits)
    ]
    await made.read(bursts)
    await made.write(bursts)
    made.compare()


@cocotb.test
async def edges_of_the_window(dut: Any) -> None:
    """The last beat before, the first and last within, and the first after, in each space."""
    made = await bench(dut)
    size = made.config.shared_bytes
    beat = made.beat
    edges = [WINDOW - beat, WINDOW, WINDOW + beat, WINDOW + (size or PAGE_BYTES) - beat, WINDOW + size]
    bursts = [Burst(space=space, address=edge, beats=1) for space in (GLOBAL, GENERIC) for edge in edges]
    if size:
        top = (1 << made.config.address_bits) - beat
        within = [0, beat, PAGE_BYTES, size - beat, size, size + beat, WINDOW, top]
        bursts += [Burst(space=SHARED, address=address, beats=1) for address in within]
    await made.read(bursts)
    for burst in bursts:
        before = len(made.checker.write_bursts)
        await made.write([burst])
        await made.read(bursts)
        chip, address = made.place(burst)
        seen = [first for first, _ in made.checker.write_bursts[before:]]
        assert seen == ([] if chip else [address]), burst
    made.compare()
    await made.check_on_chip()


@cocotb.test
async def answers_keep_their_order(dut: Any) -> None:
    """Bursts for the two memories in turn: the quick one does not overtake the slow one."""
    made = await bench(dut, 0.0)
    for _ in range(4):
        order = [
            Burst(
                space=GENERIC,
                address=(BASE if at % 2 else WINDOW) + made.beat * made.rng.randrange(40),
                beats=beats,
            )
            for at, beats in enumerate(made.rng.randrange(1, 4) for _ in range(16))
        ]
        await made.read(order)
        await made.write(order)
    made.compare()
    await made.check_on_chip()


@cocotb.test
async def beats_wait_for_their_burst(dut: Any) -> None:
    """Two of them within the port, however many bursts have been written before and to whichever memory."""
    made = await bench(dut, 0.0)
    beats = 3
    places = [Burst(space=GLOBAL, address=BASE, beats=beats)]
    places += [Burst(space=SHARED, address=0, beats=beats)] if made.config.shared_bytes else []
    for burst in places:
        for _ in range(OUTSTANDING_WRITES + 2):
            values = [made.beats(burst)]
            made.apply(burst, values[0])
            made.traffic.offer_write_beats([burst], values)
            taken = 0
            for _ in range(9):
                await RisingEdge(dut.aclk)
                taken += bool(dut.write_beats_valid.value and dut.write_beats_ready.value)
            assert taken == 2
            made.traffic.offer_write_bursts([burst])
            assert await made.traffic.write_responses.take(1, 1000) == [AxiResp.OKAY]
    made.compare()


@cocotb.test
async def long_wait(dut: Any) -> None:
    """A memory that answers no read for thousands of cycles holds up reads, not writes, and loses nothing."""
    made = await bench(dut, 0.0)
    made.bus.hold("r", hold=True)
    reading = cocotb.start_soon(
        made.read([Burst(space=GLOBAL, address=BASE + 64 * at, beats=2) for at in range(12)])
    )
    for _ in range(3000):
        await RisingEdge(dut.aclk)
        assert not dut.read_beats_valid.value
    await made.write([Burst(space=GLOBAL, address=BASE + PAGE_BYTES + 64 * at, beats=4) for at in range(12)])
    made.bus.hold("r", hold=False)
    await reading
    made.compare()


async def silent_bus(dut: Any) -> BurstTraffic:
    """The port before a bus that takes and answers nothing; the test drives its pins."""
    config = configuration()
    made = BurstTraffic(dut, space_burst_layout(config), config, random.Random(cocotb.RANDOM_SEED), 0.0)
    AxiChecker(dut, config.outstanding_reads, beat=beat_of(config))
    for name in ("arready", "awready", "wready", "rvalid", "bvalid"):
        getattr(dut, f"m_axi_{name}").value = 0
    dut.words_enable.value = 0
    await start(dut)
    return made


@cocotb.test
async def limit_of_reads_is_reached(dut: Any) -> None:
    """With every address taken at once, exactly the allowed number of reads is asked for."""
    config = configuration()
    made = await silent_bus(dut)
    dut.m_axi_arready.value = 1
    count = config.outstanding_reads + 4
    reading = cocotb.start_soon(made.read([Burst(space=GLOBAL, address=BASE, beats=1)] * count))
    asked = 0
    for _ in range(3 * count):
        await RisingEdge(dut.aclk)
        asked += int(dut.m_axi_arvalid.value)
    assert asked == config.outstanding_reads
    reading.cancel()


async def quick_bus(dut: Any) -> None:
    """A bus that takes everything at once, and answers bursts of one beat in the cycle after."""
    bus_beats = max(128 // configuration().data_bits, 1)
    for name in ("arready", "awready", "wready"):
        getattr(dut, f"m_axi_{name}").value = 1
    dut.m_axi_rresp.value = dut.m_axi_bresp.value = 0
    owed = {"r": 0, "b": 0}
    while True:
        await RisingEdge(dut.aclk)
        for channel in owed:
            valid, ready = (getattr(dut, f"m_axi_{channel}{name}").value for name in ("valid", "ready"))
            owed[channel] -= int(valid and ready)
        owed["r"] += bus_beats * int(dut.m_axi_arvalid.value)
        owed["b"] += int(dut.m_axi_wvalid.value and dut.m_axi_wlast.value)
        dut.m_axi_rvalid.value, dut.m_axi_bvalid.value = owed["r"] > 0, owed["b"] > 0
        dut.m_axi_rlast.value = owed["r"] % bus_beats == 1 % bus_beats


@cocotb.test
async def answers_to_nothing_are_not_taken(dut: Any) -> None:
    """Each answer counts for one request, also where one is taken while another is asked for.

    Data and responses that nothing was asked for stay on the bus.
    """
    made = await silent_bus(dut)
    bursts = [Burst(space=GLOBAL, address=BASE, beats=1)] * 20
    for some in ([], bursts):
        answering = cocotb.start_soon(quick_bus(dut))
        await made.read(some)
        await made.write(some, [[(0, (1 << beat_of(configuration())) - 1)]] * len(some))
        answering.cancel()
        dut.m_axi_bvalid.value = dut.m_axi_rvalid.value = 1
        for _ in range(10):
            await RisingEdge(dut.aclk)
            assert not dut.m_axi_bready.value
            assert not dut.m_axi_rready.value
        dut.m_axi_bvalid.value = dut.m_axi_rvalid.value = 0
    made.stop()


@cocotb.test
async def limit_of_writes_is_reached(dut: Any) -> None:
    """With every address taken at once and no answer, exactly the allowed number of writes is asked for.

    Their beats come when all addresses have been taken, and no beat more is taken. Each answer makes room
    for one more.
    """
    made = await silent_bus(dut)
    dut.m_axi_awready.value = 1
    count = OUTSTANDING_WRITES + 4
    bursts = [Burst(space=GLOBAL, address=BASE, beats=1)] * count
    made.offer_write_bursts(bursts)
    asked = 0
    for _ in range(5 * count):
        await RisingEdge(dut.aclk)
        asked += int(dut.m_axi_awvalid.value)
    assert asked == OUTSTANDING_WRITES
    made.offer_write_beats(bursts, [[(0, (1 << beat_of(configuration())) - 1)]] * count)
    dut.m_axi_wready.value = 1
    written = 0
    for _ in range(5 * count):
        await RisingEdge(dut.aclk)
        written += int(dut.m_axi_wvalid.value and dut.m_axi_wlast.value)
    assert written == OUTSTANDING_WRITES
    dut.m_axi_bresp.value = 0
    for answered in range(1, count + 1):
        dut.m_axi_bvalid.value = 1
        await RisingEdge(dut.aclk)
        while not dut.m_axi_bready.value:
            await RisingEdge(dut.aclk)
        dut.m_axi_bvalid.value = 0
        for _ in range(8):
            await RisingEdge(dut.aclk)
            asked += int(dut.m_axi_awvalid.value)
        assert asked == min(count, OUTSTANDING_WRITES + answered)
    assert await made.write_responses.take(count, 100) == [AxiResp.OKAY] * count
    made.stop()


@cocotb.test
async def address_taken_after_the_data(dut: Any) -> None:
    """A memory may take no write address before it has seen the data."""
    made = await bench(dut, 0.0)

    async def hold() -> None:
        while True:
            made.bus.hold("aw", hold=not dut.m_axi_wvalid.value)
            await RisingEdge(dut.aclk)

    holding = cocotb.start_soon(hold())
    for _ in range(6):
        await made.write([made.burst() for _ in range(12)])
    made.compare()
    holding.cancel()


@cocotb.test
async def beats_in_every_cycle(dut: Any) -> None:
    """The bus moves a beat in every cycle of a burst, both ways at once."""
    made = await bench(dut, 0.0)
    beats = PAGE_BYTES // made.beat if made.beat > 32 else 100
    cycles: dict[str, list[int]] = {"r": [], "w": []}
    now = 0

    async def watch() -> None:
        nonlocal now
        while True:
            await RisingEdge(dut.aclk)
            now += 1
            for channel, seen in cycles.items():
                ports = (getattr(dut, f"m_axi_{channel}{name}").value for name in ("valid", "ready"))
                if all(ports):
                    seen.append(now)

    watching = cocotb.start_soon(watch())
    writing = cocotb.start_soon(made.write([Burst(space=GLOBAL, address=BASE, beats=beats)]))
    await made.read([Burst(space=GLOBAL, address=BASE + PAGE_BYTES, beats=beats)])
    await writing
    watching.cancel()
    bus_beats = beats * max(128 // made.config.data_bits, 1)
    for channel, seen in cycles.items():
        assert len(seen) == bus_beats
        assert seen[-1] - seen[0] == bus_beats - 1, channel


@cocotb.test
async def single_beats_in_every_cycle(dut: Any) -> None:
    """Bursts of one beat too go at one a cycle, where nothing outside is in their way."""
    rng = random.Random(cocotb.RANDOM_SEED)
    config = configuration()
    made = BurstTraffic(dut, space_burst_layout(config), config, rng, 0.0)
    for name in ("awready", "wready", "bvalid", "rvalid"):
        getattr(dut, f"m_axi_{name}").value = 0
    dut.words_enable.value = 0
    await start(dut)
    # A single read in flight is asked for, answered and taken off the count before the next one.
    cycles = 3 if config.outstanding_reads == 1 else max(128 // config.data_bits, 1)
    space = SHARED if config.shared_bytes else GLOBAL
    count = 20
    asked: list[int] = []
    answering = cocotb.start_soon(quick_bus(dut))
    reading = cocotb.start_soon(
        made.read([Burst(space=space, address=beat_of(config) * at, beats=1) for at in range(count)])
    )
    now = 0
    while len(asked) < count:
        await RisingEdge(dut.aclk)
        now += 1
        if dut.read_beats_valid.value and dut.read_beats_ready.value:
            asked.append(now)
        assert now < 500
    assert asked[-1] - asked[0] == (count - 1) * (1 if space == SHARED else cycles), asked
    await reading
    answering.cancel()


@cocotb.test
async def words_of_the_host(dut: Any) -> None:
    """Single words reach the on-chip memory where there is one; where there is none, nothing answers."""
    made = await bench(dut)
    if not made.config.shared_bytes:
        dut.words_enable.value = 1
        for _ in range(20):
            await RisingEdge(dut.aclk)
            assert not dut.words_ready.value
        return
    view = made.on_chip.data.view("<u4")
    for _ in range(40):
        place = made.rng.randrange(view.size)
        if made.rng.random() < 0.5:
            view[place] = made.rng.getrandbits(32)
            await access_word(dut, place, int(view[place]))
        assert await access_word(dut, place) == view[place]
    await made.check_on_chip()


@cocotb.test
async def reset_at_work(dut: Any) -> None:
    """After a reset amid bursts the port is as new."""
    made = await bench(dut)
    for _ in range(10):
        writing = cocotb.start_soon(made.traffic.write(*_kept(made)))
        reading = cocotb.start_soon(made.read([made.burst(40) for _ in range(20)]))
        for _ in range(made.rng.randrange(3, 80)):
            await RisingEdge(dut.aclk)
        writing.cancel()
        reading.cancel()
        made.renew(0.3)
        await reset(dut, made.rng.randrange(2, 5))
        for name in ("read_beats", "write_responses"):
            assert not getattr(dut, f"{name}_valid").value, name
        await made.fill()
        await made.mixed(2)
        await made.check_on_chip()


def _kept(made: Bench) -> tuple[list[Burst], list[list[tuple[int, int]]]]:
    """Writes whose effect nobody will ask for, to where memory is."""
    bursts = []
    while len(bursts) < 20:
        burst = made.burst(40)
        chip, address = made.place(burst)
        if (made.on_chip if chip else made.on_bus).contains(address, made.beat):
            bursts.append(burst)
    return bursts, [made.beats(burst) for burst in bursts]


@pytest.mark.parametrize(
    ("data_bits", "shared_bytes", "outstanding_reads", "dot_product_units"),
    [
        (64, 2 * PAGE_BYTES, 5, 1),
        (256, 2 * PAGE_BYTES, 5, 8),
        (512, 2 * PAGE_BYTES, 5, 4),
        pytest.param(128, PAGE_BYTES, 64, 1, marks=SLOW),
        pytest.param(256, 0, 1, 1, marks=SLOW),
        pytest.param(64, 0, 5, 1, marks=SLOW),
        pytest.param(128, 2 * PAGE_BYTES, 64, 1, marks=SLOW),
        pytest.param(256, 0, 5, 1, marks=SLOW),
        pytest.param(256, 2 * PAGE_BYTES, 5, 1, marks=SLOW),
        pytest.param(512, 2 * PAGE_BYTES, 5, 1, marks=SLOW),
        pytest.param(512, 2 * PAGE_BYTES, 5, 16, marks=SLOW),
    ],
)
def test_memory_port(
    simulate: Simulate, data_bits: int, shared_bytes: int, outstanding_reads: int, dot_product_units: int
) -> None:
    """Beats are as wide as a bus of so many units can use."""
    values = {
        **{"data_bits": data_bits, "shared_bytes": shared_bytes},
        **{"outstanding_reads": outstanding_reads, "dot_product_units": dot_product_units},
    }
    config = replace(CONFIG, **values)
    name = f"memory_port-{data_bits}-{shared_bytes}-{config.beat_quads}-{outstanding_reads}"
    design = unit_design(name, MemoryPort(config), config)
    simulate(design, __name__, values=values)
