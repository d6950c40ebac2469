"""The row memories of the tile multiplier: every word and part of a word, against arrays in Python."""

import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.multiply.tile_bench import config_of
from cocotb_tests.streams import start
from hdl.multiply.tile.rows import RowMemories, row_read_layout, row_widths, row_write_layout
from hdl.multiply.tile.tile_steps import Steps
from hdl.registers.register_ports import LANE_BITS, word_bits
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design


def packed(layout: Any, values: dict[str, int]) -> int:
    """The bits of a layout."""
    return sum(values[name] << field.offset for name, field in layout)


class Model:
    """What each of the memories holds; of words that were never written, zero."""

    def __init__(self, units: int) -> None:
        self.config = config_of(units)
        self.steps = Steps(self.config)
        self._words: dict[tuple[str, int, int, int], int] = {}
        self._carried: dict[int, int] = {}

    def write(self, place: dict[str, int], word: int, c_word: int) -> None:
        """Keep a word of X or Y and a word of C in each memory that `place` names."""
        for name, count in (("x", 4), ("y", 2)):
            if place[name]:
                at = place["word_block"] % (self.steps.words_per_register * count)
                self._words[f"{name}_low", place["buffer"], place["second"], at] = word
                if place["second"]:
                    self._words[f"{name}_high", place["buffer"], 0, at] = word
        for pair in range(2):
            if place["c"] >> pair & 1:
                self._words[f"c_{pair}", place["buffer"], 0, place["c_word_block"]] = c_word

    def carry(self, step: int, value: int) -> None:
        """Keep the results of a step."""
        self._carried[step] = value

    def read(self, place: dict[str, int]) -> dict[str, int]:
        """Every output, the cycle after."""
        found = {"carry": self._carried.get(place["step"], 0)}
        for name, width in row_widths(self.config).items():
            kind = name[0]
            parts = word_bits(self.config) // width
            at, part = divmod(place[kind], parts)
            second = place["second"] if name.endswith("low") else 0
            word = self._words.get((name, place["buffer"], second, at), 0)
            if kind == "c":
                lanes = self.steps.c_lanes(part)
                found[name] = sum(
                    (word >> (LANE_BITS * lane) & 0xFFFFFFFF) << (LANE_BITS * index)
                    for index, lane in enumerate(lanes)
                )
            else:
                found[name] = word >> (part * width) & ((1 << width) - 1)
        return found


@cocotb.test
async def words(dut: Any) -> None:
    """Writes to one buffer, reads of the other, of random places; what was read stays until the next read."""
    rng = random.Random(cocotb.RANDOM_SEED)
    units = parameters()["units"]
    model = Model(units)
    writes, reads = row_write_layout(model.config), row_read_layout(model.config)
    dut.read_enable.value = dut.carry_enable.value = dut.write.value = 0
    await start(dut)
    expected: dict[str, int] | None = None
    buffer = reached = 0
    for cycle in range(3000):
        if cycle % 150 == 0:
            buffer = 1 - buffer
        place = {name: rng.getrandbits(field.width) for name, field in writes} | {"buffer": buffer}
        if rng.random() < 0.3:
            place |= {"x": 0, "y": 0, "c": 0}
        word, c_word = (rng.getrandbits(word_bits(model.config)) for _ in range(2))
        wanted = {name: rng.getrandbits(field.width) for name, field in reads} | {"buffer": 1 - buffer}
        is_read = rng.random() < 0.7
        carry_step, carried = rng.getrandbits(model.steps.bits), rng.getrandbits(LANE_BITS * units)
        is_carried = rng.random() < 0.5 and carry_step != wanted["step"]
        dut.write.value, dut.write_data.value = packed(writes, place), word
        dut.write_c_data.value = c_word
        dut.read_enable.value, dut.read.value = is_read, packed(reads, wanted)
        dut.carry_enable.value, dut.carry_step.value, dut.carry_data.value = is_carried, carry_step, carried
        if is_read:
            following = model.read(wanted)
        await RisingEdge(dut.aclk)
        if expected is not None:
            for name, value in expected.items():
                assert int(getattr(dut, name).value) == value, (cycle, name)
                reached += value != 0
        if is_read:
            expected = following
        model.write(place, word, c_word)
        if is_carried:
            model.carry(carry_step, carried)
    assert reached > 3000, "most of what is read was written"


@pytest.mark.parametrize("units", [1, 2, 8])
def test_row_memories(simulate: Simulate, units: int) -> None:
    design = unit_design(f"row_memories-{units}", RowMemories(config_of(units)))
    simulate(design, __name__, values={"units": units})
