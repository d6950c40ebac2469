"""8, 6 and 4 bits on a core of `blackwell`: every pair of types against golden, and a kernel in lockstep."""

from itertools import product

import numpy as np
import pytest

import golden
from golden.programs.tiles import multiply_tiles
from golden.ptx.mnemonic import parse_instruction
from golden.tables.formats import FORMATS
from openwmma.core_settings import adjusted_config
from openwmma.modules import Module
from sim.machines import Backend, open_machine

SETTINGS = {"formats": "f16,fp8,fp6,fp4", "profile": "blackwell"}
CONFIG = adjusted_config("tiny", SETTINGS)
SMALL = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
FORMS = [
    f"m16n8k32.row.col.kind::f8f6f4.{d}.{a}.{b}.{d}" for d, a, b in product(("f32", "f16"), SMALL, SMALL)
]
FORMS += [f"m16n8k16.row.col.kind::f8f6f4.{d}.e4m3.e5m2.{d}" for d in ("f32", "f16")]
FORMS += [f"m16n8k{k}.row.col.f32.e5m2.e4m3.f32" for k in (16, 32)]

KERNEL = """
.version 8.7 .target sm_120a .address_size 64
.visible .entry k(.param .u64 A, .param .u64 B, .param .u64 D) {
    .reg .b32 %a<4>, %b<2>, %r<2>; .reg .f32 %d<4>; .reg .b64 %x<4>;
    mov.u32 %r0, %laneid;
    ld.param.u64 %x0, [A]; mad.wide.u32 %x0, %r0, 16, %x0; ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%x0];
    ld.param.u64 %x1, [B]; mad.wide.u32 %x1, %r0, 8, %x1; ld.global.v2.b32 {%b0, %b1}, [%x1];
    mov.f32 %d0, 0f00000000; mov.f32 %d1, %d0; mov.f32 %d2, %d0; mov.f32 %d3, %d0;
    mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32
        {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%d0, %d1, %d2, %d3};
    mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32
        {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%d0, %d1, %d2, %d3};
    ld.param.u64 %x2, [D]; mad.wide.u32 %x2, %r0, 16, %x2; st.global.v4.f32 [%x2], {%d0, %d1, %d2, %d3};
    ret;
}
"""


def random_operands(instruction, tiles=2):
    random = np.random.default_rng(len(str(instruction)))
    operands = []
    for use in "abc":
        bits = FORMATS[instruction.types[use]].bits
        dtype = np.uint8 if bits <= 8 else np.dtype(f"uint{bits}")
        operands.append(random.integers(0, 1 << bits, (tiles, *instruction.extent(use)), dtype))
    return operands


@pytest.mark.long
def test_every_form_equals_golden():
    for form in FORMS:
        instruction = parse_instruction(f"mma.sync.aligned.{form}")
        operands = random_operands(instruction)
        run = multiply_tiles(instruction, operands, lambda size: open_machine(Backend.RTL, CONFIG, size))
        expected = golden.mma(instruction, *operands, profile="blackwell")
        np.testing.assert_array_equal(run.d.view(expected.dtype), expected, err_msg=form)


@pytest.mark.long
def test_a_kernel_in_lockstep():
    """Its containers have bits that no element uses."""
    random = np.random.default_rng(3)
    a, b = (random.integers(0, 1 << 32, count, np.uint32) for count in (128, 64))
    d = {}
    for machine in ("golden", "lockstep"):
        d[machine] = np.zeros(128, np.float32)
        kernel = Module(KERNEL).kernel()
        kernel.launch(1, 32, [a, b, d[machine]], on=machine, preset="tiny", config=SETTINGS)
    np.testing.assert_array_equal(d["golden"].view(np.uint32), d["lockstep"].view(np.uint32))
    assert np.count_nonzero(d["golden"]) > 32
