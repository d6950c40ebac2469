"""The on-chip memory in banks: beats both ways, and chunks from anywhere, against an array of bytes."""

import random
from dataclasses import replace
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.packing import Packing
from cocotb_tests.streams import start
from hdl.config import PRESETS, CoreConfig
from hdl.memory.chunk_banks import ChunkBanks
from hdl.memory.chunks import TAG_BITS, chunk_layout, chunk_request_layout
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

SIZE = 4096
CHUNK = 16


def config_of(lanes: int) -> CoreConfig:
    """A core whose beats have so many quads."""
    units, bits = {1: (1, 128), 2: (4, 256), 4: (16, 512)}[lanes]
    return replace(
        PRESETS["tiny"], warps=4, wgmma=True, dot_product_units=units, data_bits=bits, shared_bytes=SIZE
    )


class Bench:
    """The memory, and what it must hold."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.lanes: int = parameters()["lanes"]
        config = config_of(self.lanes)
        self.requests, self.chunks = (
            Packing(layout(config)) for layout in (chunk_request_layout, chunk_layout)
        )
        self.beat = CHUNK * self.lanes
        self.memory = bytearray(SIZE)

    async def edge(self) -> None:
        """To the end of the cycle."""
        await RisingEdge(self.dut.aclk)

    async def write(self, place: int, strobes: int) -> None:
        """A beat, of which some bytes count."""
        data = self.rng.randbytes(self.beat)
        dut = self.dut
        dut.write_addr.value, dut.write_en.value = place, strobes
        dut.write_data.value = int.from_bytes(data, "little")
        await self.edge()
        dut.write_en.value = 0
        for byte in range(self.beat):
            if strobes >> byte & 1:
                self.memory[place * self.beat + byte] = data[byte]

    async def fill(self) -> None:
        """Every byte."""
        for place in range(SIZE // self.beat):
            await self.write(place, (1 << self.beat) - 1)

    def addresses(self) -> list[int]:
        """Of chunks: anywhere, or several in few banks."""
        last = SIZE // CHUNK
        first = self.rng.randrange(last)
        step = self.rng.choice([1, 1, self.lanes, 2, 3])
        return [(first + step * lane) % last if step else first for lane in range(self.lanes)]


@cocotb.test
async def beats(dut: Any) -> None:
    """Written in part and read one cycle later."""
    bench = Bench(dut)
    await start(dut)
    await bench.fill()
    places = SIZE // bench.beat
    for _ in range(100):
        await bench.write(bench.rng.randrange(places), bench.rng.getrandbits(bench.beat))
    for place in (*range(places), *(bench.rng.randrange(places) for _ in range(50))):
        dut.read_addr.value, dut.read_en.value = place, 1
        await bench.edge()
        dut.read_en.value = 0
        await bench.edge()
        expected = bytes(bench.memory[place * bench.beat :][: bench.beat])
        assert int(dut.read_data.value).to_bytes(bench.beat, "little") == expected, place


@cocotb.test
async def chunks(dut: Any) -> None:
    """Every chunk that a request asks for once, the lowest lane of a bank first, two cycles after its turn.

    No cycle is lost but to conflicts of banks, and to cycles in which the memory is not free.
    """
    bench, rng = Bench(dut), random.Random(cocotb.RANDOM_SEED)
    await start(dut)
    await bench.fill()
    expected: list[tuple[int, int, int, int, bytes] | None] = [None, None]
    lanes = bench.lanes
    for share in (0.0, 0.4):
        for _ in range(250):
            addresses, tag, last = bench.addresses(), rng.getrandbits(TAG_BITS), rng.getrandbits(1)
            left = mask = rng.choice([(1 << lanes) - 1, rng.getrandbits(lanes) or 1])
            fields = {"addresses": addresses, "mask": mask, "tag": tag, "last": last}
            is_offered = False
            while left:
                is_offered = is_offered or rng.random() >= share
                is_free = rng.random() >= share
                dut.requests_valid.value, dut.enable.value = is_offered, is_free
                dut.requests_payload.value = bench.requests.pack(fields) if is_offered else rng.getrandbits(9)
                granted = 0
                for bank in range(lanes):
                    waiting = [
                        lane for lane in range(lanes) if left >> lane & 1 and addresses[lane] % lanes == bank
                    ]
                    granted |= sum(1 << lane for lane in waiting[:1])
                served = is_offered and is_free
                await bench.edge()
                assert dut.busy.value == is_offered
                assert dut.requests_ready.value == (served and granted == left)
                assert dut.conflict.value == (served and granted != left)
                found = bench.chunks.unpack(int(dut.chunks.value))
                then = expected.pop(0)
                assert found.valid == (then is not None), (found, then)
                if then is not None:
                    got, got_mask = found.data.to_bytes(bench.beat, "little"), found.mask
                    want_tag, want_mask, want_last, _, want = then
                    assert (found.tag, got_mask, found.last) == (want_tag, want_mask, want_last)
                    for lane in range(lanes):
                        if want_mask >> lane & 1:
                            part = slice(CHUNK * lane, CHUNK * (lane + 1))
                            assert got[part] == want[part], (lane, got.hex(), want.hex())
                if not served:
                    expected.append(None)
                    continue
                left &= ~granted
                data = b"".join(bytes(bench.memory[CHUNK * each :][:CHUNK]) for each in addresses)
                expected.append((tag, granted, int(last and not left), 0, data))
        dut.requests_valid.value = 0
        for _ in range(3):
            await bench.edge()
        expected = [None, None]


@pytest.mark.parametrize("lanes", [4, pytest.param(1, marks=SLOW)])
def test_chunk_banks(simulate: Simulate, lanes: int) -> None:
    simulate(
        unit_design(f"chunk_banks_{lanes}", ChunkBanks(config_of(lanes))), __name__, values={"lanes": lanes}
    )
