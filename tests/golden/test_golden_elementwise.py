"""Arithmetic on whole registers, as the host does it on any machine."""

import re

import numpy as np
import pytest

import golden
from golden.memory import Memory
from golden.tables.commands import Elementwise, Fill, Uniform
from golden.warp import GoldenMachine


@pytest.fixture
def warp():
    """A machine of eight registers; each lane's value is ten times the register plus a thousandth a lane."""
    machine = GoldenMachine(registers=8, memory=Memory(64))
    values = 10 * np.arange(8)[:, None] + np.arange(32) / 1024
    machine.write_registers(0, values.astype(np.float32).view(np.uint32))
    return machine


def floats(machine):
    return machine.read_registers().view(np.float32)


def test_registers_and_uniform_values(warp):
    before = floats(warp)
    warp.execute(Elementwise("fma", "f32", 5, (0, Uniform(0x40000000), 2), 2))
    np.testing.assert_array_equal(floats(warp)[5:7], before[0:2] * 2 + before[2:4])
    np.testing.assert_array_equal(np.delete(floats(warp), (5, 6), 0), np.delete(before, (5, 6), 0))


def test_results_are_operands_of_those_behind_them(warp):
    before = floats(warp)
    warp.execute(Elementwise("add", "f32", 1, (0, Uniform(0x3F800000)), 4))
    np.testing.assert_array_equal(floats(warp)[1:5], before[0] + np.arange(1, 5, dtype=np.float32)[:, None])


def test_operands_behind_the_results_are_read_before(warp):
    before = floats(warp)
    warp.execute(Elementwise("mul", "f32", 0, (1, Uniform(0x40000000)), 4))
    np.testing.assert_array_equal(floats(warp)[:4], before[1:5] * 2)


def test_halves_are_two_to_a_register(warp):
    halves = np.arange(64, dtype=np.float16)
    warp.write_registers(3, halves.view(np.uint32)[None])
    # 2 for the lower half of every register, 4 for the upper.
    warp.execute(Elementwise("mul", "f16", 0, (3, Uniform(0x44004000)), 1))
    expected = halves * np.tile(np.array([2, 4], np.float16), 32)
    np.testing.assert_array_equal(warp.read_registers()[0].view(np.float16), expected)


def test_doubles_take_two_registers_low_word_first(warp):
    numbers = np.random.default_rng(3).standard_normal((2, 32))
    words = numbers.view(np.uint32).reshape(2, 32, 2)
    warp.write_registers(0, np.ascontiguousarray(words.transpose(0, 2, 1)).reshape(4, 32))
    warp.execute(Elementwise("sub", "f64", 4, (0, Uniform(0x3FF0_0000_0000_0000)), 4))
    found = np.ascontiguousarray(warp.read_registers()[4:].reshape(2, 2, 32).transpose(0, 2, 1))
    np.testing.assert_array_equal(found.view(np.float64)[..., 0], numbers - 1)


def test_flushing(warp):
    warp.execute(Fill(0, 1, 0x80000001))
    warp.execute(Elementwise("max", "f32", 1, (0, 0), 1, True))
    warp.execute(Elementwise("max", "f32", 2, (0, 0), 1))
    assert set(warp.read_registers()[1]) == {0x80000000}
    assert set(warp.read_registers()[2]) == {0x80000001}


def test_the_work_of_the_host_is_no_instruction(warp):
    warp.execute(Elementwise("add", "f32", 0, (0, 1), 1))
    assert warp.counters.instructions == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (Elementwise("add", "f32", 0, (0,), 1), "sources: got 1 operands; allowed: 2 for add"),
        (Elementwise("fma", "f32", 0, (0, 1), 1), "sources: got 2 operands; allowed: 3 for fma"),
        (Elementwise("add", "f32", 0, (0, 1), 0), "count: got 0; allowed: a positive multiple of 1"),
        (Elementwise("add", "f64", 0, (0, 2), 3), "count: got 3; allowed: a positive multiple of 2"),
        (Elementwise("add", "f32", 7, (0, 1), 2), "command: got registers 7 to 8; allowed: 0 to 7"),
        (Elementwise("add", "f32", 0, (0, 7), 2), "command: got registers 7 to 8; allowed: 0 to 7"),
        (Elementwise("add", "f32", -1, (0, 1), 1), "command: got registers -1 to -1; allowed: 0 to 7"),
        (
            Elementwise("add", "f32", 0, (0, Uniform(1 << 32)), 1),
            "sources: got the value 0x100000000; allowed: 32 bits",
        ),
        (
            Elementwise("add", "f64", 0, (0, 2), 2, True),
            "flush: got True for f64; allowed: True for f16 and f32",
        ),
    ],
)
def test_what_cannot_be_done_changes_nothing(warp, command, message):
    before = warp.read_registers()
    with pytest.raises(golden.InvalidArgument, match=f"^{re.escape(message)}$"):
        warp.execute(command)
    np.testing.assert_array_equal(warp.read_registers(), before)
