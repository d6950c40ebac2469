"""Blocks in several processes: the memory of one process, whatever the kernel does."""

import numpy as np
import pytest
from captured import cases, module, prepare
from short_kernels import EACH, kernel

from golden.simt import Deadlock, KernelFault, LaunchError, parallel


@pytest.fixture
def alone(monkeypatch):
    """How often a grid ran in one process."""
    runs = []
    run_grid = parallel.run_grid
    monkeypatch.setattr(parallel, "run_grid", lambda *given: (runs.append(1), run_grid(*given))[1])
    return runs


def launch(body, blocks, array, **options):
    seen = []
    result = kernel(body).launch(blocks, 32, [array], on_block=lambda *at: seen.append(at), **options)
    return result, seen


INDEX = (
    "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 32, %r0; "
    "mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd0, %rd2;"
)


ADD = f"{INDEX} ld.global.u32 %r3, [%rd2]; add.u32 %r3, %r3, %r2; st.global.u32 [%rd2], %r3;"


def test_independent_blocks(alone):
    assert "%rd1" in EACH
    out = np.zeros(40 * 32, np.uint32)
    result, seen = launch(ADD, 40, out, jobs=3)
    assert out.tolist() == list(range(40 * 32))
    assert not alone
    assert seen == [(count + 1, 40) for count in range(40)]
    one, _ = launch(ADD, 40, out, jobs=1)
    assert (result.warp_instructions, result.thread_instructions) == (
        one.warp_instructions,
        one.thread_instructions,
    )


def test_the_last_block_to_write_wins(alone):
    out = np.zeros(32, np.uint32)
    launch(f"{INDEX} st.global.u32 [%rd1], %r2;", 16, out, jobs=4)
    assert out.tolist() == [15 * 32 + t for t in range(32)]
    assert not alone


@pytest.mark.parametrize(
    "body",
    [
        "atom.global.add.u32 %r3, [%rd1], 1; mul.wide.u32 %rd3, %r3, 128; add.u64 %rd3, %rd3, %rd1; "
        "st.global.u32 [%rd3+128], %r2;",
        "ld.global.u32 %r3, [%rd1]; mad.lo.u32 %r3, %r3, 3, %r2; st.global.u32 [%rd1], %r3;",
        "mov.u64 %rd3, %clock64; st.global.u32 [%rd1], %r2;",
    ],
)
def test_dependent_blocks_run_in_one_process(alone, body):
    outs = []
    for jobs in (1, 4):
        outs.append(np.zeros(32 * 18, np.uint32))
        launch(f"{INDEX} {body}", 16, outs[-1], jobs=jobs)
    assert outs[0].tolist() == outs[1].tolist()
    assert any(outs[0])
    assert len(alone) == 2


def test_faults_and_deadlocks_are_those_of_one_process():
    body = f"{INDEX} st.global.u32 [%rd2], %r2;"
    with pytest.raises(KernelFault, match=r"block \(3, 0, 0\), thread \(4, 0, 0\)"):
        launch(body, 16, np.zeros(100, np.uint32), jobs=4)
    wait = "WAIT: ld.volatile.global.u32 %r3, [%rd0]; setp.eq.u32 %p0, %r3, 0; @%p0 bra WAIT;"
    with pytest.raises(Deadlock, match="16 blocks loop without a change"):
        launch(wait, 16, np.zeros(1, np.uint32), jobs=2)
    with pytest.raises(LaunchError, match="at least 1 job, not 0"):
        launch(body, 1, np.zeros(32, np.uint32), jobs=0)


@pytest.mark.parametrize("name", [name for name, case in cases().items() if np.prod(case["grid"]) > 3])
def test_captured_launches(name):
    prepared = prepare(name)
    case = prepared.case
    module(name).kernel(case["entry"]).launch(
        case["grid"], case["block"], prepared.arguments, case["shared"], jobs=3
    )
    assert prepared.differences() == {}


def test_an_interrupted_launch_leaves_no_process_and_gives_memory_back():
    def stop(done, total):
        raise KeyboardInterrupt

    out = np.zeros(40 * 32, np.uint32)
    with pytest.raises(KeyboardInterrupt):
        kernel(f"{INDEX} st.global.u32 [%rd2], %r2;").launch(40, 32, [out], jobs=3, on_block=stop)
    assert not parallel.multiprocessing.active_children()
    assert not out.any()
