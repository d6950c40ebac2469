"""The stores' crossbar against the golden fragments: from quads of registers to beats of a memory."""

import random
from collections.abc import Iterator
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
from hdl.config import CoreConfig
from hdl.memory.bank_mapping import BUFFERS
from hdl.memory.fragment_geometry import fragment_geometry, legal_fragments
from hdl.memory.store_crossbar import StoreCrossbar, StoredQuad, stored_layout
from hdl.registers.register_ports import QUAD_BITS
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design
from sim.testbench.with_banks import WithBanks

QUAD = Packing(StoredQuad)


class Bench:
    """The unit's ports, and fragments of every kind: load fragments are harder than store fragments."""

    def __init__(self, dut: Any, share: float = 0.0, beats: Any = None, prefix: str = "") -> None:
        self.dut = dut
        self.config: CoreConfig = MEMORY_PATHS[parameters()["preset"]]
        rows = legal_fragments(self.config)
        self.beat = Packing(stored_layout(self.config))
        # Registers that repeat others are no part of what a store writes.
        self.rows = [row for row in rows if not (row[1] == "f16" and row[0] in "ab")]
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.pauses = pauses(self.rng, share)
        self.accesses = StreamSource(dut, f"{prefix}access", pauses(self.rng, share))
        self.sink = StreamSink(dut, f"{prefix}beats", beats or pauses(self.rng, share))
        self.waiting: list[tuple[int, int, int, bool]] = []
        self.within = self.sent = 0
        cocotb.start_soon(self._drive())

    async def _drive(self) -> None:
        """Quads, each with its data a cycle later, while there are buffers for their fragments."""
        dut = self.dut
        while True:
            value = data = 0
            if self.waiting and not next(self.pauses) and not dut.hold.value:
                packed, data, number, last = self.waiting[0]
                if number or self.within < BUFFERS:
                    self.waiting.pop(0)
                    self.within += number == 0
                    self.sent += last
                    value = packed
                else:
                    data = 0
            dut.quad.value = value
            await RisingEdge(dut.aclk)
            dut.data.value = data
            self.within -= int(dut.freed.value)

    def placed(self, row: tuple[Any, ...] | None = None) -> Placed:
        """Any fragment, or one of a kind."""
        return Placed.random(self.rng, row or self.rng.choice(self.rows), beat_of(self.config))

    def put(self, placed: Placed) -> list[list[int | None]]:
        """Hand in a fragment; returns the beats that must come."""
        geometry: dict[str, Any] = fragment_geometry(*placed.access.row)
        self.accesses.put(placed.access.payload(self.config))
        each = self.config.beat_quads
        for number in range(0, len(placed.quads), each):
            quad = sum(quad << QUAD_BITS * at for at, quad in enumerate(placed.quads[number : number + each]))
            last = number + each == len(placed.quads)
            fields = {"valid": 1, "word": number, "last": last}
            packed = QUAD.pack({**fields, **{key: geometry[key] for key in ("pattern", "order")}})
            self.waiting.append((packed, quad, number, last))
        return placed.beats

    async def check(self, expected: list[list[int | None]]) -> None:
        """Compare the next beats."""
        for number, payload in enumerate(await self.sink.take(len(expected), 60_000)):
            beat = self.beat.unpack(payload)
            content = beat.data.to_bytes(beat_of(self.config), "little")
            found = [byte if beat.tag >> at // 4 & 1 else None for at, byte in enumerate(content)]
            assert found == expected[number], number


@cocotb.test
async def every_fragment(dut: Any) -> None:
    """Every legal fragment at random offsets and strides, with random backpressure."""
    bench = Bench(dut, 0.25)
    await start(dut)
    order = bench.rows * 3
    bench.rng.shuffle(order)
    await bench.check([beat for row in order for beat in bench.put(bench.placed(row))])
    for _ in range(20):
        await RisingEdge(dut.aclk)
    assert not bench.sink.received
    assert bench.within == 0


@cocotb.test
async def a_beat_per_cycle(dut: Any) -> None:
    """Without waits fragments take a cycle for each beat, for each line of eight bytes, or for each quad."""
    bench = Bench(dut)
    await start(dut)
    for row in bench.rows:
        work = [bench.placed(row) for _ in range(6)]
        expected = [beat for placed in work for beat in bench.put(placed)]
        longest = [max(placed.store_steps, len(placed.quads) // bench.config.beat_quads) for placed in work]
        while not dut.beats_valid.value:
            await RisingEdge(dut.aclk)
        elapsed = 0
        while len(bench.sink.received) < len(expected):
            await RisingEdge(dut.aclk)
            elapsed += 1
        assert elapsed <= sum(longest) + 3, (row, elapsed, longest)
        await bench.check(expected)


@cocotb.test
async def the_first_beat_comes_six_cycles_after_the_last_quad(dut: Any) -> None:
    """For fragments that begin at a beat."""
    bench = Bench(dut)
    await start(dut)
    for row in bench.rows:
        placed = bench.placed(row)
        while placed.access.address % 16:
            placed = bench.placed(row)
        sent = bench.sent
        expected = bench.put(placed)
        while bench.sent == sent:
            await RisingEdge(dut.aclk)
            assert not dut.beats_valid.value, row
        elapsed = 0
        while not dut.beats_valid.value:
            await RisingEdge(dut.aclk)
            elapsed += 1
        # Lines of eight bytes are parts of the first beat.
        most = beat_of(bench.config) // 8 if placed.access.lines[0][1] < 16 else 1
        assert 7 <= elapsed < 7 + most, (row, elapsed)
        await bench.check(expected)


@cocotb.test
async def none_is_overwritten_while_beats_wait(dut: Any) -> None:
    """While no beat is taken, fragments wait in all buffers."""
    stopped = True

    def stops() -> Iterator[bool]:
        while True:
            yield stopped

    bench = Bench(dut, beats=stops())
    await start(dut)
    expected = [beat for _ in range(BUFFERS + 3) for beat in bench.put(bench.placed(bench.rows[0]))]
    for _ in range(1000):
        await RisingEdge(dut.aclk)
    assert bench.sent >= BUFFERS
    assert bench.waiting
    stopped = False
    await bench.check(expected)


@cocotb.test
async def nothing_stays_after_a_reset(dut: Any) -> None:
    """After a reset behind any quad of a fragment, the next one is right."""
    bench = Bench(dut, 0.1)
    await start(dut)
    for _ in range(40):
        bench.put(bench.placed())
        whole = len(bench.waiting)
        left = bench.rng.randrange(whole)
        while len(bench.waiting) > left:
            await RisingEdge(dut.aclk)
        for _ in range(bench.rng.randrange(20)):
            await RisingEdge(dut.aclk)
        bench.waiting.clear()
        bench.accesses.drop()
        await reset(dut)
        bench.sink.received.clear()
        bench.within = 0
        await bench.check(bench.put(bench.placed()))


@pytest.mark.parametrize(
    "preset",
    ["tiny", *(pytest.param(slow, marks=SLOW) for slow in ("small", "two_quads", "four_quads", "large"))],
)
def test_store_crossbar(simulate: Simulate, preset: str) -> None:
    config = MEMORY_PATHS[preset]
    unit = WithBanks(config, StoreCrossbar(config))
    simulate(unit_design(f"store_crossbar_{preset}", unit), __name__, values={"preset": preset})
