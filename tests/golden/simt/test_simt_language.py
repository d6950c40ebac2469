"""What the text of a kernel may contain: scopes, functions, variables, labels, vectors, predicates."""

import gc

import numpy as np
import pytest
from short_kernels import HEADER, kernel, run

from golden.ptx.source import PtxError
from golden.simt import Module, device, empty
from golden.simt.device_memory import DeviceMemory

THREADS = np.arange(32, dtype=np.uint32)


def test_a_scope_hides_a_register_and_may_change_its_type():
    body = """
    mov.u32 %r1, 7;
    { .reg .pred p; setp.lt.u32 p, %r0, 4; @p mov.u32 %r1, 9; }
    { .reg .b64 p; .reg .b32 %r1; mov.b64 p, 5; cvt.u32.u64 %r1, p; add.u32 %r2, %r1, 1; }
    add.u32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1;"""
    assert run(body).tolist() == [15 if t < 4 else 13 for t in range(32)]


def test_labels_of_scopes_are_their_own():
    body = """
    mov.u32 %r1, 0;
    { L: add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 5; @%p0 bra L; }
    { L: add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, %r0; @%p0 bra L; }
    st.global.u32 [%rd1], %r1;"""
    assert run(body).tolist() == [max(6, t) for t in range(32)]


def test_calls_with_parameters_in_memory_and_in_registers():
    before = """
    .func (.param .b32 result) twice(.param .b32 x, .param .align 8 .b8 s[16])
    { .reg .b32 %r<4>; .local .b32 depot[2]; ld.param.u32 %r0, [x]; ld.param.u32 %r1, [s+8];
      st.local.u32 [depot+4], %r1; ld.local.u32 %r2, [depot+4];
      setp.lt.u32 %p0, %r0, 3; @%p0 bra SMALL; mad.lo.u32 %r0, %r0, 2, %r2; bra.uni DONE;
      SMALL: mov.u32 %r0, 1000; st.param.b32 [result], %r0; ret;
      DONE: st.param.b32 [result+0], %r0; ret; .reg .pred %p0; }
    .func (.reg .b32 out) plus(.reg .b32 x) { add.u32 out, x, 3; ret; }
    """.replace("setp.lt", ".reg .pred %p<2>; setp.lt").replace(" .reg .pred %p0;", "")
    body = """
    { .reg .b32 t; .param .b32 p0; .param .align 8 .b8 p1[16]; .param .b32 back;
      st.param.b32 [p0], %r0; mov.u32 t, 7; st.param.b32 [p1+8], t;
      call.uni (back), twice, (p0, p1); ld.param.b32 %r1, [back]; }
    { .param .b32 p0; .param .align 8 .b8 p1[16]; .param .b32 back;
      st.param.b32 [p0], %r1; st.param.v2.b32 [p1+8], {%r0, %r0};
      call.uni (back), twice, (p0, p1); ld.param.b32 %r1, [back]; }
    setp.ge.u32 %p1, %r0, 16;
    @%p1 call (%r1), plus, (%r1);
    st.global.u32 [%rd1], %r1;"""

    def twice(x, y):
        return 1000 if x < 3 else 2 * x + y

    expected = [twice(twice(t, 7), t) + (3 if t >= 16 else 0) for t in range(32)]
    assert run(body, before=before).tolist() == expected


