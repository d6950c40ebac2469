"""Launches that do not fit, kernels that do what they must not, and text that is not supported."""

import ctypes

import numpy as np
import pytest

from golden.ptx.source import PtxError
from golden.simt import Deadlock, KernelFault, LaunchError, Module, StepLimit, device, empty

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>; .reg .f32 %f<9>; .reg .b16 %h<9>;"


def kernel(body, parameters=".param .u64 a", before=""):
    return Module(
        f"{HEADER}{before}\n.entry k({parameters})\n{{\n{REGISTERS}\n{body}\n}}\n", "case.ptx"
    ).kernel()


def load_a(body):
    return kernel(f"ld.param.u64 %rd0, [a];\nmov.u32 %r0, %tid.x;\n{body}")


def fault(run, *parts, error=KernelFault):
    with pytest.raises(error) as caught:
        run()
    message = str(caught.value)
    assert "\n" not in message.strip()
    for part in parts:
        assert part in message, message


# Launches


@pytest.mark.parametrize(
    ("grid", "block", "part"),
    [
        (0, 32, "grid.x must be 1 to 2147483647, not 0"),
        ((1, 65536), 32, "grid.y must be 1 to 65535, not 65536"),
        (1, (32, 1, 65), "block.z must be 1 to 64, not 65"),
        (1, (32, 33), "at most 1024 threads, not 1056"),
        ((1, 1, 1, 1), 32, "one to three integers"),
        (1.5, 32, "one to three integers"),
    ],
)
def test_extents(grid, block, part):
    fault(lambda: kernel("ret;").launch(grid, block, [0]), part, error=LaunchError)


def test_shared_memory():
    one = kernel("ret;", before="")
    fault(lambda: one.launch(1, 32, [0], 232449), "232449", "at most 232448", error=LaunchError)
    fault(lambda: one.launch(1, 32, [0], -1), "-1", error=LaunchError)
    one.launch(1, 32, [0], 232448)


def test_arguments():
    one = kernel("ret;", ".param .u64 a, .param .s32 n, .param .f32 x, .param .align 8 .b8 s[24]")
    signature = "k(.u64 a, .s32 n, .f32 x, 24 bytes s)"
    fine = [np.zeros(4), 3, 1.5, bytes(24)]
    one.launch(1, 32, fine)
    one.launch(1, 32, {"a": 0, "n": -1, "x": 2, "s": np.zeros(1, "V24")[0]})
    for place, value, part in (
        (1, 1 << 40, "n is .s32, which cannot hold 1099511627776"),
        (1, 1.5, "n takes a number of type .s32, not float"),
        (1, np.zeros(3), "n takes a number of type .s32, not ndarray"),
        (2, "x", "x takes a number of type .f32, not str"),
        (0, [1.0], "a takes an array, a buffer or a number of type .u64, not list"),
        (3, bytes(23), "s has 24 bytes, but the argument has 23"),
        (3, 5, "s takes 24 bytes"),
        (0, np.array([object()]), "has no bytes"),
    ):
        wrong = [*fine[:place], value, *fine[place + 1 :]]
        fault(lambda wrong=wrong: one.launch(1, 32, wrong), part, error=LaunchError)
    fault(lambda: one.launch(1, 32, fine[:3]), "4 arguments expected, not 3", signature, error=LaunchError)
    fault(lambda: one.launch(1, 32, {"b": 1}), "no parameter b", signature, error=LaunchError)
    fault(lambda: one.launch(1, 32, {"a": 1}), "no argument for n", signature, error=LaunchError)


def test_structures_by_value():
    class Pair(ctypes.Structure):
        _fields_ = (("to", ctypes.c_uint64), ("value", ctypes.c_uint32))

    body = "ld.param.u64 %rd0, [s]; ld.param.u32 %r0, [s+8]; st.global.u32 [%rd0], %r0; ret;"
    one = kernel(body, ".param .align 8 .b8 s[16]")
    buffer = empty(1, np.uint32)
    one.launch(1, 1, [Pair(buffer.address, 77)])
    assert buffer.numpy().tolist() == [77]
    record = np.zeros((), np.dtype([("to", "u8"), ("value", "u4"), ("pad", "u4")]))
    record["to"], record["value"] = buffer.address, 78
    one.launch(1, 1, [record[()]])
    assert buffer.numpy().tolist() == [78]


