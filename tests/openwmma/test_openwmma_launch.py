"""Launches from Python: machines, presets, jobs, the spelling of numba, and what is refused."""

import ctypes
import json
import os
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import openwmma
from openwmma.core_settings import parse_settings
from openwmma.usage_error import UsageError

sys.path.insert(0, str(Path(__file__).parents[1] / "sim"))
from rtl import OBSERVED

KERNELS = Path(__file__).parents[1] / "data" / "kernels"
RANDOM = np.random.default_rng(5)

SCALE = """
.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 launches = 5;
.visible .entry scale(.param .u64 x, .param .f32 factor, .param .u32 count)
{
    .reg .pred %p;
    .reg .f32 %f<4>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [x];
    ld.param.f32 %f1, [factor];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra DONE;
    mul.wide.u32 %rd2, %r5, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f32 %f2, [%rd3];
    mul.f32 %f3, %f2, %f1;
    st.global.f32 [%rd3], %f3;
    setp.ne.u32 %p, %r5, 0;
    @%p bra DONE;
    atom.global.add.u32 %r6, [launches], 1;
DONE:
    ret;
}
"""

NEIGHBOUR = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry neighbour(.param .u64 x)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%rd3+4], %r2;
    ret;
}
"""

STATIC = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry big()
{
    .shared .align 4 .b8 tile[20000];
    .reg .b32 %r<2>;
    mov.u32 %r1, tile;
    st.shared.u32 [%r1], %r1;
    ret;
}
"""


def gemm_inputs(m=100, n=90, k=70):
    a = RANDOM.standard_normal((m, k)).astype(np.float16)
    b = RANDOM.standard_normal((k, n)).astype(np.float16)
    return a, b, np.zeros((m, n), np.float32)


@pytest.fixture(scope="module")
def gemm():
    case = openwmma.read_launches(KERNELS / "public_kernels.json", "families.gemm_bf16")[0]
    return case.module.kernel("gemm_bf16")


def bf16_operands():
    with np.load(KERNELS / "public_kernels.npz") as file:
        names = {name: file[f"families.gemm_bf16/{name}"] for name in "abcd"}
        return [names[name].copy() for name in "abcd"], file["families.gemm_bf16/d.after"]


def test_arrays_are_updated_in_place_and_scalars_converted():
    kernel = openwmma.Module(SCALE).kernel()
    x = np.arange(100, dtype=np.float32)
    run = kernel.launch(grid=4, block=32, arguments=[x, 3, 50])
    assert np.array_equal(x[:50], 3 * np.arange(50))
    assert np.array_equal(x[50:], np.arange(50, 100))
    assert run.blocks == 4
    assert run.warp_instructions > 0
    assert run.cycles == 0
    assert run.utilisation is None
    assert run.seconds > 0


def test_the_spelling_of_numba():
    kernel = openwmma.Module(SCALE).kernel("scale")
    x = np.ones((8, 8), np.float32)
    kernel[(2, 1), 32](x, 2.5, 64)
    assert (x == 2.5).all()
    kernel[2, 32, 0](x, np.float64(2), np.int64(64))
    assert (x == 5).all()
    with pytest.raises(openwmma.LaunchError, match=r"kernel\[grid, block\]"):
        kernel[2](x, 2.0, 64)


def test_names_as_arguments():
    x = np.ones(4, np.float32)
    openwmma.Module(SCALE).kernel().launch(1, 32, {"count": 4, "factor": 2.0, "x": x})
    assert (x == 2).all()


def test_buffers_live_from_launch_to_launch_and_across_modules():
    x = openwmma.device(np.ones(64, np.float32))
    first, second = openwmma.Module(SCALE), openwmma.Module(SCALE)
    for module in (first, second, first):
        module.kernel()[2, 32](x, 2.0, 64)
    assert (x.numpy() == 8).all()
    assert first["launches"].numpy() == 7
    assert second["launches"].numpy() == 6
    assert openwmma.empty((2, 3), np.float16).nbytes == 12
    x.free()
    with pytest.raises(openwmma.LaunchError, match="has been freed"):
        first.kernel()[2, 32](x, 2.0, 64)


