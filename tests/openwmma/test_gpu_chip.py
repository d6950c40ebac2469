"""A GPU as a machine, on a GPU."""

import os
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import golden
import openwmma
from golden.random_operands import random_metadata, random_operands
from golden.resolve import resolve_instruction
from golden.simt.errors import LaunchError
from openwmma.cli import main
from openwmma.gpu.certify import certify, followed_profiles, instructions
from openwmma.gpu.driver import encoded_map, open_gpu

pytestmark = pytest.mark.gpu

KERNELS = Path(__file__).parents[1] / "data" / "kernels"
FILES = sorted(KERNELS.rglob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_recorded_launches(path):
    for launch in openwmma.read_launches(path):
        launch.launch(on="cuda")
        assert launch.differences() == []


def test_launches_in_lockstep():
    for launch in openwmma.read_launches(FILES[0]):
        launch.launch(on="lockstep", gpu=0)
        assert launch.differences() == []


def test_every_instruction_once():
    name, profiles = followed_profiles(0)
    assert profiles, name
    *_, last = certify(instructions(), seed=5, results=1, profile=profiles[0])
    assert last.wrong == 0
    assert sum(line.results > 0 for line in last.lines.values()) > 150


@pytest.mark.parametrize(
    "text",
    [
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.bf16.bf16",
    ],
)
def test_multiply_in_lockstep(tmp_path, monkeypatch, capsys, text):
    monkeypatch.chdir(tmp_path)
    instruction, random = resolve_instruction(text), np.random.default_rng(6)
    a, b, c = random_operands(random, instruction, 50)
    side = {"metadata": random_metadata(random, instruction, 50)} if instruction.is_sparse else {}
    for key, matrix in {"a": a, "b": b, "c": c, **side}.items():
        np.save(f"{key}.npy", matrix)
    command = ["mma", text, "a.npy", "b.npy", "c.npy", "-o", "d.npy"]
    command += ["--metadata", "metadata.npy"] if side else []
    assert main([*command, "--on", "lockstep", "--gpu", "0"]) == 0
    assert "50 tiles on" in capsys.readouterr().out
    np.testing.assert_array_equal(np.load("d.npy"), golden.mma(text, a, b, c, **side))
    assert main([*command, "--on", "lockstep", "--gpu", "0", "--force", "--profile", "volta"]) in (1, 2)


def test_a_parameter_with_a_large_alignment():
    text = """.version 8.0
    .target sm_80
    .address_size 64
    .visible .entry k(.param .u64 out, .param .u32 a, .param .align 64 .b8 map[64], .param .u16 z)
    { .reg .b64 %d; .reg .b32 %r<3>; ld.param.u64 %d, [out]; ld.param.u32 %r0, [a];
    ld.param.u32 %r1, [map+60]; ld.param.u16 %r2, [z]; st.global.u32 [%d], %r0; st.global.u32 [%d+4], %r1;
    st.global.u32 [%d+8], %r2; ret; }
    """
    out = np.zeros(3, np.uint32)
    kernel = openwmma.Module(text).kernel()
    kernel.launch(1, 1, [out, 77, bytes(range(64)), 9], on="lockstep", gpu=0)
    assert out.tolist() == [77, 0x3F3E3D3C, 9]


def test_a_deep_stack():
    path = KERNELS.parent / "language"
    with np.load(path / "launches.npz") as file:
        out, depths, count, expected = (file[f"dynamic_stack/{key}"] for key in (0, 1, 2, "result"))
    kernel = openwmma.Module((path / "calls.ptx").read_text()).kernel("dynamic_stack")
    kernel.launch(1, 256, [out, depths, count], on="lockstep", gpu=0)
    assert out.tolist() == expected.tolist()


def test_tensor_maps_are_those_of_the_driver():
    draw = np.random.default_rng(11)
    with open_gpu(0):
        for type_, dtype in (
            ("UINT8", "u1"),
            ("BFLOAT16", "u2"),
            ("FLOAT32", "f4"),
            ("TFLOAT32", "f4"),
            ("INT64", "i8"),
        ):
            for rank, swizzle in product(range(1, 6), ("NONE", "32B", "64B", "128B")):
                extents = draw.integers(2, 9, rank - 1).tolist()
                tensor = np.zeros([*extents, 64], dtype)
                box = [16 // tensor.itemsize, *draw.integers(1, 5, rank - 1).tolist()]
                steps = [1, *draw.integers(1, 5, rank - 1).tolist()]
                fill = "NONE" if type_[0] in "UI" else "NAN_REQUEST_ZERO_FMA"
                found = openwmma.tensor_map(
                    tensor,
                    box,
                    type=type_,
                    swizzle=swizzle,
                    element_strides=steps,
                    fill=fill,
                    promotion="L2_128B",
                )
                found = replace(found, address=int(draw.integers(1, 1 << 40)) << 4)
                assert encoded_map(found) == found.to_bytes(), found


CLUSTER = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{ .reg .b64 %d<2>; .reg .b32 %r<3>; ld.param.u64 %d0, [out]; mov.u32 %r0, %cluster_nctarank;
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %cluster_ctarank; shl.b32 %r0, %r0, 8; or.b32 %r0, %r0, %r2;
mul.wide.u32 %d1, %r1, 4; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r0; ret; }
"""


@pytest.mark.parametrize("cluster", [1, 2, 4, 8])
def test_clusters_of_the_launch(cluster):
    kernel = openwmma.Module(CLUSTER).kernel()
    found = {}
    for on in ("golden", "cuda"):
        found[on] = np.zeros(16, np.uint32)
        kernel.launch(16, 32, [found[on]], cluster=cluster, on=on)
    assert found["cuda"].tolist() == [cluster << 8 | block % cluster for block in range(16)]
    assert found["golden"].tolist() == found["cuda"].tolist()


FAULTY = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry fault() { .reg .b32 %r; .reg .b64 %d; mov.u64 %d, 8; ld.global.u32 %r, [%d];
st.global.u32 [%d], %r; ret; }
"""


def test_a_fault_is_told(tmp_path):
    """In a process of its own, which has no GPU afterwards."""
    (tmp_path / "fault.ptx").write_text(FAULTY)
    command = [sys.executable, "-m", "openwmma", "run", "fault.ptx", "--on", "cuda"]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{os.environ.get('PYTHONPATH', '')}"}
    run = subprocess.run(command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 1
    assert "the GPU stopped: an illegal memory access" in run.stderr
    assert run.stderr.count("\n") == 1


def test_a_gpu_that_is_not_there():
    with pytest.raises(LaunchError, match="GPU 200: the driver shows"):
        openwmma.Module(FAULTY).kernel().launch(1, 1, [], on="cuda", gpu=200)
