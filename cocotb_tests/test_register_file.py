"""The register file against a list of words."""

import random
from collections import deque
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.runner import parameters
from cocotb_tests.streams import start
from cocotb_tests.unit import unit_design
from hdl.config import PRESETS, QUADS
from hdl.registers.file import RegisterFile
from hdl.registers.ports import READ_LATENCY


@cocotb.test
async def random_accesses(dut: Any) -> None:
    """Words written and read at random, often the same one in the same cycle."""
    rng = random.Random(cocotb.RANDOM_SEED)
    words, lanes_of_word = sizes()
    stored = [[0] * lanes_of_word for _ in range(words)]
    await start(dut)
    await _clear(dut, words)
    under_way: deque[tuple[list[int], int] | None] = deque([None] * READ_LATENCY)
    touched = set()
    for _ in range(20 * words):
        write, read = rng.random() < 0.6, rng.random() < 0.6
        few = rng.random() < 0.5
        address = rng.randrange(8 if few else words)
        read_address = address if rng.random() < 0.3 else rng.randrange(8 if few else words)
        values = [rng.getrandbits(32) for _ in range(lanes_of_word)]
        lanes = rng.getrandbits(lanes_of_word)
        dut.write_enable.value = write
        dut.write_address.value = address
        dut.write_data.value = sum(value << 32 * lane for lane, value in enumerate(values))
        dut.write_lanes.value = lanes
        dut.read_enable.value = read
        in_word = rng.randrange(lanes_of_word // 4)
        dut.read_address.value = read_address * lanes_of_word // 4 + in_word
        await RisingEdge(dut.aclk)
        expected = under_way.popleft()
        if expected is not None:
            assert (_lanes(dut.read_data), int(dut.read_quad.value)) == expected
        under_way.append(_read(stored[read_address], in_word) if read else None)
        if write:
            touched.add(address)
            for lane in range(lanes_of_word):
                if lanes >> lane & 1:
                    stored[address][lane] = values[lane]
    assert len(touched) > 0.9 * words, "the test is to write nearly every word"


@cocotb.test
async def every_word_is_its_own(dut: Any) -> None:
    """Each word holds a number of its own, in every lane, and reads back at one word per cycle."""
    words, lanes_of_word = sizes()
    await start(dut)
    dut.write_lanes.value = (1 << lanes_of_word) - 1
    dut.write_enable.value = 1
    dut.read_enable.value = 0
    for word in range(words):
        dut.write_address.value = word
        dut.write_data.value = sum(
            (word * lanes_of_word + lane) << 32 * lane for lane in range(lanes_of_word)
        )
        await RisingEdge(dut.aclk)
    dut.write_enable.value = 0
    dut.read_enable.value = 1
    for cycle in range(words + READ_LATENCY):
        dut.read_address.value = cycle % words * lanes_of_word // 4
        await RisingEdge(dut.aclk)
        word = cycle - READ_LATENCY
        if word >= 0:
            assert _lanes(dut.read_data) == [word * lanes_of_word + lane for lane in range(lanes_of_word)], (
                word
            )


def sizes() -> tuple[int, int]:
    """Words of the register file, and lanes of a word."""
    config = PRESETS[parameters()["preset"]]
    return config.registers * QUADS // config.word_quads, 4 * config.word_quads


async def _clear(dut: Any, words: int) -> None:
    _, lanes_of_word = sizes()
    dut.write_enable.value = 1
    dut.write_lanes.value = (1 << lanes_of_word) - 1
    dut.write_data.value = 0
    dut.read_enable.value = 0
    for word in range(words):
        dut.write_address.value = word
        await RisingEdge(dut.aclk)


def _read(word: list[int], in_word: int) -> tuple[list[int], int]:
    """What a read gives: the word, and one quad of it."""
    quad = word[4 * in_word : 4 * in_word + 4]
    return list(word), sum(lane << 32 * index for index, lane in enumerate(quad))


def _lanes(port: Any) -> list[int]:
    value = int(port.value)
    _, lanes_of_word = sizes()
    return [value >> 32 * lane & 0xFFFF_FFFF for lane in range(lanes_of_word)]


@pytest.mark.parametrize("preset", ["small", "standard"])
def test_register_file(simulate: Simulate, preset: str) -> None:
    design = unit_design(f"register_file_{preset}", RegisterFile(PRESETS[preset]))
    simulate(design, __name__, values={"preset": preset})