def test_arrays_are_updated_in_place():
    one = load_a("mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd0, %rd1; st.global.u32 [%rd1], %r0; ret;")
    array = np.zeros(64, np.uint32)
    one.launch(1, 32, [array[::2]])
    assert array[::2].tolist() == list(range(32))
    assert not array[1::2].any()
    array.flags.writeable = False
    fault(lambda: one.launch(1, 32, [array]), "read-only", error=LaunchError)


def test_launches_as_numba_spells_them():
    one = load_a("mov.u32 %r1, %dynamic_smem_size; st.global.u32 [%rd0], %r1; ret;")
    array = np.zeros(1, np.uint32)
    assert one[(2, 2), 32, 48](array, limit=1000).blocks == 4
    assert array[0] == 48
    fault(lambda: one[1](array), "expected kernel[grid, block]", error=LaunchError)


def test_names_of_kernels():
    module = Module(
        f"{HEADER}.entry _Z4gemmPfi(.param .u64 a) {{ ret; }} .entry other() {{ ret; }}", "two.ptx"
    )
    assert module.kernel("gemm").name == module.kernel("_Z4gemmPfi").name
    fault(module.kernel, "name one", "gemm(float*, int), other", error=LaunchError)
    fault(lambda: module.kernel("nothing"), "no kernel nothing", error=LaunchError)


# Memory


def test_one_byte_past_a_buffer():
    buffer = device(np.zeros(4, np.uint8), name="small")
    one = load_a("ld.global.u8 %r1, [%rd0+4]; st.global.u8 [%rd0], %r1; ret;")
    fault(
        lambda: one.launch((2, 1), 1, [buffer]),
        *("no memory for 1 bytes", f"{buffer.address + 4:#x}", "0 bytes past the end of small (4 bytes)"),
        *("kernel k", "block (0, 0, 0)", "thread (0, 0, 0)", "case.ptx:10"),
    )


def test_the_thread_at_fault_is_named():
    buffer = device(np.zeros(40, np.uint32), name="x")
    one = load_a("mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd0, %rd1; st.global.u32 [%rd1], %r0; ret;")
    fault(lambda: one.launch(1, 64, [buffer]), "thread (40, 0, 0)", "past the end of x (160 bytes)")


def test_a_freed_buffer():
    buffer = device(np.zeros(4, np.uint8), name="gone")
    one = load_a("st.global.u8 [%rd0], %r0; ret;")
    address = buffer.address
    buffer.free()
    fault(lambda: one.launch(1, 1, [buffer]), "gone has been freed", error=LaunchError)
    fault(lambda: one.launch(1, 1, [address]), "byte 0 of gone, which has been freed")
    fault(buffer.numpy, "gone has been freed", error=LaunchError)


@pytest.mark.parametrize(
    ("access", "part"),
    [
        ("st.global.u32 [%rd0+2], %r0;", "is not a multiple of the 4 bytes accessed"),
        ("st.global.v4.u32 [%rd0+8], {%r0, %r0, %r0, %r0};", "is not a multiple of the 16 bytes accessed"),
        ("mov.u32 %r1, cells; st.shared.u32 [%r1+64], %r0;", "68 bytes"),
        (
            "mov.u32 %r1, 4096; st.shared.u32 [%r1], %r0;",
            "4 bytes at 0x1000 of shared memory, which has 64 bytes",
        ),
        ("mov.u64 %rd1, 12; st.u32 [%rd1], %r0;", "no memory at 0xc"),
        ("atom.global.add.u32 %r1, [%rd0+4096], %r0;", "4032 bytes past the end of x"),
        ("bar.sync 16;", "barrier 16; allowed: 0 to 15"),
        ("bar.sync 1, 33;", "33 threads, which is no multiple of 32"),
        ("trap;", "stopped itself with a trap"),
    ],
)
def test_faults(access, part):
    body = f".shared .b32 cells[16]; mov.u32 %r5, cells; st.shared.u32 [%r5], %r5; {access} ret;"
    if "68" in part:
        part = "4 bytes at 0x40 of shared memory, which has 64 bytes: 0 bytes past the end of cells ("
    one = load_a(body)
    fault(lambda: one.launch(1, 1, [device(np.zeros(16, np.uint32), name="x")]), part)


