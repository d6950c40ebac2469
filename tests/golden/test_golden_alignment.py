"""Addresses and strides that an H200 takes: 228 forms of loads and stores, read off the chip."""

import json
import re

import numpy as np
import pytest
from golden_captures import COMPACT

from golden.fragments import distribute
from golden.simt import KernelFault, Module
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction

CAPTURED = json.loads((COMPACT / "alignment.json").read_text())
HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .b32 %r<20>; .reg .f32 %f<8>; .reg .b64 %rd<9>;"


def instruction_of(form):
    use, element, shape, layout, space = form.split()
    fields = {
        "type": element,
        "shape": Shape(*map(int, re.findall(r"\d+", shape))),
        "layout": layout,
        "space": space,
    }
    return StoreInstruction(**fields) if use == "d" else LoadInstruction(use=use, **fields)


def test_all_captured_forms_are_here():
    assert len(CAPTURED) == 228
    assert {form.split()[-1] for form in CAPTURED} == {"global", "shared"}


@pytest.mark.parametrize("form", CAPTURED)
def test_alignment_equals_the_chip(form):
    """Right results where address or stride is a multiple, and there only."""
    alignment = instruction_of(form).alignment
    # Of one form the fault of the odd pointer was told with the launch behind it.
    for verdicts in CAPTURED[form].replace("W frr", "f rrr").split():
        assert [verdict == "r" for verdict in verdicts] == [
            (16 >> place) % alignment == 0 for place in range(len(verdicts))
        ]


def test_every_default_stride_is_aligned():
    for form in CAPTURED:
        instruction = instruction_of(form)
        elements = instruction.shape.default_stride(instruction.use, instruction.layout)
        assert elements * FORMATS[instruction.type].bits % (8 * instruction.alignment) == 0, form


LOADS = {
    "a f16 row": ("wmma.load.a.sync.aligned.row.m16n16k16{space}.f16", 8),
    "b s8 row": ("wmma.load.b.sync.aligned.row.m16n16k16{space}.s8", 2),
    "c f16 col": ("wmma.load.c.sync.aligned.col.m16n16k16{space}.f16", 4),
}


def launch_load(name, space, address, stride, data):
    """The registers of one warp, shape (registers, 32), loaded from a copy of 2 KiB of `data`."""
    text, count = LOADS[name]
    registers = ", ".join(f"%r{i}" for i in range(4, 4 + count))
    stores = "".join(f"st.global.u32 [%rd1+{128 * i}], %r{4 + i};" for i in range(count))
    base = "%r2" if space == ".shared" else "%rd0"
    kernel = f"""{HEADER}.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 at, .param .u32 step) {{
        {REGISTERS} .shared .align 16 .b8 tile[2048];
        ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b]; ld.param.u32 %r0, [at]; ld.param.u32 %r1, [step];
        mov.u32 %r2, tile; mov.u32 %r13, %tid.x; mul.wide.u32 %rd2, %r13, 64; add.u64 %rd3, %rd0, %rd2;
        shl.b32 %r14, %r13, 6; add.u32 %r14, %r14, %r2; mov.u32 %r15, 0;
        LOOP: ld.global.u32 %r16, [%rd3]; st.shared.u32 [%r14], %r16; add.u64 %rd3, %rd3, 4;
        add.u32 %r14, %r14, 4; add.u32 %r15, %r15, 1; setp.lt.u32 %p0, %r15, 16; @%p0 bra LOOP;
        bar.sync 0; add.u32 %r2, %r2, %r0; cvt.u64.u32 %rd4, %r0; add.u64 %rd0, %rd0, %rd4;
        {text.format(space=space)} {{{registers}}}, [{base}], %r1;
        mul.wide.u32 %rd5, %r13, 4; add.u64 %rd1, %rd1, %rd5; {stores} ret; }}"""
    out = np.zeros((count, 32), np.uint32)
    Module(kernel.replace(REGISTERS, f"{REGISTERS} .reg .pred %p<1>;"), "k.ptx").kernel().launch(
        1, 32, [data.copy(), out, np.uint32(address), np.uint32(stride)]
    )
    return out


@pytest.mark.parametrize("space", ["", ".global", ".shared"])
@pytest.mark.parametrize("name", LOADS)
def test_kernels_load_from_every_address_and_stride_that_the_chip_takes(name, space):
    """Strides of a row and more, less than a row, and 0; what the chip refuses is a fault."""
    use, element, layout = name.split()
    kind = {"use": use, "layout": layout, "shape": Shape(16, 16, 16), "type": element}
    instruction = LoadInstruction(**kind, space=space[1:] or "generic")
    data = np.random.default_rng(6).integers(0, 256, 2048, dtype=np.uint8)
    size = FORMATS[element].bits // 8
    for address, stride in ((0, 24), (16, 8), (32, 0), (4, 8), (0, 2), (1, 16), (16, 4 // size), (0, 1)):
        if address % instruction.alignment or stride * size % instruction.alignment:
            with pytest.raises(KernelFault, match=f"is not a multiple of {instruction.alignment} bytes"):
                launch_load(name, space, address, stride, data)
            continue
        lines = [data[address + line * stride * size :][: 16 * size] for line in range(16)]
        matrix = np.stack(lines).view(f"u{size}" if element != "s8" else np.int8)
        matrix = matrix if layout == "row" else matrix.T
        expected = distribute(matrix, use, element, instruction.shape)
        np.testing.assert_array_equal(launch_load(name, space, address, stride, data), expected)
