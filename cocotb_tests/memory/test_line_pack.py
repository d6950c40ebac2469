"""Lines laid over beats, against the bytes of a memory."""

import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.memory.accesses import BEAT, Access
from cocotb_tests.memory.line_walks import beats_within, parts_of, random_walk, walk_payload
from cocotb_tests.packing import Packing
from cocotb_tests.streams import StreamSink, StreamSource, pauses, reset, start
from hdl.config import PRESETS
from hdl.memory.beats import WriteBeat
from hdl.memory.fragment_geometry import legal_fragments
from hdl.memory.line_pack import LinePack
from hdl.memory.store_crossbar import LineSegment
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

MEMORY = 0x8000
SEGMENT, WRITE_BEAT = Packing(LineSegment), Packing(WriteBeat)


class Bench:
    """The unit's streams, and accesses of every kind: those of loads are harder than those of stores."""

    def __init__(self, dut: Any, rng: random.Random, share: float) -> None:
        self.rng = rng
        self.rows = list(legal_fragments(PRESETS[parameters()["preset"]]))
        self.memory = rng.randbytes(MEMORY)
        self.requests = StreamSource(dut, "request", pauses(rng, share))
        self.lengths = StreamSource(dut, "lengths", pauses(rng, share))
        self.segments = StreamSource(dut, "segments", pauses(rng, share))
        self.sink = StreamSink(dut, "beats", pauses(rng, share))

    def access(self) -> Access:
        """Any access."""
        return random_walk(self.rng, self.rng.choice(self.rows))

    def segment_payloads(self, access: Access) -> list[int]:
        """The segments of the access as payloads."""
        payloads = []
        parts = parts_of(access)
        for line, index, first, length in parts:
            line_end = first + length == access.lines[line][0] + access.lines[line][1]
            rest = self.rng.randbytes(BEAT - length)  # of a short line, what lies behind it does not matter
            fields = {
                "data": int.from_bytes(self.memory[first : first + length] + rest, "little"),
                "line_end": line_end,
                "last": (line, index) == parts[-1][:2],
            }
            payloads.append(SEGMENT.pack(fields))
        return payloads

    def put(self, access: Access) -> None:
        """Queue all that the access needs."""
        self.requests.put(walk_payload(access))
        self.lengths.put(*(beats - 1 for _, beats in access.bursts))
        self.segments.put(*self.segment_payloads(access))

    async def check(self, access: Access) -> None:
        """Compare the beats of the access with memory."""
        ends = [beat == count - 1 for _, count in access.bursts for beat in range(count)]
        beats = beats_within(access)
        payloads = await self.sink.take(len(beats))
        for payload, end, (place, inside) in zip(payloads, ends, beats, strict=True):
            beat = WRITE_BEAT.unpack(payload)
            data = beat.data.to_bytes(BEAT, "little")
            assert beat.last == end, f"{access}: beat {place:#x}"
            for byte in range(BEAT):
                ours = place + byte in inside
                assert beat.strb >> byte & 1 == ours, f"{access}: beat {place:#x}, byte {byte}"
                assert not ours or data[byte] == self.memory[place + byte], f"{access}: {place + byte:#x}"


@cocotb.test
async def lines(dut: Any) -> None:
    """Random fragments, offsets and strides, runs and lines, with random pauses on all sides."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut, rng, 0.3)
    await start(dut)
    accesses = [bench.access() for _ in range(300)]
    for access in accesses:
        bench.put(access)
    for access in accesses:
        await bench.check(access)
    for _ in range(20):
        await RisingEdge(dut.aclk)
    assert not bench.sink.received


@cocotb.test
async def no_beat_before_its_burst(dut: Any) -> None:
    """Beats wait for the length of their burst."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut, rng, 0)
    await start(dut)
    for _ in range(20):
        access = bench.access()
        bench.requests.put(walk_payload(access))
        bench.segments.put(*bench.segment_payloads(access))
        sent = 0
        for _, beats in access.bursts:
            for _ in range(12):
                await RisingEdge(dut.aclk)
            assert len(bench.sink.received) == sent, access
            bench.lengths.put(beats - 1)
            sent += beats
            for _ in range(2 * beats + 4):
                await RisingEdge(dut.aclk)
        await bench.check(access)


@cocotb.test
async def a_beat_per_cycle(dut: Any) -> None:
    """Without waits every cycle takes a segment or makes a beat, from the first request to the last."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut, rng, 0)
    await start(dut)
    accesses = [bench.access() for _ in range(60)]
    cycles = 0
    for access in accesses:
        bench.put(access)
        # Each segment makes a beat or is kept for the next; only a piece's last beat may need none.
        for first, length in access.pieces:
            parts = [part for part in parts_of(access) if first <= part[2] < first + length]
            cycles += len(parts) + (parts[-1][2] % BEAT + parts[-1][3] > BEAT)
    total = sum(len(access.beats) for access in accesses)
    while not (dut.request_valid.value and dut.request_ready.value):
        await RisingEdge(dut.aclk)
    elapsed = 0
    while len(bench.sink.received) < total and elapsed < 2 * cycles:
        await RisingEdge(dut.aclk)
        elapsed += 1
    assert cycles <= elapsed <= cycles + 3, (elapsed, cycles)
    for access in accesses:
        await bench.check(access)


@cocotb.test
async def resets(dut: Any) -> None:
    """After a reset when any number of a fragment's bursts have left, the next fragment is right."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut, rng, 0.2)
    await start(dut)
    for _ in range(40):
        access = bench.access()
        await bench.requests.send(walk_payload(access))
        bursts = access.bursts[: rng.randrange(1, len(access.bursts) + 1)]
        bench.segments.put(*bench.segment_payloads(access))
        await bench.lengths.send(*(beats - 1 for _, beats in bursts))
        bench.lengths.put(*(beats - 1 for _, beats in access.bursts[len(bursts) :]))
        await bench.segments.sent()
        for _ in range(rng.randrange(3)):
            await RisingEdge(dut.aclk)
        await bench.lengths.sent()
        await reset(dut)
        bench.sink.received.clear()
        access = bench.access()
        bench.put(access)
        await bench.check(access)


@pytest.mark.parametrize("preset", ["tiny", "small"])
def test_line_pack(simulate: Simulate, preset: str) -> None:
    unit = LinePack(PRESETS[preset])
    simulate(unit_design(f"line_pack_{preset}", unit), __name__, values={"preset": preset})
