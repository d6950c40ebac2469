"""Rows at any aligned address and stride, in lockstep: padded, the same bytes, and overlapping."""

import numpy as np
import pytest

from golden.fragments import distribute
from golden.simt import KernelFault
from golden.tables.instruction_set import Shape
from openwmma import wmma
from openwmma.modules import Module

TEXT = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 .ptr A, .param .u64 .ptr B, .param .u64 .ptr C, .param .u64 .ptr D)
{
    .reg .u64 %A, %B, %C, %D;
    .reg .b32 %a<8>, %b<8>;
    .reg .f32 %c<8>;
    ld.param.u64 %A, [A];
    ld.param.u64 %B, [B];
    ld.param.u64 %C, [C];
    ld.param.u64 %D, [D];
    wmma.load.a.sync.aligned.row.m16n16k16.f16 {A}, [%A+4], 40;
    wmma.load.b.sync.aligned.row.m16n16k16.f16 {B}, [%B+12], STRIDE;
    wmma.load.c.sync.aligned.row.m16n16k16.f32 {C}, [%C+8], 6;
    wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {C}, {A}, {B}, {C};
    wmma.store.d.sync.aligned.row.m16n16k16.f32 [%D+8], {C}, 4;
    wmma.store.d.sync.aligned.col.m16n16k16.f32 [%D+1028], {C}, 17;
}
"""
BYTES = 4096


def program(stride):
    text = TEXT.replace("STRIDE", str(stride))
    for name in "ABC":
        registers = ", ".join(f"%{name.lower()}{i}" for i in range(8))
        text = text.replace(f"{{{name}}}", f"{{{registers}}}")
    return Module(text, name="k.ptx").kernel()


def rows(memory, first, stride):
    return np.stack([memory[first + stride * row :][:16] for row in range(16)])


def store_pairs(memory, matrix, stride):
    """Store f32 as an H200 does: two neighbours of 16 lanes at once, of which the lowest lane's stay."""
    held = distribute(np.arange(256, dtype=np.uint32).reshape(16, 16), "d", "f32", Shape(16, 16, 16))
    for pair in range(0, 8, 2):
        for lane in (*reversed(range(16)), *reversed(range(16, 32))):
            for row, column in (divmod(int(held[pair + i][lane]), 16) for i in range(2)):
                memory[stride * row + column] = matrix[row, column]


@pytest.mark.parametrize("stride", [0, 2, 14, 18])
def test_a_program_with_strides_of_every_kind(stride):
    random = np.random.default_rng(stride)
    a, b = (random.integers(-8, 8, BYTES // 2).astype(np.float16) for _ in "ab")
    c = random.integers(-99, 99, BYTES // 4).astype(np.float32)
    d = np.zeros(BYTES // 4, np.float32)
    program(stride).launch(1, 32, [a, b, c, d], on="lockstep", preset="tiny")
    product = rows(a, 2, 40).astype(np.float32) @ rows(b, 6, stride).astype(np.float32) + rows(c, 2, 6)
    expected = np.zeros(BYTES // 4, np.float32)
    store_pairs(expected[2:], product, 4)
    for column in range(16):
        expected[257 + 17 * column :][:16] = product[:, column]
    np.testing.assert_array_equal(d, expected)


def test_a_misaligned_stride_is_a_fault():
    arrays = [np.zeros(BYTES // 2, np.float16)] * 2 + [np.zeros(BYTES // 4, np.float32) for _ in "cd"]
    with pytest.raises(KernelFault, match="stride 3 of 16-bit elements is not a multiple of 4 bytes"):
        program(3).launch(1, 32, arrays, on="lockstep", preset="tiny")


def test_the_api_loads_rows_padded_by_eight_halves():
    a = np.random.default_rng(3).integers(-8, 8, (16, 40)).astype(np.float16)
    d = np.zeros((16, 24), np.float32)
    with wmma.warp(on="lockstep", preset="tiny"):
        held = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
        other = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.col_major)
        bias = wmma.fragment(wmma.accumulator, 16, 16, 16, float)
        wmma.load_matrix_sync(held, a, 40)
        wmma.load_matrix_sync(other, a[:, 16:], 40)
        wmma.load_matrix_sync(bias, np.arange(16, dtype=np.float32), 0, wmma.mem_row_major)
        wmma.mma_sync(bias, held, other, bias)
        wmma.store_matrix_sync(d, bias, 24, wmma.mem_row_major)
    expected = a[:, :16].astype(np.float32) @ a[:, 16:32].T.astype(np.float32) + np.arange(16)
    np.testing.assert_array_equal(d[:, :16], expected)