# Waiting


def test_a_wmma_in_a_diverged_warp():
    body = """
    mul.wide.u32 %rd1, %r0, 4;
    setp.lt.u32 %p0, %r0, 16;
    @%p0 bra OUT;
    wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd0];
    st.global.u32 [%rd0], %r1;
    OUT: ret;"""
    array = np.zeros(512, np.uint8)
    fault(
        lambda: load_a(body).launch(1, 32, [array]), "wmma.load.a", "lanes have diverged", "thread (16, 0, 0)"
    )


def test_a_barrier_for_threads_that_do_not_exist():
    one = load_a("bar.sync 1, 64; ret;")
    fault(lambda: one.launch(1, 32, [0]), "line 10 (warps 0)", error=Deadlock)


def test_lanes_that_wait_for_lanes_elsewhere():
    body = "setp.lt.u32 %p0, %r0, 16; @%p0 bra A; bar.warp.sync -1; A: vote.sync.any.pred %p1, %p0, -1; ret;"
    fault(lambda: load_a(body).launch(1, 32, [0]), "wait for others that never come", error=Deadlock)


def test_blocks_that_wait_for_each_other():
    body = """
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd1, %r1, 4;
    add.u64 %rd1, %rd0, %rd1;
    AGAIN: ld.acquire.gpu.global.u32 %r2, [%rd1];
    setp.eq.u32 %p0, %r2, 0;
    @%p0 bra AGAIN;
    ret;"""
    fault(
        lambda: load_a(body).launch(2, 32, [np.zeros(2, np.uint32)]),
        *(
            "2 blocks loop without a change, and nothing is left to make one",
            "block (0, 0, 0) at line 14 (warps 0)",
            "block (1, 0, 0) at line 14",
        ),
        error=Deadlock,
    )


def test_a_block_that_waits_for_nobody():
    body = "AGAIN: ld.volatile.global.u32 %r2, [%rd0]; setp.eq.u32 %p0, %r2, 0; @%p0 bra AGAIN; ret;"
    array = np.zeros(1, np.uint32)
    fault(
        lambda: load_a(body).launch(1, 32, [array]),
        "a block loops without a change",
        "line 10",
        error=Deadlock,
    )


def test_an_endless_kernel():
    one = load_a("AGAIN: add.u32 %r0, %r0, 1; st.global.u32 [%rd0], %r0; bra AGAIN;")
    fault(
        lambda: one.launch(1, 64, [np.zeros(1, np.uint32)], limit=10_000),
        *("more than 10000 warp instructions", "line 10 (warps 0-1)"),
        error=StepLimit,
    )


# Constants

CONSTANTS = ".const .align 8 .u32 table[4] = {1, 2, 3, 4}; .global .u32 other[4];"


