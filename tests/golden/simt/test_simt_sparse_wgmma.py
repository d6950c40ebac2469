"""Sparse wgmma: what an H200 gave, where its metadata and operands lie, and what is refused."""

from contextlib import nullcontext
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hopper_draws import draw_sparse, draw_sparse_images
from test_simt_wgmma import digest_of, small, text_of

import golden
from golden import sparsity
from golden.matrix_descriptors import MatrixDescriptor
from golden.ptx.source import PtxError
from golden.resolve import resolve_instruction
from golden.simt import KernelFault, LaunchError, Module
from golden.simt.trace_recorder import TraceRecorder
from hdl.config import PRESETS
from openwmma.launching import GoldenCore
from sim.replay.replay import Player

TEXT = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"


@pytest.fixture(scope="module")
def captured():
    with np.load(Path(__file__).parents[2] / "data" / "hopper.npz") as file:
        return dict(zip(file["sparse"].tolist(), file["sparse_digest"], strict=True))


def entry_of(name):
    """What the name of a captured kernel says, such as f16_f16_f32_n8_s_e1_t01_na."""
    a, b, d, n, source, selector, order, *rest = name.split("_")
    return {
        **{"a": a, "b": b, "d": d, "n": int(n[1:]), "source": source, "selector": int(selector[1:])},
        **{"ta": int(order[1]), "tb": int(order[2])},
        **{flag: flag in rest for flag in ("na", "nb", "sat")},
        "regs": int(n[1:]) // (4 if d == "f16" else 2),
    }


def different(captured, blocks_of):
    """The captured kernels and blocks that golden computes otherwise than an H200."""
    images, found = {}, []
    for number, (name, digests) in enumerate(captured.items()):
        entry, blocks = entry_of(name), blocks_of(number)
        if not blocks:
            continue
        pair = entry["a"], entry["b"]
        if pair not in images:
            images[pair] = draw_sparse_images(*pair)
        *operands, c, image, scale = draw_sparse(number, entry)
        d = c[blocks]
        arguments = [images[pair][image[blocks]], *(item[blocks] for item in operands), d]
        scales = np.uint32((scale[blocks] << np.arange(len(blocks))).sum())
        Module(text_of(entry)).kernel().launch(len(blocks), 128, [*arguments, scales])
        found += [
            (name, block) for block, got in zip(blocks, d, strict=True) if digest_of(got) != digests[block]
        ]
    return found


def test_two_blocks_of_every_third_captured_form_equal_the_chip(captured):
    """Block 3 has swizzles of 32 bytes in A and B; the others take turns."""
    assert (
        different(captured, lambda number: [] if number % 3 else [3, (0, 1, 2, 4, 5, 6, 7)[number % 7]]) == []
    )


@pytest.mark.long
def test_every_captured_block_equals_the_chip(captured):
    assert len(captured) == 200
    assert different(captured, lambda _: range(8)) == []


def test_a_row_of_64_bytes_goes_on_at_the_leading_offset_behind_a_span_of_32():
    """By hand: column 3 of B, whose 64 bytes lie in two halves, each with its swizzle."""
    found = MatrixDescriptor(1024, 2048, 256, 0, 32).chunks(8, False, 64)
    row = 1024 + 3 * 32
    assert found[3].tolist() == [row, row + 16, row + 2048, row + 2048 + 16]
    assert found[4].tolist() == [1024 + 144, 1024 + 128, 1024 + 2048 + 144, 1024 + 2048 + 128]
    assert MatrixDescriptor(0, 2048, 256, 0, 64).chunks(8, False, 64)[0].tolist() == [0, 16, 32, 48]


OPERANDS = "{%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, %rd2"


def sparse(operands, before="", threads=128):
    """As `small`, of a sparse multiply."""
    text = "m64n8k32.f32.f16.f16"
    return small(operands, text, before, threads, opcode="wgmma.mma_async.sp")


@pytest.mark.parametrize(
    ("operands", "part"),
    [
        (f"{OPERANDS}, %r5, 2, %p0, 1, 1, 0", "expected a selector from 0 to 1 for wgmma.mma_async.sp.sync"),
        (
            f"{OPERANDS}, %r5, %r6, %p0, 1, 1, 0",
            "expected a selector from 0 to 1 for wgmma.mma_async.sp.sync",
        ),
        (f"{OPERANDS}, %rd1, 0, %p0, 1, 1, 0", "expected an operand of 32 bits, but %rd1 is .b64"),
        (f"{OPERANDS}, %p0, 1, 1, 0", "takes 9 operands, not 7"),
        (f"{OPERANDS}, %r5, 0, %p0, 1, 1, 0, 0", "takes 9 operands, not 10"),
    ],
)
def test_what_is_no_sparse_multiply_is_refused_before_anything_runs(operands, part):
    with pytest.raises(PtxError) as error:
        sparse(operands)
    assert part in str(error.value)


