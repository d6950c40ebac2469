"""Every statement whose acceptance is compared with NVIDIA's assembler: lines of syntax, legal or not.

A line is an opcode, its qualifiers and its operands: ``add MODE? .ftz? T : t t t``. Alternatives are separated
by ``|``, a qualifier with ``?`` may be left off, a word in capitals is a list of `LISTS`. Of the operands, a
number is a register of as many bits, ``p`` a predicate, ``t`` a register for the last type, ``u`` for the first
one, ``w`` one twice as wide as for the last. ``V``, ``M``, ``X`` and ``B`` are the operands of accesses, of moves
and multiplies of matrices, and of barriers in memory. Other texts stand for themselves. Several patterns of
operands are separated by ``/``.
"""

import itertools
import math
import re

LISTS = {
    "T": "u8 s8 b8 u16 s16 b16 u32 s32 b32 u64 s64 b64 f16 bf16 f32 f64 f16x2 bf16x2 u16x2 s16x2 tf32 e4m3x2 "
    "b128 pred",
    "N": "u16 s16 b16 u32 s32 b32 u64 s64 b64 f16 bf16 f32 f64 f16x2 bf16x2",
    "MODE": "rn rz rm rp rna",
    "INTEGRAL": "rni rzi rmi rpi",
    "COMPARE": "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan",
    "FEW": "eq lt lo ltu nan",
    "COMBINE": "and or xor",
    "CONVERTED": "u8 s8 b8 u16 s16 u32 s32 b32 u64 s64 f16 bf16 f32 f64 f16x2 bf16x2 tf32 e4m3x2 e5m2x2",
    "VIDEO": "u32 s32 u16 b32 f32",
    "SPACE": "global shared shared::cta shared::cluster local const param param::entry param::func",
    "ORDER": "weak volatile relaxed acquire release acq_rel sc constant",
    "SCOPE": "cta cluster gpu sys gl",
    "CACHE": "ca cg cs lu cv wb wt nc",
    "ATOMIC": "add min max and or xor exch cas inc dec sub",
    "LAYOUT": "row col",
    "ELEMENT": "f16 bf16 tf32 f32 f64 s8 u8 s4 u4 b1 s32 e4m3 e5m2 b32",
    "SHAPE": "m16n16k16 m8n32k16 m32n8k16 m16n16k8 m8n8k4 m8n8k32 m8n8k128 m8n8k16 m16n8k16",
    "TILE": "m8n8k4 m8n8k16 m8n8k32 m8n8k128 m16n8k4 m16n8k8 m16n8k16 m16n8k32 m16n8k64 m16n8k128 m16n8k256",
}