def test_structures_with_addresses():
    class Problem(ctypes.Structure):
        _fields_ = (("n", ctypes.c_int), ("out", ctypes.c_uint64))

    text = SCALE.replace(
        ".param .u64 x, .param .f32 factor, .param .u32 count", ".param .align 8 .b8 problem[16]"
    )
    text = text.replace("[x]", "[problem+8]").replace("[count]", "[problem]")
    text = text.replace("ld.param.f32 %f1, [factor];", "mov.f32 %f1, 0f40400000;")
    kernel = openwmma.Module(text).kernel()
    x = openwmma.device(np.ones(8, np.float32))
    kernel.launch(1, 32, [Problem(8, x.address)])
    record = np.zeros((), [("n", "<u4"), ("pad", "<u4"), ("out", "<u8")])
    record["n"], record["out"] = 4, x.address
    kernel.launch(1, 32, [record[()]])
    assert np.array_equal(x.numpy(), [9, 9, 9, 9, 3, 3, 3, 3])
    with pytest.raises(openwmma.LaunchError, match="problem has 16 bytes, but the argument has 12"):
        kernel.launch(1, 32, [bytes(12)])


@pytest.mark.parametrize("on", ["golden", "rtl", "lockstep"])
def test_every_machine_leaves_the_memory_of_the_chip(gemm, on):
    operands, expected = bf16_operands()
    run = gemm.launch((3, 2, 1), (32, 2, 1), [*operands, 48, 96], on=on, preset="small")
    assert np.array_equal(operands[3].view(np.uint8), expected.view(np.uint8))
    assert run.matrix_instructions == 72
    assert (run.cycles > 0) == (on != "golden")
    assert (run.utilisation is not None) == (on != "golden")
    if on != "golden":
        assert 0 < run.utilisation <= 1
        assert run.counters.instructions >= 72


def test_a_trace_names_the_line_of_each_command(gemm, tmp_path):
    operands, _ = bf16_operands()
    path = tmp_path / "t.json"
    preset, *settings = OBSERVED.split()
    config = parse_settings(settings)
    run = gemm.launch(1, (32, 2, 1), [*operands, 48, 96], on="rtl", preset=preset, config=config, trace=path)
    events = json.loads(path.read_text())["traceEvents"]
    slices = {
        event["args"]["command"]: event
        for event in events
        if event["name"].startswith("#") and "done at" in event["args"]
    }
    assert len(slices) == run.counters.instructions
    multiplies = [event for event in slices.values() if " mma " in event["name"]]
    assert len(multiplies) == run.matrix_instructions > 0
    for event in multiplies:
        assert ": wmma.mma.sync" in event["args"]["PTX"]


@pytest.mark.parametrize("on", ["golden", "rtl", "lockstep"])
def test_jobs_leave_the_same_memory(gemm, on):
    operands, expected = bf16_operands()
    blocks = []
    run = gemm.launch(
        (3, 2, 1), (32, 2, 1), [*operands, 48, 96], on=on, jobs=3,
        on_block=lambda done, total: blocks.append((done, total)),
    )  # fmt: skip
    assert np.array_equal(operands[3].view(np.uint8), expected.view(np.uint8))
    assert run.matrix_instructions == 72
    assert blocks == [(done, 6) for done in range(1, 7)]
    if on != "golden":
        assert run.counters.instructions >= 72
        assert run.cycles > 0


def test_blocks_that_read_what_others_wrote_run_in_their_order():
    kernel = openwmma.Module(NEIGHBOUR).kernel()
    for jobs in (1, 4):
        x = np.zeros(17, np.uint32)
        kernel.launch(16, 1, [x], jobs=jobs)
        assert np.array_equal(x, np.arange(17)), jobs


def test_all_cores():
    from openwmma.modules import cores  # noqa: PLC0415  not public

    assert cores() == len(os.sched_getaffinity(0))
    x = np.zeros(17, np.uint32)
    openwmma.Module(NEIGHBOUR).kernel().launch(16, 1, [x], jobs=0)
    assert x[16] == 16


