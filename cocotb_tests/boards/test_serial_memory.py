"""The memory of a serial core: the core at once, the host's words in between."""

import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge, Timer

from boards.gateware.board_config import BoardConfig
from boards.gateware.board_memory import WordAnswer, WordRequest
from boards.gateware.serial_memory import BANK_BYTES, SerialMemory
from boards.serial_core.serial_config import SerialConfig
from cocotb_tests.boards.serial_core.serial_bench import with_spram_model
from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import StreamSink, StreamSource, pauses, start
from hdl.config import PAGE_BYTES
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

SIZES = (PAGE_BYTES, BANK_BYTES, 2 * BANK_BYTES)


def board(size: int) -> BoardConfig:
    return BoardConfig(
        core=SerialConfig(address_bits=18), memory_bytes=size, clock_hz=24_000_000, baud=1_000_000
    )


class Words:
    """What the words of a memory must be; only those that have been written are known."""

    def __init__(self, config: BoardConfig, rng: random.Random) -> None:
        self.base, self.end = config.memory_base, config.memory_base + config.memory_bytes
        self.known: dict[int, int] = {}
        self._rng = rng
        some = [self.base, self.end - 4, self.base - 4, self.end, 0]
        some += [self.base + offset for offset in (4, 0x4000, 0xFFFC, 0x10000, 0x10004)]
        self._addresses = some + [4 * rng.randrange(1 << 16) for _ in range(20)]

    def address(self) -> int:
        """One of a few, so that they meet."""
        return self._rng.choice(self._addresses)

    def any_address(self) -> int:
        """One of those, or now and then any that a host can name."""
        return self._rng.getrandbits(30) << 2 if self._rng.random() < 0.1 else self.address()

    def exists(self, address: int) -> bool:
        """Whether there is such a word."""
        return self.base <= address < self.end


@cocotb.test
async def core_and_host(dut: Any) -> None:
    """Both at once; no access of the core waits, no word of the host is lost, and each sees the other's."""
    rng = random.Random(cocotb.RANDOM_SEED)
    words = Words(board(parameters()["size"]), rng)
    edge = RisingEdge(dut.aclk)
    dut.core_enable.value = 0
    await start(dut)
    source = StreamSource(dut, "request", pauses(rng, 0.3))
    sink = StreamSink(dut, "answer", pauses(rng, 0.3))
    under_way: WordRequest | None = None
    expected: int | None = None
    read = answered = 0
    for _ in range(12_000):
        # The core leaves the address of the host's word alone meanwhile, so that their order does not matter.
        if under_way is None and rng.random() < 0.2:
            fields = {"address": words.any_address(), "write": rng.randrange(2), "data": rng.getrandbits(32)}
            under_way = fields
            source.put(WordRequest.const(fields).as_bits())
        address = words.address()
        enable = rng.random() < 0.5 and (under_way is None or under_way["address"] != address)
        write, data = rng.randrange(2), rng.getrandbits(32)
        dut.core_address.value, dut.core_enable.value = address | rng.randrange(4), enable
        dut.core_write.value, dut.core_data.value = write, data
        await Timer(1, "ps")
        assert bool(dut.core_missing.value) != words.exists(address), hex(address)
        if expected is not None:
            assert int(dut.core_read_data.value) == expected
            read += 1
        expected = words.known.get(address) if enable and not write and words.exists(address) else None
        if enable and write and words.exists(address):
            words.known[address] = data
        await edge
        if sink.received:
            answer = WordAnswer.from_bits(sink.received.pop())
            assert under_way is not None
            place = under_way["address"]
            assert bool(answer.missing) != words.exists(place)
            if under_way["write"] and words.exists(place):
                words.known[place] = under_way["data"]
            elif not under_way["write"] and place in words.known:
                assert answer.data == words.known[place]
                answered += 1
            under_way = None
    assert read > 200
    assert answered > 20


@pytest.mark.parametrize("size", SIZES)
def test_serial_memory(simulate: Simulate, size: int) -> None:
    design = with_spram_model(unit_design(f"serial_memory_{size}", SerialMemory(board(size))))
    simulate(design, __name__, values={"size": size})
