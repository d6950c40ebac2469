"""`ldmatrix`, `stmatrix` and `movmatrix` against what the chip moved."""

import numpy as np
import pytest
from golden_captures import COMPACT

from golden.invalid_argument import InvalidArgument
from golden.matrix_moves import ldmatrix, movmatrix, stmatrix
from golden.memory import Memory
from golden.tables.commands import MATRIX_COUNTS, LoadMatrix, MoveMatrix, StoreMatrix
from golden.tables.faults import Cause, Fault
from golden.warp import GoldenMachine

UNWRITTEN = 65535

with np.load(COMPACT / "matrix_moves.npz") as _loaded:
    MOVES = {name: _loaded[name] for name in _loaded.files}


def numbered(count):
    """Matrices whose elements are their numbers."""
    return np.arange(64 * count, dtype=np.uint16).reshape(count, 8, 8)


def halves(registers):
    """Registers, (count, lanes), as (lanes, count, halves)."""
    return np.stack((registers & 0xFFFF, registers >> 16), axis=-1).transpose(1, 0, 2)


def test_every_form_was_captured():
    expected = {
        f"{move}_x{count}{trans}"
        for move in ("ldmatrix", "stmatrix")
        for count in MATRIX_COUNTS
        for trans in ("", "_trans")
    }
    assert set(MOVES) == expected | {"movmatrix_trans"}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", MATRIX_COUNTS)
def test_ldmatrix_equals_the_chip(count, transposed):
    captured = MOVES[f"ldmatrix_x{count}" + "_trans" * transposed]
    np.testing.assert_array_equal(halves(ldmatrix(numbered(count), transposed=transposed)), captured)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", MATRIX_COUNTS)
def test_stmatrix_equals_the_chip(count, transposed):
    captured = MOVES[f"stmatrix_x{count}" + "_trans" * transposed]
    lanes, registers = np.arange(32, dtype=np.uint32), np.arange(count, dtype=np.uint32)[:, None]
    low = (lanes * np.uint32(count) + registers) * 2
    stored = stmatrix(low | low + 1 << 16, transposed=transposed)
    np.testing.assert_array_equal(stored.ravel(), captured[captured != UNWRITTEN])
    assert np.count_nonzero(captured != UNWRITTEN) == 64 * count


def test_movmatrix_equals_the_chip():
    moved = movmatrix(ldmatrix(numbered(1))[0])
    np.testing.assert_array_equal(halves(moved[None]), MOVES["movmatrix_trans"])


@pytest.mark.parametrize("transposed", [False, True])
def test_leading_axes_and_inverse(transposed):
    matrices = np.random.default_rng(3).integers(0, 1 << 16, (3, 5, 4, 8, 8), dtype=np.uint16)
    registers = ldmatrix(matrices, transposed=transposed)
    assert registers.shape == (3, 5, 4, 32)
    np.testing.assert_array_equal(stmatrix(registers, transposed=transposed), matrices)
    np.testing.assert_array_equal(registers[2, 1], ldmatrix(matrices[2, 1], transposed=transposed))


@pytest.mark.parametrize(
    ("call", "argument", "message"),
    [
        (ldmatrix, np.zeros((1, 8, 8), np.uint8), "matrices: got dtype uint8; allowed: uint16"),
        (
            ldmatrix,
            np.zeros((3, 8, 8), np.uint16),
            r"matrices: got shape \(3, 8, 8\); allowed: shape \(..., 1, 2 or 4, 8, 8\)",
        ),
        (
            stmatrix,
            np.zeros((4, 31), np.uint32),
            r"registers: got shape \(4, 31\); allowed: shape \(..., 1, 2 or 4, 32\)",
        ),
        (movmatrix, np.zeros(16, np.uint32), r"registers: got shape \(1, 16\); allowed"),
    ],
)
def test_refused(call, argument, message):
    with pytest.raises(InvalidArgument, match=message):
        call(argument)


def test_commands_on_the_golden_machine():
    """Rows at addresses in a register, by the definition of ldmatrix, element by element."""
    random = np.random.default_rng(2)
    shared = Memory(4096, 0xFF000000)
    shared.data[:] = random.integers(0, 256, 4096, dtype=np.uint8)
    machine = GoldenMachine(memory=Memory(64), shared=shared)
    addresses = (16 * random.permutation(256)[:32]).astype(np.uint32)
    machine.write_registers(9, addresses[None])
    halves = shared.data.view("<u2").copy()
    for transposed in (False, True):
        machine.execute(LoadMatrix(0, 9, 4, transposed))
        found = machine.read_registers()
        for register in range(4):
            for lane in range(32):
                for half in range(2):
                    row, column = lane // 4, 2 * (lane % 4) + half
                    if transposed:
                        row, column = column, row
                    place = int(addresses[8 * register + row]) // 2 + column
                    assert found[register, lane] >> 16 * half & 0xFFFF == halves[place]
        shared.data[:] = 0
        machine.execute(StoreMatrix(0, 9, 4, transposed))
        for row in addresses.tolist():
            stored = shared.data[row : row + 16].view("<u2")
            np.testing.assert_array_equal(stored, halves[row // 2 : row // 2 + 8])
        shared.data.view("<u2")[:] = halves
    machine.execute(MoveMatrix(5, 0))
    np.testing.assert_array_equal(machine.read_registers()[5], movmatrix(machine.read_registers()[0]))


def test_commands_need_shared_memory_and_aligned_rows():
    without = GoldenMachine(memory=Memory(64))
    for command in (LoadMatrix(0, 1, 1), StoreMatrix(0, 1, 1), MoveMatrix(0, 1)):
        with pytest.raises(Fault) as raised:
            without.execute(command)
        assert raised.value.cause == Cause.ILLEGAL_INSTRUCTION
    machine = GoldenMachine(memory=Memory(64), shared=Memory(4096, 0xFF000000))
    machine.write_registers(1, np.full((1, 32), 8, dtype=np.uint32))
    with pytest.raises(Fault, match="row address 0x8 is not a multiple of 16"):
        machine.execute(LoadMatrix(0, 1, 1))
    with pytest.raises(ValueError, match="matrices must be 1, 2 or 4, not 3"):
        LoadMatrix(0, 1, 3)