def test_initialisers_of_all_kinds():
    before = """
    .global .align 4 .u32 one = 5;
    .global .align 8 .u64 where = generic(table)+8;
    .global .u64 also[2] = {table, generic(one)};
    .const .align 4 .f32 half = 0f3F000000;
    .const .f64 real[2] = {0d3FF0000000000000, 2.5};
    .global .align 4 .b8 bytes[8] = {1, 2, 255, 0x10};
    .global .b8 split[8] = {
    0xFF(table), 0xFF00(table), 0xff0000(table), 0xFF000000(table+4), 0xFF00000000(generic(table))};
    .global .u32 grid[2][2] = {{1, 2}, {3}};
    .global .s16 negative = -2;
    .global .align 16 .u32 table[4] = {10, 20, 30, 40};
    """
    body = """
    ld.global.u64 %rd2, [where]; ld.u32 %r1, [%rd2];
    ld.global.u64 %rd2, [also]; ld.global.u32 %r2, [%rd2+4]; add.u32 %r1, %r1, %r2;
    ld.global.u64 %rd2, [also+8]; ld.u32 %r2, [%rd2]; add.u32 %r1, %r1, %r2;
    ld.const.f64 %fd0, [real+8]; cvt.rzi.u32.f64 %r2, %fd0; add.u32 %r1, %r1, %r2;
    st.global.u32 [%rd0], %r1;"""
    one = kernel(body, before)
    out = np.zeros(1, np.uint32)
    one.launch(1, 1, [out])
    assert out[0] == 30 + 20 + 5 + 2
    module = one.module
    assert module["one"].numpy() == 5
    assert module["half"].numpy() == 0.5
    assert module["real"].numpy().tolist() == [1.0, 2.5]
    assert module["bytes"].numpy().tolist() == [1, 2, 255, 16, 0, 0, 0, 0]
    table = module["table"].address
    expected = [*(table + 4).to_bytes(8, "little")[:4], table >> 32 & 0xFF, 0, 0, 0]
    expected[:3] = table.to_bytes(8, "little")[:3]
    assert module["split"].numpy().tolist() == expected
    assert module["grid"].numpy().tolist() == [1, 2, 3, 0]
    assert module["negative"].numpy() == -2


def test_constants_of_a_body():
    body = """
    .const .u32 two[2] = {20, 3};
    ld.const.u32 %r1, [two]; ld.const.u32 %r2, [two+4]; add.u32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1;"""
    assert run(body).tolist() == [23] * 32


def test_variables_of_a_body_belong_to_their_kernel():
    kernels = "".join(
        f""".entry {name}(.param .u64 a) {{ .reg .b32 %r<2>; .reg .b64 %rd<1>; .const .u32 one = {value};
    ld.param.u64 %rd0, [a]; ld.const.u32 %r0, [one]; st.global.u32 [%rd0], %r0; ret; }}\n"""
        for name, value in (("k", 5), ("l", 7))
    )
    module = Module(HEADER + kernels)
    result = empty(1, np.uint32)
    seen = []
    for name in "klk":
        module.kernel(name).launch(1, 1, [result])
        seen.append(int(result.numpy()[0]))
    assert seen == [5, 7, 5]
    assert module.variables == ()
    with pytest.raises(KeyError, match=r"no variable one in \.global or \.const; variables: none"):
        module["one"]
    memory = DeviceMemory()
    module = Module(HEADER + kernels, memory=memory)
    for name in "kl":
        module.kernel(name)
    assert memory.describe(0).endswith("bytes before one (4 bytes)")
    del module
    gc.collect()
    assert memory.describe(0) == "there are no buffers"


def test_variables_live_from_launch_to_launch_and_belong_to_their_module():
    text = f"""{HEADER}.global .u32 count = 3;
    .entry k(.param .u64 a) {{ .reg .b32 %r<3>; .reg .b64 %rd<2>; atom.global.add.u32 %r0, [count], 1;
    ld.param.u64 %rd0, [a]; st.global.u32 [%rd0], %r0; ret; }}"""
    first, second = Module(text), Module(text)
    shared = empty(1, np.uint32)
    seen = []
    for module in (first, first, second, first):
        module.kernel().launch(1, 1, [shared])
        seen.append(int(shared.numpy()[0]))
    assert seen == [3, 4, 3, 5]
    first["count"].write(40)
    first.kernel().launch(1, 1, [shared])
    assert shared.numpy().tolist() == [40]
    with pytest.raises(KeyError, match=r"no variable other in \.global or \.const; variables: count"):
        first["other"]


