"""Batches of tiles: the same results in any number of registers, and loads ahead where there is room."""

import numpy as np
import pytest

import golden
from golden.memory import Memory
from golden.programs.buffers import BASE
from golden.programs.tiles import multiply_tiles
from golden.resolve import resolve_instruction
from golden.tables.commands import Load, Mma, Store
from golden.warp import GoldenMachine

INSTRUCTION = resolve_instruction("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32")
PER_TILE = 32
"""Registers of the four fragments."""


class Listening(GoldenMachine):
    """A golden machine that keeps what it was told to do."""

    def __init__(self, registers, size, commands):
        super().__init__(registers=registers, memory=Memory(size, BASE))
        self._commands = commands

    def execute(self, command):
        super().execute(command)
        self._commands.append(command)


def run(registers, count):
    random = np.random.default_rng(6)
    a, b = (random.standard_normal((count, 16, 16)).astype(np.float16).view(np.uint16) for _ in "ab")
    c = random.standard_normal((count, 16, 16)).astype(np.float32).view(np.uint32)
    commands = []
    found = multiply_tiles(
        INSTRUCTION, (a, b, c), lambda size: Listening(registers, size, commands), registers=registers
    )
    np.testing.assert_array_equal(found.d, golden.mma(INSTRUCTION, a, b, c))
    return commands


@pytest.mark.parametrize("count", [1, 2, 3, 7, 300])
@pytest.mark.parametrize("registers", [32, 64, 96, 128])
def test_any_number_of_registers_gives_the_same(registers, count):
    commands = run(registers, count)
    assert len(commands) == 5 * count
    assert max(command.d for command in commands if isinstance(command, Mma)) < registers


def test_without_room_each_tile_comes_after_the_other():
    kinds = [type(command) for command in run(PER_TILE, 3)]
    assert kinds == [Load, Load, Load, Mma, Store] * 3


@pytest.mark.parametrize("registers", [2 * PER_TILE, 3 * PER_TILE])
def test_with_room_the_next_tile_is_loaded_before_a_multiply(registers):
    commands = run(registers, 6)
    kinds = [type(command) for command in commands]
    assert kinds[:6] == [Load] * 6, "two tiles are loaded before the first is multiplied"
    multiplies = [place for place, command in enumerate(commands) if isinstance(command, Mma)]
    stores = [place for place, command in enumerate(commands) if isinstance(command, Store)]
    for multiply, following, store in zip(multiplies, multiplies[1:], stores, strict=False):
        assert multiply < following < store, "a store does not wait for the multiply just issued"
