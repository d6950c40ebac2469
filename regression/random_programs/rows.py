"""Row addresses of matrix moves: how they are drawn, and the table in memory that brings them."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from golden.fragments import collect
from golden.lines import matrix_to_lines
from golden.programs.buffers import BASE
from golden.tables.commands import MATRIX_COUNTS, MATRIX_ROW_BYTES, Load, LoadMatrix, StoreMatrix
from golden.tables.instruction_set import Shape
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import LoadInstruction
from hdl.config import CoreConfig
from regression.random_programs.program import HOT_BYTES, SHARED_WINDOW, Image

ROW_PLACES: Final = ("shared", "generic to shared", "generic to global", "generic to both")
"""State space of rows, and which memory their generic addresses mean."""

TABLE_REGISTERS: Final = 2
"""Registers of addresses that one load brings."""

_TABLE: Final = LoadInstruction(use="c", layout="row", shape=Shape(8, 8, 32), type="s32", space="global")
_SPOT: Final = 2048
"""Bytes within which every second set of rows lies, so that they meet soon."""


def all_moves() -> Iterator[tuple[type[LoadMatrix | StoreMatrix], int, bool, str]]:
    """Every form of `ldmatrix` and `stmatrix`: command, matrices, ``.trans``, one of `ROW_PLACES`."""
    return product((LoadMatrix, StoreMatrix), MATRIX_COUNTS, (False, True), ROW_PLACES)


def draw_rows(random: Generator, config: CoreConfig, place: str) -> NDArray[np.uint32]:
    """Addresses of a row for each lane, in the hot bytes of the memories of a core with on-chip memory.

    Shape (32,): one row behind the other, in any order, or a few of them again and again, in one of
    `ROW_PLACES`.
    """
    near = random.random() < 0.5
    shared = _draw(random, min(SHARED_WINDOW, config.shared_bytes), near)
    if place == "shared":
        return shared.astype(np.uint32)
    shared += config.shared_base
    if place == "generic to shared":
        return shared.astype(np.uint32)
    hot = BASE + _draw(random, HOT_BYTES, near)
    if place == "generic to global":
        return hot.astype(np.uint32)
    # Of the first eight rows, which always count, one at least in each memory.
    chosen = random.random(LANES) < 0.5
    chosen[:2] = (True, False)
    return np.where(chosen, shared, hot).astype(np.uint32)


def _draw(random: Generator, size: int, near: bool) -> NDArray[np.int64]:
    count = (_SPOT if near else size) // MATRIX_ROW_BYTES
    kind = random.integers(3)
    if kind == 0:
        places = random.integers(count - LANES + 1) + np.arange(LANES)
    elif kind == 1:
        places = random.permutation(count)[:LANES]
    else:
        places = random.choice(count, 5)[random.integers(0, 5, LANES)]
    return MATRIX_ROW_BYTES * places.astype(np.int64)


def row_table(register: int, rows: NDArray[Any], address: int) -> tuple[Load, NDArray[np.uint8]]:
    """The load that brings two sets of addresses, or other words, to registers, and the bytes that it reads.

    The rows have shape (2, 32), and the address, in global memory, is a multiple of 8.
    """
    lines = matrix_to_lines(collect(rows.astype(np.uint32), "c", "s32", _TABLE.shape), _TABLE)
    return Load(_TABLE, register, address), lines.reshape(-1)


def place_table(image: Image, register: int, rows: NDArray[Any]) -> Load:
    """Put two sets of addresses, as `row_table` takes them, into the memory of a program; their load."""
    address = image.place(rows.size * 4, 8)
    load, data = row_table(register, rows, address)
    image.write(address, data)
    return load


def row_addresses(
    command: LoadMatrix | StoreMatrix, registers: NDArray[np.uint32], shared_base: int
) -> list[int]:
    """The generic addresses of the rows that a move of matrices uses.

    The registers, shape (count, 32), are those before the command; `shared_base` is the generic address of
    the on-chip memory.
    """
    base = shared_base if command.space == "shared" else 0
    return [base + int(address) for address in registers[command.addresses, : 8 * command.count]]
