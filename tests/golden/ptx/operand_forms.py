"""Statements with operands of every type, whose acceptance is compared with NVIDIA's assembler."""

import re

from assembler_forms import statements

_OTHERS = {"b": "u", "h": "uf", "r": "uf", "d": "uf"}
"""Registers of other types than bits, by the letter of their width."""
_CONSTANTS = ("1", "1.5", "0f3f800000", "0d3ff0000000000000")
_REGISTER = re.compile(r"%([bhrd])(\d+)")


def typed(accepted, most):
    """Statements that the assembler accepts, with another operand in place of each of the first six.

    The registers have a type, or there are constants. `accepted` tells whether the number of one of
    `assembler_forms.statements` is accepted; of each line about `most` combinations are taken.
    """
    found = {}
    for number, text in statements(most):
        if not accepted(number):
            continue
        opcode, _, operands = text.partition(" ")
        for match in list(_REGISTER.finditer(operands))[:6]:
            letter, index = match.groups()
            others = [f"%{letter}{kind}{index}" for kind in _OTHERS[letter] + "x" * ("f16x2" in opcode)]
            before, after = operands[: match.start()], operands[match.end() :]
            if before.endswith(" ") and after[:1] in ("", ",") and "{" not in before + after:
                others += _CONSTANTS
            found |= dict.fromkeys(f"{opcode} {before}{other}{after}" for other in others)
    return list(found)


