"""Every example on the golden machine, on the core and on both: what it writes is what its text promises."""

from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from golden import mma
from golden.lines import pack
from openwmma.modules import Module
from sim.rtl_machine import RtlMachine
from sim.simulation import BusTiming

EXAMPLES = {path.stem: path for path in sorted((Path(__file__).parents[2] / "examples").glob("*.ptx"))}
F16_F32 = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"


class Data:
    """Random matrices, and where they go.

    Attributes
    ----------
    arguments : dict
        Arrays as they lie in memory, and numbers, by parameter.
    expected : dict of str to ndarray
        What is to be found in memory in the end, by parameter.
    """

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.arguments = {}
        self.expected = {}

    def matrix(self, name, type, shape, layout="row", stride=None):
        """A random matrix as `golden.mma` takes it, placed in memory."""
        kinds = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
        if type in kinds:
            values = self.random.standard_normal(shape).astype(kinds[type])
            matrix = values.view(f"u{values.itemsize}")
        elif type in ("bf16", "tf32"):
            patterns = self.random.standard_normal(shape).astype(np.float32).view(np.uint32)
            matrix = (patterns >> 16).astype(np.uint16) if type == "bf16" else patterns
        else:
            least, end = {
                "s8": (-128, 128),
                "u8": (0, 256),
                "s4": (-8, 8),
                "b1": (0, 2),
                "s32": (-(1 << 31), 1 << 31),
            }[type]
            matrix = self.random.integers(least, end, shape).astype(np.int32)
        self.place(name, matrix, type, layout, stride)
        return matrix

    def place(self, name, matrix, type, layout="row", stride=None):
        lines = matrix if layout == "row" else matrix.T
        if stride:
            lines = np.pad(lines, ((0, 0), (0, stride - lines.shape[1])))
        self.arguments[name] = pack(lines, type)

    def expect(self, name, matrix, layout="row"):
        lines = matrix if layout == "row" else matrix.T
        self.expected[name] = np.ascontiguousarray(lines)


def accumulate_column_major(data):
    a, b = data.matrix("A", "f16", (16, 16)), data.matrix("B", "f16", (16, 16), "col")
    data.expect("D", mma(F16_F32, a, b, data.matrix("C", "f32", (16, 16))), "col")


def bf16(data):
    a, b = data.matrix("A", "bf16", (16, 16)), data.matrix("B", "bf16", (16, 16), "col")
    c = data.matrix("C", "f32", (16, 16))
    data.expect("D", mma("wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32", a, b, c))


def elementwise(data):
    a, b = data.matrix("A", "f16", (16, 16)), data.matrix("B", "f16", (16, 16), "col")
    product = mma(F16_F32.replace("f32.f32", "f16.f16"), a, b, np.zeros((16, 16), np.uint16))
    # Halving and adding are exact in f64 for numbers of this size.
    raised = (product.view(np.float16).astype(np.float64) * 0.5 + 1).astype(np.float16)
    data.expect("D", np.maximum(raised, np.float16(0)).view(np.uint16))
    e = data.matrix("E", "f64", (8, 8)).view(np.float64)
    data.arguments["scale"] = 0.3
    fused = [float(Fraction(x) ** 2 - Fraction(0.3)) for x in e.reshape(-1).tolist()]
    data.expect("F", np.array(fused).reshape(e.shape).view(np.uint64))
    g = data.matrix("G", "s32", (16, 16))
    data.arguments["limit"] = 1 << 30
    wrapped = (g.astype(np.int64) * 3 - 7).astype(np.int32)
    data.expect("H", np.minimum(wrapped, 1 << 30))


def f64(data):
    a, b = data.matrix("A", "f64", (8, 4)), data.matrix("B", "f64", (4, 8), "col")
    c = data.matrix("C", "f64", (8, 8), "col")
    data.expect("D", mma("wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64", a, b, c))
    data.expect("E", mma("wmma.mma.sync.aligned.row.col.m8n8k4.rz.f64.f64.f64.f64", a, b, c))


