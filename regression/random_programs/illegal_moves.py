"""Moves of matrices that must not be executed: registers and rows at fault."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from golden.memory import Memory
from golden.tables.commands import MATRIX_COUNTS, MATRIX_ROW_BYTES, LoadMatrix, StoreMatrix
from golden.tables.faults import Cause
from golden.tables.layouts import LANES
from hdl.config import CoreConfig
from regression.random_programs.footprints import past_registers

_KINDS: Final[Mapping[str, type[LoadMatrix | StoreMatrix]]] = {
    "ldmatrix": LoadMatrix,
    "stmatrix": StoreMatrix,
}
_ROWS: Final = ("first row", "last row")
_MISALIGNED: Final = ", a row misaligned"


def _all_ways() -> Iterator[tuple[Cause, str, str]]:
    for kind in _KINDS:
        for what in ("matrices", "addresses"):
            yield (Cause.REGISTER_RANGE, kind, f"{what} past the last register")
        yield (Cause.REGISTER_RANGE, kind, f"matrices past the last register{_MISALIGNED}")
        yield from ((Cause.MISALIGNED_ADDRESS, kind, row) for row in _ROWS)
        is_load = kind == "ldmatrix"
        for row in _ROWS:
            missing = Cause.READ_DECODE_ERROR if is_load else Cause.WRITE_DECODE_ERROR
            yield (missing, kind, f"{row} past the shared memory")
            yield (missing, kind, f"{row} before memory")
            yield (Cause.READ_SLAVE_ERROR if is_load else Cause.WRITE_SLAVE_ERROR, kind, f"{row} marked")


MOVE_WAYS: Final = tuple(_all_ways())
"""Each cause, with `ldmatrix` or `stmatrix` and the way to it.

Addresses of more bits than the core has are no way on a core of 32 bits, as every preset is.
"""


def legal_move(random: Generator, kind: str) -> LoadMatrix | StoreMatrix:
    """A move of any form; its addresses are in register 9."""
    return _KINDS[kind](0, 9, int(random.choice(MATRIX_COUNTS)), bool(random.integers(2)))


def broken_move(
    random: Generator, config: CoreConfig, memory: Memory, cause: Cause, kind: str, way: str
) -> tuple[LoadMatrix | StoreMatrix, NDArray[np.uint32], tuple[int, int] | None]:
    """A move that faults, on a core with on-chip memory, in one of `MOVE_WAYS`.

    With it come the words for its register of addresses, shape (32,), and address and size of global memory
    that must answer with SLVERR, if any. In the last two pages of `memory`, global memory, programs do
    nothing.
    """
    command = legal_move(random, kind)
    count, marked = command.count, None
    is_global = ("memory" in way and "shared" not in way) or "marked" in way
    place = memory.base + memory.size - 4096 if is_global else 4096
    rows = place + MATRIX_ROW_BYTES * random.permutation(64)[:LANES].astype(np.int64)
    row = 0 if way.startswith("first") else 8 * count - 1
    if cause is Cause.REGISTER_RANGE:
        operand = "register" if way.startswith("matrices") else "addresses"
        command = past_registers(command, operand, config.registers)
    if cause is Cause.MISALIGNED_ADDRESS or way.endswith(_MISALIGNED):
        rows[row] += random.integers(1, MATRIX_ROW_BYTES)
    elif "past the shared memory" in way:
        rows[row] = config.shared_bytes + MATRIX_ROW_BYTES * random.integers(64)
    elif "before memory" in way:
        rows[row] = MATRIX_ROW_BYTES * random.integers(memory.base // MATRIX_ROW_BYTES)
    elif "marked" in way:
        marked = (int(rows[row]), MATRIX_ROW_BYTES)
    # Lanes without a row may hold anything.
    rows[8 * count :] = random.integers(0, 1 << 32, LANES - 8 * count)
    command = replace(command, space="generic" if is_global else "shared")
    return command, rows.astype(np.uint32), marked
