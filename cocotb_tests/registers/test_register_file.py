"""The register file against a list of words."""

import random
from collections import deque
from itertools import product
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.streams import start
from hdl.config import PRESETS, QUADS, CoreConfig
from hdl.registers.file import RegisterFile
from hdl.registers.register_ports import LANE_BITS, READ_LATENCY
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIGS = {
    "small": PRESETS["small"],
    "standard": PRESETS["standard"],
    "pairs": CoreConfig(dot_product_units=32, registers=32, data_bits=512),
}


@cocotb.test
async def random_accesses(dut: Any) -> None:
    """Words written, words and quads read at random, often the same ones in the same cycle."""
    rng = random.Random(cocotb.RANDOM_SEED)
    words, lanes_of_word, count = sizes()
    quads_of_word, quads = lanes_of_word // 4, CONFIGS[parameters()["config"]].beat_quads
    read_ports = 2 * count - 1
    stored = [[0] * lanes_of_word for _ in range(words)]
    await start(dut)
    await _clear(dut, words)
    late = [0] * count
    ports = [getattr(dut, f"word_read_{number}_data") for number in range(read_ports)]
    ports += [dut.shared_read_data, dut.shared_read_word]
    reads: list[deque[int | None]] = [deque([None] * READ_LATENCY) for _ in ports]
    touched = set()
    together = alone = 0
    every_lane = range(count * lanes_of_word)
    # A port with one lane, and how far from it the other one writes them all.
    one_lane = list(product(range(2), range(4), every_lane, (0, 2))) if count > 1 else []
    rng.shuffle(one_lane)

    def memories(first: int, lanes: int) -> set[int]:
        """Those in which lanes are written."""
        halves = (lanes & (1 << lanes_of_word) - 1, lanes >> lanes_of_word)
        return {(first + number) % 4 for number, half in enumerate(halves) if half}

    def tile_word(first: int) -> int:
        return _joined([lane for number in range(first, first + count) for lane in stored[number % words]])

    for _ in range(20 * words + len(one_lane)):
        few = rng.random() < 0.5
        alone_now = one_lane.pop() if one_lane and rng.random() < 0.75 else None
        address = rng.randrange(8 if few else words)
        *tile_words, of_quad = (
            address if rng.random() < 0.3 else rng.randrange(8 if few else words)
            for _ in range(read_ports + 1)
        )
        in_word = quads * rng.randrange(quads_of_word // quads)
        writes = []
        for port in range(count):
            place = address if port == 0 else rng.choice([address + 2, rng.randrange(words)]) % words
            values = [rng.getrandbits(LANE_BITS) for _ in range(count * lanes_of_word)]
            # Beyond the last word there is nothing to be written.
            some = lanes_of_word * (count if place + count <= words else 1)
            lanes = rng.choice([rng.getrandbits(some), 1 << rng.randrange(some)])
            if rng.random() < 0.3:
                lanes &= (1 << lanes_of_word) - 1
            is_enabled = rng.random() < 0.6
            if alone_now:
                of_one, place, lane, apart = alone_now
                is_enabled, lanes = True, 1 << lane
                if port != of_one:
                    place, lanes = place + apart, (1 << len(every_lane)) - 1
            writes.append((is_enabled, place, values, lanes))
            fields = {"enable": is_enabled, "address": place, "data": late[port], "lanes": lanes}
            for name, value in fields.items():
                getattr(dut, f"write_{port}_{name}").value = value
            late[port] = _joined(values)
        is_read = [rng.random() < 0.6 for _ in range(read_ports + 1)]
        for number, word in enumerate(tile_words):
            getattr(dut, f"word_read_{number}_enable").value = is_read[number]
            getattr(dut, f"word_read_{number}_address").value = word
        dut.shared_read_enable.value = is_read[-1]
        dut.shared_read_address.value = of_quad * quads_of_word + in_word
        await RisingEdge(dut.aclk)
        for waiting, port in zip(reads, ports, strict=True):
            assert waiting.popleft() in (None, int(port.value))
        found = [*map(tile_word, tile_words), _joined(stored[of_quad][4 * in_word :][: 4 * quads])]
        found.append(tile_word(of_quad))
        for waiting, enabled, value in zip(reads, [*is_read, is_read[-1]], found, strict=True):
            waiting.append(value if enabled else None)
        assert dut.write_0_ready.value
        for port, (enable, place, values, lanes) in enumerate(writes):
            if port:
                free = not writes[0][0] or not memories(*writes[0][1::2]) & memories(place, lanes)
                assert getattr(dut, f"write_{port}_ready").value == free
                together += enable and free and writes[0][0]
                alone += enable and not free
            if not enable or (port and not free):
                continue
            touched.add(place)
            for lane, value in enumerate(values):
                if lanes >> lane & 1:
                    stored[place + lane // lanes_of_word][lane % lanes_of_word] = value
    assert not one_lane, "each lane is to be written alone"
    assert len(touched) > 0.9 * words, "the test is to write nearly every word"
    assert count == 1 or min(together, alone) > words, "both ports are to write together, and one to wait"


@cocotb.test
async def every_word_is_its_own(dut: Any) -> None:
    """Each word holds numbers of its own, and reads back at a word and a quad per cycle."""
    words, lanes_of_word, count = sizes()
    quads = words * lanes_of_word // 4
    await start(dut)
    await _clear(dut, words)
    dut.write_0_lanes.value = (1 << lanes_of_word) - 1
    dut.write_0_enable.value = 1
    _enable_reads(dut, enable=False)
    for word in range(words):
        dut.write_0_address.value = word
        await RisingEdge(dut.aclk)
        dut.write_0_data.value = _joined(_numbers(word, lanes_of_word))
    dut.write_0_enable.value = 0
    await RisingEdge(dut.aclk)
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
            quad = int(dut.shared_read_data.value) & (1 << 4 * LANE_BITS) - 1
            assert quad == _joined(_numbers(at, 4)), at


def sizes() -> tuple[int, int, int]:
    """Words of the register file, lanes of a word, and words that are read at once."""
    config = CONFIGS[parameters()["config"]]
    return config.registers * QUADS // config.word_quads, 4 * config.word_quads, config.word_registers


def _enable_reads(dut: Any, *, enable: bool) -> None:
    dut.shared_read_enable.value = enable
    for number in range(2 * sizes()[2] - 1):
        getattr(dut, f"word_read_{number}_enable").value = enable


async def _clear(dut: Any, words: int) -> None:
    _, lanes_of_word, _ = sizes()
    for port in range(1, sizes()[2]):
        getattr(dut, f"write_{port}_enable").value = 0
    dut.write_0_enable.value = 1
    dut.write_0_lanes.value = (1 << lanes_of_word) - 1
    dut.write_0_data.value = 0
    _enable_reads(dut, enable=False)
    for word in range(words):
        dut.write_0_address.value = word
        await RisingEdge(dut.aclk)


def _numbers(place: int, lanes: int) -> list[int]:
    """What is in the lanes of a word or a quad: the number of each in the whole register file."""
    return [place * lanes + lane for lane in range(lanes)]


def _joined(lanes: list[int]) -> int:
    return sum(lane << LANE_BITS * index for index, lane in enumerate(lanes))


@pytest.mark.parametrize("config", ["standard", "pairs", pytest.param("small", marks=SLOW)])
def test_register_file(simulate: Simulate, config: str) -> None:
    design = unit_design(f"register_file_{config}", RegisterFile(CONFIGS[config]))
    simulate(design, __name__, values={"config": config})