def gemm_f16_f32(data):
    a, b = data.matrix("A", "f16", (32, 32)), data.matrix("B", "f16", (32, 32))
    data.arguments["n"] = 32
    d = np.zeros((32, 32), np.uint32)
    for i in (0, 16):
        for j in (0, 16):
            for k in (0, 16):
                rows, columns, depth = (slice(first, first + 16) for first in (i, j, k))
                d[rows, columns] = mma(F16_F32, a[rows, depth], b[depth, columns], d[rows, columns])
    data.expect("D", d)


def global_variables(data):
    a, b = data.matrix("A", "f16", (16, 16)), data.matrix("B", "f16", (16, 16), "col")
    data.expect("D", mma(F16_F32, a, b, data.matrix("C", "f32", (16, 16))), "col")


def integer(data):
    a, b = data.matrix("A", "s8", (8, 16)), data.matrix("B", "s8", (16, 32), "col")
    c = data.matrix("C", "s32", (8, 32))
    data.expect("D", (a.astype(np.int64) @ b + c).astype(np.int32))
    e, f = data.matrix("E", "u8", (32, 16)), data.matrix("F", "u8", (16, 8), "col")
    data.expect("G", e @ f)
    h, p = data.matrix("H", "u8", (16, 16)), data.matrix("P", "s32", (16, 16))
    p[0] = 2**31 - 1
    data.place("P", p, "s32")
    data.expect("P", np.clip(h.astype(np.int64) @ h + p, -(2**31), 2**31 - 1).astype(np.int32))


def matrix_moves(data):
    a, b = data.matrix("A", "f16", (16, 16)), data.matrix("B", "f16", (16, 16))
    half = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
    tiles = [
        mma(half, a, b[:, columns], np.zeros((16, 8), np.uint16)) for columns in (slice(8), slice(8, 16))
    ]
    d = np.concatenate(tiles, axis=1)
    data.expect("D", d)
    data.expect("E", d.T)


def mixed_accumulators(data):
    a, b = data.matrix("A", "f16", (16, 16)), data.matrix("B", "f16", (16, 16), "col")
    d = mma(F16_F32.replace("f32.f32", "f16.f32"), a, b, data.matrix("C", "f32", (16, 16)))
    data.expect("D", d)
    data.expect("E", mma(F16_F32.replace("f32.f32", "f32.f16"), a, b, d))


def mma_m8n8k16(data):
    a, b = data.matrix("A", "s8", (8, 16)), data.matrix("B", "u8", (16, 8), "col")
    c = data.matrix("C", "s32", (8, 8))
    data.expect("D", (a.astype(np.int64) @ b + c).astype(np.int32))


def scale_accumulator(data):
    a, b = data.matrix("A", "f16", (16, 16)), data.matrix("B", "f16", (16, 16), "col")
    c = data.matrix("C", "f32", (16, 16), "col").view(np.float32) * np.float32(0.1)
    data.arguments["alpha"] = -2.7
    product = mma(F16_F32, a, b, c.view(np.uint32)).view(np.float32)
    data.expect("D", (product * np.float32(-2.7)).view(np.uint32))


def shapes_f16(data):
    a, b = data.matrix("A", "f16", (8, 16), "col", 16), data.matrix("B", "f16", (16, 32), "col", 32)
    c = data.matrix("C", "f32", (8, 32), "row", 40)
    data.expect("D", mma("wmma.mma.sync.aligned.col.col.m8n32k16.f32.f32", a, b, c), "col")
    e, f = data.matrix("E", "f16", (32, 16), "col"), data.matrix("F", "f16", (16, 8), "row", 16)
    g = data.matrix("G", "f16", (32, 8), "col", 48)
    data.expect("H", mma("wmma.mma.sync.aligned.col.row.m32n8k16.f16.f16", e, f, g))


def shared_generic(data):
    data.expect("D", data.matrix("A", "f32", (16, 16)).T)


def shared_transpose(data):
    a, b = data.matrix("A", "f16", (16, 16)), data.matrix("B", "f16", (16, 16), "col")
    half = F16_F32.replace("f32.f32", "f16.f16")
    zero = np.zeros((16, 16), np.uint16)
    d = mma(half, a, b, zero)
    data.expect("D", d)
    data.expect("E", mma(half, d, np.ascontiguousarray(d.T), zero))


