"""The register file against a list of words."""

import random
from collections import deque
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import start
from hdl.config import PRESETS, QUADS, CoreConfig
from hdl.registers.file import RegisterFile
from hdl.registers.register_ports import LANE_BITS, READ_LATENCY
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIGS = {
    "small": PRESETS["small"],
    "standard": PRESETS["standard"],
    "pairs": CoreConfig(dot_product_units=32, registers=32),
}


@cocotb.test
async def random_accesses(dut: Any) -> None:
    """Words written, words and quads read at random, often the same ones in the same cycle."""
    rng = random.Random(cocotb.RANDOM_SEED)
    words, lanes_of_word, count = sizes()
    quads_of_word = lanes_of_word // 4
    stored = [[0] * lanes_of_word for _ in range(words)]
    await start(dut)
    await _clear(dut, words)
    ports = [getattr(dut, f"word_read_{number}_data") for number in range(count)]
    ports += [dut.shared_read_data, dut.shared_read_word]
    reads: list[deque[int | None]] = [deque([None] * READ_LATENCY) for _ in ports]
    touched = set()

    def tile_word(first: int) -> int:
        return _joined([lane for number in range(first, first + count) for lane in stored[number % words]])

    for _ in range(20 * words):
        few = rng.random() < 0.5
        address = rng.randrange(8 if few else words)
        *tile_words, of_quad = (
            address if rng.random() < 0.3 else rng.randrange(8 if few else words) for _ in range(count + 1)
        )
        in_word = rng.randrange(quads_of_word)
        values = [rng.getrandbits(LANE_BITS) for _ in range(count * lanes_of_word)]
        # Beyond the last word there is nothing to be written.
        lanes = rng.getrandbits(lanes_of_word * (count if address + count <= words else 1))
        is_read = [rng.random() < 0.6 for _ in range(count + 1)]
        write = rng.random() < 0.6
        dut.write_enable.value = write
        dut.write_address.value = address
        dut.write_data.value = _joined(values)
        dut.write_lanes.value = lanes
        for number, word in enumerate(tile_words):
            getattr(dut, f"word_read_{number}_enable").value = is_read[number]
            getattr(dut, f"word_read_{number}_address").value = word
        dut.shared_read_enable.value = is_read[-1]
        dut.shared_read_address.value = of_quad * quads_of_word + in_word
        await RisingEdge(dut.aclk)
        for waiting, port in zip(reads, ports, strict=True):
            assert waiting.popleft() in (None, int(port.value))
        found = [*map(tile_word, tile_words), _joined(stored[of_quad][4 * in_word : 4 * in_word + 4])]
        found.append(tile_word(of_quad))
        for waiting, enabled, value in zip(reads, [*is_read, is_read[-1]], found, strict=True):
            waiting.append(value if enabled else None)
        if write:
            touched.add(address)
            for lane, value in enumerate(values):
                if lanes >> lane & 1:
                    stored[address + lane // lanes_of_word][lane % lanes_of_word] = value
    assert len(touched) > 0.9 * words, "the test is to write nearly every word"


@cocotb.test
async def every_word_is_its_own(dut: Any) -> None:
    """Each word holds numbers of its own, and reads back at a word and a quad per cycle."""
    words, lanes_of_word, count = sizes()
    quads = words * lanes_of_word // 4
    await start(dut)
    dut.write_lanes.value = (1 << lanes_of_word) - 1
    dut.write_enable.value = 1
    _enable_reads(dut, enable=False)
    for word in range(words):
        dut.write_address.value = word
        dut.write_data.value = _joined(_numbers(word, lanes_of_word))
        await RisingEdge(dut.aclk)
    dut.write_enable.value = 0
    _enable_reads(dut, enable=True)
    for cycle in range(quads + READ_LATENCY):
        for number in range(count):
            getattr(dut, f"word_read_{number}_address").value = (cycle + number) % words
        dut.shared_read_address.value = cycle % quads
        await RisingEdge(dut.aclk)
        at = cycle - READ_LATENCY
        if at >= 0:
            for number in range(count):
                data = int(getattr(dut, f"word_read_{number}_data").value)
                word = (at + number) % words
                assert data & (1 << LANE_BITS * lanes_of_word) - 1 == _joined(_numbers(word, lanes_of_word))
            assert int(dut.shared_read_data.value) == _joined(_numbers(at, 4)), at


def sizes() -> tuple[int, int, int]:
    """Words of the register file, lanes of a word, and words that are read at once."""
    config = CONFIGS[parameters()["config"]]
    return config.registers * QUADS // config.word_quads, 4 * config.word_quads, config.word_registers


def _enable_reads(dut: Any, *, enable: bool) -> None:
    dut.shared_read_enable.value = enable
    for number in range(sizes()[2]):
        getattr(dut, f"word_read_{number}_enable").value = enable


async def _clear(dut: Any, words: int) -> None:
    _, lanes_of_word, _ = sizes()
    dut.write_enable.value = 1
    dut.write_lanes.value = (1 << lanes_of_word) - 1
    dut.write_data.value = 0
    _enable_reads(dut, enable=False)
    for word in range(words):
        dut.write_address.value = word
        await RisingEdge(dut.aclk)


def _numbers(place: int, lanes: int) -> list[int]:
    """What is in the lanes of a word or a quad: the number of each in the whole register file."""
    return [place * lanes + lane for lane in range(lanes)]


def _joined(lanes: list[int]) -> int:
    return sum(lane << LANE_BITS * index for index, lane in enumerate(lanes))


@pytest.mark.parametrize("config", CONFIGS)
def test_register_file(simulate: Simulate, config: str) -> None:
    design = unit_design(f"register_file_{config}", RegisterFile(CONFIGS[config]))
    simulate(design, __name__, values={"config": config})
