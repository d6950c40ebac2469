"""Matrices for the tests of the WMMA API: every instruction of the tables, and operands in numpy's dtypes."""

from itertools import product

import ml_dtypes
import numpy as np

from golden.arguments import dtype_of
from golden.lines import pack
from golden.random_operands import random_operands
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import LAYOUTS
from golden.tables.matrix_instructions import MmaInstruction
from openwmma import wmma

TYPES = {
    "f16": wmma.half,
    "bf16": wmma.bfloat16,
    "tf32": wmma.precision.tf32,
    "f64": wmma.double,
    "s8": wmma.signed_char,
    "u8": wmma.unsigned_char,
    "s4": wmma.experimental.precision.s4,
    "u4": wmma.experimental.precision.u4,
    "b1": wmma.experimental.precision.b1,
    "f32": wmma.float32,
    "s32": wmma.int32,
}
VALUES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "f32": np.float32,
    "f64": np.float64,
}
LAYOUT = {"row": wmma.row_major, "col": wmma.col_major}
MEMORY_LAYOUT = {"row": wmma.mem_row_major, "col": wmma.mem_col_major}
LINE_BYTES = 32


def instructions(family, shape, element):
    """Every instruction of a row of the tables with this shape and multiplicand."""
    layouts = [("row", "col")] if family.fixed_layout else product(LAYOUTS, LAYOUTS)
    saturations = (False,) if family.saturate == "never" else (False, True)
    for (a_layout, b_layout), c_type, d_type, saturate, operation in product(
        layouts, family.accumulators, family.accumulators, saturations, family.operations or (None,)
    ):
        yield MmaInstruction(
            shape=shape,
            a_layout=a_layout,
            b_layout=b_layout,
            a_type=element,
            b_type=element,
            c_type=c_type,
            d_type=d_type,
            saturate=saturate,
            operation=operation,
        )


def operands(instruction, random):
    """Matrices a, b and c as `golden.mma` takes them."""
    tile = int(random.integers(0, 12))
    return [matrices[tile] for matrices in random_operands(random, instruction, tile + 1)]


def in_memory(matrix, type_, layout):
    """A view of an array that holds a matrix, its lines padded by at least 32 bytes of ones."""
    lines = np.ascontiguousarray(matrix if layout == "row" else matrix.T)
    bits = FORMATS[type_].bits
    line = lines.shape[1] * bits // 8
    step = -(-line // LINE_BYTES) * LINE_BYTES + LINE_BYTES
    memory = np.full((len(lines), step), 0xFF, np.uint8)
    memory[:, :line] = pack(lines, type_).reshape(len(lines), line)
    dtype = VALUES.get(type_, dtype_of(FORMATS[type_]) if bits >= 8 else np.uint8)
    view = memory.view(dtype)[:, : line // np.dtype(dtype).itemsize]
    return view if layout == "row" else view.T


def raw(array, type_):
    """The elements of an array as `golden.mma` returns them."""
    return np.ascontiguousarray(array).view(dtype_of(FORMATS[type_]))


def fragments(instruction):
    """The fragments d, a, b and c of an instruction."""
    sizes = instruction.shape
    return (
        wmma.fragment(wmma.accumulator, *sizes, TYPES[instruction.d_type]),
        wmma.fragment(wmma.matrix_a, *sizes, TYPES[instruction.a_type], LAYOUT[instruction.a_layout]),
        wmma.fragment(wmma.matrix_b, *sizes, TYPES[instruction.b_type], LAYOUT[instruction.b_layout]),
        wmma.fragment(wmma.accumulator, *sizes, TYPES[instruction.c_type]),
    )


def multiply(instruction, a, b, c, layouts=("row", "row")):
    """Load, multiply and store in the warp that is open; C and D lie in memory by `layouts`.

    Returns the view that was stored into.
    """
    held_d, held_a, held_b, held_c = fragments(instruction)
    wmma.load_matrix_sync(held_a, in_memory(a, instruction.a_type, instruction.a_layout))
    wmma.load_matrix_sync(held_b, in_memory(b, instruction.b_type, instruction.b_layout))
    c_view = in_memory(c, instruction.c_type, layouts[0])
    wmma.load_matrix_sync(held_c, c_view, layout=MEMORY_LAYOUT[layouts[0]])
    if instruction.operation is not None:
        operations = {"xor": wmma.experimental.bmmaBitOpXOR, "and": wmma.experimental.bmmaBitOpAND}
        wmma.bmma_sync(held_d, held_a, held_b, held_c, operations[instruction.operation])
    else:
        wmma.mma_sync(held_d, held_a, held_b, held_c, satf=instruction.saturate)
    empty = np.zeros(instruction.shape.extent("d"), dtype_of(FORMATS[instruction.d_type]))
    d_view = in_memory(empty, instruction.d_type, layouts[1])
    wmma.store_matrix_sync(d_view, held_d, MEMORY_LAYOUT[layouts[1]])
    return d_view
