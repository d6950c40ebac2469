"""Kernels that combine eight numbers of each thread into two, and what an H100 made of 46 of them."""

import json
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from golden.simt import Module

DATA = Path(__file__).parents[2] / "data" / "contraction"
THREADS = 256
HEADER = """.version 8.8
.target sm_90
.address_size 64
"""
BEGIN = """.visible .entry k(.param .u64 pi, .param .u64 po, .param .f32 pf)
{
.reg .f32 %f<64>; .reg .f64 %d<16>; .reg .b16 %h<16>; .reg .b32 %q<16>; .reg .pred %p<4>;
.reg .b32 %r<4>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [pi]; ld.param.u64 %rd2, [po];
mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4; add.s64 %rd3, %rd1, %rd4; add.s64 %rd5, %rd2, %rd4;
"""
END = """
st.global.f32 [%rd5], %f20; st.global.f32 [%rd5+1024], %f21;
ret;
}
"""
PACKED = """
cvt.rn.f16.f32 %h1,%f1; cvt.rn.f16.f32 %h2,%f2; cvt.rn.f16.f32 %h3,%f3; cvt.rn.f16.f32 %h4,%f4;
mov.b32 %q1,{%h1,%h2}; mov.b32 %q2,{%h3,%h4}; mov.b32 %q3,{%h2,%h3};
cvt.f64.f32 %d1,%f1; cvt.f64.f32 %d2,%f2; cvt.f64.f32 %d3,%f3; cvt.f64.f32 %d4,%f4;
mul.rn.f64 %d1,%d1,0d400921FB54442D18; mul.rn.f64 %d2,%d2,0d4005BF0A8B145769;
"""
"""%h1 to %h4, %q1 to %q3 and %d1 to %d4 as f16, f16x2 and f64 made of the inputs."""


def text(body: str, before: str = "") -> str:
    """The PTX of a kernel with `body` between the loads of %f1 to %f8 and the stores of %f20 and %f21."""
    loads = "\n".join(f"ld.global.f32 %f{i + 1}, [%rd3+{1024 * i}];" for i in range(8))
    zeros = "\nmov.f32 %f20, 0f00000000; mov.f32 %f21, 0f00000000;\n"
    return HEADER + before + BEGIN + loads + zeros + body + END


def results(body: str, given: np.ndarray, before: str = "", **options: Any) -> np.ndarray:
    """What the kernel leaves: bit patterns of shape (2, THREADS)."""
    found = np.zeros((2, THREADS), np.uint32)
    Module(text(body, before), "k.ptx").kernel().launch(1, THREADS, [given, found, 1.7], **options)
    return found


@cache
def captured() -> Mapping[str, tuple[str, np.ndarray, np.ndarray]]:
    """Body, input and result of each captured kernel."""
    with np.load(DATA / "h100.npz") as loaded:
        arrays = dict(loaded)
    return {
        name: (body, arrays[f"{stem}/in"], arrays[f"{stem}/{name}"].reshape(2, THREADS).view(np.uint32))
        for stem, bodies in json.loads((DATA / "cases.json").read_text()).items()
        for name, body in bodies.items()
    }


def numbers(seed: int) -> np.ndarray:
    """Inputs: numbers of like size, whose sums cancel, and a few special ones."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(8, THREADS)).astype(np.float32)
    values[:, :32] *= np.float32(2) ** random.integers(-80, -55, (8, 32))
    values[:, 32:40] *= np.float32(2) ** random.integers(50, 70, (8, 8))
    special = [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFF812345, 1, 0x807FFFFF, 0x3F800000]
    bits = values.view(np.uint32)
    for row in bits:
        row[40:64] = np.where(random.random(24) < 0.4, random.choice(special, 24), row[40:64])
    return bits


FUNCTION = """.func (.param .f32 r) f(.param .f32 a) { .reg .f32 %x<4>; ld.param.f32 %x1,[a];
mul.rn.f32 %x2,%x1,%x1; add.rn.f32 %x3,%x2,%x1; st.param.f32 [r],%x3; ret; }
"""


def both(row: tuple[str, str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is executed, what should be, and what is without joining."""
    before = FUNCTION * ("call" in row[0]) + ".const .f32 c = 0f3FB8AA3B;\n" * ("[c]" in row[0])
    run = partial(results, given=numbers(1), before=before)
    return run(row[0]), run(row[1], contract=False), run(row[0], contract=False)
