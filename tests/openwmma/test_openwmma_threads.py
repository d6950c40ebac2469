"""Simulated cores, warps and files in several Python threads at once."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import openwmma
from openwmma import wmma
from sim import build, verilate

INSTRUCTION = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
THREADS = 4


@pytest.fixture(autouse=True)
def quick_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(work):
    """Start a function in all threads at one moment, each with its number; what they return."""
    barrier = threading.Barrier(THREADS)

    def run(number):
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


@pytest.mark.parametrize("on", ["golden", "rtl", "lockstep"])
def test_warps_of_threads_are_their_own(on):
    a = np.random.default_rng(1).standard_normal((THREADS, 16, 16)).astype(np.float16)
    zeros = np.zeros((16, 16), np.float32)

    def multiply(number):
        d = np.zeros((16, 16), np.float32)
        with wmma.warp(on=on, preset="tiny"):
            left = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
            right = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.row_major)
            sums = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
            for _ in range(5):
                wmma.load_matrix_sync(left, a[number])
                wmma.load_matrix_sync(right, a[number])
                wmma.fill_fragment(sums, 0.0)
                wmma.mma_sync(sums, left, right, sums)
                wmma.store_matrix_sync(d, sums, wmma.mem_row_major)
        return d

    for number, d in enumerate(together(multiply)):
        assert np.array_equal(d, openwmma.mma(INSTRUCTION, a[number], a[number], zeros)), number


def test_a_simulation_is_built_once_for_all_threads(tmp_path, monkeypatch):
    built = []

    def generate(*_):
        built.append("Verilog")
        time.sleep(0.1)
        return "module", {}

    def compile_(folder, *_):
        built.append("library")
        time.sleep(0.1)
        (folder / "core.so").write_text("library")
        return folder / "core.so"

    for module in (build, verilate):
        monkeypatch.setattr(module, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(build, "generate", generate)
    monkeypatch.setattr(verilate, "_compile", compile_)
    build._generated.cache_clear()
    try:
        paths = together(lambda number: build.build_core(openwmma.PRESETS["tiny"]))
    finally:
        build._generated.cache_clear()
    assert len(set(paths)) == 1
    assert paths[0].read_text() == "library"
    assert sorted(built) == ["Verilog", "library"]
