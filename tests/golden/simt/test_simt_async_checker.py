"""Asynchronous instructions under the checker: kernels of a chip from which one statement is removed."""

import re
from functools import cache

import numpy as np
import pytest
from captured import prepare, text
from short_kernels import HEADER

from golden.simt import Module


def reports(case, statement, count=0):
    """What the checker finds where a statement is left out: messages, with their instructions."""
    launch = prepare(case)
    entry = launch.case["entry"]
    source = text("hopper.ptx")
    start = source.index(f".entry {entry}(")
    body = source[start:]
    changed, number = re.subn(statement, "", body, count=count)
    assert number
    kernel = Module(source[:start] + changed, "hopper.ptx").kernel(entry)
    case = launch.case
    found = kernel.launch(case["grid"], case["block"], launch.arguments, case["shared"], check=True).reports
    return [(report.message, report.place) for report in found]


UNFENCED = "asynchronous read of bytes that were written without fence.proxy.async since"
WAIT = r"wgmma\.wait_group\S* 0;"
FENCES = r"fence\.proxy\.async\S*;"
WITHOUT = [
    ("gemm_e4m3_promoted", WAIT, "accumulator of wgmma read before wgmma.wait_group", "mul.f32|fma"),
    ("gemm_f16_mn", WAIT, "write of bytes that an unfinished wgmma reads: byte", "cp.async.bulk.tensor"),
    ("gemm_bf16_specialised", FENCES, UNFENCED, "cp.async.bulk.tensor"),
    ("bulk", FENCES, UNFENCED, "bulk_group"),
    (
        "bulk",
        r"cp\.async\.bulk\.wait_group\.read 0;",
        "write of bytes that an unfinished bulk copy",
        "st.shared",
    ),
    (
        "bulk",
        r"mbarrier\.try_wait[^}]*?bra WAIT_\d+;",
        "read of bytes that a bulk copy may still",
        "ld.shared",
    ),
]


@pytest.mark.parametrize(("entry", "statement", "message", "place"), WITHOUT)
def test_a_statement_left_out_is_found(entry, statement, message, place):
    found = reports(f"hopper.{entry}", statement)
    assert any(told.startswith(message) and re.search(place, where) for told, where in found), found


@cache
def kernel(body):
    registers = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<5>;"
    variables = ".shared .align 128 .b8 tile[2048]; .shared .align 8 .b64 bar;"
    start = "ld.param.u64 %rd0, [a]; mov.u32 %r0, %tid.x; mov.u32 %r1, tile; mad.lo.u32 %r1, %r0, 4, %r1;"
    first = "setp.eq.u32 %p0, %r0, 0;"
    return Module(
        f"{HEADER}.entry k(.param .u64 a) {{ {variables} {registers} {start} {first}\n{body} ret; }}"
    ).kernel()


def found(body):
    return [
        report.message for report in kernel(body).launch(1, 64, [np.zeros(64, np.uint32)], check=True).reports
    ]


STORE = "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [tile], 256; cp.async.bulk.commit_group;"
WRITE = "st.shared.u32 [%r1], %r0;"
FENCE = "fence.proxy.async.shared::cta;"


def test_a_fence_counts_for_what_its_thread_knows_of():
    wait = "cp.async.bulk.wait_group 0;"
    assert found(f"{WRITE} {FENCE} bar.sync 0; {STORE} {wait}") == []
    assert found(f"{WRITE} bar.sync 0; @%p0 {FENCE} {STORE} {wait}") == []
    (message,) = found(f"{WRITE} @%p0 {FENCE} bar.sync 0; {STORE} {wait}")
    assert message.startswith(UNFENCED)
    (message,) = found(f"{WRITE} fence.proxy.async.global; bar.sync 0; {STORE} {wait}")
    assert message.startswith(UNFENCED)


def test_a_write_after_the_wait_is_legal():
    before = f"{WRITE} {FENCE} bar.sync 0; {STORE}"
    assert found(f"{before} cp.async.bulk.wait_group.read 0; bar.sync 0; {WRITE}") == []
    (message,) = found(f"{before} cp.async.bulk.wait_group.read 1; bar.sync 0; {WRITE}")
    assert message.startswith("write of bytes that an unfinished bulk copy reads: byte 0 of shared memory")


def test_bytes_that_never_come_are_reported_without_a_wait():
    body = """@%p0 mbarrier.init.shared::cta.b64 [bar], 1;
        @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 272;
        @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd0], 256, [bar];"""
    (message,) = found(body)
    assert re.fullmatch(r"16 of the bytes expected at the mbarrier at byte \d+ .* never came", message)


def multiply(after, form="mma_async.sync.aligned.m64n8k16", metadata=""):
    """A multiply whose A is in registers, and what follows it."""
    registers = f"{{%f0, %f1, %f2, %f3}}, {{%r1, %r2, %r3, %r4}}, %rd2, {metadata}%p0, 1, 1, 0"
    text_ = f"""{HEADER}.entry k() {{ .shared .align 1024 .b8 tile[2048];
        .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; .shared .align 4 .b32 out[128];
        mov.u32 %r0, %tid.x; mad.lo.u32 %r1, %r0, 16, tile; st.shared.v4.u32 [%r1], {{0, 0, 0, 0}};
        {FENCE} bar.sync 0; setp.lt.u32 %p1, %r0, 128;
        mov.u32 %r2, 1; mov.u32 %r3, 1; mov.u32 %r4, 1; mov.b64 %rd2, 0; setp.eq.u32 %p0, 0, 0;
        mov.u32 %r6, 0x44444444;
        wgmma.fence.sync.aligned; wgmma.{form}.f32.f16.f16 {registers};
        wgmma.{form}.f32.f16.f16 {registers};
        wgmma.commit_group.sync.aligned; {after} ret; }}"""
    launch = Module(
        text_.replace("mad.lo.u32 %r1, %r0, 16, tile", "mov.u32 %r1, tile; mad.lo.u32 %r1, %r0, 16, %r1")
    )
    return [report.message for report in launch.kernel().launch(1, 128, [], check=True).reports]


USE = "mul.lo.u32 %r7, %r0, 4; mov.u32 %r8, out; add.u32 %r8, %r8, %r7; st.shared.f32 [%r8], %f5;"


def test_registers_of_an_unfinished_multiply_are_watched():
    wait = "wgmma.wait_group.sync.aligned 0;"
    add = "add.f32 %f5, %f0, %f1;"
    assert multiply(f"{wait} {add} {USE}") == []
    assert multiply(f"{add} {wait} {USE}") == ["accumulator of wgmma read before wgmma.wait_group"]
    late = wait.replace("0;", "1;")
    assert multiply(f"{late} {add} {wait} {USE}") == ["accumulator of wgmma read before wgmma.wait_group"]
    change = "add.u32 %r3, %r3, 1;"
    after = f"{wait} st.shared.u32 [out], %r3;"
    assert multiply(f"{change} {after}") == ["register of A of wgmma written before wgmma.wait_group"]
    assert multiply(f"setp.lt.u32 %p2, %r0, 0; @%p2 {change} {after}") == []


def test_the_metadata_of_an_unfinished_multiply_is_watched():
    wait, change = "wgmma.wait_group.sync.aligned 0;", "add.u32 %r6, %r6, 1;"
    sparse = "mma_async.sp.sync.aligned.m64n8k32", "%r6, 0, "
    use = "st.shared.u32 [out], %r6;"
    assert multiply(f"{wait} {change} {use}", *sparse) == []
    assert multiply(f"{change} {wait} {use}", *sparse) == [
        "metadata of wgmma written before wgmma.wait_group"
    ]
