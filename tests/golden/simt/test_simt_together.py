"""What threads do together: barriers, exchanges between lanes, atomics, copies, waiting, and the checker."""

import gc

import numpy as np
import pytest
from short_kernels import SINKS, kernel, launch_sinks, run

from golden.ptx.source import PtxError
from golden.simt import KernelFault, device, empty
from golden.simt.block import BlockRun

ALL = list(range(32))


def test_votes_matches_and_reductions():
    body = """
    and.b32 %r1, %r0, 3; setp.eq.u32 %p0, %r1, 1; vote.sync.ballot.b32 %r2, %p0, -1;
    vote.sync.any.pred %p1, %p0, -1; vote.sync.all.pred %p2, !%p0, -1; vote.sync.uni.pred %p3, %p1, -1;
    match.any.sync.b32 %r3, %r1, -1; match.all.sync.b32 %r4|%p4, %r1, -1; match.all.sync.b32 %r5|%p5, 7, -1;
    redux.sync.add.u32 %r6, %r0, -1; redux.sync.min.s32 %r7, %r0, -1; activemask.b32 %r8;
    selp.u32 %r9, 1, 0, %p1; @%p2 add.u32 %r9, %r9, 2; @%p3 add.u32 %r9, %r9, 4; @%p4 add.u32 %r9, %r9, 8;
    @%p5 add.u32 %r9, %r9, 16; xor.b32 %r2, %r2, %r3; xor.b32 %r2, %r2, %r4; xor.b32 %r2, %r2, %r5;
    xor.b32 %r2, %r2, %r8; add.u32 %r2, %r2, %r6; add.u32 %r2, %r2, %r7; add.u32 %r2, %r2, %r9;
    st.global.u32 [%rd1], %r2;"""
    ones = 0x22222222
    expected = [((ones ^ (0x11111111 << t % 4)) + 496 + 1 + 4 + 16) & 0xFFFFFFFF for t in ALL]
    assert run(body).tolist() == expected


@pytest.mark.parametrize("qualifiers", ["sync.ballot.b32", "ballot.sync.b32"])
def test_a_vote_takes_its_qualifiers_in_either_order(qualifiers):
    body = f"""
    and.b32 %r1, %r0, 3; setp.eq.u32 %p0, %r1, 1; vote.{qualifiers} %r2, %p0, -1;
    st.global.u32 [%rd1], %r2;"""
    assert run(body).tolist() == [0x22222222] * 32


@pytest.mark.parametrize(
    "qualifiers", ["ballot.pred", "any.b32", "sync.b32", "ballot.any.b32", "ballot", "sync.sync.any.pred"]
)
def test_a_vote_with_wrong_qualifiers_is_refused(qualifiers):
    with pytest.raises(PtxError, match=f"vote.{qualifiers} is not supported"):
        run(f"setp.eq.u32 %p0, %r0, 1; vote.{qualifiers} %r2, %p0, -1; st.global.u32 [%rd1], %r2;")


def test_exchanges_of_half_a_warp_with_the_mask_in_a_register():
    body = """
    mov.u32 %r1, 0xffff; setp.ge.u32 %p0, %r0, 16; @%p0 bra HIGH;
    shfl.sync.idx.b32 %r2, %r0, 3, 31, %r1; bra JOIN;
    HIGH: not.b32 %r1, %r1; shfl.sync.down.b32 %r2, %r0, 1, 31, %r1;
    JOIN: bar.warp.sync -1; activemask.b32 %r3; add.u32 %r2, %r2, %r3; st.global.u32 [%rd1], %r2;"""
    values = [3] * 16 + [min(t + 1, 31) for t in range(16, 32)]
    assert run(body).tolist() == [(v + 0xFFFFFFFF) & 0xFFFFFFFF for v in values]


def test_named_barriers_with_thread_counts():
    body = """
    .shared .b32 s[4]; shr.u32 %r1, %r0, 5; setp.eq.u32 %p0, %r1, 0; setp.eq.u32 %p1, %r1, 1;
    @%p0 bra PRODUCER; @%p1 bra CONSUMER; ret;
    CONSUMER: bar.sync 3, 64; ld.shared.u32 %r2, [s]; st.global.u32 [%rd1], %r2; ret;
    PRODUCER: mov.u32 %r3, 42; st.shared.u32 [s], %r3; bar.arrive 3, 64; st.global.u32 [%rd1], %r0;"""
    out = run(body, 96)
    assert out.tolist() == [*range(32), *[42] * 32, *[0] * 32]