_TEXT = """
add sub MODE? .ftz? .sat|relu? .cc? T : t t t
addc subc .sat? .cc? T : t t t
mul .lo|hi|wide? RN? .ftz? .sat? T : t t t / w t t
mad .lo|hi|wide? RN? .ftz? .sat? T : t t t t / w t t w
mad .lo|hi|wide? .sat? .cc T : t t t t / w t t w
madc .lo|hi|wide? .sat? .cc? T : t t t t / w t t w
mul24 .lo|hi|wide? .sat? T : t t t
mad24 .lo|hi|wide? .sat? T : t t t t
fma MODE? .ftz? .sat|relu? .oob? T : t t t t
div .approx|full? MODE? .ftz? .sat? T : t t t
rcp sqrt rsqrt .approx? MODE? .ftz? .sat? T : t t
ex2 lg2 sin cos tanh .approx? .ftz? .rn? T : t t
rem sad .sat? T : t t t / t t t t
min max .ftz? .NaN? .xorsign? .abs? .relu? T : t t t / t t t t
abs neg .ftz? .sat? T : t t
copysign .ftz? T : t t t
setp COMPARE .ftz? T : p t t / %p1|%p2 t t
setp FEW COMBINE .ftz? T : p t t p / %p1|%p2 t t p
setp .eq .and? T : p t t / p t t p / 32 t t
set .eq|lo|ltu .ftz? T T : u t t
set .eq|ltu .and|or .ftz? .u32|f32|f16|bf16 N : u t t p
set COMPARE .u32|f32 N : u t t
selp .ftz? T : t t t p
slct .ftz? T T : u u u t
testp .finite|infinite|number|notanumber|normal|subnormal? .ftz? T : p t
and or xor T : t t t
not cnot T : t t
shl shr T : t t 32 / t t t
shf .l|r? .wrap|clamp? T : 32 32 32 32
lop3 .and|or|xor? T : t t t t 0x96 / %r1|%p1 t t t 0x96 p
prmt T .f4e|b4e|rc8|ecl|ecr|rc16? : t t t t
popc clz T : 32 t
brev T : t t
bfind .shiftamt? T : 32 t
bfe T : t t 32 32
bfi T : t t t 32 32
bmsk .clamp|wrap? T : t t t
szext .clamp|wrap? T : t t 32
dp4a T T : 32 32 32 32
dp2a .lo|hi? T T : 32 32 32 32
fns T : 32 32 32 32
mov T : t t
mov .v2|v4 T : {%h1,%h2} {%h3,%h4} / {%r1,%r2} {%r3,%r4} / {%d1,%d2} {%d3,%d4}
mov T : t {%h1,%h2} / t {%h1,%h2,%h3,%h4} / t {%r1,%r2} / t {%r1,%r2,%r3,%r4} / t {%d1,%d2} / {%h1,%h2} t
mov T : {%h1,%h2,%h3,%h4} t / {%r1,%r2} t / {%r1,%r2,%r3,%r4} t / {%d1,%d2} t / t {%b1,%b2} / {%b1,%b2,%b3,%b4} t
mov T : t glob / t shar / t loca / t cons / t func / t %tid.x / t %clock64 / t %laneid / t glob+4 / %d1 k
cvt MODE|INTEGRAL? .ftz? .sat? CONVERTED CONVERTED : u t
cvt MODE? .relu|satfinite .f16|bf16|f32|f64|tf32|u16|f16x2 .f16|bf16|f32|f64|tf32|u16|f16x2 : u t
cvt MODE? .ftz|satfinite? .relu|satfinite|sat? .f16x2|bf16x2|e4m3x2|e5m2x2|tf32 .f32|f16x2|bf16x2 : u t t
cvt .rn|rna|rz .satfinite? .relu? .satfinite? .f16x2|e4m3x2|tf32|f16|bf16 .f32|e4m3x2|f16x2 : u t / u t t
cvt .pack .sat? .u16|s16|u8|s8|u4|s4|u2|s2|u32 .s32|u32 .b32|u32? : 32 32 32 / 32 32 32 32
vadd vsub vabsdiff vmin vmax VIDEO VIDEO VIDEO .sat? .add|min|max? : 32 32 32 / 32 32 32 32
vshl vshr VIDEO .u32|s32 .u32|s32 .sat? .clamp|wrap? .add|min|max? : 32 32 32 / 32 32 32 32
vmad VIDEO VIDEO VIDEO .po? .sat? .shr7|shr15? : 32 32 32 32
vset VIDEO VIDEO .eq|ne|lt|le|gt|ge|ltu|lo .add|min|max? : 32 32 32 / 32 32 32 32
vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 VIDEO VIDEO VIDEO .sat|add|min? : 32 32 32 32 / 32 32 32
vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 VIDEO VIDEO VIDEO .sat|add|min? : 32 32 32 32 / 32 32 32
vset2 vset4 VIDEO VIDEO .eq|ne|lt|le|gt|ge|ltu|lo .add|min? : 32 32 32 32 / 32 32 32
cvta .to? SPACE .u32|u64|b64|b32|s64|f64 : t t
cvta SPACE .u64 : 64 glob / 64 shar / 64 loca / 64 cons / 64 glob+4
cvta .u64|u32 : t t
isspacep SPACE .u64? : p 64 / p 32
ld ldu ORDER? SCOPE? SPACE? .u32 : 32 [64]
ld ldu st .global|shared|local? .v2|v4? T : V
ld ldu st .global? .v8 .u32|f32|u64 : V
ld .const|param|param::func|shared::cluster T : t [64]
ld ldu SPACE? CACHE? .u32|f32|b128 : t [64]
ld .volatile|relaxed|acquire|weak .gpu? SPACE? CACHE? .u32 : t [64]
ld .mmio .relaxed|volatile|weak|acquire? SCOPE? .global|shared? .v2? .u32|f32|b64|f16 : V
ld .global? CACHE? EVICT? HINT? PREFETCH? .v2|v4? .u32|u64 : V
ld .weak|relaxed|volatile .gpu? .global|shared? EVICT? PREFETCH? .u32 : V
st .global? CACHE? EVICT? HINT? .v2|v4? .u32 : V
st ORDER? SCOPE? SPACE? .u32 : [64] 32
st SPACE? CACHE? .u32|f32|b128 : [64] t
st .mmio .relaxed|volatile|weak|release? SCOPE? .global|shared? .v2? .u32|f32|b64|f16 : V
atom ORDER? SCOPE? SPACE? .add .u32 : 32 [64] 32
red ORDER? SCOPE? SPACE? .add .u32 : [64] 32
atom .global|shared? ATOMIC .noftz? T : t [64] t / t [64] t t
red .global|shared? ATOMIC .noftz? T : [64] t / [64] t t
atom .global|shared? .add|min|max|exch|cas|and .noftz? .v2|v4|v8 N : V
red .global|shared? .add|min|max|and .noftz? .v2|v4|v8 N : V
atom red .relaxed? .gpu? .global .add HINT? .noftz? .v2? .u32|f32|f16 : V
cp .async .ca|cg? .shared|shared::cta|shared::cluster|global? .global|shared? HINT? PREFETCH? : [32] [64] 16
cp .async .ca|cg .shared .global : [32] [64] 4 / [32] [64] 8 / [32] [64] 2 / [32] [64] 16 32 / [32] [64] 16 p
cp .async .ca|cg .shared .global : [32] [64] 16 4 / [32] [64] 32 / [64] [64] 16 / [32] [64] / [32] [64] 4 8
cp .async .commit_group|wait_group|wait_all|mbarrier : EMPTY / 0 / 1 / 32 / -1
cp .async .mbarrier .arrive .noinc? .shared|shared::cta|shared::cluster|global? .b64|b32? : [32] / [64]
prefetch .global|local|shared|const|param? .L1|L2|L2::evict_last|L2::evict_normal|tensormap? : [64]
prefetchu .L1|L2? : [64]
applypriority .global|shared? .L2::evict_normal|L2::evict_last? : [64] 128 / [64] 64
discard .global|shared? .L2|L1? : [64] 128 / [64] 64
createpolicy .fractional .L2::evict_last|L2::evict_first|L2::evict_normal|L2::evict_unchanged .b64|u64 : 64 1.0 / 64
createpolicy .fractional .L2::evict_last .L2::evict_unchanged|L2::evict_first|L2::evict_last? .b64|b32 : 64 0.5
createpolicy .range .global? .L2::evict_last .L2::evict_unchanged? .b64 : 64 [64] 32 32
createpolicy .cvt .L2 .b64 : 64 0x7ffff
fence .sc|acq_rel|acquire|release? .cta|cluster|gpu|sys? : EMPTY
fence .proxy .alias|async|async.global|async.shared::cta|tensormap::generic|generic : EMPTY
fence .mbarrier_init .release .cluster|cta|gpu : EMPTY
membar .cta|gl|sys|gpu|cluster? : EMPTY
shfl .sync? .up|down|bfly|idx? T : t t 32 32 32 / t t 32 32 / %r1|%p1 t 32 32 32
vote .sync? .all|any|uni|ballot? .pred|b32|u32? : p p 32 / 32 p 32 / p p / 32 p
match .any|all? .sync? T : 32 t 32 / %r1|%p1 t 32
redux .sync? .add|min|max|and|or|xor .abs? .NaN? T : t t 32
activemask .b32|u32|b64? : t
elect .sync? : %r1|%p1 32 / 32 32 / _|%p1 32
bar barrier .cta? .sync|arrive|red|warp? .aligned|sync? : 0 / 0 32 / 32 / 32 32 / EMPTY
bar barrier .cta? .red .aligned? .popc|and|or|xor? .pred|u32|b32? : p 0 p / 32 0 p / p 0 64 p / 32 0 64 p
bar .warp .sync .aligned? : 32 / EMPTY / -1
barrier .cluster .arrive|wait .release|relaxed|acquire? .aligned? : EMPTY
nanosleep T : t / 20
pmevent .mask? : 1 / 3 / 16
setmaxnreg .inc|dec .sync .aligned? .u32|b32 : 64 / 40 / 7
griddepcontrol .launch_dependents|wait|foo : EMPTY
trap brkpt exit ret .uni? : EMPTY
ldmatrix stmatrix .sync? .aligned? .m8n8|m16n16|m8n16? .x1|x2|x4|x3? .trans? .shared|shared::cta|global? .b16|b8|b32 : M
movmatrix .sync? .aligned? .m8n8|m16n16? .trans? .b16|b8|b32 : 32 32
wmma .load .a|b|c|d .sync .aligned LAYOUT SHAPE ELEMENT : X
wmma .load .a|b|c|d .sync? .aligned? LAYOUT? .m16n16k16 .global|shared|shared::cta|local? .f16 : X
wmma .load .a|b .sync .aligned SHAPE .global LAYOUT .f16|s8 : X
wmma .store .c|d .sync .aligned LAYOUT SHAPE ELEMENT : X
wmma .store .d .sync? .aligned? LAYOUT? .m16n16k16 .global|shared|shared::cta|const? .f16|f32 : X
wmma .mma .sync? .aligned? LAYOUT? LAYOUT? .m16n16k16 .f16|f32 .f16|f32 .satfinite? : X
wmma .mma .sync .aligned LAYOUT LAYOUT SHAPE .f16|f32|bf16 .f16|f32|bf16 .satfinite? : X
wmma .mma .sync .aligned .row .col SHAPE RESULT PAIR RESULT : X
wmma .mma .sync .aligned LAYOUT LAYOUT SHAPE MODIFIER? TYPED : X
wmma .mma .sync .aligned .row .col SHAPE TYPED .satfinite|rn|rz : X
wmma .mma .xor|and|or? .popc? .sync .aligned .row LAYOUT .m8n8k128|m8n8k32|m16n16k16 .s32 .b1.b1|s4.s4|s8.s8 .s32 : X
mma .sync? .aligned? .m8n8k4|m16n8k8|m16n8k16 LAYOUT? LAYOUT? .f16|f32 .f16 .f16 .f16|f32 : X
mma .sync .aligned TILE .row .col RESULT PAIR RESULT : X
mma .sync .aligned TILE .row .col MODIFIER .f16.f16.f16.f16|f64.f64.f64.f64|s32.s8.s8.s32|s32.s4.u4.s32 : X
mma .sync .aligned TILE .row .col .s32 .b1.b1|s8.s8|s4.s4 .s32 .xor|and|or? .popc? : X
mma .sync .aligned .m16n8k16|m16n8k32|m8n8k16 .row .col .s32 .s8.s8 .s32 .satfinite : X
mbarrier .init|inval|test_wait|try_wait .parity? .shared|shared::cta|shared::cluster? .b64|b32? : B
mbarrier .arrive|arrive_drop|expect_tx|complete_tx .expect_tx|noComplete? .release|relaxed|acquire? .cta|cluster|gpu? \
.shared|shared::cta|shared::cluster? .b64 : B
mbarrier .test_wait|try_wait .parity? .acquire|relaxed|release? .cta|cluster|gpu? .shared|shared::cta? .b64 : B
mbarrier .pending_count .shared? .b64|b32 : 32 64
mapa .shared::cluster? .u32|u64 : t t 32
getctarank .shared::cluster? .u32|u64 : 32 t
alloca .u32|u64|b64 : t t / t t 8 / t t 3
stacksave stackrestore .u32|u64|b32 : t
mma .sp|sp::ordered_metadata|sp::foo .sync? .aligned? .m16n8k16 .row? .col? .f32 .f16.f16 .f32 : X
mma .sp|sp::ordered_metadata .sync .aligned TILE .row .col RESULT PAIR RESULT : X
mma .sp .sync .aligned .m16n8k32|m16n8k64 .row .col MODIFIER .s32.s8.s8.s32|s32.s4.u4.s32|f32.f16.f16.f32 : X
mma .sp .sync .aligned .m16n8k16 .row .col .f32.f16.f16.f32 : {%rf1,%rf2,%rf3,%rf4} {%r1,%r2} {%r3,%r4} {%rf5,%rf6,%rf7,%rf8} %r5 0 / \
{%rf1,%rf2,%rf3,%rf4} {%r1,%r2} {%r3,%r4} {%rf5,%rf6,%rf7,%rf8} 5 0
wgmma .fence|commit_group .sync? .aligned? : EMPTY / 1
wgmma .wait_group .sync? .aligned? : EMPTY / 0 / 7 / %r1
wgmma .mma_async .sync? .aligned? .m64n8k16|m64n8k8|m64n12k16 .f32 .f16|bf16|tf32 .f16|bf16|tf32 : \
{%rf1,%rf2,%rf3,%rf4} %d1 %d2 %p1 1 -1 0 1 / {%rf1,%rf2,%rf3,%rf4} %d1 %d2 %p1 1 1 / {%rf1,%rf2,%rf3,%rf4} {%r1,%r2,%r3,%r4} %d2 %p1 1 1 1 / {%rf1,%rf2,%rf3,%rf4} {%r1,%r2,%r3,%r4} %d2 %p1 1 1 / {%rf1,%rf2,%rf3,%rf4} %d1 %d2 %p1 1 2 0 1 / \
{%rf1,%rf2,%rf3,%rf4} %d1 %d2 %p1 1 1 0 2 / {%rf1,%rf2,%rf3,%rf4} %d1 %r2 %p1 1 1 0 0 / {%rf1,%rf2,%rf3,%rf4} %d1 %d2 %r1 1 1 0 0 / {%rf1,%rf2,%rf3,%rf4} %d1 %d2
wgmma .mma_async .sync .aligned .m64n8k16 .f16 .f16 .f16 : {%r1,%r2} %d1 %d2 %p1 1 1 0 0 / {%r1,%r2,%r3,%r4} %d1 %d2 %p1 1 1 0 0
wgmma .mma_async .sync .aligned .m64n8k32|m64n40k32|m64n8k256 .s32|f32 .s8|u8|e4m3|b1 .s8|u8|e5m2|b1 .satfinite|and.popc|xor.popc? : \
{%r1,%r2,%r3,%r4} %d1 %d2 %p1 / {%rf1,%rf2,%rf3,%rf4} %d1 %d2 %p1 1 1 / {%r1,%r2,%r3,%r4} {%r1,%r2,%r3,%r4} %d1 %p1
wgmma .mma_async .sp|sp::ordered_metadata .sync .aligned? .m64n8k32|m64n8k16|m64n8k64 .f32 .f16|bf16|tf32 .f16|bf16|tf32 : \
{%rf1,%rf2,%rf3,%rf4} %d1 %d2 %r5 0 %p1 1 -1 0 1 / {%rf1,%rf2,%rf3,%rf4} %d1 %d2 %r5 1 %p1 1 1 / {%rf1,%rf2,%rf3,%rf4} {%r1,%r2,%r3,%r4} %d2 %r5 1 %p1 1 1 1 / {%rf1,%rf2,%rf3,%rf4} {%r1,%r2,%r3,%r4} %d2 %r5 2 %p1 1 1 / \
{%rf1,%rf2,%rf3,%rf4} %d1 %d2 %r5 %r6 %p1 1 1 0 0 / {%rf1,%rf2,%rf3,%rf4} %d1 %d2 %d5 0 %p1 1 1 0 0 / {%rf1,%rf2,%rf3,%rf4} %d1 %d2 %r5 %p1 1 1 0 0 / {%rf1,%rf2,%rf3,%rf4} %d1 %d2 5 0 %p1 1 1 0 0 / {%rf1,%rf2,%rf3,%rf4} %d1 %d2 %p1 1 1 0 0
wgmma .mma_async .sp .sync .aligned .m64n8k32 .f16 .f16 .f16 : {%r1,%r2} %d1 %d2 %r5 0 %p1 1 1 0 0 / {%r1,%r2,%r3,%r4} %d1 %d2 %r5 0 %p1 1 1 0 0
wgmma .mma_async .sp .sync .aligned .m64n8k64|m64n40k64|m64n8k512 .s32|f32 .s8|u8|e4m3|b1 .s8|u8|e5m2|b1 .satfinite|and.popc? : \
{%r1,%r2,%r3,%r4} %d1 %d2 %r5 0 %p1 / {%r1,%r2,%r3,%r4} %d1 %d2 %r5 1 %p1 / {%rf1,%rf2,%rf3,%rf4} %d1 %d2 %r5 0 %p1 1 1 / {%r1,%r2,%r3,%r4} {%r1,%r2,%r3,%r4} %d1 %r5 0 %p1
cp .async .bulk .commit_group|wait_group .read? : EMPTY / 0 / %r1
cp .async .bulk .tensor .1d|2d .shared::cta|shared::cluster|shared .global .tile|im2col? .mbarrier::complete_tx::bytes? \
.multicast::cluster? HINT? : [%r1] [%d2,{%r3,%r4}] [%r5] / [%r1] [%d2,{%r3}] [%r5] / [%r1] [%d2,{%r3,%r4}] [%r5] %h1 / \
[%r1] [%d2,{%r3,%r4}] [%r5] %d1 / [%r1] [%d2,{%r3,%r4}] [%r5] %h1 %d1
cp .async .bulk .tensor .1d|2d .global .shared::cta|shared .tile? .bulk_group? HINT? : \
[%d2,{%r3,%r4}] [%r5] / [%d2,{%r3}] [%r5] / [%d2,{%r3,%r4}] [%r5] %d1 / [%d2,{%d3,%d4}] [%r5]
cp .reduce .async .bulk .tensor .2d .global .shared::cta ATOMIC .tile? .bulk_group HINT? : \
[%d2,{%r3,%r4}] [%r5] / [%d2,{%r3,%r4}] [%r5] %d1
cp .async .bulk .prefetch .tensor .2d .L2 .global HINT? : [%d2,{%r3,%r4}] / [%d2,{%r3,%r4}] %d1
cp .async .bulk .shared::cluster|shared::cta .global|shared::cta .mbarrier::complete_tx::bytes .multicast::cluster? HINT? : \
[%r1] [%d2] %r3 [%r4] / [%r1] [%d2] 16 [%r4] %h1 / [%r1] [%r2] %r3 [%r4] / [%r1] [%d2] %r3 [%r4] %d1 / [%r1] [%d2] %r3 [%r4] %h1 %d1
cp .async .bulk .global .shared::cta .bulk_group HINT? : [%d1] [%r2] %r3 / [%d1] [%r2] %r3 %d4
cp .async .bulk .prefetch .L2 .global HINT? : [%d1] %r2 / [%d1] %r2 %d3
cp .reduce .async .bulk .global .shared::cta .bulk_group ATOMIC .noftz? N : [%d1] [%r2] %r3
cp .reduce .async .bulk .shared::cluster .shared::cta .mbarrier::complete_tx::bytes ATOMIC N : [%r1] [%r2] %r3 [%r4]
tensormap .replace .tile .global_address|rank|box_dim|global_dim|global_stride|element_stride|elemtype|swizzle_mode|fill_mode\
|interleave_layout .global|shared::cta|shared? .b1024 .b32|b64 : [%d1] %r2 / [%d1] %d2 / [%d1] 1 %r2 / [%d1] 1 %d2 / [%d1] 1
tensormap .cp_fenceproxy .global .shared::cta .tensormap::generic .release|acquire .gpu|cta .sync .aligned? : [%d1] [%r2] 128 / \
[%d1] [%r2] 64 / [%d1] [%r2]
st .async .weak|relaxed? .cluster? .shared::cluster .mbarrier::complete_tx::bytes .v2|v4? .b16|b32|u32|f32|b64|s64 : \
[%r1] %r2 [%r3] / [%r1] %d2 [%r3] / [%r1] {%r2,%r3} [%r3] / [%r1] {%rf2,%rf3,%rf4,%rf5} [%r3] / [%r1] %rf2 [%r3] / [%r1] {%d2,%d3} [%r3]
red .async .relaxed|release? .cluster|gpu? .shared::cluster|global .mbarrier::complete_tx::bytes ATOMIC .u32|s32|b32|u64|s64|f32 : \
[%r1] %r2 [%r3] / [%r1] %d2 [%r3]
"""
LISTS |= {
    "EVICT": "L1::evict_last L1::evict_first L1::evict_normal L1::evict_unchanged L1::no_allocate L2::evict_last",
    "HINT": "L2::cache_hint",
    "PREFETCH": "L2::64B L2::128B L2::256B L2::32B",
    "TYPED": "s32.s8.s8.s32 s32.s4.s4.s32 f32.bf16.bf16.f32 f32.tf32.tf32.f32 f64.f64.f64.f64",
    "MODIFIER": "rn rz rm rp satfinite",
    "PAIR": "f16.f16 bf16.bf16 tf32.tf32 f64.f64 s8.s8 u8.u8 s8.u8 u8.s8 s4.s4 u4.u4 s4.u4 b1.b1 e4m3.e4m3 e4m3.e5m2 "
    "e5m2.e5m2 f16.bf16 s8.s4 f32.f32",
    "RESULT": "f16 f32 s32 f64",
}
BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "tf32": 32, "b128": 128}


