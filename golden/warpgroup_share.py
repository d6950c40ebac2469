"""A warp's share of `wgmma.mma_async`, with operands in shared memory, as a core executes it."""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from golden.matrix_descriptors import (
    CHUNK,
    MatrixDescriptor,
    element_dtype,
    fragments_of_rows,
    matrix_of_chunks,
    signed,
)
from golden.multiply import multiply_fragments
from golden.tables.commands import Wgmma
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import TILE_COLUMNS, warp_tile
from golden.tables.profiles import Profile

_WARPS: Final = 4

A_REGISTERS: Final = 4
"""Registers of a fragment of A."""


def accumulator_registers(command: Wgmma) -> int:
    """Registers of D in a warp."""
    instruction = command.instruction
    return instruction.shape.n * FORMATS[instruction.d_type].bits // 64


def share_error(command: Wgmma) -> str:
    """What is illegal in the orders and signs of a share, or nothing."""
    element = FORMATS[command.instruction.a_type]
    if any(command.transposed) and not (isinstance(element, FloatFormat) and element.bits == 16):
        return f"a transposed order of .{command.instruction.a_type}, which only 16-bit types have"
    if command.a_in_registers and command.transposed[0]:
        return "a transposed order of A in registers"
    if command.a_in_registers and -A_REGISTERS < command.a - command.d < accumulator_registers(command):
        return f"A in registers {command.a} to {command.a + A_REGISTERS - 1}, which D overlaps"
    if any(command.negated) and not isinstance(element, FloatFormat):
        return f"a sign of .{command.instruction.a_type}, which only floating-point types have"
    return ""


def descriptors(command: Wgmma) -> list[tuple[MatrixDescriptor, int, bool]]:
    """The descriptors, their rows, and whether they are transposed; A comes first, unless in registers."""
    shape = command.instruction.shape
    operands = zip((command.a, command.b), (shape.m, shape.n), command.transposed, strict=True)
    found = [(MatrixDescriptor.from_bits(bits), rows, transposed) for bits, rows, transposed in operands]
    return found[1:] if command.a_in_registers else found


def multiply_share(
    command: Wgmma,
    a: NDArray[np.uint32],
    c: NDArray[np.uint32],
    read: Callable[[int], NDArray[np.uint8]],
    profile: Profile,
) -> NDArray[np.uint32]:
    """The registers of D, from the accumulators of the same shape (registers, 32).

    `a` is the fragment of A, shape (4, 32), of no meaning unless A is in registers; `read` gives the 16
    bytes at an address in shared memory.
    """
    instruction = command.instruction
    tile, columns = warp_tile(instruction), instruction.shape.n // TILE_COLUMNS
    matrices = []
    for found, rows, transposed in descriptors(command):
        places = found.chunks(rows, transposed)
        stored = np.stack([read(place) for place in places.reshape(-1).tolist()])
        chunks = stored.view("<u8").reshape(*places.shape, CHUNK // 8)
        matrices.append(matrix_of_chunks(chunks, element_dtype(instruction.a_type), transposed))
    if not command.a_in_registers:
        first = command.warp % _WARPS * tile.shape.m
        a = fragments_of_rows(matrices[0][first : first + tile.shape.m], tile.shape.m)[0]
    fragments = np.ascontiguousarray(a), fragments_of_rows(matrices[-1], TILE_COLUMNS)
    words, others = map(signed, fragments, (instruction.a_type, instruction.b_type), command.negated)
    accumulators = c.reshape(columns, -1, LANES) * np.uint32(command.scale_d)
    repeated = np.broadcast_to(words, (columns, *words.shape))
    return multiply_fragments(tile, repeated, others, accumulators, profile).reshape(c.shape)
