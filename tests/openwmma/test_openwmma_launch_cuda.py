"""CUDA C++: with NVRTC (`make test-cuda`), and what needs no compiler."""

from pathlib import Path

import numpy as np
import pytest
from test_openwmma_launch import SCALE

import openwmma
from golden.installation import install_command
from openwmma import cuda_source
from openwmma.cli import main
from openwmma.cuda_source import CompilerError, compile_file
from openwmma.nvrtc import compile_text

TILE = """
#include <cuda_fp16.h>
#include <mma.h>
#include "factor.h"
using namespace nvcuda;
__global__ void tile(const half *a, const half *b, float *d, int k, half factor) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(fa, a + i, k);
        wmma::load_matrix_sync(fb, b + 16 * i, 16);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    for (int i = 0; i < acc.num_elements; i++) acc.x[i] *= FACTOR * __half2float(factor);
    wmma::store_matrix_sync(d, acc, 16, wmma::mem_row_major);
}
template <int N> __global__ void fill(int *x) { x[threadIdx.x] = N; }
template __global__ void fill<7>(int *);
"""

NVCC = """#!/bin/sh
echo "$@" > calls.txt
while [ $# -gt 1 ]; do
    case "$1" in -o) target=$2 ;; esac
    shift
done
if grep -q "no C++" "$1"; then
    echo "kernel.cu(1): error: this declaration has no storage class" >&2
    exit 2
fi
cp scale.ptx "$target"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("factor.h").write_text("#define FACTOR 2.0f\n")
    Path("tile.cu").write_text(TILE)
    Path("wrong.cu").write_text("__global__ void f(int *x) { y = 1; }\n")
    Path("scale.ptx").write_text(SCALE)
    a, b = (np.arange(16 * 32).reshape(shape) % 7 - 3 for shape in ((16, 32), (32, 16)))
    np.save("a.npy", a.astype(np.float16))
    np.save("b.npy", b.astype(np.float16))
    np.save("expected.npy", (a @ b).astype(np.float32))
    return tmp_path


@pytest.fixture
def nvcc(folder, monkeypatch):
    """A folder with a program nvcc that notes its options, and no NVRTC."""
    program = folder / "bin" / "nvcc"
    program.parent.mkdir()
    program.write_text(NVCC)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setattr(cuda_source, "nvrtc_folder", lambda: None)
    return program


@pytest.mark.cuda
def test_a_kernel_of_nvrtc_runs():
    module = openwmma.Module("tile.cu")
    assert ".target sm_90" in module.ptx
    a, b, d = np.load("a.npy"), np.load("b.npy"), np.zeros((16, 16), np.float32)
    for on in ("golden", "lockstep"):
        d[:] = 0
        module.kernel("tile").launch(1, 32, [a, b, d, 32, np.float16(0.5)], on=on)
        assert np.array_equal(d, np.load("expected.npy")), on
    x = np.zeros(32, np.int32)
    module.kernel("fill")[1, 32](x)
    assert (x == 7).all()


@pytest.mark.cuda
def test_options_reach_nvrtc():
    module = openwmma.Module(Path("tile.cu"), compile_options=["-arch=sm_80", "-D", "UNUSED=1"])
    assert ".target sm_80" in module.ptx


@pytest.mark.cuda
def test_on_the_command_line():
    arguments = ["--arg", "a.npy", "--arg", "b.npy", "--arg", "32", "--arg", "f16:0.5"]
    arguments = [*arguments[:4], "--arg", "d.npy", *arguments[4:]]
    np.save("d.npy", np.zeros((16, 16), np.float32))
    assert main(["run", "tile.cu", "--entry", "tile", *arguments, "--out", "2=out.npy"]) == 0
    assert np.array_equal(np.load("out.npy"), np.load("expected.npy"))
    option = ["--compiler-option", "-arch=sm_20"]
    assert main(["run", "tile.cu", "--entry", "tile", *arguments, *option]) == 2


HEADERS = """
#include <cstdint>
#include <stdint.h>
#include <stdio.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>
#include <cuda_runtime.h>
#include "math.h"
template <class T, std::enable_if_t<std::is_same_v<T, float>, int> = 0>
__device__ T limited(T x) { return std::max(x, std::numeric_limits<T>::lowest()); }
extern "C" __global__ void k(float *p, std::uint32_t n, uint64_t m) {
    p[0] = limited(-INFINITY);
    p[1] = NAN;
    p[2] = std::min<uint64_t>(m, n) + MINE;
    p[3] = (float)UINT32_MAX;
}
"""


@pytest.mark.cuda
def test_standard_headers_are_those_of_libcudacxx_unless_the_folder_has_them():
    Path("math.h").write_text("#define MINE 2\n")
    Path("headers.cu").write_text(HEADERS)
    x = np.zeros(4, np.float32)
    openwmma.Module("headers.cu").kernel("k").launch(1, 1, [x, 5, 1 << 40])
    assert x.view(np.uint32).tolist() == [0xFF7FFFFF, 0x7FC00000, 0x40E00000, 0x4F800000]


QUOTIENT = """
extern "C" __global__ void k(ulonglong2 *q, ulonglong2 *a, ulonglong2 *b) {
    auto word = [](ulonglong2 v) { return (unsigned __int128)v.y << 64 | v.x; };
    int i = threadIdx.x;
    unsigned __int128 n = word(a[i]) / word(b[i]);
    q[i] = {(unsigned long long)n, (unsigned long long)(n >> 64)};
}
"""


@pytest.mark.cuda
def test_division_of_128_bits_in_cuda():
    """NVIDIA's routine reads the carry of a subtraction by an addition."""
    Path("quotient.cu").write_text(QUOTIENT)
    random = np.random.default_rng(5)
    a, b = (
        random.integers(0, 2**64, (512, 2), np.uint64) >> random.integers(0, 64, (512, 2), np.uint64)
        for _ in "ab"
    )
    b[::3, 1] = 0
    b[:, 0] |= 1
    q = np.zeros_like(a)
    kernel = openwmma.Module("quotient.cu", compile_options=["--device-int128"]).kernel()
    kernel.launch(1, 512, [q, a, b])
    found, x, y = ([int(low) | int(high) << 64 for low, high in words] for words in (q, a, b))
    assert found == [n // d for n, d in zip(x, y, strict=True)]


GROUPS = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void grid(int *x, int n) {
    auto all = cg::this_grid();
    for (int i = 0; i < 3; i++) {
        int other = x[(all.thread_rank() + 1) % n];
        all.sync();
        x[all.thread_rank()] = other + 1;
        all.sync();
    }
}
extern "C" __global__ void tiles(const int *x, int *sums, int *others) {
    __shared__ cg::block_tile_memory<256> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    int value = x[block.thread_rank()];
    sums[block.thread_rank()] = cg::reduce(tile, value, cg::plus<int>());
    tile.sync();
    others[block.thread_rank()] = tile.shfl(value, 37);
}
"""


@pytest.mark.cuda
def test_cooperative_groups_of_a_grid_and_of_several_warps():
    Path("groups.cu").write_text(GROUPS)
    module = openwmma.Module("groups.cu")
    for jobs in (1, 2):
        x = np.arange(128, dtype=np.int32)
        result = module.kernel("grid").launch(4, 32, [x, 128], check=True, jobs=jobs)
        assert x.tolist() == [(i + 3) % 128 + 3 for i in range(128)]
        assert not result.reports
    x = np.arange(256, dtype=np.int32) ** 2
    sums, others = np.zeros_like(x), np.zeros_like(x)
    module.kernel("tiles").launch(1, 256, [x, sums, others])
    assert sums.tolist() == np.repeat(x.reshape(4, 64).sum(1), 64).tolist()
    assert others.tolist() == np.repeat(x.reshape(4, 64)[:, 37], 64).tolist()


def test_a_compiler_that_crashes_ends_in_a_sentence(monkeypatch, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nkill -SEGV $$\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    assert compile_text(Path("lib.so"), "", "k.cu", []) == (
        "",
        "k.cu: NVRTC ended with SIGSEGV; nvcc -ptx may compile it",
    )


def test_a_library_that_cannot_be_loaded_and_a_byte_0_are_sentences():
    assert "no.so: cannot open shared object file" in compile_text(Path("no.so"), "", "k.cu", [])[1]
    assert (
        compile_text(Path("no.so"), "\n\0", "k.cu", [])[1]
        == "k.cu: a byte 0 in line 2, where CUDA C++ has text"
    )


@pytest.mark.cuda
def test_errors_of_nvrtc_are_shown_unchanged(capsys):
    assert main(["run", "wrong.cu"]) == 2
    printed = capsys.readouterr().err
    assert 'wrong.cu(1): error: identifier "y" is undefined\n' in printed
    assert '1 error detected in the compilation of "wrong.cu".\n' in printed


def test_nvcc_on_the_path(nvcc):
    kernel = openwmma.Module("tile.cu").kernel()
    x = np.ones(4, np.float32)
    kernel[1, 32](x, 3.0, 4)
    assert (x == 3).all()
    called = Path("calls.txt").read_text().split()
    assert called[0] == "-ptx"
    assert "-arch=sm_90" in called
    assert called[-1].endswith("tile.cu")
    compile_file(Path("tile.cu"), ["-arch=sm_80", "-std=c++20"])
    called = Path("calls.txt").read_text().split()
    assert "-arch=sm_80" in called
    assert "-arch=sm_90" not in called
    assert [item for item in called if "std" in item] == ["-std=c++20"]


def test_errors_of_nvcc_are_shown_unchanged(nvcc, capsys):
    Path("no.cu").write_text("no C++\n")
    assert main(["run", "no.cu"]) == 2
    assert capsys.readouterr().err == (
        "openwmma: kernel.cu(1): error: this declaration has no storage class\n"
    )


def test_without_a_compiler(monkeypatch, capsys):
    monkeypatch.setattr(cuda_source, "nvrtc_folder", lambda: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CompilerError, match=r"tile\.cu: there is no compiler for CUDA C\+\+"):
        openwmma.Module("tile.cu")
    assert main(["run", "tile.cu"]) == 2
    assert capsys.readouterr().err == (
        "openwmma: tile.cu: there is no compiler for CUDA C++; install one with: "
        f"{install_command('cuda')}, or put nvcc on the path\n"
    )
