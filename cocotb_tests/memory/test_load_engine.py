"""The load engine between a memory and the registers, against the golden layouts."""

import random
from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.configurations import MEMORY_PATHS
from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.memory.accesses import BEAT, Access, beat_of, far_access, random_access
from cocotb_tests.memory.burst_memory import BurstMemory
from cocotb_tests.register_ports import RegisterPorts
from cocotb_tests.streams import StreamSource, pauses, reset, start
from golden.tables.faults import Cause
from golden.tables.instruction_set import Shape
from golden.tables.layouts import LANES
from hdl.config import QUADS, CoreConfig
from hdl.memory.fragment_geometry import fragment_geometry, legal_fragments
from hdl.memory.load_engine import LOADS_IN_FLIGHT, LoadEngine
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design
from sim.testbench.with_banks import WithBanks

SQUARE = Shape(16, 16, 16)
BASE = 0x10000
SIZE = 0x4000
LATENCY = 20


class Bench:
    """The engine, its surroundings, and what it should have done."""

    def __init__(self, dut: Any, share: float, latency: int = LATENCY) -> None:
        self.dut = dut
        self.config: CoreConfig = MEMORY_PATHS[parameters()["preset"]]
        self.rows = [row for row in legal_fragments(self.config) if row[0] != "d"]
        # Of the rows that the engine cannot tell apart, one.
        self.distinct = list({tuple(fragment_geometry(*row).values()): row for row in self.rows}.values())
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.stalled: str | None = None
        bits = np.random.default_rng(cocotb.RANDOM_SEED)
        data = bits.integers(0, 256, SIZE, dtype=np.uint8)
        self.request = StreamSource(dut, "request", pauses(self.rng, share))
        self.memory = BurstMemory(
            dut,
            self.config,
            data,
            BASE,
            latency=latency,
            pauses={name: self.waits(name, share) for name in ("bursts", "beats")},
        )
        self.registers = RegisterPorts(dut, self.config, write_pause=self.waits("write", share))
        self.expected = bits.integers(0, 1 << 32, (self.config.all_registers, LANES), dtype=np.uint32)
        self.registers.values[:] = self.expected
        self.causes: list[int] = []
        cocotb.start_soon(self._watch())

    def waits(self, name: str, share: float) -> Iterator[bool]:
        """Pause at random, or for as long as the stream is `stalled`."""
        for pause in pauses(random.Random(self.rng.random()), share):
            yield pause or self.stalled == name

    async def _watch(self) -> None:
        edge = RisingEdge(self.dut.aclk)
        while True:
            await edge
            if self.dut.done.value and self.dut.aresetn.value:
                self.causes.append(int(self.dut.cause.value))

    def access(self, row: tuple[Any, ...] | None = None) -> Access:
        """A random load."""
        return random_access(self.rng, row or self.rng.choice(self.rows), BASE, SIZE, self.config)

    async def run(self, accesses: list[Access]) -> None:
        """Ask for loads in a row; compare causes, bursts and registers when all are done."""
        expected = []
        for access in accesses:
            bad = [self.memory.faults[beat] for beat in access.beats if beat in self.memory.faults]
            expected.append(
                (Cause.READ_DECODE_ERROR if bad[0] == 3 else Cause.READ_SLAVE_ERROR).value if bad else 0
            )
            if not bad:
                access.load(self.memory.data, BASE, self.expected)
        self.causes.clear()
        self.memory.bursts.clear()
        self.request.put(*(access.payload(self.config) for access in accesses))
        await self.done(len(accesses))
        assert self.causes == expected, accesses
        self.compare(accesses)

    async def done(self, count: int) -> None:
        """Wait until so many loads are done."""
        for _ in range(20_000):
            await RisingEdge(self.dut.aclk)
            if len(self.causes) >= count:
                break
        assert len(self.causes) == count, f"{len(self.causes)} of {count} loads done"

    def compare(self, accesses: list[Access]) -> None:
        """Compare registers and bursts."""
        differences = np.argwhere(self.registers.values != self.expected)
        assert not len(differences), f"{accesses}: register, lane {differences[:4].tolist()}"
        bursts = [(access.space, *burst) for access in accesses for burst in access.bursts]
        assert self.memory.bursts == bursts, accesses
        assert self.memory.idle


async def bench(dut: Any, share: float = 0.25, latency: int = LATENCY) -> Bench:
    made = Bench(dut, share, latency)
    await start(dut)
    return made


@cocotb.test
async def every_fragment(dut: Any) -> None:
    """Every legal fragment, several at a time, at random places with random strides and waits."""
    made = await bench(dut)
    order = made.rows * 2
    made.rng.shuffle(order)
    accesses = [made.access(row) for row in order]
    shapes = {(access.contiguous, access.address % 16 != 0) for access in accesses}
    assert len(shapes) == 4, "runs and lines, at beats and within"
    while accesses:
        count = made.rng.choice([1, 3, 24])
        await made.run(accesses[:count])
        del accesses[:count]