def sub_byte(data):
    a, b = data.matrix("A", "s4", (8, 32)), data.matrix("B", "s4", (32, 8), "col")
    c = data.matrix("C", "s32", (8, 8))
    data.expect("D", (a.astype(np.int64) @ b + c).astype(np.int32))
    e, f = data.matrix("E", "b1", (8, 128)), data.matrix("F", "b1", (128, 8), "col")
    differing = (e[:, :, None] ^ f[None]).sum(axis=1)
    data.expect("G", differing.astype(np.int32))
    data.expect("H", (differing + e @ f).astype(np.int32))


def tf32(data):
    a, b = data.matrix("A", "tf32", (16, 8)), data.matrix("B", "tf32", (8, 16), "col")
    c = data.matrix("C", "f32", (16, 16))
    data.expect("D", mma("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", a, b, c))


def tile_f16(data):
    a, b, c = (data.matrix(name, "f16", (16, 16)) for name in "ABC")
    data.expect("D", mma("wmma.mma.sync.aligned.row.row.m16n16k16.f16.f16", a, b, c))


PREPARED = {
    prepare.__name__: prepare
    for prepare in (
        accumulate_column_major,
        bf16,
        elementwise,
        f64,
        gemm_f16_f32,
        global_variables,
        integer,
        matrix_moves,
        mixed_accumulators,
        mma_m8n8k16,
        scale_accumulator,
        shapes_f16,
        shared_generic,
        shared_transpose,
        sub_byte,
        tf32,
        tile_f16,
    )
}


def test_every_example_is_tested():
    assert set(PREPARED) == set(EXAMPLES)


def kernel_of(name):
    module = Module(EXAMPLES[name])
    return module, module.kernel()


def launch(name, given, expected, **options):
    """Launch with arrays for parameters and variables; what is found by the names of `expected`."""
    module, kernel = kernel_of(name)
    arrays = {key: given.get(key, np.zeros(matrix.shape, matrix.dtype)) for key, matrix in expected.items()}
    arrays = {**given, **arrays}
    for key in arrays.keys() - set(kernel.parameters):
        buffer = module[key]
        buffer.write(arrays[key].reshape(-1).view(np.uint8).view(buffer.dtype).reshape(buffer.shape))
    arguments = {key: arrays[key] for key in kernel.parameters}
    run = kernel.launch(1, 32, arguments, **options)
    return run, {
        key: (arrays[key] if key in arguments else module[key].numpy()).reshape(-1).view(matrix.dtype)
        for key, matrix in expected.items()
    }


@pytest.mark.parametrize("on", ["golden", "rtl", "lockstep"])
@pytest.mark.parametrize("name", PREPARED)
def test_an_example_writes_what_its_text_promises(name, on):
    data = Data(4)
    PREPARED[name](data)
    run, found = launch(name, data.arguments, data.expected, on=on, preset="small", check=True)
    assert run.reports == ()
    for parameter, matrix in data.expected.items():
        np.testing.assert_array_equal(found[parameter].reshape(matrix.shape), matrix)


@pytest.mark.parametrize("stall", [0, 150])
@pytest.mark.parametrize("name", PREPARED)
def test_an_example_in_lockstep_on_random_bits(name, stall, monkeypatch):
    """Infinities, NaNs and all, and a memory that makes the core wait."""
    timing = BusTiming(stall=stall, latency=5)
    monkeypatch.setattr("sim.machines.RtlMachine", partial(RtlMachine, timing=timing))
    random = np.random.default_rng(1)
    data = Data(4)
    PREPARED[name](data)
    numbers = {key: value for key, value in data.arguments.items() if not isinstance(value, np.ndarray)}
    names = {*data.arguments, *data.expected} - {*numbers}
    sizes = {key: data.expected[key].nbytes for key in data.expected}
    sizes |= {key: data.arguments[key].nbytes for key in names & {*data.arguments}}
    arrays = {key: random.integers(0, 256, sizes[key], dtype=np.uint8) for key in sorted(names)}
    before = {key: array.copy() for key, array in arrays.items()}
    outputs = {key: arrays[key] for key in data.expected}
    run, found = launch(name, {**arrays, **numbers}, outputs, on="lockstep", preset="small")
    assert run.counters.instructions > 3
    assert any((found[key] != before[key]).any() for key in outputs)
