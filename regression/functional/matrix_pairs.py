"""Pairs of commands side by side for the hazards of matrix moves: addresses of rows, and rows in memory."""

from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from golden.programs.buffers import BASE
from golden.resolve import resolve_instruction
from golden.tables.commands import Command, Fill, Load, LoadMatrix, Mma, Move, MoveMatrix, Store, StoreMatrix
from golden.tables.instruction_set import Shape, Space
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from hdl.config import CoreConfig
from regression.functional.hazards import EXTENTS, MEMORY_KINDS, MOVES, ROW_BYTES, UNITS, impossible
from regression.random_programs.image import Image
from regression.random_programs.program import BLOCK_BYTES, block_load, block_store
from regression.random_programs.rows import place_table

Commands = tuple[Command, ...]

_SOURCE: Final = 0
"""First of the registers in which what the older command reads is made ready."""

_BLOCK: Final = 8
_ADDRESSES: Final = 16
"""First of those that the older command writes, and the younger reads."""

_MATRICES: Final = 24
_ROW: Final = 16
_SQUARE: Final = Shape(16, 16, 16)
_SQUARE_BYTES: Final = 512
"""Of a matrix of f16 in memory, as many as four matrices of a move have."""


def valid_rows(random: Generator, count: int = 2) -> NDArray[np.uint32]:
    """Row addresses in the first kilobytes of on-chip memory, shape (count, 32)."""
    return (_ROW * random.integers(0, 256, (count, LANES))).astype(np.uint32)


def address_pairs(random: Generator, image: Image) -> Iterator[Commands]:
    """A command that writes a register of row addresses, and a move that uses them, for each unit.

    Before each pair comes what makes it ready. The addresses are placed in the image, global memory.
    """
    for older, younger, extent in product(UNITS, ("ldmatrix", "stmatrix"), EXTENTS):
        if impossible("read after write", older, "ldmatrix", extent) is None:
            count = int(random.choice([1, 2, 4]))
            kind = LoadMatrix if younger == "ldmatrix" else StoreMatrix
            writing = _writer(random, image, older, extent)
            yield *writing, kind(_MATRICES, _ADDRESSES, count, bool(random.integers(2)))


def _writer(random: Generator, image: Image, unit: str, extent: str) -> Commands:
    """Commands of which the last one writes addresses to the register, and others if not `all` is meant."""
    rows = valid_rows(random)
    size = 1 if extent == "all" else 2
    load = place_table(image, _SOURCE, rows)
    if unit == "fill":
        return (Fill(_ADDRESSES, size, int(rows[0, 0])),)
    if unit == "load":
        return (place_table(image, _ADDRESSES, rows) if size == 2 else _single_load(image, rows[0]),)
    if unit == "move":
        return load, Move(_ADDRESSES, _SOURCE, size)
    if unit == "movmatrix":
        # The transpose of the transpose.
        return load, MoveMatrix(_BLOCK, _SOURCE), MoveMatrix(_ADDRESSES, _BLOCK)
    if unit == "ldmatrix":
        # Rows of on-chip memory in which every word is an address.
        pool = image.place(BLOCK_BYTES, 256)
        image.write(pool, valid_rows(random, BLOCK_BYTES // (4 * LANES)).reshape(-1).view(np.uint8))
        in_order = np.tile(_ROW * np.arange(LANES, dtype=np.uint32), (2, 1))
        return (
            block_load(_BLOCK, pool),
            block_store(_BLOCK, 0, "shared"),
            place_table(image, _SOURCE, in_order),
            LoadMatrix(_ADDRESSES, _SOURCE, size),
        )
    return _sum_of_zeros(image, random, unit)


def _single_load(image: Image, row: NDArray[np.uint32]) -> Load:
    """The load of one register, word by word: of four-bit elements by rows."""
    instruction = LoadInstruction(use="a", layout="row", shape=Shape(8, 8, 32), type="s4", space="global")
    address = image.place(row.nbytes, 256)
    image.write(address, row.view(np.uint8))
    return Load(instruction, _ADDRESSES, address)


def _sum_of_zeros(image: Image, random: Generator, unit: str) -> Commands:
    """A multiply of zeros, whose C is its D: addresses are integers, or tiny numbers of f64."""
    is_f64 = unit == "f64"
    form = "m8n8k4.row.col.f64.f64.f64.f64" if is_f64 else "m8n8k16.row.col.s32.s8.s8.s32"
    instruction = resolve_instruction(f"mma.sync.aligned.{form}")
    loads = [place_table(image, _BLOCK + first, valid_rows(random)) for first in ((0, 2) if is_f64 else (0,))]
    multiply = Mma(instruction, d=_ADDRESSES, a=_SOURCE, b=_SOURCE + 2, c=_BLOCK)
    return *loads, Fill(_SOURCE, 4, 0), multiply


def row_pairs(random: Generator, config: CoreConfig, image: Image) -> Iterator[Commands]:
    """Two accesses of which one or both move matrices, with bytes in common or not, for each memory.

    Before each pair comes the load of the addresses. The core has on-chip memory.
    """
    for kind, moves, memory, extent in product(MEMORY_KINDS, MOVES, ("global", "shared"), ROW_BYTES):
        younger, _, older = kind.split()
        yield _row_pair(random, config, image, (older, younger), moves, memory, extent)


def _row_pair(
    random: Generator,
    config: CoreConfig,
    image: Image,
    kinds: tuple[str, str],
    moves: str,
    memory: str,
    extent: str,
) -> Commands:
    start = _SQUARE_BYTES * int(random.integers(4))
    starts = (start, start + (_SQUARE_BYTES if extent == "none" else 0))
    generic = memory == "global" or bool(random.integers(2))
    space: Space = "generic" if generic else "shared"
    base = BASE if memory == "global" else config.shared_base if generic else 0
    rows = [base + place + _ROW * random.permutation(LANES) for place in starts]
    commands: list[Command] = [place_table(image, _ADDRESSES, np.stack(rows).astype(np.uint32))]
    for index, (kind, place) in enumerate(zip(kinds, starts, strict=True)):
        register = _MATRICES + 8 * index
        if moves in ("both", ("older", "younger")[index]):
            move = LoadMatrix if kind == "load" else StoreMatrix
            transposed = bool(random.integers(2))
            commands.append(move(register, _ADDRESSES + index, 4, transposed, space))
        elif kind == "load":
            load = LoadInstruction(use="c", layout="row", shape=_SQUARE, type="f16", space=space)
            commands.append(Load(load, register, base + place))
        else:
            store = StoreInstruction(layout="row", shape=_SQUARE, type="f16", space=space)
            commands.append(Store(store, register, base + place))
    return tuple(commands)