OPERANDS = """
add.u32 %r1, %tid.x, 1
add.u32 %r1, %r2, %tid.x
setp.eq.u32 %p1, %tid.x, 0
mad.lo.u32 %r1, %ntid.x, %ctaid.x, %tid.x
st.u32 [%d9], %tid.x
mov.u32 %r1, %tid.x
cvt.u64.u32 %d1, %tid.x
shfl.sync.idx.b32 %r1, %laneid, 0, 31, -1
mov.b64 %d1, {%tid.x, %tid.y}
mov.b64 {%r1, _}, %d1
mov.b64 {_, _}, %d1
add.u32 _, %r1, %r2
add.f32 _, %r1, %r2
ld.u32 _, [%d1]
ld.global.u32 _, [%d1]
ld.v2.u32 {_, %r1}, [%d1]
ld.v2.u32 {_, _}, [%d1]
mov.u32 _, %r1
setp.eq.u32 _|%p1, %r1, %r2
setp.eq.u32 %p1|_, %r1, %r2
setp.eq.u32 _, %r1, %r2
shfl.sync.idx.b32 _, %r2, %r3, %r4, %r5
shfl.sync.idx.b32 _|%p1, %r2, %r3, %r4, %r5
shfl.sync.idx.b32 %r1|_, %r2, %r3, %r4, %r5
match.all.sync.b32 _|%p1, %r2, %r3
match.all.sync.b32 %r1|_, %r2, %r3
match.any.sync.b32 _, %r2, %r3
vote.sync.all.pred _, %p1, %r2
vote.sync.ballot.b32 _, %p1, %r2
atom.add.u32 _, [%d1], %r2
atom.global.add.u32 _, [%d1], %r2
atom.shared.cas.b32 _, [%d1], %r2, %r3
atom.global.add.v2.f32 {_, _}, [%d1], {%r2, %r3}
lop3.or.b32 _|%p1, %r1, %r2, %r3, 0x96, %p2
lop3.or.b32 %r1|_, %r1, %r2, %r3, 0x96, %p2
elect.sync _|%p1, %r2
elect.sync %r1|_, %r2
redux.sync.add.u32 _, %r2, %r3
mbarrier.arrive.shared.b64 _, [%d1]
mbarrier.test_wait.shared.b64 _, [%d1], %d2
cvt.u64.u32 _, %r1
selp.b32 _, %r1, %r2, %p1
movmatrix.sync.aligned.m8n8.trans.b16 _, %r2
activemask.b32 _
bar.red.popc.u32 _, 0, %p1
bar.red.or.pred _, 0, %p1
isspacep.global _, %d1
cvta.global.u64 _, %d1
bfind.u32 _, %r1
ld.global.u32 %r1, [%r2]
ld.u32 %r1, [%r2]
ld.shared.u32 %r1, [%r2]
ld.local.u32 %r1, [%r2]
ld.const.u32 %r1, [%r2]
ld.param.u32 %r1, [%r2]
ld.global.u32 %r1, [%ru2]
ld.global.u32 %r1, [%rf2]
ld.shared.u32 %r1, [%d2]
ld.shared.u32 %r1, [%rf2]
ld.shared.u32 %r1, [%rx2]
ld.shared.u32 %r1, [%h2]
ld.global.u32 %r1, [128]
ld.u32 %r1, [128]
ld.shared.u32 %r1, [128]
ld.local.u32 %r1, [128]
ld.const.u32 %r1, [128]
ld.param.u32 %r1, [128]
st.global.u32 [128], %r1
st.shared.u32 [128], %r1
st.local.u32 [128], %r1
st.u32 [128], %r1
st.global.u32 [%r2], %r1
st.u32 [%r2], %r1
atom.global.add.u32 %r1, [%r2], 1
atom.add.u32 %r1, [%r2], 1
atom.shared.add.u32 %r1, [%r2], 1
atom.shared.add.u32 %r1, [128], 1
red.global.add.u32 [%r2], 1
prefetch.global.L1 [%r2]
cp.async.ca.shared.global [%r1], [%r2], 4
cp.async.ca.shared.global [128], [%d2], 4
cp.async.ca.shared.global [%d1], [%d2], 4
mbarrier.init.shared.b64 [%r1], %r2
mbarrier.init.b64 [%r1], %r2
mbarrier.init.shared.b64 [128], %r2
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2]
ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%r2]
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [128]
cvt.rn.bf16.u32 %h1, %d1
cvt.rn.bf16.u32 %h1, %ru1
cvt.rn.bf16.u16 %h1, %r1
cvt.rn.bf16.u32 %r1, %r2
cvt.rzi.u16.bf16 %r1, %h2
cvt.rzi.u32.bf16 %d1, %h2
cvt.rzi.u32.bf16 %r1, %r2
cvt.rzi.u8.bf16 %b1, %h2
cvt.rzi.u8.bf16 %h1, %h2
cvt.rzi.u8.bf16 %r1, %h2
cvt.f64.bf16 %d1, %r2
cvt.rn.f16x2.f32 %d1, %r2, %r3
cvt.rn.f16x2.f32 %r1, %d2, %r3
cvt.rn.bf16x2.f32 %r1, %d2, %r3
cvt.rn.bf16x2.f32 %d1, %r2, %r3
cvt.rn.satfinite.e4m3x2.f32 %h1, %r2, %d3
cvt.rn.satfinite.e4m3x2.f32 %r1, %r2, %r3
cvt.rn.f16x2.e4m3x2 %r1, %r2
cvt.rn.f16x2.e4m3x2 %r1, %hf2
cvt.rn.f16x2.e4m3x2 %r1, %hu2
cvt.rn.f16x2.e4m3x2 %ru1, %h2
cvt.pack.sat.u8.s32.b32 %d1, %r2, %r3, %r4
cvt.pack.sat.u8.s32.b32 %r1, %r2, %d3, %r4
cvt.rn.bf16.f32 %hu1, %rf1
cvt.rn.bf16.f16 %h1, %hf1
cvt.rn.f16.bf16 %h1, %h1
cvt.rn.satfinite.e4m3x2.f32 %hu1, %r2, %r3
cvt.rn.satfinite.e4m3x2.f16x2 %h1, %r2
cvt.rn.satfinite.e4m3x2.f16x2 %h1, %d2
add.u16x2 %r1, %rx2, %r3
add.u16x2 %r1, %ru2, %r3
min.s16x2 %r1, %ru2, %r3
min.s16x2 %r1, %r2, 5
cvt.u8.u32 %rf1, %r9
cvt.u8.u32 %d1, %r9
cvt.rn.f16.f32 %rf1, %r9
cvt.rn.f16.f32 %hf1, %d9
cvt.f64.f32 %df1, %rf9
cvt.rn.f32.f64 %d1, %d9
cvt.rn.f32.f64 %df1, %d9
cvt.rna.tf32.f32 %rf1, %r9
cvt.rna.tf32.f32 %d1, %r9
ld.b8 %df1, [%d9]
ld.b16 %rf1, [%d9]
ld.f32 %d1, [%d9]
ld.f32 %df1, [%d9]
ld.u32 %df1, [%d9]
ld.f64 %du1, [%d9]
st.b32 [%d9], %df1
st.f32 [%d9], %du1
st.u16 [%d9], %hf1
st.u16 [%d9], %du1
mov.f64 %d1, 0f3f800000
mov.pred %p1, 1
mov.f32 %r1, 1
add.f32 %r1, %r2, 1.5
add.f32 %r1, %r2, 1
add.u32 %r1, %r2, 1.5
add.f16 %h1, %h2, 0f3f800000
slct.f32.s32 %rf1, %rf2, %rf3, %rf4
slct.b32.s32 %rf1, %ru2, %rf3, %r4
ld.v2.f32 {%ru1, %ru2}, [%d9]
st.v2.f32 [%d9], {1, 2}
st.v2.f32 [%d9], {1.5, 0f3f800000}
shfl.sync.idx.b32 %rf1, %rf2, %r3, %r4, %r5
mov.b64 %d1, {%rf1, %r2}
mov.u32 %rf1, %tid.x
mov.b32 %rf1, %tid.x
mov.u64 %df1, glob
mov.b64 %df1, glob
""".strip().splitlines()
"""Kinds of operands: special registers, ``_``, addresses, wider registers, constants."""

