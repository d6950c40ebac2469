"""Lines that begin within a beat, both ways, against the bytes of a memory."""

import random
from typing import Any

import cocotb
import pytest

from cocotb_tests.conftest import Simulate
from cocotb_tests.runner import parameters
from cocotb_tests.streams import StreamSink, StreamSource, pauses, start
from cocotb_tests.unit import unit_design
from hdl.memory.crossbar import Chunk
from hdl.memory.realign import BeatsToChunks, ChunksToBeats, MaskedBeat, RealignRequest

BEAT = 16


def cover(address: int, length: int) -> range:
    """Addresses of the beats that hold the bytes."""
    return range(address // BEAT * BEAT, address + length, BEAT)


def random_lines(rng: random.Random, least_log2: int) -> tuple[dict[str, int], list[int], int]:
    """A request, the addresses of its lines, and their length."""
    line_log2 = rng.randrange(least_log2, 8)
    first, stride = 4 * rng.randrange(4), (1 << line_log2) + 4 * rng.randrange(9)
    addresses = [first + line * stride for line in range(rng.choice([4, 8, 16, 32]))]
    fields = {"offset": first // 4, "stride": stride // 4 % 4, "line_log2": line_log2}
    return fields, addresses, 1 << line_log2


async def begin(dut: Any, fields: dict[str, int]) -> None:
    """Present a request and start."""
    dut.request.value = RealignRequest.const(fields).as_bits()
    dut.start.value = 1
    await cocotb.triggers.RisingEdge(dut.aclk)
    dut.start.value = 0


@cocotb.test
async def lines(dut: Any) -> None:
    """Random offsets, strides and lengths, with random pauses on both sides, and beats with errors."""
    rng = random.Random(cocotb.RANDOM_SEED)
    to_chunks = parameters()["to_chunks"]
    dut.start.value = 0
    await start(dut)
    source = StreamSource(dut, "beats" if to_chunks else "chunks", pauses(rng, 0.3))
    sink = StreamSink(dut, "chunks" if to_chunks else "beats", pauses(rng, 0.3))
    for _ in range(200):
        fields, addresses, length = random_lines(rng, 3 if to_chunks else 4)
        memory = rng.randbytes(addresses[-1] + length + BEAT)
        await begin(dut, fields)
        if to_chunks:
            bad = {beat for address in addresses for beat in cover(address, length) if rng.random() < 0.05}
            for address in addresses:
                for beat in cover(address, length):
                    value = int.from_bytes(memory[beat : beat + BEAT], "little")
                    source.put(Chunk.const({"data": value, "error": beat in bad}).as_bits())
            used = min(length, BEAT)
            for address in addresses:
                for place in range(address, address + length, BEAT):
                    (payload,) = await sink.take(1)
                    chunk = Chunk.from_bits(payload)
                    found = int(chunk.data).to_bytes(BEAT, "little")[:used]
                    assert found == memory[place : place + used], (fields, place)
                    assert chunk.error == any(beat in bad for beat in cover(place, used)), (fields, place)
        else:
            for address in addresses:
                for place in range(address, address + length, BEAT):
                    source.put(int.from_bytes(memory[place : place + BEAT], "little"))
            for address in addresses:
                for beat in cover(address, length):
                    (payload,) = await sink.take(1)
                    masked = MaskedBeat.from_bits(payload)
                    data = int(masked.data).to_bytes(BEAT, "little")
                    for byte in range(BEAT):
                        inside = address <= beat + byte < address + length
                        assert masked.strb >> byte & 1 == inside, (fields, beat, byte)
                        assert not inside or data[byte] == memory[beat + byte], (fields, beat, byte)
        assert not sink.received


@pytest.mark.parametrize("to_chunks", [True, False])
def test_realign(simulate: Simulate, to_chunks: bool) -> None:
    unit = BeatsToChunks() if to_chunks else ChunksToBeats()
    name = "beats_to_chunks" if to_chunks else "chunks_to_beats"
    simulate(unit_design(name, unit), __name__, values={"to_chunks": to_chunks})