def width(type_):
    """Bits of a register for a type; 0 for a predicate."""
    if type_ == "pred":
        return 0
    return BITS.get(type_) or (32 if "16x2" in type_ else 16 if "x2" in type_ else max(16, int(type_[1:])))


def register(bits, number):
    return f"%{ {0: 'p', 8: 'b', 16: 'h', 32: 'r', 64: 'd', 128: 'q'}[bits] }{number}"


def _vector(words, first):
    count = next((int(word[1:]) for word in words if re.fullmatch(r"v\d", word)), 0)
    bits = width(words[-1])
    names = [register(bits, first + i) for i in range(max(count, 1))]
    return f"{{{', '.join(names)}}}" if count else names[0]


def _access(opcode, words):
    """Operands of a load, a store or an atomic, with a policy where the words hint at one."""
    values, copies = _vector(words, 1), _vector(words, 10)
    operands = {
        "ld": (values, "[%d9]"),
        "ldu": (values, "[%d9]"),
        "st": ("[%d9]", values),
        "atom": (values, "[%d9]", copies, *([_vector(words, 20)] if "cas" in words else [])),
        "red": ("[%d9]", values),
    }[opcode]
    return [", ".join((*operands, *(["%d8"] if "L2::cache_hint" in words else [])))]


def _matrices(opcode, words):
    count = next((int(word[1]) for word in words if re.fullmatch(r"x\d", word)), 1)
    if "b8" in words and "m16n16" in words:
        count *= 2
    values = f"{{{', '.join(f'%r{i + 1}' for i in range(count))}}}"
    return [f"{values}, [%d9]" if opcode == "ldmatrix" else f"[%d9], {values}"]