def test_barriers_with_results():
    body = """
    setp.lt.u32 %p0, %r0, 50; bar.red.popc.u32 %r1, 0, %p0; bar.red.and.pred %p1, 0, 64, %p0;
    bar.red.or.pred %p2, 1, !%p0; @%p1 add.u32 %r1, %r1, 1000; @%p2 add.u32 %r1, %r1, 2000;
    st.global.u32 [%rd1], %r1;"""
    assert run(body, 64).tolist() == [2050] * 64


def test_lanes_of_one_warp_contend_for_a_lock():
    body = """
    mov.u32 %r1, 0;
    AGAIN: atom.global.cas.b32 %r2, [%rd0], 0, 1; setp.ne.u32 %p0, %r2, 0; @%p0 bra AGAIN;
    ld.volatile.global.u32 %r3, [%rd0+4]; add.u32 %r3, %r3, %r0; st.volatile.global.u32 [%rd0+4], %r3;
    membar.gl; atom.global.exch.b32 %r4, [%rd0], 0;"""
    out = np.zeros(64, np.uint32)
    kernel(body).launch(3, 64, [out])
    assert out[:2].tolist() == [0, 3 * 2016]


def test_blocks_in_either_order():
    body = """
    mov.u32 %r1, %ctaid.x; mov.u32 %r5, %nctaid.x; ORDER
    setp.ne.u32 %p0, %r0, 0; @%p0 bra GO;
    WAIT: ld.global.acquire.gpu.b32 %r2, [%rd0]; setp.ne.u32 %p1, %r2, %r1; @%p1 bra WAIT;
    GO: bar.sync 0; add.u32 %r3, %r1, 1; setp.ne.u32 %p2, %r0, 0; @%p2 bra OUT;
    mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd0, %rd3; st.global.u32 [%rd3+4], %r1;
    fence.acq_rel.gpu; st.release.gpu.global.u32 [%rd0], %r3; OUT:"""
    for order in ("", "sub.u32 %r1, %r5, %r1; sub.u32 %r1, %r1, 1;"):
        out = np.zeros(41, np.uint32)
        kernel(body.replace("ORDER", order)).launch(40, 64, [out])
        assert out.tolist() == [40, *range(40)]


def test_float_atomics_add_in_thread_order():
    body = "mov.f32 %f0, 0f3F800001; atom.global.add.f32 %f1, [%rd0], %f0; red.shared.add.f32 [s], %f0;"
    out = np.zeros(32, np.float32)
    run(".shared .f32 s; mov.u32 %r1, 0; st.shared.u32 [s], %r1;" + body, array=out)
    expected = np.float32(0)
    for _ in ALL:
        expected = np.float32(expected + np.float32(1 + 2**-23))
    assert out[0] == expected


def test_float_atomics_flush_subnormals_on_global_memory_alone():
    """Through an address of the space and a generic one, with lanes in both memories; as an H200."""
    body = """.shared .b32 s[64]; mov.u64 %rd2, s; mad.wide.u32 %rd2, %r0, 4, %rd2; mov.f32 %f0, 0f00000001;
    mov.u32 %r1, 40; st.shared.u32 [%rd2], %r1; st.shared.u32 [%rd2+128], %r1; st.global.u32 [%rd1], %r1;
    red.shared.add.f32 [%rd2+128], %f0; ld.shared.u32 %r2, [%rd2+128]; st.global.u32 [%rd1+128], %r2;
    and.b32 %r3, %r0, 1; setp.ne.u32 %p0, %r3, 0; cvta.shared.u64 %rd3, %rd2; selp.b64 %rd4, %rd3, %rd1, %p0;
    atom.add.f32 %f1, [%rd4], %f0; @%p0 ld.shared.u32 %r1, [%rd2]; @%p0 st.global.u32 [%rd1], %r1;"""
    found = run(body, array=np.zeros((2, 32), np.uint32))
    assert found.tolist() == [[0, 41] * 16, [41] * 32]


