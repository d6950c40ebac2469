"""The selection network: every nibble in every group, of each unit, against the golden tables."""

import random
from typing import Any

import cocotb
import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Mux
from amaranth.lib.wiring import In, Out
from cocotb.triggers import Timer

from cocotb_tests.conftest import Simulate
from golden.sparsity import stored_places
from golden.tables.sparsity import Sparsity
from hdl.component import Component
from hdl.multiply.tile.sparse import PAIRS, SINGLES, SparseSelection, lane_codes, spread
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

SPARSITIES = {16: Sparsity(16, 32), 32: Sparsity(32, 16), 8: Sparsity(8, 32), 4: Sparsity(4, 64)}
"""By the bits of an element; integers in one word of a row of A, the others in both."""
IN_BOTH_WORDS = SPARSITIES | {8: Sparsity(8, 64)}
"""Those of floating point, of which 8 bits have one pass."""


class Network(Component):
    """A row of B and its metadata, to the elements that meet stored ones; of a dense A, the row."""

    def __init__(self, byte_words: int) -> None:
        self._byte_words = byte_words
        inputs = {"row": In(512), "nibbles": In(64), "of_bytes": In(1), "is_sparse": In(1)}
        super().__init__({**inputs, "chosen": Out(256)})

    def _logic(self, m: Module) -> None:
        m.submodules.selection = selection = SparseSelection((PAIRS, SINGLES)[: self._byte_words])
        words = [self.row.word_select(number, 128) for number in range(4)]
        halves = spread((words[0], words[1])), spread((words[2], words[3]))
        codes = [
            lane_codes(
                self.nibbles.word_select(lane, 4),
                self.nibbles.word_select(lane % (4 * self._byte_words), 8),
                self.of_bytes,
            )
            for lane in range(8)
        ]
        m.d.comb += [
            selection.even.eq(Mux(self.is_sparse, Cat(even for even, _ in halves), self.row)),
            selection.odd.eq(Cat(odd for _, odd in halves)),
            selection.codes.eq(Mux(self.is_sparse, Cat(codes), 0)),
            self.chosen.eq(selection.chosen),
        ]


@cocotb.test
async def every_nibble_in_every_group(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    sparsities = SPARSITIES if parameters()["byte_words"] == 1 else IN_BOTH_WORDS
    for bits, sparsity in sparsities.items():
        seen = set()
        orders = [rng.sample(sparsity.nibbles, len(sparsity.nibbles)) for _ in range(sparsity.groups)]
        for turn in range(8 * len(sparsity.nibbles)):
            row = rng.getrandbits(512)
            nibbles = [order[turn % len(order)] for order in orders]
            seen |= set(enumerate(nibbles))
            dut.row.value, dut.is_sparse.value, dut.of_bytes.value = row, 1, bits < 16
            dut.nibbles.value = sum(nibble << 4 * group for group, nibble in enumerate(nibbles))
            await Timer(1, "ns")
            chosen = int(dut.chosen.value)
            places = stored_places(sparsity, np.array(nibbles, np.uint8)).tolist()
            for number, place in enumerate(places):
                mask = (1 << bits) - 1
                assert chosen >> number * bits & mask == row >> place * bits & mask, (bits, number, nibbles)
        assert len(seen) == sparsity.groups * len(sparsity.nibbles)


@cocotb.test
async def dense_row_is_unchanged(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    for _ in range(50):
        row = rng.getrandbits(512)
        dut.row.value, dut.is_sparse.value, dut.nibbles.value = row, 0, rng.getrandbits(64)
        dut.of_bytes.value = rng.getrandbits(1)
        await Timer(1, "ns")
        assert int(dut.chosen.value) == row & (1 << 256) - 1


@pytest.mark.parametrize("byte_words", [1, 2])
def test_sparse_selection(simulate: Simulate, byte_words: int) -> None:
    design = unit_design(f"sparse_selection_{byte_words}", Network(byte_words))
    simulate(design, __name__, values={"byte_words": byte_words})