@pytest.mark.parametrize("choice", ["", "setp.eq.u32 %p0, %r0, 3; @!%p0 mov.u64 %rd2, other;"])
@pytest.mark.parametrize("address", ["mov.u64 %rd2, table;", "cvta.const.u64 %rd2, table;"])
@pytest.mark.parametrize(
    "access",
    [
        "st.global.u32 [%rd2+4], %r0;",
        "st.u32 [%rd2+4], %r0;",
        "atom.global.add.u32 %r1, [%rd2+4], 1;",
        "atom.cas.b32 %r1, [%rd2+4], 1, 2;",
        "red.global.max.u32 [%rd2+4], 1;",
    ],
)
def test_constants_are_not_written_through_a_register(access, address, choice):
    one = kernel(f"mov.u32 %r0, %tid.x; {address} {choice} {access} ret;", before=CONSTANTS)
    before = one.module["table"].numpy().tolist()
    thread = f"thread ({3 if choice else 0}, 0, 0)"
    parts = "constants cannot be written: byte 4 of table (16 bytes) at 0x", thread
    fault(lambda: one.launch(1, 4, [0]), *parts)
    assert one.module["table"].numpy().tolist() == before
    one.module["table"].write([5, 6, 7, 8])  # the host may


# Text


def unsupported(body, *parts, before=""):
    with pytest.raises(PtxError) as caught:
        kernel(body, before=before)
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("mbarrier.init.shared.b64 [a], 1;", "an mbarrier lies in .shared, not in .param"),
        ("mbarrier.arrive.b64 [%rd0];", "takes 2 to 3 operands, not 1"),
        ("mbarrier.arrive.shared::cluster.b64 %rd1, [%r0];", "an arrival in .shared::cluster has no state"),
        ("mbarrier.check_layout.b64 %p0, [%rd0];", "mbarrier.check_layout.b64 is not supported"),
        ("st.global.u32 [table], 1;", "parameters of an entry and constants cannot be stored to"),
        ("st.const.u32 [%rd0], 1;", "parameters of an entry and constants cannot be stored to"),
        ("atom.global.add.u32 %r0, [table], 1;", "atomics act on .global and .shared, not on .const"),
        ("red.add.u32 [table], 1;", "atomics act on .global and .shared, not on .const"),
        (
            "cp.async.ca.shared.global [table], [%rd0], 4;",
            "table is in .const, but the instruction accesses .shared",
        ),
        ("bar.red.pred %p0, 0, %p1;", "bar.red.pred is not supported"),
        ("wgmma.fence.aligned;", "wgmma.fence.aligned is not supported"),
        ("tex.1d.v4.f32.s32 {%f0,%f1,%f2,%f3}, [a, {%r0}];", "tex.1d.v4.f32.s32 is not supported"),
        ("add.u32 %r0, %r1, %rd0;", "expected an operand of 32 bits, but %rd0 is .b64"),
        ("add.u32 %r0, %r1;", "takes 2 sources, not 1"),
        ("ld.global.f32 %h0, [%rd0];", "expected a destination of 32 bits"),
        ("ld.global.b32 {%r0, %r1}, [%rd0];", "moves 1 values, not 2"),
        ("ld.global.L2::cache_hint.b32 %r0, [%rd0];", "takes 2 operands, not 1"),
        ("atom.global.cas.u8 %r0, [%rd0], %r1, %r2;", "is not supported"),
        ("bra NOWHERE;", "NOWHERE is not declared"),
        ("call helper, ();", "helper is not declared"),
        ("mov.u32 %r99, 1;", "%r99 is not declared"),
        ("@%r0 ret;", "expected a .pred register"),
        (
            "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f0}, {%r0}, {%r0}, {%f0};",
            "expected 8 registers for fragment d of .f32 in .m16n16k16, not 1",
        ),
        ("cp.async.ca.shared.global [%r0], [%rd0], 5;", "operand 3 is 4 or 8 or 16, not 5"),
        ("shfl.sync.idx.b32 %r0, %r1, 0, 31;", "takes 5 operands, not 4"),
    ],
)
def test_unsupported_before_anything_runs(body, part):
    error = unsupported(f"{body}\nret;", part, before=CONSTANTS)
    assert error.line == 8


def test_an_unsupported_entry_does_not_affect_others():
    text = f"{HEADER}.entry bad() {{ tcgen05.wait; }} .entry good() {{ ret; }}"
    module = Module(text)
    module.kernel("good").launch(1, 32)
    with pytest.raises(PtxError, match="tcgen05"):
        module.kernel("bad")