ORDERS = """
mul.s32.lo %r1, %r2, %r3
mul.lo.s32 %r1, %r2, %r3
mad.u32.lo %r1, %r2, %r3, %r4
mul.u32.wide %d1, %r2, %r3
add.f32.rn %r1, %r2, %r3
add.ftz.rn.f32 %r1, %r2, %r3
add.rn.sat.ftz.f32 %r1, %r2, %r3
add.sat.rn.f32 %r1, %r2, %r3
add.s32.sat %r1, %r2, %r3
fma.ftz.rn.f32 %r1, %r2, %r3, %r4
fma.sat.rn.f32 %r1, %r2, %r3, %r4
div.ftz.approx.f32 %r1, %r2, %r3
div.f32.rn %r1, %r2, %r3
setp.f32.lt %p1, %r1, %r2
setp.ftz.lt.f32 %p1, %r1, %r2
setp.and.lt.f32 %p1, %r1, %r2, %p2
setp.lt.ftz.and.f32 %p1, %r1, %r2, %p2
set.f32.lt.u32 %r1, %r2, %r3
cvt.f32.rn.s32 %r1, %r2
cvt.ftz.rn.f32.f64 %r1, %d2
cvt.sat.rn.f32.f64 %r1, %d2
cvt.rn.sat.ftz.f32.f64 %r1, %d2
cvt.s32.rzi.f32 %r1, %r2
cvt.satfinite.rn.e4m3x2.f32 %h1, %r2, %r3
cvt.rn.relu.satfinite.f16x2.f32 %r1, %r2, %r3
cvt.rn.e4m3x2.satfinite.f32 %h1, %r2, %r3
add.cc.u32 %r1, %r2, %r3
add.u32.cc %r1, %r2, %r3
mad.cc.lo.u32 %r1, %r2, %r3, %r4
min.NaN.ftz.f32 %r1, %r2, %r3
min.ftz.f32.NaN %r1, %r2, %r3
shf.clamp.l.b32 %r1, %r2, %r3, %r4
shf.b32.l.clamp %r1, %r2, %r3, %r4
lop3.b32.or %r1|%p1, %r2, %r3, %r4, 0x96, %p2
prmt.f4e.b32 %r1, %r2, %r3, %r4
prmt.b32.f4e %r1, %r2, %r3, %r4
bfind.u32.shiftamt %r1, %r2
ex2.ftz.approx.f32 %r1, %r2
testp.f32.finite %p1, %r1
ld.u32.global %r1, [%d1]
ld.global.volatile.u32 %r1, [%d1]
ld.volatile.global.u32 %r1, [%d1]
ld.global.relaxed.gpu.u32 %r1, [%d1]
ld.relaxed.global.gpu.u32 %r1, [%d1]
ld.gpu.relaxed.global.u32 %r1, [%d1]
ld.v2.global.u32 {%r1, %r2}, [%d1]
ld.global.u32.v2 {%r1, %r2}, [%d1]
ld.nc.global.u32 %r1, [%d1]
ld.global.nc.ca.u32 %r1, [%d1]
ld.global.ca.nc.u32 %r1, [%d1]
ld.ca.global.u32 %r1, [%d1]
ld.global.L2::128B.L1::no_allocate.u32 %r1, [%d1]
ld.global.L1::no_allocate.L2::128B.u32 %r1, [%d1]
st.u32.global [%d1], %r1
st.v2.global.u32 [%d1], {%r1, %r2}
st.wb.global.u32 [%d1], %r1
atom.add.global.u32 %r1, [%d1], %r2
atom.global.u32.add %r1, [%d1], %r2
atom.global.gpu.relaxed.add.u32 %r1, [%d1], %r2
atom.gpu.global.add.u32 %r1, [%d1], %r2
atom.global.gpu.add.u32 %r1, [%d1], %r2
red.add.global.u32 [%d1], %r2
shfl.idx.sync.b32 %r1, %r2, %r3, %r4, %r5
shfl.sync.b32.idx %r1, %r2, %r3, %r4, %r5
vote.ballot.sync.b32 %r1, %p1, %r2
match.sync.any.b32 %r1, %r2, %r3
redux.add.sync.u32 %r1, %r2, %r3
bar.sync.cta 0
barrier.sync.cta 0
bar.red.cta.popc.u32 %r1, 0, %p1
cvta.global.to.u64 %d1, %d2
cvta.u64.global %d1, %d2
mov.u32 %r1, %r2
dp2a.u32.u32.lo %r1, %r2, %r3, %r4
dp2a.lo.u32.u32 %r1, %r2, %r3, %r4
vadd.sat.u32.u32.u32 %r1, %r2, %r3
vadd.u32.u32.u32.sat %r1, %r2, %r3
szext.u32.wrap %r1, %r2, %r3
bmsk.b32.clamp %r1, %r2, %r3
slct.u32.ftz.f32 %r1, %r2, %r3, %r4
mbarrier.init.b64.shared [%d1], %r1
mbarrier.arrive.b64.shared %d1, [%d2]
mbarrier.shared.init.b64 [%d1], %r1
fence.gpu.sc
prefetch.L1.global [%d1]
cp.async.global.ca.shared [%r1], [%d1], 4
cp.async.shared.ca.global [%r1], [%d1], 4
isspacep.u64.global %p1, %d1
""".strip().splitlines()
"""Qualifiers in another order than the manual gives."""