@cocotb.test
async def anywhere(dut: Any) -> None:
    """The bytes of loads from all over the address space."""
    made = await bench(dut)
    for _ in range(6):
        await made.run([far_access(made.rng, made.rng.choice(made.rows), made.config) for _ in range(8)])


@cocotb.test
async def bad_beats(dut: Any) -> None:
    """Loads with a bad beat or two among good ones: these alone change no register; the first counts."""
    made = await bench(dut)
    failures = 0
    for _ in range(40):
        accesses = [made.access() for _ in range(6)]
        made.memory.faults = {}
        for access in made.rng.sample(accesses, 2):
            beats = access.beats
            for place in {made.rng.choice([beats[0], beats[-1], made.rng.choice(beats)]) for _ in range(2)}:
                made.memory.faults[place] = made.rng.choice([2, 3])
        await made.run(accesses)
        failures += sum(cause != 0 for cause in made.causes)
    assert failures > 60


@cocotb.test
async def long_stalls(dut: Any) -> None:
    """Each port in turn stands still for thousands of cycles; nothing is lost, nothing comes twice."""
    made = await bench(dut, 0.1)
    for name in ("bursts", "beats", "write"):
        accesses = [made.access() for _ in range(LOADS_IN_FLIGHT + 8)]

        async def stall(name: str = name) -> None:
            for _ in range(made.rng.randrange(200)):
                await RisingEdge(dut.aclk)
            made.stalled = name
            for _ in range(3000):
                await RisingEdge(dut.aclk)
            assert len(made.causes) < LOADS_IN_FLIGHT + 8
            made.stalled = None

        stalling = cocotb.start_soon(stall())
        await made.run(accesses)
        await stalling


@cocotb.test
async def resets(dut: Any) -> None:
    """A reset at any moment: nothing of the loads before it is left, and the loads after it are right."""
    made = await bench(dut, 0.1)
    for _ in range(25):
        accesses = [made.access() for _ in range(3)]
        await made.request.send(*(access.payload(made.config) for access in accesses))
        for _ in range(made.rng.randrange(250)):
            await RisingEdge(dut.aclk)
        await reset(dut)
        made.expected[:] = made.registers.values
        await made.run([made.access(), made.access()])


@cocotb.test
async def sixteen_tiles(dut: Any) -> None:
    """f16 tiles of 16x16 follow each other without a gap on the bus: a beat per cycle, or a register word."""
    made = await bench(dut, 0)
    # Of a tile's registers, of which half repeat the others.
    writes = 8 * QUADS // (made.config.word_quads * made.config.word_registers)
    for layout in ("row", "col"):
        for use in ("a", "b"):
            for stride in (None, 128):
                accesses = [
                    Access(
                        row=(use, "f16", SQUARE, layout),
                        register=8 * (index % (made.config.registers // 8)),
                        address=BASE + 32 * index if stride else BASE + 512 * index,
                        stride=stride,
                        beat=beat_of(made.config),
                    )
                    for index in range(16)
                ]
                made.memory.busy_cycles.clear()
                began = made.memory.cycle
                await made.run(accesses)
                whole = made.memory.cycle - began
                busy = made.memory.busy_cycles
                cycles = busy[-1] - busy[0] + 1
                dut._log.info(
                    f"{layout} {use} stride {stride}: {cycles} cycles for {len(busy)} beats, {whole}"
                )
                beats = 16 if stride and beat_of(made.config) > 32 else 512 // beat_of(made.config)
                assert len(busy) == 16 * beats
                if writes <= beats:
                    assert cycles == 16 * beats
                else:
                    assert cycles <= 16 * writes
                # Behind them, the last tile leaves the crossbar.
                assert whole <= 16 * max(beats, writes) + LATENCY + 32 + 16


@cocotb.test
async def small_fragments(dut: Any) -> None:
    """Fragments of eight beats and more, one after the other: latency is hidden for these too."""
    made = await bench(dut, 0)
    fewest = 64
    # The smallest fragment that repeats nothing.
    least = (128 if made.config.f64_units else 512) // beat_of(made.config)
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
            length = access.lines[0][1]
            if length >= BEAT and access.registers * 128 == length * len(access.lines):
                made.memory.busy_cycles.clear()
                await made.run([access] * 12)
                busy = made.memory.busy_cycles
                assert busy[-1] - busy[0] + 1 == len(busy) == 12 * len(access.beats), row
                fewest = min(fewest, len(access.beats))
    assert fewest == least


# Flow control is the same at every width of the register file; what the width changes runs at each.
WIDTHS = ("every_fragment", "sixteen_tiles", "small_fragments")


@pytest.mark.parametrize(
    ("preset", "cases"),
    [
        *(("tiny", ()), ("standard", ())),
        *(pytest.param(preset, WIDTHS, marks=SLOW) for preset in ("small", "two_quads", "four_quads")),
        pytest.param("large", (), marks=SLOW),
    ],
)
def test_load_engine(simulate: Simulate, preset: str, cases: tuple[str, ...]) -> None:
    config = MEMORY_PATHS[preset]
    unit = WithBanks(config, LoadEngine(config))
    simulate(unit_design(f"load_engine_{preset}", unit), __name__, values={"preset": preset}, cases=cases)