def test_atomics_wrap_as_the_reference_says():
    body = """
    atom.global.inc.u32 %r1, [%rd0], 5; atom.global.dec.u32 %r1, [%rd0+4], 6; red.global.max.s32 [%rd0+8], -7;
    atom.global.min.s32 %r1, [%rd0+12], -7; atom.global.exch.b64 %rd2, [%rd0+16], 9;
    red.global.xor.b32 [%rd0+24], %r0;
    """
    out = np.array([0, 0, -9 & 0xFFFFFFFF, 4, 0, 0, 0], np.uint32)
    run(body, 30, array=out)
    xor = int(np.bitwise_xor.reduce(np.arange(30)))
    assert out.tolist() == [30 % 6, 5, -7 & 0xFFFFFFFF, -7 & 0xFFFFFFFF, 9, 0, xor]


@pytest.mark.parametrize("valid", [0, 3, 4, 8, 12, 16])
def test_copies_fill_with_zeros(valid):
    body = f"""
    .shared .align 16 .b8 s[512]; shl.b32 %r1, %r0, 4; mov.u32 %r2, s; add.u32 %r2, %r2, %r1;
    mul.wide.u32 %rd2, %r0, 16; add.u64 %rd2, %rd0, %rd2; mov.u32 %r3, {valid}; setp.lt.u32 %p0, %r0, 2;
    mov.u32 %r4, -1; st.shared.v4.u32 [%r2], {{%r4, %r4, %r4, %r4}};
    @%p0 cp.async.cg.shared.global.L2::128B [%r2], [%rd2], 16, %r3; cp.async.wait_all;
    ld.shared.v4.u32 {{%r4, %r5, %r6, %r7}}, [%r2]; st.global.v4.u32 [%rd2+64], {{%r4, %r5, %r6, %r7}};"""
    out = np.arange(128, dtype=np.uint8)
    run(body, 4, array=out)
    copied = [np.where(np.arange(16) < valid, out[16 * t : 16 * t + 16], 0).tolist() for t in range(2)]
    assert out[64:].reshape(4, 16).tolist() == [*copied, [255] * 16, [255] * 16]


def reports(body, threads=32, array=None, **options):
    out = np.zeros(threads, np.uint32) if array is None else array
    return [str(item) for item in kernel(body).launch(1, threads, [out], check=True, **options).reports]


@pytest.mark.parametrize("dropped", [{1}, {0}])
@pytest.mark.parametrize("name", SINKS)
def test_results_may_be_dropped(name, dropped):
    whole, found = launch_sinks(name, set()), launch_sinks(name, dropped)
    for row in range(len(whole)):
        expected = np.zeros(32, np.uint64) if row - 3 in dropped else whole[row]
        assert found[row].tolist() == expected.tolist()
    assert whole[3].any()


@pytest.mark.parametrize(
    ("constant", "bits"), [("0.5", 0), ("-1.25", 0), ("0.1", 0x9999999A), ("0d3FF000003F800000", 0x3F800000)]
)
def test_the_low_bits_of_a_double_are_the_constant(monkeypatch, constant, bits):
    """As an H100 shows, whose assembler does not convert a decimal constant among registers."""
    name = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    found = []
    for text in (constant, f"0f{bits:08x}"):
        monkeypatch.setitem(SINKS, name, (*SINKS[name][:-1], text))
        found.append(launch_sinks(name, set()).tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "instruction",
    [
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {_, %r3, _, _}, [%r2];",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {_, %r3, _, _, _, _, _, _}, [tile];",
    ],
)
def test_fragments_may_be_dropped_in_part(instruction):
    def launch(text):
        return run(
            f"""
    .shared .align 32 .b8 tile[512]; shl.b32 %r2, %r0, 4; mov.u32 %r3, tile; add.u32 %r2, %r2, %r3;
    mad.lo.u32 %r1, %r0, 40503, 9; st.shared.v4.u32 [%r2], {{%r1, %r0, %r2, %r1}}; bar.sync 0;
    mov.u32 %r3, 0; {text} st.global.u32 [%rd1], %r3;"""
        ).tolist()

    others = iter(range(9, 20))
    whole = "".join(f"%r{next(others)}" if part == "_" else part for part in instruction)
    assert launch(instruction) == launch(whole)
    assert any(launch(instruction))


