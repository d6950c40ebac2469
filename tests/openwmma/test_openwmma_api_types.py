"""Values of any type at the entrances of the package: a result, or one sentence; never another error."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from test_openwmma_launch import SCALE

import golden
import openwmma
from golden.ptx.source import PtxError
from openwmma import wmma

GEMM = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
HALVES, FLOATS = np.zeros((16, 16), np.float16), np.zeros((16, 16), np.float32)

VALUES = [
    None, True, 1.5, -1, 10**6000, "x", "", b"x", [], {}, (), [1, [2]], np.array([1, 2]), np.array(1j),
    object(),
    np.datetime64(1, "s"), np.timedelta64(1, "s"), float("nan"), float("inf"), np.str_("a"), np.void(b"abcd"),
    range(10**12), range(10**30), "\0", Path("\0"), np.array([None]), np.float16(2), {1: 2}, set(), 2**63,
    "\ud800", Path("\ud800"),
]  # fmt: skip


def launch(name):
    def call(value):
        given = {"grid": 1, "block": 1, "arguments": [np.zeros(4, np.float32), 1.0, 4], name: value}
        openwmma.Module(SCALE).kernel().launch(**given)

    return call


def in_warp(call):
    def run(value):
        with wmma.warp():
            call(wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32), value)

    return run


def product(name, call=openwmma.matmul, dtype=np.float16):
    def multiply(value):
        given = {"a": np.ones((2, 2), dtype), "b": np.ones((2, 2), dtype), name: value}
        call(**given)

    return multiply


LAUNCH = ("arguments", "on", "preset", "profile", "config", "port", "baud", "waves", "trace", "save")
WARP = ("on", "preset", "profile", "config", "port", "waves", "trace")
PRODUCT = ("a", "b", "a_type", "d_type", "bias", "c", "alpha", "beta", "activation", "split_k", "interleaved")
ENTRANCES = {
    **{f"matmul {name}": product(name) for name in (*PRODUCT, "accumulation", "profile", "threads")},
    **{f"matmul {name}": product(name, dtype=ml_dtypes.float8_e4m3fn) for name in ("scale_a", "scale_b")},
    "match": product("d", openwmma.match_matmul),
    **{f"launch {name}": launch(name) for name in LAUNCH},
    **{f"warp {name}": (lambda value, name=name: wmma.warp(**{name: value})) for name in WARP},
    "module": openwmma.Module,
    "kernel": lambda value: openwmma.Module(SCALE).kernel(value),
    "launches": openwmma.read_launches,
    "device": openwmma.device,
    "write": lambda value: openwmma.empty(4).write(value),
    "mma": lambda value: golden.mma(value, HALVES, HALVES, FLOATS),
    "a": lambda value: golden.mma(GEMM, value, HALVES, FLOATS),
    "numerics": lambda value: golden.mma(GEMM, HALVES, HALVES, FLOATS, profile=value),
    "use": lambda value: golden.fragment_layout(value, "f16", "m16n16k16"),
    "type": lambda value: golden.fragment_layout("a", value, "m16n16k16"),
    "shape": lambda value: golden.fragment_layout("a", "f16", value),
    "registers": lambda value: golden.collect(value, "a", "f16", "m16n16k16"),
    "operand": lambda value: golden.approximate("ex2.approx.ftz.f32", value),
    "instruction": lambda value: openwmma.Gemm(instruction=value, m=16, n=16, k=16),
    "fill": in_warp(wmma.fill_fragment),
    "elements": in_warp(lambda fragment, value: setattr(fragment, "x", value)),
    "layout": in_warp(lambda fragment, value: wmma.load_matrix_sync(fragment, FLOATS, 16, value)),
}


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("name", ENTRANCES)
def test_any_type_is_taken_or_refused_in_one_sentence(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for value in VALUES:
        try:
            ENTRANCES[name](value)
        except (ValueError, OSError, PtxError) as error:
            message = str(error)
        else:
            continue
        assert message
        assert "\n" not in message
        assert len(message) < 700
        assert "Exceeds the limit" not in message
        assert "codec" not in message
