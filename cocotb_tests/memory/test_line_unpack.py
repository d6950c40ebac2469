"""Lines cut out of beats, against the bytes of a memory."""

import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.memory.accesses import BEAT, Access
from cocotb_tests.memory.line_walks import parts_of, random_walk, walk_payload
from cocotb_tests.packing import Packing
from cocotb_tests.streams import StreamSink, StreamSource, pauses, reset, start
from golden.tables.faults import Cause
from hdl.config import PRESETS
from hdl.memory.beats import ReadBeat
from hdl.memory.fragment_geometry import FragmentGeometry, fragment_geometry, legal_fragments
from hdl.memory.line_unpack import LineUnpack
from hdl.memory.load_crossbar import PlacedSegment
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

MEMORY = 0x8000
READ_BEAT, SEGMENT, GEOMETRY = Packing(ReadBeat), Packing(PlacedSegment), Packing(FragmentGeometry)
CAUSES = {2: Cause.READ_SLAVE_ERROR.value, 3: Cause.READ_DECODE_ERROR.value}


class Work:
    """Accesses, the beats that hold them, and the segments that must come of them."""

    def __init__(self, rng: random.Random, share_bad: float = 0.0) -> None:
        self.rng = rng
        self.rows = [row for row in legal_fragments(PRESETS[parameters()["preset"]]) if row[0] != "d"]
        self.memory = rng.randbytes(MEMORY)
        self.share_bad = share_bad
        self.causes: list[int] = []

    def access(self) -> Access:
        """Any load."""
        return random_walk(self.rng, self.rng.choice(self.rows))

    def beats(self, access: Access) -> list[int]:
        """The payloads of the beats; notes the cause of the first bad one."""
        payloads = []
        self.causes.append(0)
        for place in access.beats:
            response = self.rng.choice([1, 2, 3]) if self.rng.random() < self.share_bad else 0
            self.causes[-1] = self.causes[-1] or CAUSES.get(response, 0)
            value = int.from_bytes(self.memory[place : place + BEAT], "little")
            payloads.append(READ_BEAT.pack({"data": value, "response": response}))
        return payloads

    def check(self, access: Access, payloads: list[int], cause: int) -> None:
        """Compare the segments of the access with memory."""
        geometry = GEOMETRY.pack(fragment_geometry(*access.row))
        parts = parts_of(access)
        for payload, (line, index, first, length) in zip(payloads, parts, strict=True):
            segment = SEGMENT.unpack(payload)
            where = f"{access}: line {line}, segment {index}"
            found = segment.data.to_bytes(BEAT, "little")[:length]
            assert found == self.memory[first : first + length], where
            assert (segment.line, segment.segment) == (line, index), where
            last = (line, index) == parts[-1][:2]
            assert segment.last == last, where
            assert not last or segment.cause == cause, where
            assert GEOMETRY.pack(segment.geometry) == geometry, where


@cocotb.test
async def lines(dut: Any) -> None:
    """Random fragments, offsets and strides, runs and lines, with random pauses and bad beats."""
    rng = random.Random(cocotb.RANDOM_SEED)
    requests = StreamSource(dut, "request", pauses(rng, 0.3))
    source = StreamSource(dut, "beats", pauses(rng, 0.3))
    sink = StreamSink(dut, "segments", pauses(rng, 0.3))
    await start(dut)
    work = Work(rng, 0.01)
    accesses = [work.access() for _ in range(300)]
    for access in accesses:
        requests.put(walk_payload(access))
        source.put(*work.beats(access))
    for access, cause in zip(accesses, work.causes, strict=True):
        work.check(access, await sink.take(len(parts_of(access))), cause)
    assert 20 < sum(cause != 0 for cause in work.causes) < 280
    for _ in range(20):
        await RisingEdge(dut.aclk)
    assert not sink.received


@cocotb.test
async def a_beat_per_cycle(dut: Any) -> None:
    """Without waits every cycle takes a beat or makes a segment, from the first request to the last."""
    rng = random.Random(cocotb.RANDOM_SEED)
    requests = StreamSource(dut, "request")
    source = StreamSource(dut, "beats")
    sink = StreamSink(dut, "segments")
    await start(dut)
    work = Work(rng)
    accesses = [work.access() for _ in range(60)]
    cycles = 0
    for access in accesses:
        requests.put(walk_payload(access))
        source.put(*work.beats(access))
        # Each segment comes with a beat or out of the one before; only a piece's first beat may bring none.
        for first, length in access.pieces:
            parts = [part for part in parts_of(access) if first <= part[2] < first + length]
            cycles += len(parts) + (first % BEAT + parts[0][3] > BEAT)
    total = sum(len(parts_of(access)) for access in accesses)
    while not (dut.request_valid.value and dut.request_ready.value):
        await RisingEdge(dut.aclk)
    elapsed = 0
    while len(sink.received) < total and elapsed < 2 * cycles:
        await RisingEdge(dut.aclk)
        elapsed += 1
    assert cycles <= elapsed <= cycles + 3, (elapsed, cycles)
    for access in accesses:
        work.check(access, await sink.take(len(parts_of(access))), 0)


@cocotb.test
async def resets(dut: Any) -> None:
    """After a reset between two beats of a fragment, the next one is right."""
    rng = random.Random(cocotb.RANDOM_SEED)
    requests = StreamSource(dut, "request")
    source = StreamSource(dut, "beats", pauses(rng, 0.2))
    sink = StreamSink(dut, "segments", pauses(rng, 0.2))
    await start(dut)
    work = Work(rng)
    for _ in range(40):
        access = work.access()
        await requests.send(walk_payload(access))
        beats = work.beats(access)
        await source.send(*beats[: rng.randrange(1, len(beats) + 1)])
        await reset(dut)
        sink.received.clear()
        access = work.access()
        requests.put(walk_payload(access))
        source.put(*work.beats(access))
        work.check(access, await sink.take(len(parts_of(access))), 0)


@pytest.mark.parametrize("preset", ["tiny", "small"])
def test_line_unpack(simulate: Simulate, preset: str) -> None:
    unit = LineUnpack(PRESETS[preset])
    simulate(unit_design(f"line_unpack_{preset}", unit), __name__, values={"preset": preset})