def _barrier_object(_, words):
    kind = words[0]
    if kind in ("init", "expect_tx", "complete_tx"):
        return ["[%d9], %r1"]
    if kind == "inval":
        return ["[%d9]"]
    if kind in ("test_wait", "try_wait"):
        state = "%r1" if "parity" in words else "%d1"
        return [f"%p1, [%d9], {state}", f"%p1, [%d9], {state}, %r2"]
    state = "_" if "shared::cluster" in words else "%d1"
    counted = {"expect_tx", "noComplete"} & set(words[1:])
    return [f"{state}, [%d9], %r1"] if counted else [f"{state}, [%d9], %r1", f"{state}, [%d9]", "[%d9]"]


def _registers(use, type_, shape):
    """Registers of a fragment of any shape, 32 lanes having equal parts of it, each of at least 32 bits."""
    m, n, k = (int(part) for part in re.findall(r"\d+", shape))
    rows = {"a": m * k, "b": k * n, "c": m * n, "d": m * n}[use]
    bits = {"tf32": 32, "b1": 1, "e4m3": 8, "e5m2": 8, "bf16": 16}.get(type_) or int(re.sub(r"\D", "", type_))
    return max(1, rows * bits // 32 // max(32, bits)), max(32, bits)


def _fragment(use, type_, shape, first):
    count, bits = _registers(use, type_, shape)
    if shape in ("m16n16k16", "m8n32k16", "m32n8k16") and use in "ab" and type_ == "f16":
        count = 8
    if shape == "m8n8k4" and type_ in ("f16", "f32"):
        count = 8 if type_ == "f32" else 4 if use in "cd" else 2
    return f"{{{', '.join(register(bits, first + i) for i in range(count))}}}"


def _fragments(opcode, words):
    shape = next(word for word in words if re.fullmatch(r"m\d+n\d+k\d+", word))
    types = [word for word in words if word in LISTS["ELEMENT"].split()]
    stored = re.sub(r"\d+$", lambda k: str(int(k[0]) // 2), shape) if "sp" in words[0] else shape
    if opcode == "wmma" and words[0] in ("load", "store"):
        values = _fragment(words[1], types[-1], shape, 1)
        return [f"{values}, [%d90], %r99" if words[0] == "load" else f"[%d90], {values}, %r99"]
    if len(types) == 2:
        types = [types[0], "f16", "f16", types[1]]
    dense = ", ".join(
        _fragment(use, type_, stored if use == "a" else shape, 20 * i + 1)
        for i, (use, type_) in enumerate(zip("dabc", types, strict=False))
    )
    return [f"{dense}, %r90, {selector}" for selector in range(5)] if stored != shape else [dense]


_COUNTED = {"cp": 2, "applypriority": 1, "discard": 1, "pmevent": 1}
"""Opcodes with numbers as operands, and how many operands are before these."""

_SPECIAL = {"V": _access, "M": _matrices, "X": _fragments, "B": _barrier_object}


def _operand(opcode, types, item, number):
    """The text of an operand of a pattern, which is the one of that number."""
    if item == "EMPTY":
        return ""
    if item in ("[64]", "[32]"):
        return f"[{register(int(item[1:3]), number)}]"
    if item == "p":
        return register(0, number)
    if item in ("t", "u", "w") and types:
        bits = width(types[0] if item == "u" else types[-1])
        return register(min(bits * 2, 128) if item == "w" else bits, number)
    counts = opcode in _COUNTED and number > _COUNTED[opcode]
    return register(int(item), number) if item in ("16", "32", "64", "128") and not counts else item


def _operands(opcode, words, patterns):
    types = [word for word in words if word in _TYPES]
    for pattern in patterns.split(" / "):
        if pattern.strip() in _SPECIAL:
            yield from _SPECIAL[pattern.strip()](opcode, words)
            continue
        texts = [_operand(opcode, types, item, number) for number, item in enumerate(pattern.split(), 1)]
        yield ", ".join(filter(None, texts))


_TYPES = {word for name in ("T", "CONVERTED", "VIDEO", "ELEMENT") for word in LISTS[name].split()}


def statements(most=None):
    """Number and text of each statement, without its semicolon.

    With `most`, of every line of syntax about as many combinations of qualifiers, drawn by their numbers.
    """
    first = 0
    for line in _TEXT.replace("\\\n", "").strip().splitlines():
        syntax, _, patterns = line.partition(" : ")
        head = syntax.split()
        names = list(itertools.takewhile(lambda word: re.fullmatch(r"[a-z0-9]+", word), head))
        slots = []
        for word in head[len(names) :]:
            choices = [
                part
                for item in word.strip("?").lstrip(".").split("|")
                for part in LISTS.get(item, item).split()
            ]
            slots.append([*([""] if word.endswith("?") else []), *choices])
        size = math.prod(map(len, slots)) * len(names)
        for number, (name, *chosen) in enumerate(itertools.product(names, *slots)):
            if most is not None and number * 2654435761 % 2**32 * size >= most * 2**32:
                continue
            words = ".".join(filter(None, chosen)).split(".")
            if words.count("satfinite") > 1 or words.count("sync") > 1:
                continue  # the assembler takes a qualifier twice
            opcode = ".".join(filter(None, (name, *words)))
            for place, operands in enumerate(_operands(name, words, patterns)):
                yield 16 * (first + number) + place, f"{opcode} {operands}".strip()
        first += size