def test_a_pointer_in_a_variable_that_the_host_sets():
    text = f"""{HEADER}.const .u64 to;
    .entry k() {{ .reg .b64 %rd<2>; .reg .b32 %r<2>; ld.const.u64 %rd0, [to]; mov.u32 %r0, %tid.x;
    st.global.u8 [%rd0], %r0; ret; }}"""
    module = Module(text)
    target = device(np.full(4, 9, np.uint8))
    module["to"].write(np.uint64(target.address + 2))
    module.kernel().launch(1, 1)
    assert target.numpy().tolist() == [9, 9, 0, 9]


def test_two_results_sinks_and_negated_predicates():
    body = """
    setp.lt.u32 %p0|%p1, %r0, 8;
    setp.ge.and.u32 %p2, %r0, 4, !%p1;
    selp.u32 %r1, 1, 0, %p0; @%p1 add.u32 %r1, %r1, 10; @!%p2 add.u32 %r1, %r1, 100;
    shfl.sync.up.b32 %r2|%p3, %r0, 1, 0, -1; @!%p3 mov.u32 %r2, 5000; add.u32 %r1, %r1, %r2;
    shfl.sync.up.b32 %r2|_, %r0, 1, 0, -1;
    st.global.u32 [%rd1], %r1;"""
    expected = [
        (t < 8) + 10 * (t >= 8) + 100 * (not (4 <= t < 8)) + (t - 1 if t else 5000) for t in range(32)
    ]
    assert run(body).tolist() == expected


def test_vectors_pack_and_unpack():
    body = """
    mov.b64 %rd2, {%r0, %r0}; mov.b64 {%r1, _}, %rd2; mov.b64 {_, %r2}, %rd2;
    mov.b32 {%h0, %h1}, 0x00030002; mov.b32 %r3, {%h1, %h0}; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
    st.global.u32 [%rd1], %r1;"""
    assert run(body).tolist() == [2 * t + 0x00020003 for t in range(32)]


def test_an_address_unpacks_into_a_vector():
    body = "mov.b64 {%r1, %r2}, v+4; mov.u64 %rd2, v+4; mov.b64 %rd3, {%r1, %r2}; sub.u64 %rd2, %rd2, %rd3;"
    body += "cvt.u32.u64 %r3, %rd2; add.u32 %r3, %r3, 7; st.global.u32 [%rd1], %r3;"
    assert run(body, 1, before=".global .b32 v[2];").tolist() == [7]


def test_a_branch_by_index():
    body = """
    and.b32 %r1, %r0, 3; mov.u32 %r2, 0;
    T: .branchtargets A, B, C;
    brx.idx %r1, T;
    A: add.u32 %r2, %r2, 1;
    B: add.u32 %r2, %r2, 10;
    C: add.u32 %r2, %r2, 100;
    st.global.u32 [%rd1], %r2;"""
    assert run(body).tolist() == [(111, 110, 100, 100)[t % 4] for t in range(32)]


def test_special_registers_of_a_grid():
    body = """
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z; mov.u32 %r4, %nctaid.x;
    mad.lo.u32 %r5, %r2, %r4, %r1; mov.u32 %r6, %nctaid.y; mul.lo.u32 %r6, %r6, %r4;
    mad.lo.u32 %r5, %r3, %r6, %r5;
    mov.u32 %r7, %ntid.x; mov.u32 %r8, %ntid.y; mov.u32 %r9, %tid.y; mov.u32 %r10, %tid.z;
    mad.lo.u32 %r11, %r10, %r8, %r9; mad.lo.u32 %r11, %r11, %r7, %r0;
    mul.lo.u32 %r12, %r7, %r8; mov.u32 %r13, %ntid.z; mul.lo.u32 %r12, %r12, %r13;
    mad.lo.u32 %r5, %r5, %r12, %r11;
    mov.u32 %r14, %laneid; mov.u32 %r15, %warpid; shl.b32 %r15, %r15, 5; add.u32 %r14, %r14, %r15;
    mov.u32 %r16, %dynamic_smem_size; shl.b32 %r16, %r16, 16; add.u32 %r14, %r14, %r16;
    mul.wide.u32 %rd2, %r5, 4; add.u64 %rd2, %rd0, %rd2; st.global.u32 [%rd2], %r14;"""
    out = np.zeros(2 * 3 * 2 * 60, np.uint32)
    kernel(body).launch((2, 3, 2), (5, 4, 3), [out], 8)
    assert out.reshape(-1, 60).tolist() == [[(8 << 16) + t for t in range(60)]] * 12


