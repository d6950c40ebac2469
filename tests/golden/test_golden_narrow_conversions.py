"""Conversions of narrow floats against the functions for the host in NVIDIA's headers."""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from golden.scalar import operation

FUNCTIONS = {
    **{
        f"cvt.rn.satfinite.{to}x2.{of}": f"__nv_cvt_{call}_to_{kind}(x{argument}, {arguments})"
        for to, kind, arguments in (
            ("e2m1", "fp4", "__NV_E2M1, cudaRoundNearest"),
            ("e3m2", "fp6", "__NV_E3M2, cudaRoundNearest"),
            ("e2m3", "fp6", "__NV_E2M3, cudaRoundNearest"),
            ("e4m3", "fp8", "__NV_SATFINITE, __NV_E4M3"),
            ("e5m2", "fp8", "__NV_SATFINITE, __NV_E5M2"),
        )
        for of, call, argument in (
            ("f32", "float", ".f"),
            ("f16x2", "halfraw", ".h"),
            ("bf16x2", "bfloat16raw", ".b"),
        )
    },
    **{
        f"cvt.{mode}{finite}.ue8m0x2.{of}": f"__nv_cvt_{call}_to_e8m0(x{argument}, {saturation}, {rounding})"
        for mode, rounding in (("rz", "cudaRoundZero"), ("rp", "cudaRoundPosInf"))
        for finite, saturation in (("", "__NV_NOSAT"), (".satfinite", "__NV_SATFINITE"))
        for of, call, argument in (("f32", "float", ".f"), ("bf16x2", "bfloat16raw", ".b"))
    },
    "cvt.rn.bf16x2.ue8m0x2": "__nv_cvt_e8m0_to_bf16raw(x.c).x",
    "cvt.rn.f16x2.e2m1x2": "__nv_cvt_fp4_to_halfraw(x.c & 15, __NV_E2M1).x",
    "cvt.rn.f16x2.e3m2x2": "__nv_cvt_fp6_to_halfraw(x.c & 63, __NV_E3M2).x",
    "cvt.rn.f16x2.e2m3x2": "__nv_cvt_fp6_to_halfraw(x.c & 63, __NV_E2M3).x",
}
PROGRAM = """
#include <cstdint>
#include <cstdio>
#include "cuda_fp4.h"
#include "cuda_fp6.h"
#include "cuda_fp8.h"
union Word {{ uint32_t word; float f; __half_raw h; __nv_bfloat16_raw b; uint8_t c; }};
int main() {{
    Word x;
    while (fread(&x.word, 4, 1, stdin) == 1) {{
        const uint16_t results[] = {{{calls}}};
        fwrite(results, sizeof results, 1, stdout);
    }}
}}
"""
CORNERS = (
    "0 80000000 7f800000 ff800000 7fc00000 ffc00001 7f800001 400000 400001 408000 3fffff 7fffff 800000 "
    "7f7fffff 7f000000 7f000001 410000"
)


@pytest.fixture(scope="module")
def headers(tmp_path_factory):
    """The results of every function for numbers of every size, and the numbers."""
    folder = tmp_path_factory.mktemp("headers")
    calls = ", ".join(f"(uint16_t)({call})" for call in FUNCTIONS.values())
    (folder / "convert.cpp").write_text(PROGRAM.format(calls=calls))
    packages = Path(next(iter(find_spec("nvidia").submodule_search_locations)))
    options = [f"-I{packages / name / 'include'}" for name in ("cuda_runtime", "cuda_cccl", "cuda_nvcc")]
    command = [os.environ.get("CXX", "g++"), "-O1", *options, "convert.cpp", "-o", "convert"]
    subprocess.run(command, cwd=folder, check=True)
    draw = np.random.default_rng(20261129)
    sizes = (draw.normal(size=60_000) * 2.0 ** draw.integers(-24, 24, 60_000)).astype(np.float32)
    quarters = (np.arange(-4000, 4000) / 64).astype(np.float32)
    words = [
        np.array([int(word, 16) for word in CORNERS.split()], np.uint32),
        draw.integers(0, 1 << 32, 100_000, dtype=np.uint32),
        sizes.view(np.uint32),
        quarters.view(np.uint32),
        quarters.view(np.uint32) >> np.uint32(16),
        quarters.astype(np.float16).view(np.uint16).astype(np.uint32),
        np.arange(1 << 16, dtype=np.uint32),
    ]
    numbers = np.concatenate(words)
    done = subprocess.run([folder / "convert"], input=numbers.tobytes(), capture_output=True, check=True)
    return numbers, np.frombuffer(done.stdout, np.uint16).reshape(-1, len(FUNCTIONS))


@pytest.mark.cuda
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_conversion_equals_the_header(headers, name):
    numbers, results = headers
    form = operation(name)
    widths = {8: np.uint8, 16: np.uint16, 32: np.uint32}
    operands = [np.zeros_like(numbers)] * (len(form.operands) - 1) + [
        numbers.astype(widths[form.operands[0]])
    ]
    if form.operands == (16,):
        operands = [numbers.astype(np.uint8).astype(np.uint16)]
    if name.endswith("e2m1x2"):
        operands = [numbers.astype(np.uint8) & np.uint8(15)]
    part = np.uint32((1 << form.results[0] // 2) - 1)
    assert np.array_equal(form.evaluate(*operands) & part, results[:, list(FUNCTIONS).index(name)])
