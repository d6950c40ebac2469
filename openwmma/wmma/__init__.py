"""The WMMA API of CUDA C++ in Python, with its names.

>>> from openwmma import wmma

A warp executes on the golden model, on the simulated core, on both in lockstep or on a board. Arrays are
numpy arrays; a pointer is a view whose first element it points to. What CUDA's compiler or documentation
rules out raises `Misuse` with the rule.
"""

from typing import Final

from openwmma.wmma.element_types import (
    ELEMENT_TYPES,
    ElementType,
    FragmentUse,
    Layout,
    MemoryLayout,
    Misuse,
    experimental,
    float_to_tf32,
    precision,
)
from openwmma.wmma.fragments import fragment
from openwmma.wmma.operations import bmma_sync, fill_fragment, load_matrix_sync, mma_sync, store_matrix_sync
from openwmma.wmma.warps import warp

__all__ = [
    "ElementType",
    "Misuse",
    "__float_to_tf32",
    "__half",
    "__nv_bfloat16",
    "accumulator",
    "bfloat16",
    "bmma_sync",
    "char",
    "col_major",
    "double",
    "experimental",
    "fill_fragment",
    "float32",
    "float_to_tf32",
    "fragment",
    "half",
    "int32",
    "layout_t",
    "load_matrix_sync",
    "matrix_a",
    "matrix_b",
    "mem_col_major",
    "mem_row_major",
    "mma_sync",
    "precision",
    "row_major",
    "signed_char",
    "store_matrix_sync",
    "unsigned_char",
    "warp",
]

matrix_a: Final = FragmentUse.MATRIX_A
matrix_b: Final = FragmentUse.MATRIX_B
accumulator: Final = FragmentUse.ACCUMULATOR

row_major: Final = Layout.ROW_MAJOR
col_major: Final = Layout.COL_MAJOR
layout_t: Final = MemoryLayout
mem_row_major: Final = MemoryLayout.MEM_ROW_MAJOR
mem_col_major: Final = MemoryLayout.MEM_COL_MAJOR

half: Final = ELEMENT_TYPES["f16"]
bfloat16: Final = ELEMENT_TYPES["bf16"]
float32: Final = ELEMENT_TYPES["f32"]
double: Final = ELEMENT_TYPES["f64"]
int32: Final = ELEMENT_TYPES["s32"]
signed_char: Final = ELEMENT_TYPES["s8"]
char: Final = signed_char
unsigned_char: Final = ELEMENT_TYPES["u8"]

__half: Final = half
__nv_bfloat16: Final = bfloat16
__float_to_tf32: Final = float_to_tf32
