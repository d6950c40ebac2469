"""The register file against a list of words."""

import random
from collections import deque
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import start
from hdl.config import PRESETS, QUADS
from hdl.registers.file import RegisterFile
from hdl.registers.register_ports import LANE_BITS, READ_LATENCY
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design


@cocotb.test
async def random_accesses(dut: Any) -> None:
    """Words written, words and quads read at random, often the same ones in the same cycle."""
    rng = random.Random(cocotb.RANDOM_SEED)
    words, lanes_of_word = sizes()
    quads_of_word = lanes_of_word // 4
    stored = [[0] * lanes_of_word for _ in range(words)]
    await start(dut)
    await _clear(dut, words)
    word_reads: deque[int | None] = deque([None] * READ_LATENCY)
    quad_reads, shared_words = word_reads.copy(), word_reads.copy()
    touched = set()
    for _ in range(20 * words):
        write, read_word, read_quad = (rng.random() < 0.6 for _ in range(3))
        few = rng.random() < 0.5
        address = rng.randrange(8 if few else words)
        word, of_quad = (
            address if rng.random() < 0.3 else rng.randrange(8 if few else words) for _ in range(2)
        )
        in_word = rng.randrange(quads_of_word)
        values = [rng.getrandbits(LANE_BITS) for _ in range(lanes_of_word)]
        lanes = rng.getrandbits(lanes_of_word)
        dut.write_enable.value = write
        dut.write_address.value = address
        dut.write_data.value = _joined(values)
        dut.write_lanes.value = lanes
        dut.word_read_enable.value = read_word
        dut.word_read_address.value = word
        dut.shared_read_enable.value = read_quad
        dut.shared_read_address.value = of_quad * quads_of_word + in_word
        await RisingEdge(dut.aclk)
        for reads, port in (
            (word_reads, dut.word_read_data),
            (quad_reads, dut.shared_read_data),
            (shared_words, dut.shared_read_word),
        ):
            assert reads.popleft() in (None, int(port.value))
        word_reads.append(_joined(stored[word]) if read_word else None)
        quad_reads.append(_joined(stored[of_quad][4 * in_word : 4 * in_word + 4]) if read_quad else None)
        shared_words.append(_joined(stored[of_quad]) if read_quad else None)
        if write:
            touched.add(address)
            for lane in range(lanes_of_word):
                if lanes >> lane & 1:
                    stored[address][lane] = values[lane]
    assert len(touched) > 0.9 * words, "the test is to write nearly every word"


@cocotb.test
async def every_word_is_its_own(dut: Any) -> None:
    """Each word holds numbers of its own, and reads back at a word and a quad per cycle."""
    words, lanes_of_word = sizes()
    quads = words * lanes_of_word // 4
    await start(dut)
    dut.write_lanes.value = (1 << lanes_of_word) - 1
    dut.write_enable.value = 1
    dut.word_read_enable.value = dut.shared_read_enable.value = 0
    for word in range(words):
        dut.write_address.value = word
        dut.write_data.value = _joined(_numbers(word, lanes_of_word))
        await RisingEdge(dut.aclk)
    dut.write_enable.value = 0
    dut.word_read_enable.value = dut.shared_read_enable.value = 1
    for cycle in range(quads + READ_LATENCY):
        dut.word_read_address.value = cycle % words
        dut.shared_read_address.value = cycle % quads
        await RisingEdge(dut.aclk)
        number = cycle - READ_LATENCY
        if number >= 0:
            word = number % words
            assert int(dut.word_read_data.value) == _joined(_numbers(word, lanes_of_word)), word
            assert int(dut.shared_read_data.value) == _joined(_numbers(number, 4)), number


def sizes() -> tuple[int, int]:
    """Words of the register file, and lanes of a word."""
    config = PRESETS[parameters()["preset"]]
    return config.registers * QUADS // config.word_quads, 4 * config.word_quads


async def _clear(dut: Any, words: int) -> None:
    _, lanes_of_word = sizes()
    dut.write_enable.value = 1
    dut.write_lanes.value = (1 << lanes_of_word) - 1
    dut.write_data.value = 0
    dut.word_read_enable.value = dut.shared_read_enable.value = 0
    for word in range(words):
        dut.write_address.value = word
        await RisingEdge(dut.aclk)


def _numbers(place: int, lanes: int) -> list[int]:
    """What is in the lanes of a word or a quad: the number of each in the whole register file."""
    return [place * lanes + lane for lane in range(lanes)]


def _joined(lanes: list[int]) -> int:
    return sum(lane << LANE_BITS * index for index, lane in enumerate(lanes))


@pytest.mark.parametrize("preset", ["small", "standard"])
def test_register_file(simulate: Simulate, preset: str) -> None:
    design = unit_design(f"register_file_{preset}", RegisterFile(PRESETS[preset]))
    simulate(design, __name__, values={"preset": preset})