@pytest.mark.parametrize(
    ("form", "part"),
    [
        ("m64n8k16.f32.f16.f16", "illegal qualifier .m64n8k16 for wgmma.mma_async.sp of .f16"),
        ("m64n8k512.s32.b1.b1.and.popc", "unknown qualifier .m64n8k512"),
        ("sync.aligned.m64n8k32.f32.f16.f16", "qualifier .sync given twice"),
    ],
)
def test_forms_that_ptx_does_not_have_are_refused(form, part):
    with pytest.raises(ValueError, match=r"illegal|given twice|allowed") as error:
        golden.mma(f"wgmma.mma_async.sp.sync.aligned.{form}", [], [], [])
    assert part in str(error.value)


@pytest.mark.parametrize("value", [0b0000, 0b0001, 0b0101, 0b1111])
def test_an_undefined_nibble_is_a_fault_that_names_row_and_group(value):
    """By hand: with selector 1, thread 10 + 128 is lane 4 * 2 + 2 of a second warpgroup: rows 2 and 10."""
    nibbles = 0x44444444 & ~0xF00 | value << 8
    change = f"setp.eq.u32 %p2, %r0, 138; mov.u32 %r5, 0x44444444; @%p2 mov.u32 %r5, {nibbles};"
    with pytest.raises(KernelFault) as error:
        sparse(f"{OPERANDS}, %r5, 1, %p0, 1, 1, 0", change, 256)
    told = f"metadata: got {value:04b} in row 2, group 2; allowed: 0100, 1000, 1100, 1001, 1101, 1110"
    assert told in str(error.value)
    assert "thread (128, 0, 0)" in str(error.value)
    assert not sparse(f"{OPERANDS}, %r5, 0, %p0, 1, 1, 0", change, 256).any()


def test_metadata_may_be_in_a_register_of_any_type_of_32_bits():
    change = "mov.b32 %f4, 0x44444444;"
    assert not sparse(f"{OPERANDS}, %f4, 0, %p0, 1, 1, 0", change).any()
    with pytest.raises(PtxError, match="expected a register for the metadata"):
        sparse(f"{OPERANDS}, 0x44444444, 0, %p0, 1, 1, 0")


def test_a_product_equals_the_expanded_one():
    """Small integers, whose sums are exact: by `golden.mma` and by numpy."""
    random = np.random.default_rng(5)
    dense, c = random.integers(-4, 5, (64, 32)).astype(np.float16), np.zeros((64, 8), np.float32)
    b = random.integers(-4, 5, (32, 8)).astype(np.float16)
    stored, metadata = sparsity.prune(TEXT, dense)
    d = golden.mma(TEXT, stored.view(np.float16), b, c, metadata=metadata).view(np.float32)
    whole = sparsity.expand(TEXT, stored, metadata).view(np.float16)
    assert np.array_equal(d, whole.astype(np.float32) @ b.astype(np.float32))
    registers = sparsity.pack_metadata(TEXT, metadata, 1)
    assert np.array_equal(sparsity.unpack_metadata(TEXT, registers, 1), metadata)


def test_every_core_refuses_it_by_name_before_anything_runs():
    config = replace(PRESETS["large"], sparse=True)
    told = f"the core does not execute {TEXT}, which runs on golden alone"
    for core in (Player(config, lambda size: nullcontext(), name="the core"), GoldenCore(config, "the core")):
        assert core.missing(resolve_instruction(TEXT)) == told
        assert core.missing(resolve_instruction(TEXT.replace(".sp", "").replace("k32", "k16"))) is None


def test_a_trace_of_it_is_refused_before_anything_runs():
    entry = entry_of("f16_f16_f32_n8_r_e0_t00")
    kernel, recorded = Module(text_of(entry)).kernel(), BytesIO()
    with pytest.raises(LaunchError, match=f"a trace has no {TEXT}, needed at "):
        kernel.launch(1, 128, [0, 0, 0, 0, 0, 0, np.uint32(0)], trace=TraceRecorder(recorded, "hopper"))
    assert not recorded.getvalue()