def test_every_space_through_a_generic_address():
    body = """
    .shared .b32 s[32]; .local .b32 l[2];
    shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r2, %r2, %r1; st.shared.u32 [%r2], %r0;
    cvt.u64.u32 %rd2, %r2; cvta.shared.u64 %rd3, %rd2; ld.u32 %r3, [%rd3];
    mov.u64 %rd4, l; cvta.local.u64 %rd4, %rd4; st.u32 [%rd4+4], %r3; ld.local.u32 %r4, [l+4];
    setp.lt.u32 %p0, %r0, 16; selp.b64 %rd5, %rd3, %rd1, %p0; st.u32 [%rd5], 77;
    ld.shared.u32 %r5, [%r2]; add.u32 %r4, %r4, %r5; cvta.to.shared.u64 %rd6, %rd3;
    setp.eq.u64 %p1, %rd6, %rd2;
    isspacep.shared %p2, %rd3; isspacep.global %p3, %rd1; and.pred %p1, %p1, %p2; and.pred %p1, %p1, %p3;
    @%p1 st.global.u32 [%rd1], %r4;"""
    assert run(body).tolist() == [t + (77 if t < 16 else t) for t in range(32)]


def test_constants_have_a_window_of_their_own():
    """An H200's answers for a generic address in global and in constant memory."""
    body = """
    mov.u64 %rd2, table; cvta.const.u64 %rd2, %rd2; mov.u32 %r4, 0; setp.lt.u32 %p0, %r0, 16;
    selp.b64 %rd3, %rd2, %rd1, %p0; isspacep.const %p1, %rd3; isspacep.global %p2, %rd3;
    selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 2, 0, %p2; add.u32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1;"""
    assert run(body, before=".const .u32 table[4];").tolist() == [1] * 16 + [2] * 16


def test_parameters_through_a_register():
    body = """
    mov.b64 %rd2, s; add.u64 %rd2, %rd2, 24; ld.param.u32 %r1, [%rd2+-8]; ld.param.u16 %r2, [%rd2+-2];
    cvta.param.u64 %rd3, %rd2; ld.u32 %r3, [%rd3+-24]; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
    st.global.u32 [%rd1], %r1;"""
    structure = np.array([1, 2, 3, 4, 500, (9 << 16) + 1], np.uint32)
    out = np.zeros(1, np.uint32)
    one = kernel(body, parameters=".param .u64 a, .param .align 4 .b8 s[24]")
    one.launch(1, 1, [out, structure.tobytes()])
    assert out[0] == 500 + 9 + 1


def test_the_carry_flag():
    body = """
    mov.u32 %r1, 0xffffffff; add.cc.u32 %r2, %r1, %r0; addc.cc.u32 %r3, %r1, 0; addc.u32 %r4, 0, 0;
    add.u32 %r3, %r3, %r4; st.global.u32 [%rd1], %r3;"""
    wide = [(0xFFFFFFFF + t + (0xFFFFFFFF << 32)) for t in range(32)]
    assert run(body).tolist() == [((x >> 32 & 0xFFFFFFFF) + (x >> 64)) & 0xFFFFFFFF for x in wide]


