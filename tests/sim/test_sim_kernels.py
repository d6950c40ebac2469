"""Whole kernels, their matrix instructions on the simulated core too."""

import io
import re
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from golden.memory import Memory
from golden.simt import LaunchError
from hdl.config import PRESETS
from sim.replay.replay import Follower, Player
from sim.rtl_machine import RtlMachine

sys.path.insert(0, str(Path(__file__).parents[1] / "golden" / "simt"))
from captured import cases, module, prepare
from contraction_kernels import captured as contraction
from contraction_kernels import results
from short_kernels import MOVES, SINKS, launch_sinks
from short_kernels import kernel as short_kernel

MULTIPLY = """mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4},
    {%r2,%r3}, {%f0,%f1,%f2,%f3};"""
LOOP = "mul.wide.u32 %rd2, %r0, 16; add.u64 %rd1, %rd0, %rd2; mov.u64 %rd3, %rd1; mov.u32 %r10, 0;"
WITHOUT_STAGES = f"""{LOOP}
    NEXT: ld.global.v4.u32 {{%r1,%r2,%r3,%r4}}, [%rd3]; {MULTIPLY}
    add.u64 %rd3, %rd3, 512; add.u32 %r10, %r10, 1; setp.lt.u32 %p0, %r10, 4; @%p0 bra NEXT;
    st.global.v4.f32 [%rd3], {{%f0,%f1,%f2,%f3}};"""
STAGES = f"""{LOOP}
    .shared .align 16 .b8 tile[1024]; .shared .align 8 .b64 full[2];
    setp.ne.u32 %p0, %r0, 0; @!%p0 mbarrier.init.shared.b64 [full], 32;
    @!%p0 mbarrier.init.shared.b64 [full+8], 32;
    bar.sync 0; mov.u32 %r11, tile; shl.b32 %r12, %r0, 4; add.u32 %r11, %r11, %r12; mov.u64 %rd4, %rd3;
    cp.async.cg.shared.global [%r11], [%rd4], 16; cp.async.mbarrier.arrive.noinc.shared.b64 [full];
    NEXT: add.u32 %r13, %r10, 1; setp.ge.u32 %p1, %r13, 4; @%p1 bra WAIT;
    and.b32 %r14, %r13, 1; shl.b32 %r15, %r14, 9; add.u32 %r15, %r11, %r15; add.u64 %rd4, %rd4, 512;
    mov.u32 %r16, full; shl.b32 %r17, %r14, 3; add.u32 %r16, %r16, %r17;
    cp.async.cg.shared.global [%r15], [%rd4], 16; cp.async.mbarrier.arrive.noinc.shared.b64 [%r16];
    WAIT: and.b32 %r14, %r10, 1; shr.u32 %r18, %r10, 1; mov.u32 %r16, full; shl.b32 %r17, %r14, 3;
    add.u32 %r16, %r16, %r17;
    AGAIN: mbarrier.try_wait.parity.shared.b64 %p2, [%r16], %r18; @!%p2 bra AGAIN;
    shl.b32 %r15, %r14, 9; add.u32 %r15, %r11, %r15; ld.shared.v4.u32 {{%r1,%r2,%r3,%r4}}, [%r15];
    {MULTIPLY}
    mov.u32 %r10, %r13; setp.lt.u32 %p0, %r10, 4; @%p0 bra NEXT;
    add.u64 %rd3, %rd3, 2048; st.global.v4.f32 [%rd3], {{%f0,%f1,%f2,%f3}};"""

NAMES = (
    "single_warp.wmma_ker",
    "single_warp.half_accumulator",
    "sub_byte.gemm_s4",
    "library.mixed_fragments",
    "multi_warp.scores_softmax",
)


CORES = {
    "small": PRESETS["small"],
    "standard": PRESETS["standard"],
    **{f"standard, {warps} warps": replace(PRESETS["standard"], warps=warps) for warps in (2, 8)},
    "large": PRESETS["large"],
}
REFUSED_BY_ALL = "runs on golden alone|does not execute"
REFUSED = f"{REFUSED_BY_ALL}|bytes of shared memory, but"


def player_of(core, **options):
    config = CORES[core]
    return Player(
        config, lambda size: closing(RtlMachine(config, Memory(size, 0x1000))), name=core, **options
    )


@pytest.fixture(params=["small", pytest.param("standard, 8 warps", marks=pytest.mark.long)])
def follower(request):
    """Has a core execute the trace of a launch, compared wherever it waits."""
    found = Follower(player_of(request.param, compares_each=True), "hopper", io.BytesIO())
    yield found
    assert found.counters.instructions
    assert found.counters.cycles


@pytest.mark.parametrize("name", NAMES)
def test_memory_is_that_of_the_chip(name, follower):
    prepared = prepare(name)
    case = prepared.case
    kernel = module(name).kernel(case["entry"])
    kernel.launch(case["grid"], case["block"], prepared.arguments, case["shared"], trace=follower)
    assert prepared.differences() == {}


@pytest.mark.long
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", cases())
def test_every_captured_launch_streams(name, core):
    """On each core that has the formats and the shared memory; the others say what they lack."""
    prepared, follower, lack = prepare(name), Follower(player_of(core), "hopper", io.BytesIO()), None
    case = prepared.case
    kernel = module(name).kernel(case["entry"])
    try:
        kernel.launch(case["grid"], case["block"], prepared.arguments, case["shared"], trace=follower)
    except LaunchError as error:
        lack = str(error)
    assert lack is None or re.search(REFUSED_BY_ALL if core == "large" else REFUSED, lack)
    assert prepared.differences() == {}


@pytest.mark.parametrize("name", ["fp8_mma_scaled_c", "fp8_mma_rn_c"])
def test_products_join_the_accumulator_that_a_machine_computes(name, follower):
    body, given, expected = contraction()[name]
    np.testing.assert_array_equal(results(body, given, trace=follower), expected)


def test_moves_of_matrices(follower):
    given = np.random.default_rng(3).integers(0, 1 << 16, (2, 4, 8, 8), dtype=np.uint16)
    found = given.copy()
    short_kernel(MOVES).launch(1, 64, [found], trace=follower)
    expected = [(four[3].T, four[1], four[0].T, four[0]) for four in given]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "name", [name for name in SINKS if "wmma" in name or ".s8" in name or "f16.f32" in name]
)
def test_results_may_be_dropped(name, follower):
    found = launch_sinks(name, {1}, trace=follower)
    np.testing.assert_array_equal(found, launch_sinks(name, {1}))


def test_a_pipeline_with_barriers_in_shared_memory(follower):
    """Tiles of A come by ``cp.async`` into two stages; an mbarrier tells when one is complete."""
    given = np.zeros((5, 32, 4), np.uint32)
    given[:4] = np.random.default_rng(2).integers(0, 1 << 30, (4, 32, 4), dtype=np.uint32) & 0x3BFF3BFF
    found = [given.copy(), given.copy()]
    short_kernel(STAGES).launch(1, 32, [found[0]], trace=follower)
    short_kernel(WITHOUT_STAGES).launch(1, 32, [found[1]])
    np.testing.assert_array_equal(*found)
    assert found[0][4].any()