@pytest.mark.parametrize(
    ("name", "constant", "part"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "1", "consists of floats"),
        ("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", "1.0", "consists of integers"),
        ("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", "_", "expected a register for fragment"),
    ],
)
def test_constants_of_another_kind_are_refused(monkeypatch, name, constant, part):
    monkeypatch.setitem(SINKS, name, (*SINKS[name][:-1], constant))
    with pytest.raises(PtxError, match=part):
        launch_sinks(name, set())


def test_a_load_whose_fragment_nobody_reads_needs_no_whole_warp():
    names = ", ".join(f"%r{number}" for number in range(8))
    body = f"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {{{names}}}, [%rd1], 16;"
    run(f"setp.lt.u32 %p0, %r0, 8; @%p0 bra END; bar.warp.sync 0xffffff00; {body} END: ret;")


def test_the_checker_reports_reads_of_bytes_never_written():
    body = ".shared .b32 x[4]; .shared .b32 y[32]; ld.shared.u32 %r1, [y+4]; st.global.u32 [%rd1], %r1;"
    (found,) = reports(body)
    assert "never written: byte 20 of shared memory, byte 4 of y" in found
    assert "kernel k, block (0, 0, 0), thread (0, 0, 0), 32 times" in found
    assert "short.ptx:" in found
    buffer = empty(32, np.uint32, name="raw")
    (found,) = reports("ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1], %r1;", array=buffer)
    assert "byte 0 of raw (128 bytes)" in found
    assert not reports("st.global.u32 [%rd1], %r0; ld.global.u32 %r1, [%rd1];", array=empty(32, np.uint32))


COPY = """
.shared .align 16 .b32 s[128]; shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r2, %r2, %r1;
cp.async.ca.shared.global [%r2], [%rd1], 4; cp.async.commit_group;
"""


def test_the_checker_reports_reads_of_bytes_in_flight():
    late = f"{COPY} ld.shared.u32 %r3, [%r2]; cp.async.wait_group 0; st.global.u32 [%rd1], %r3;"
    (found,) = reports(late)
    assert "cp.async may still be copying: byte 0 of shared memory, byte 0 of s" in found
    assert not reports(f"{COPY} cp.async.wait_group 0; ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd1], %r3;")
    assert reports(f"{COPY} cp.async.wait_group 1; ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd1], %r3;")


def test_the_checker_reports_barriers_that_threads_never_reach():
    (found,) = reports("setp.lt.u32 %p0, %r0, 8; @%p0 ret; bar.sync 0;")
    assert "8 of 32 threads of the block ended without reaching this barrier" in found


@pytest.mark.parametrize(("between", "count"), [("", 1), ("bar.sync 0;", 0), ("bar.warp.sync -1;", 1)])
def test_the_checker_reports_races(between, count):
    body = f"""
    .shared .b32 s[64]; shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r3, %r2, %r1; st.shared.u32 [%r3], %r0;
    {between} xor.b32 %r1, %r1, 128; add.u32 %r3, %r2, %r1; ld.shared.u32 %r4, [%r3];
    st.global.u32 [%rd1], %r4;"""
    found = reports(body, 64, races=True)
    assert len(found) == count
    assert all("data race with thread" in item for item in found)


def test_an_atomic_on_local_memory_is_a_fault():
    body = ".local .b32 l; mov.u64 %rd2, l; cvta.local.u64 %rd2, %rd2; atom.add.u32 %r1, [%rd2], 1;"
    with pytest.raises(KernelFault, match=r"an atomic on \.local memory"):
        run(body)


def test_buffers_live_across_launches():
    one = kernel("ld.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;")
    buffer = device(np.arange(32, dtype=np.int32))
    for _ in range(3):
        one.launch(1, 32, [buffer])
    assert buffer.numpy().tolist() == [t + 3 for t in ALL]
    assert buffer.nbytes == 128
    assert buffer.address % 256 == 0