def test_unused_loads_are_removed_with_a_note():
    one = kernel("ld.global.u32 %r1, [%rd0+1000000]; add.u32 %r2, %r1, 1; st.global.u32 [%rd1], %r0;")
    result = one.launch(1, 1, [np.zeros(1, np.uint32)])
    assert len(result.notes) == 1
    assert "ld.global.u32 %r1, [%rd0+1000000]" in result.notes[0]
    volatile = kernel("ld.volatile.global.u32 %r1, [%rd0+1000000];")
    with pytest.raises(Exception, match="past the end of a"):
        volatile.launch(1, 1, [np.zeros(1, np.uint32)])


def test_debug_information_is_skipped():
    text = f"""{HEADER}
    .file 1 "a b.cu", 12, 34
    .entry k() .maxntid 64, 1, 1 .pragma "nounroll";
    {{ .loc 1 5 3
      .loc 1 6 1, function_name $L__info_string0, inlined_at 1 7 2
      .pragma "nounroll"; ret; $L__end: }}
    .section .debug_abbrev {{ .b8 1 .b64 $L__end .b32 .debug_info+12 }}"""
    Module(text).kernel().launch(1, 32)


def test_names_that_are_declared_twice():
    with pytest.raises(PtxError, match="register p is already declared"):
        kernel(".reg .pred p; .reg .pred p;")
    with pytest.raises(PtxError, match="label L is already defined"):
        kernel("L: L:")
    with pytest.raises(PtxError, match="variable v is already declared"):
        kernel("", before=".global .u32 v; .global .u32 v;")


def test_long_names():
    name = "_Z" + "".join(f"{len(part)}{part}" for part in ["x" * 2000]) + "v"
    module = Module(f"{HEADER}.entry {name}() {{ ret; }}")
    assert module.kernel("x" * 2000).name == name
    assert len(module.kernel().signature) < 130


def test_forms_of_older_ptx():
    body = """
    shfl.bfly.b32 %r1, %r0, 1, 31; shfl.up.b32 %r2|%p0, %r0, 1, 0; setp.lt.u32 %p1, %r0, 3;
    vote.ballot.b32 %r3, %p1; vote.any.pred %p2, %p1; bar.sync 0; membar.cta;
    add.u32 %r1, %r1, %r3; @!%p0 add.u32 %r1, %r1, 100; @%p2 add.u32 %r1, %r1, 1000;
    st.global.u32 [%rd1], %r1;"""
    assert run(body, version="6.3").tolist() == [
        (t ^ 1) + 7 + 1000 + (100 if t == 0 else 0) for t in range(32)
    ]


def test_qualifiers_in_every_position():
    tail = "{%fd0, %fd1}, {%fd2}, {%fd3}, {%fd0, %fd1};"
    fine = [
        f"wmma.mma.sync.aligned.row.col.m8n8k4.{types} {tail}"
        for types in ("rz.f64.f64.f64.f64", "f64.f64.f64.f64.rz", "f64.f64.f64.f64")
    ]
    registers = "{%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};"
    fine += [
        f"wmma.mma.sync.aligned.row.col.m8n8k32.{types} {registers}"
        for types in ("s32.s4.s4.s32.satfinite", "satfinite.s32.s4.s4.s32")
    ]
    fine += [
        f"mma.sync.aligned.m8n8k16.row.col.{types} {registers}"
        for types in ("s32.u8.s8.s32.satfinite", "satfinite.s32.u8.s8.s32")
    ]
    matrix = [kernel(text).compiled.matrix[0][1] for text in fine]
    assert matrix[0] == matrix[1]
    assert matrix[3] == matrix[4]
    assert matrix[5] == matrix[6]
    assert matrix[0].rounding == "rz"
    with pytest.raises(PtxError, match="rz"):
        kernel(f"wmma.mma.sync.aligned.row.col.m8n8k4.rz.f64.f64.f64.f64.rz {tail}")
