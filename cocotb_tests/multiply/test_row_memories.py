"""The row memories of the tile multiplier: every word and part of a word, against arrays in Python."""

import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.multiply.tile_bench import config_of
from cocotb_tests.packing import Packing
from cocotb_tests.streams import start
from hdl.config import CoreConfig
from hdl.multiply.tile.rows import (
    RowMemories,
    row_buffers,
    row_read_layout,
    row_widths,
    row_write_layout,
)
from hdl.multiply.tile.tile_steps import Steps
from hdl.registers.register_ports import LANE_BITS, tile_word_bits, word_bits
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design


def packed(layout: Any, values: dict[str, Any]) -> int:
    """The bits of a layout."""
    return Packing(layout).pack(values)


class Model:
    """What each of the memories holds; of words that were never written, zero."""

    def __init__(self, units: int) -> None:
        self.config = config_of(units)
        self.steps = Steps(self.config)
        self._words: dict[tuple[str, int, int, int], int] = {}
        self._carried: dict[int, int] = {}

    def write(self, place: dict[str, Any], words: dict[str, int]) -> None:
        """Keep the words of X, Y and C in each memory that `place` names."""
        bits = word_bits(self.config)
        for name, count in (("x", 4), ("y", 2)):
            for lane, row in enumerate(place[name]):
                at = row["word_block"] % (self.steps.words_per_register * count)
                word = words[name] >> bits * lane & (1 << bits) - 1
                if row["valid"]:
                    self._words[f"{name}_low", place["buffer"], row["second"], at] = word
                    if row["second"]:
                        self._words[f"{name}_high", place["buffer"], 0, at] = word
        for pair in range(2):
            if place["c"] >> pair & 1:
                word = words["c"] >> (bits if pair and place["c_apart"] else 0) & (1 << bits) - 1
                self._words[f"c_{pair}", place["buffer"], 0, place["c_word_block"]] = word

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
            memory, second = name, place["second"] if name.endswith("low") else 0
            if name.endswith("high") and self.config.word_registers > 1:
                memory, second = f"{kind}_low", 1 - place["second"]  # the other half
            word = self._words.get((memory, place["buffer"], second, at), 0)
            if kind == "c":
                lanes = self.steps.c_lanes(part)
                found[name] = sum(
                    (word >> (LANE_BITS * lane) & 0xFFFFFFFF) << (LANE_BITS * index)
                    for index, lane in enumerate(lanes)
                )
            else:
                found[name] = word >> (part * width) & ((1 << width) - 1)
        return found


def random_place(rng: random.Random, config: CoreConfig, buffer: int) -> dict[str, Any]:
    """Words of X, Y and C, or none; of a pair, one has the other half of k or another block of rows."""
    bits = Steps(config).word_number_bits + 2
    is_written = rng.random() < 0.7
    place: dict[str, Any] = {"buffer": buffer, "c_word_block": rng.getrandbits(bits)}
    place["c"] = rng.getrandbits(2) * is_written
    place["c_apart"] = rng.getrandbits(1) if config.word_registers > 1 else 0
    for name in "xy":
        row = {"word_block": rng.getrandbits(bits), "second": rng.getrandbits(1)}
        other = row | rng.choice([{"second": 1 - row["second"]}, {"word_block": row["word_block"] ^ 1}])
        place[name] = [{**each, "valid": rng.getrandbits(1) * is_written} for each in (row, other)]
        del place[name][config.word_registers :]
    return place


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
    buffers = row_buffers(model.config)
    for cycle in range(3000):
        if cycle % 150 == 0:
            buffer = (buffer + 1) % buffers
        place = random_place(rng, model.config, buffer)
        given = {name: rng.getrandbits(tile_word_bits(model.config)) for name in "xyc"}
        wanted = {name: rng.getrandbits(field.width) for name, field in reads} | {
            "buffer": (buffer - 1) % buffers
        }
        is_read = rng.random() < 0.7
        carry_step, carried = rng.getrandbits(model.steps.bits), rng.getrandbits(LANE_BITS * units)
        is_carried = rng.random() < 0.5 and carry_step != wanted["step"]
        dut.write.value = packed(writes, place)
        for name, value in given.items():
            getattr(dut, f"{name}_data").value = value
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
        model.write(place, given)
        if is_carried:
            model.carry(carry_step, carried)
    assert reached > 3000, "most of what is read was written"


@pytest.mark.parametrize("units", [1, 64, *(pytest.param(units, marks=SLOW) for units in (2, 8, 32))])
def test_row_memories(simulate: Simulate, units: int) -> None:
    design = unit_design(f"row_memories-{units}", RowMemories(config_of(units)))
    simulate(design, __name__, values={"units": units})