@pytest.mark.parametrize(
    "operation", ["add.u32", "add.u64", "min.u32", "max.s32", "inc.u32", "exch.b32", "xor.b32"]
)
def test_contended_atomics_are_those_of_one_thread_after_the_other(operation):
    generator = np.random.default_rng(1)
    bits = int(operation[-2:])
    memory = generator.integers(0, 1 << 32, 4, dtype=np.uint64).astype(f"u{bits // 8}")
    values = generator.integers(0, 1 << 32, 96, dtype=np.uint64).astype(f"u{bits // 8}")
    cells = generator.integers(0, 4, 96).astype(np.uint32)
    old, wide = np.zeros_like(values), "rd" if bits == 64 else "r"
    body = f"""
    ld.param.u64 %rd10, [v]; ld.param.u64 %rd11, [c]; ld.param.u64 %rd12, [m]; add.u64 %rd11, %rd11, %rd1;
    sub.u64 %rd11, %rd11, %rd0; ld.global.u32 %r1, [%rd11]; mul.wide.u32 %rd13, %r1, {bits // 8};
    add.u64 %rd12, %rd12, %rd13; mul.wide.u32 %rd14, %r0, {bits // 8}; add.u64 %rd10, %rd10, %rd14;
    ld.global.b{bits} %{wide}5, [%rd10]; atom.global.{operation} %{wide}6, [%rd12], %{wide}5;
    add.u64 %rd0, %rd0, %rd14; st.global.b{bits} [%rd0], %{wide}6;"""
    after = memory.copy()
    one = kernel(body, parameters=".param .u64 a, .param .u64 v, .param .u64 c, .param .u64 m")
    one.launch(1, 96, [old, values, cells, after])
    functions = {
        "add": lambda x, y: x + y,
        "min": min,
        "max": lambda x, y: max(x, y, key=lambda item: item - (item >> 31 << 32)),
        "inc": lambda x, y: 0 if x >= y else x + 1,
        "exch": lambda x, y: y,
        "xor": lambda x, y: x ^ y,
    }
    expected, found = memory.tolist(), []
    for cell, value in zip(cells.tolist(), values.tolist(), strict=True):
        found.append(expected[cell])
        expected[cell] = functions[operation.partition(".")[0]](expected[cell], value) % (1 << bits)
    assert (old.tolist(), after.tolist()) == (found, expected)


def test_blocks_are_freed_when_they_have_ended():
    gc.disable()
    try:
        before = sum(issubclass(type(item), BlockRun) for item in gc.get_objects())
        kernel("bar.sync 0; st.global.u32 [%rd1], %r0;").launch(20, 64, [np.zeros(64, np.uint32)], check=True)
        after = sum(issubclass(type(item), BlockRun) for item in gc.get_objects())
    finally:
        gc.enable()
    assert after - before <= 0


SPIN = """
AGAIN: mov.u32 %r5, %clock; ld.volatile.global.u32 %r4, [%rd0]; add.u32 %r6, %r6, %r5;
setp.eq.u32 %p1, %r4, 0; @%p1 bra AGAIN; st.global.u32 [%rd1+128], %r4; ret;
"""
"""A loop that looks at the clock: its registers change in every round, so nothing shows that it waits."""


@pytest.mark.parametrize(("threads", "who"), [(64, 32), (32, 5)])
def test_threads_that_wait_with_an_eye_on_the_clock_take_turns(monkeypatch, threads, who):
    monkeypatch.setattr("golden.simt.block._SLICE", 8)
    body = f"""
    mov.u32 %r6, 0; setp.eq.u32 %p0, %r0, {who}; @%p0 bra SET; {SPIN}
    SET: mov.u32 %r7, 9; st.volatile.global.u32 [%rd0], %r7;"""
    out = np.zeros(200, np.uint32)
    kernel(body).launch(1, threads, [out], limit=10**6)
    assert out[32 : 32 + threads].tolist() == [0 if t == who else 9 for t in range(threads)]


def test_blocks_that_wait_with_an_eye_on_the_clock_take_turns(monkeypatch):
    monkeypatch.setattr("golden.simt.block._TURN", 64)
    body = f"""
    mov.u32 %r6, 0; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p0, %r1, 2; @%p0 bra SET; {SPIN}
    SET: mov.u32 %r7, 9; st.volatile.global.u32 [%rd0], %r7;"""
    out = np.zeros(64, np.uint32)
    kernel(body).launch(3, 32, [out], limit=10**6)
    assert out[32:].tolist() == [9] * 32