def test_single_fields_of_a_preset():
    kernel = openwmma.Module(STATIC).kernel()
    with pytest.raises(
        openwmma.LaunchError,
        match=r"^big needs 20000 bytes of shared memory \(20000 static, 0 dynamic\), but preset small has "
        r"16384; presets with enough: standard, large$",
    ):
        kernel.launch(1, 1, on="lockstep", preset="small")
    kernel.launch(1, 1, on="golden")
    kernel.launch(1, 1, on="golden", preset="small", config={"shared_bytes": 20480})
    kernel.launch(1, 1, on="golden", preset="standard")
    with pytest.raises(openwmma.LaunchError, match=r"but preset small with shared_bytes=4096 has 4096"):
        kernel.launch(1, 1, config={"shared_bytes": 4096})


def test_formats_that_a_core_lacks(gemm):
    operands, _ = bf16_operands()
    for on in ("golden", "lockstep"):
        with pytest.raises(openwmma.LaunchError, match=r"preset tiny has no \.bf16 multiply, needed at"):
            gemm.launch((3, 2), (32, 2), [*operands, 48, 96], on=on, preset="tiny")


X = np.zeros(4, np.float32)
BAD = {
    "grid": ({"grid": (0, 1)}, r"grid\.x must be 1 to 2147483647, not 0"),
    "grid y": ({"grid": (1, 65536)}, r"grid\.y must be 1 to 65535, not 65536"),
    "block": ({"block": 1025}, r"block\.x must be 1 to 1024, not 1025"),
    "threads": ({"block": (64, 32)}, "at most 1024 threads, not 2048"),
    "axes": ({"grid": (1, 1, 1, 1)}, "grid takes one to three integers"),
    "shared": ({"shared": 1 << 20}, "at most 232448"),
    "few arguments": (
        {"arguments": [X]},
        r"3 arguments expected, not 1: the kernel is scale\(\.u64 x, \.f32 factor",
    ),
    "array for a number": ({"arguments": [X, X, 4]}, "factor takes a number of type"),
    "text": ({"arguments": [X, "a", 4]}, "factor takes a number of type .*, not str"),
    "fraction": ({"arguments": [X, 1.0, 4.5]}, "count takes a number of type .*, not float"),
    "out of range": ({"arguments": [X, 1.0, 1 << 32]}, "count is .*u32, which cannot hold 4294967296"),
    "unknown name": ({"arguments": {"y": X}}, "no parameter y"),
    "machine": ({"on": "chip"}, "on 'chip': expected one of golden, rtl, board, lockstep"),
    "preset": ({"preset": "huge"}, "^preset huge: expected one of tiny, small, standard, large"),
    "setting": ({"config": {"speed": 1}}, "setting speed: expected one of .*shared_bytes"),
    "setting value": ({"config": {"shared_bytes": 5}}, "small with shared_bytes=5: Shared bytes must be"),
    "setting text": ({"config": {"registers": "many"}}, "setting registers: expected an integer, not 'many'"),
    "profile": ({"config": {"profile": "x"}}, "setting profile: expected one of"),
    "limit": ({"limit": 0}, "the limit must be at least 1"),
    "jobs": ({"jobs": -1}, "at least 1 job, not -1"),
    "jobs with a waveform": ({"jobs": 2, "waves": "w.fst", "on": "rtl"}, "one waveform"),
    "jobs with a trace": ({"jobs": 2, "trace": "t.json", "on": "rtl"}, "one trace"),
    "a trace over a trace": (
        {"on": "rtl", "trace": "t.json", "trace_file": "./t.json"},
        r"^trace_file t\.json: expected another file than t\.json, which is written too",
    ),
    "a recording by another name": (
        {"trace_file": "k.json"},
        r"^trace_file k\.json: expected a file that ends in \.trace",
    ),
    "a waveform by another name": (
        {"on": "rtl", "waves": "w.txt"},
        r"^waves w\.txt: expected a file that ends in \.fst",
    ),
    "trace of golden": ({"trace": "t.json"}, "^trace: expected --on rtl or --on lockstep"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused_in_one_sentence(name):
    options, message = BAD[name]
    launch = {"grid": 1, "block": 32, "arguments": [X, 1.0, 4], **options}
    with pytest.raises((openwmma.LaunchError, UsageError), match=message) as caught:
        openwmma.Module(SCALE).kernel().launch(**launch)
    assert "\n" not in str(caught.value)


def test_unknown_names_list_what_there_is():
    module = openwmma.Module(SCALE)
    with pytest.raises(openwmma.LaunchError, match="no kernel x; kernels: scale"):
        module.kernel("x")
    with pytest.raises(KeyError, match=r"no variable x in \.global or \.const; variables: launches"):
        module["x"]
    assert module.entries == ("scale",)
    assert module.kernel().parameters == ("x", "factor", "count")


def test_text_and_paths(tmp_path):
    path = tmp_path / "scale.ptx"
    path.write_text(SCALE)
    for source in (path, str(path)):
        assert openwmma.Module(source).kernel().signature.startswith("scale(")
    with pytest.raises(FileNotFoundError):
        openwmma.Module(tmp_path / "no.ptx")


def test_faults_name_the_place():
    x = openwmma.device(np.ones(4, np.float32), name="x")
    with pytest.raises(openwmma.KernelFault, match="past the end of x"):
        openwmma.Module(SCALE).kernel().launch(1, 32, [x, 1.0, 8])
    with pytest.raises(openwmma.KernelFault, match="more than 3 warp instructions"):
        openwmma.Module(SCALE).kernel().launch(1, 32, [x, 1.0, 4], limit=3)


class Wrapped:
    """An array behind one protocol alone."""

    def __init__(self, array, *, copies=False):
        self.array = array
        self.copies = copies


class WithArray(Wrapped):
    def __array__(self, dtype=None, copy=None):
        return self.array.copy() if self.copies else self.array


class WithDlpack(Wrapped):
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("wrapper", [WithArray, WithDlpack])
def test_other_objects_are_updated_in_place(wrapper):
    x = wrapper(np.ones(8, np.float32))
    openwmma.Module(SCALE).kernel()[1, 32](x, 3.0, 8)
    assert (x.array == 3).all()
    assert np.array_equal(openwmma.device(x).numpy(), x.array)


def test_an_object_that_gives_copies_cannot_be_written():
    x = WithArray(np.ones(8, np.float32), copies=True)
    with pytest.raises(openwmma.LaunchError, match="x: the kernel writes to an array that is read-only"):
        openwmma.Module(SCALE).kernel()[1, 32](x, 3.0, 8)


def test_bfloat16_arrays(gemm):
    (a, b, c, d), expected = bf16_operands()
    a, b = (array.view(np.uint16).view(ml_dtypes.bfloat16) for array in (a, b))
    gemm.launch((3, 2, 1), (32, 2, 1), [a, b, c, d, 48, 96])
    assert np.array_equal(d.view(np.uint8), expected.view(np.uint8))


def test_the_numerics_of_a_generation():
    text = (KERNELS / "single_warp.ptx").read_text()
    kernel = openwmma.Module(text).kernel("wmma_ker")
    # Products of very different sizes: what volta and hopper cut off differs. The kernel loads A by columns.
    a = (2.0 ** RANDOM.integers(-12, 1, (16, 16))).astype(np.float16)
    b = RANDOM.standard_normal((16, 16)).astype(np.float16)
    zeros = np.zeros((16, 16), np.float32)
    results = {}
    for profile, preset in ((None, None), ("hopper", None), ("ampere", None), ("volta", "tiny")):
        c = zeros.copy()
        kernel.launch(1, 32, [np.ascontiguousarray(a.T), b, c], preset=preset, profile=profile)
        expected = openwmma.mma(
            "wmma.mma.sync.aligned.col.row.m16n16k16.f32.f32", a, b, zeros, profile=profile or "hopper"
        )
        assert np.array_equal(c, expected), (profile, preset)
        results[profile] = c
    assert not np.array_equal(results["volta"], results["hopper"])
    assert not np.array_equal(results["ampere"], results["hopper"])


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ("turing", r"^profile turing: preset small has tf32, which profile turing lacks"),
        ("pascal", r"^profile pascal: expected one of hopper"),
    ],
)
def test_a_generation_that_does_not_fit(gemm, profile, message):
    operands, _ = bf16_operands()
    with pytest.raises(UsageError, match=message):
        gemm.launch((3, 2), (32, 2), [*operands, 48, 96], profile=profile)
