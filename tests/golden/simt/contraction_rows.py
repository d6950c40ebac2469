"""The rule of contraction, row by row: kernels as written, and what the chip executes."""

from contraction_kernels import PACKED

T, U, V = "mul.f32 %f9,%f1,%f2;", "mul.f32 %f10,%f3,%f4;", "mul.f32 %f11,%f7,%f8;"
TR, UR, VR = (item.replace("mul", "mul.rn") for item in (T, U, V))
SPLIT = "setp.gt.u32 %p1,%r1,99; @%p1 bra L; {} bar.sync 0; L: "
CALL = "{ .param .f32 a; .param .f32 r; st.param.f32 [a],%f3; call (r), f, (a); ld.param.f32 %f21,[r]; }"

ROWS = {
    "t + e": (T + "add.f32 %f20,%f9,%f5;", "fma.rn.f32 %f20,%f1,%f2,%f5;"),
    "e + t": (T + "add.f32 %f20,%f5,%f9;", "fma.rn.f32 %f20,%f1,%f2,%f5;"),
    "t - e": (T + "sub.f32 %f20,%f9,%f5;", "neg.f32 %f6,%f5; fma.rn.f32 %f20,%f1,%f2,%f6;"),
    "e - t": (T + "sub.f32 %f20,%f5,%f9;", "neg.f32 %f6,%f1; fma.rn.f32 %f20,%f6,%f2,%f5;"),
    "t - literal": (T + "sub.f32 %f20,%f9,0f3F000001;", "fma.rn.f32 %f20,%f1,%f2,0fBF000001;"),
    "literal factor, negated": (
        "mul.f32 %f9,0f40490FDB,%f2; sub.f32 %f20,%f5,%f9;",
        "fma.rn.f32 %f20,0fC0490FDB,%f2,%f5;",
    ),
    "ftz": ("mul.ftz.f32 %f9,%f1,%f2; add.ftz.f32 %f20,%f9,%f5;", "fma.rn.ftz.f32 %f20,%f1,%f2,%f5;"),
    "mul.ftz, add": (
        "mul.ftz.f32 %f9,%f1,%f2; add.f32 %f20,%f9,%f5;",
        "mul.rn.ftz.f32 %f9,%f1,%f2; add.rn.f32 %f20,%f9,%f5;",
    ),
    "mul, mul.ftz by 1, add": (
        T + "mul.ftz.f32 %f10,%f9,0f3F800000; add.f32 %f20,%f10,%f5;",
        TR + "mul.rn.ftz.f32 %f10,%f9,0f3F800000; add.rn.f32 %f20,%f10,%f5;",
    ),
    "mul, add.ftz": (T + "add.ftz.f32 %f20,%f9,%f5;", TR + "add.rn.ftz.f32 %f20,%f9,%f5;"),
    **{
        f"mul{m}, add{a}": (
            f"mul{m}.f32 %f9,%f1,%f2; add{a}.f32 %f20,%f9,%f5;",
            f"mul{m or '.rn'}.f32 %f9,%f1,%f2; add{a or '.rn'}.f32 %f20,%f9,%f5;",
        )
        for m, a in ((".rn", ""), ("", ".rn"), (".rz", ""), ("", ".rz"), (".sat", ""))
    },
    "mul, add.sat": (T + "add.sat.f32 %f20,%f9,%f5;", "fma.rn.sat.f32 %f20,%f1,%f2,%f5;"),
    "t + u": (T + U + "add.f32 %f20,%f9,%f10;", UR + "fma.rn.f32 %f20,%f1,%f2,%f10;"),
    "u + t": (T + U + "add.f32 %f20,%f10,%f9;", TR + "fma.rn.f32 %f20,%f3,%f4,%f9;"),
    "t - u": (T + U + "sub.f32 %f20,%f9,%f10;", UR + "neg.f32 %f6,%f10; fma.rn.f32 %f20,%f1,%f2,%f6;"),
    "u - t": (T + U + "sub.f32 %f20,%f10,%f9;", TR + "neg.f32 %f6,%f9; fma.rn.f32 %f20,%f3,%f4,%f6;"),
    "two uses": (
        T + "add.f32 %f20,%f9,%f5; sub.f32 %f21,%f6,%f9;",
        "neg.f32 %f7,%f1; fma.rn.f32 %f20,%f1,%f2,%f5; fma.rn.f32 %f21,%f7,%f2,%f6;",
    ),
    **{
        f"t + e; {name}": (
            T + "add.f32 %f20,%f9,%f5;" + other,
            TR + "add.rn.f32 %f20,%f9,%f5;" + other.replace("mul.f32", "mul.rn.f32"),
        )
        for name, other in {
            "t stored": "mov.f32 %f21,%f9;",
            "t * e": "mul.f32 %f21,%f9,%f6;",
            "fma(t, x, y)": "fma.rn.f32 %f21,%f9,%f6,%f7;",
            "fma(x, y, t)": "fma.rn.f32 %f21,%f6,%f7,%f9;",
            "add.rn t": "add.rn.f32 %f21,%f9,%f6;",
            "t compared": "setp.gt.f32 %p1,%f9,%f6; @%p1 mov.f32 %f21,%f6;",
            "add.ftz t": "add.ftz.f32 %f21,%f9,%f6;",
            "t + t": "add.f32 %f21,%f9,%f9;",
        }.items()
    },
    "t + u; t stored": (
        T + U + "add.f32 %f20,%f9,%f10; mov.f32 %f21,%f9;",
        TR + "fma.rn.f32 %f20,%f3,%f4,%f9; mov.f32 %f21,%f9;",
    ),
    "t once, u twice": (
        T + U + "add.f32 %f20,%f9,%f10; add.f32 %f21,%f10,%f5;",
        UR + "fma.rn.f32 %f20,%f1,%f2,%f10; add.rn.f32 %f21,%f10,%f5;",
    ),
    "t + u; t - u": (
        T + U + "add.f32 %f20,%f9,%f10; sub.f32 %f21,%f9,%f10;",
        UR + "neg.f32 %f6,%f10; fma.rn.f32 %f20,%f1,%f2,%f10; fma.rn.f32 %f21,%f1,%f2,%f6;",
    ),
    "-t + e": (
        T + "neg.f32 %f10,%f9; add.f32 %f20,%f10,%f5;",
        "neg.f32 %f6,%f1; fma.rn.f32 %f20,%f6,%f2,%f5;",
    ),
    "-t, moved, from e": (
        T + "neg.f32 %f10,%f9; mov.b32 %q1,%f10; mov.b32 %f11,%q1; sub.f32 %f20,%f5,%f11;",
        "fma.rn.f32 %f20,%f1,%f2,%f5;",
    ),
    **{
        f"{name} of t": (T + change + "add.f32 %f20,%f10,%f5;", TR + change + "add.rn.f32 %f20,%f10,%f5;")
        for name, change in {
            "abs": "abs.f32 %f10,%f9;",
            "selp": "setp.gt.u32 %p1,%r1,99; selp.f32 %f10,%f9,%f6,%p1;",
            "max": "max.f32 %f10,%f9,%f6;",
            "cvt": "cvt.rn.f16.f32 %h1,%f9; cvt.f32.f16 %f10,%h1;",
            "bits": "mov.b32 %q1,%f9; xor.b32 %q1,%q1,0x80000000; mov.b32 %f10,%q1;",
        }.items()
    },
    **{
        f"{name} factor, another block": (
            f"{load} mul.f32 %f9,%f1,{factor}; setp.gt.u32 %p1,%r1,99; @%p1 bra L; add.f32 %f20,%f9,%f5; "
            "bra M; L: sub.f32 %f20,%f9,%f6; bar.sync 0; M:",
            f"{load} neg.f32 %f6,%f6; setp.gt.u32 %p1,%r1,99; selp.f32 %f5,%f6,%f5,%p1; "
            f"fma.rn.f32 %f20,%f1,{factor},%f5;",
        )
        for name, load, factor in (
            ("literal", "", "0f3FB8AA3B"),
            ("power of two", "", "0f40800000"),
            ("moved literal", "mov.f32 %f12,0f3FB8AA3B;", "%f12"),
            ("parameter", "ld.param.f32 %f12,[pf];", "%f12"),
            ("constant", "ld.const.f32 %f12,[c];", "%f12"),
        )
    },
    **{
        f"t, then {name}": (T + end + "add.f32 %f20,%f9,%f5;", TR + end + "add.rn.f32 %f20,%f9,%f5;")
        for name, end in {
            "a branch": SPLIT.format("mov.f32 %f21,%f4;"),
            "a guarded load": "setp.gt.u32 %p1,%r1,99; @%p1 ld.global.f32 %f21,[%rd3];",
            "a guarded store": "setp.gt.u32 %p1,%r1,99; @%p1 st.global.f32 [%rd5],%f4;",
            "a guarded exit": "setp.gt.u32 %p1,%r1,999; @%p1 exit;",
            "a guarded barrier": "setp.lt.u32 %p1,%r1,999; @%p1 bar.sync 0;",
            "div.rn": "div.rn.f32 %f21,%f3,%f4;",
            "sqrt.rn": "sqrt.rn.f32 %f21,%f3;",
            "div.s32": "mov.b32 %q1,%f3; div.s32 %q1,%q1,7; mov.b32 %f21,%q1;",
            "rem.s32": "rem.s32 %r2,%r1,7; mov.b32 %f21,%r2;",
            "div.u64": "div.u64 %rd6,%rd5,7; cvt.u32.u64 %r2,%rd6;",
            "membar": "membar.gl;",
            "fence.acq_rel": "fence.acq_rel.gpu;",
            "a call": CALL,
        }.items()
    },
    **{
        f"t, {name}, sum": (T + between + "add.f32 %f20,%f9,%f5;", between + "fma.rn.f32 %f20,%f1,%f2,%f5;")
        for name, between in {
            "a barrier": "bar.sync 0;",
            "a shuffle": "shfl.sync.bfly.b32 %f21,%f3,1,31,0xffffffff;",
            "a store": "st.global.f32 [%rd5],%f4;",
            "a load": "ld.global.f32 %f21,[%rd3];",
            "an atomic": "atom.global.add.u32 %r2,[%rd5],0;",
            "ex2": "ex2.approx.f32 %f21,%f3;",
            "div.full": "div.full.f32 %f21,%f3,%f4;",
            "div.u32": "div.u32 %r2,%r1,3;",
            "a label that nobody jumps to": "L:",
            "a jump to a label with no other way in": "bra L; L:",
            "a dead guarded load": "setp.gt.u32 %p1,%r1,99; @%p1 ld.global.f32 %f40,[%rd3];",
            "a guarded ex2": "setp.gt.u32 %p1,%r1,99; @%p1 ex2.approx.f32 %f21,%f3;",
        }.items()
    },
    "a loop": (
        "mov.u32 %r2,0; L: add.f32 %f20,%f20,%f9; " + T + "add.u32 %r2,%r2,1; setp.lt.u32 %p1,%r2,3; "
        "@%p1 bra L;",
        "mov.u32 %r2,0; L: add.rn.f32 %f20,%f20,%f9; " + TR + "add.u32 %r2,%r2,1; setp.lt.u32 %p1,%r2,3; "
        "@%p1 bra L;",
    ),
    "a value that only feeds itself": (
        T + "mov.f32 %f12,%f9; add.f32 %f20,%f9,%f5; mov.u32 %r2,0; L: mul.f32 %f12,%f12,%f3; "
        "add.u32 %r2,%r2,1; setp.lt.u32 %p1,%r2,3; @%p1 bra L;",
        "fma.rn.f32 %f20,%f1,%f2,%f5;",
    ),
    "guarded product": (
        "setp.gt.u32 %p1,%r1,99; mov.f32 %f9,%f3; @%p1 mul.f32 %f9,%f1,%f2; add.f32 %f20,%f9,%f5;",
        "setp.gt.u32 %p1,%r1,99; mov.f32 %f9,%f3; @%p1 mul.rn.f32 %f9,%f1,%f2; add.rn.f32 %f20,%f9,%f5;",
    ),
    "guarded sum": (
        T + "setp.gt.u32 %p1,%r1,99; mov.f32 %f20,%f3; @!%p1 add.f32 %f20,%f9,%f5;",
        "setp.gt.u32 %p1,%r1,99; mov.f32 %f20,%f3; @!%p1 fma.rn.f32 %f20,%f1,%f2,%f5;",
    ),
    "guarded redefinition": (
        T + "setp.gt.u32 %p1,%r1,99; @%p1 mov.f32 %f9,%f3; add.f32 %f20,%f9,%f5;",
        TR + "setp.gt.u32 %p1,%r1,99; @%p1 mov.f32 %f9,%f3; add.rn.f32 %f20,%f9,%f5;",
    ),
    "(t + u) + v": (
        T + U + V + "add.f32 %f12,%f9,%f10; add.f32 %f20,%f12,%f11;",
        UR + "fma.rn.f32 %f12,%f1,%f2,%f10; fma.rn.f32 %f20,%f7,%f8,%f12;",
    ),
    "(t + u) + (v + w)": (
        T + U + V + "mul.f32 %f12,%f5,%f6; add.f32 %f13,%f9,%f10; add.f32 %f14,%f11,%f12; "
        "add.f32 %f20,%f13,%f14;",
        UR + "mul.rn.f32 %f12,%f5,%f6; fma.rn.f32 %f13,%f1,%f2,%f10; fma.rn.f32 %f14,%f7,%f8,%f12; "
        "add.rn.f32 %f20,%f13,%f14;",
    ),
    "t * c + e": (
        T + "mul.f32 %f10,%f9,%f3; add.f32 %f20,%f10,%f5;",
        TR + "fma.rn.f32 %f20,%f9,%f3,%f5;",
    ),
    "fma + e": (
        "fma.rn.f32 %f9,%f1,%f2,%f3; add.f32 %f20,%f9,%f5;",
        "fma.rn.f32 %f9,%f1,%f2,%f3; add.rn.f32 %f20,%f9,%f5;",
    ),
    "t + 0, + e": (
        T + "add.f32 %f20,%f9,0f00000000; add.f32 %f21,%f20,%f5;",
        "fma.rn.f32 %f20,%f1,%f2,0f00000000; add.rn.f32 %f21,%f20,%f5;",
    ),
    "t + t'": (
        T + "mul.f32 %f10,%f2,%f1; add.f32 %f20,%f9,%f10;",
        TR + "add.rn.f32 %f20,%f9,%f9;",
    ),
    "t - t'": (
        T + "mul.f32 %f10,%f2,%f1; sub.f32 %f20,%f9,%f10;",
        TR + "neg.f32 %f9,%f9; fma.rn.f32 %f20,%f1,%f2,%f9;",
    ),
    "1 * e": ("mul.f32 %f9,%f1,0f3F800000; " + U + "add.f32 %f20,%f9,%f10;", "fma.rn.f32 %f20,%f3,%f4,%f1;"),
    "-1 * t": (
        T + "mul.f32 %f10,%f9,0fBF800000; add.f32 %f20,%f10,%f5;",
        "neg.f32 %f6,%f1; fma.rn.f32 %f20,%f6,%f2,%f5;",
    ),
    "two literals": (
        "mov.f32 %f12,0f3FB8AA3B; mul.f32 %f9,%f12,0f40490FDB; add.f32 %f20,%f9,%f5;",
        "mov.f32 %f12,0f3FB8AA3B; mul.rn.f32 %f9,%f12,0f40490FDB; add.rn.f32 %f20,%f9,%f5;",
    ),
    "a factor is written again": (
        T + "mov.f32 %f1,%f3; add.f32 %f2,%f4,%f5; add.f32 %f20,%f9,%f5; add.f32 %f21,%f1,%f2;",
        "fma.rn.f32 %f20,%f1,%f2,%f5; add.rn.f32 %f2,%f4,%f5; add.rn.f32 %f21,%f3,%f2;",
    ),
    "the product replaces a factor": (
        "mul.f32 %f1,%f1,%f2; add.f32 %f1,%f1,%f5; mov.f32 %f20,%f1;",
        "fma.rn.f32 %f20,%f1,%f2,%f5;",
    ),
    "div.approx.ftz - e": (
        "div.approx.ftz.f32 %f9,%f1,%f2; sub.ftz.f32 %f20,%f9,%f5;",
        "rcp.approx.ftz.f32 %f9,%f2; neg.f32 %f5,%f5; fma.rn.ftz.f32 %f20,%f1,%f9,%f5;",
    ),
    "1 / b + e": (
        "div.approx.ftz.f32 %f9,0f3F800000,%f2; add.ftz.f32 %f20,%f9,%f5;",
        "rcp.approx.ftz.f32 %f9,%f2; add.rn.ftz.f32 %f20,%f9,%f5;",
    ),
    "rcp.approx + e": (
        "rcp.approx.f32 %f9,%f2; add.f32 %f20,%f9,%f5;",
        "abs.f32 %f10,%f2; setp.gt.f32 %p1,%f10,0f7E800000; mov.f32 %f11,0f3F800000; "
        "@%p1 mov.f32 %f11,0f3E800000; setp.lt.f32 %p1,%f10,0f00800000; @%p1 mov.f32 %f11,0f4B800000; "
        "mul.rn.f32 %f12,%f2,%f11; rcp.approx.ftz.f32 %f12,%f12; fma.rn.f32 %f20,%f11,%f12,%f5;",
    ),
    "div.full + e": (
        "div.full.f32 %f9,%f1,%f2; add.f32 %f20,%f9,%f5;",
        "abs.f32 %f10,%f2; setp.gt.f32 %p1,%f10,0f7E800000; mov.f32 %f11,0f3F800000; "
        "@%p1 mov.f32 %f11,0f3E800000; setp.lt.f32 %p1,%f10,0f00800000; @%p1 mov.f32 %f11,0f4B800000; "
        "mul.rn.f32 %f12,%f2,%f11; mul.rn.f32 %f13,%f1,%f11; rcp.approx.ftz.f32 %f12,%f12; "
        "fma.rn.f32 %f20,%f13,%f12,%f5;",
    ),
    **{
        f"{form} + e": (
            f"{form}.f32 %f9,%f3; add.f32 %f20,%f9,%f5;",
            f"{form}.f32 %f9,%f3; add.rn.f32 %f20,%f9,%f5;",
        )
        for form in ("ex2.approx", "lg2.approx", "sqrt.approx", "rsqrt.approx", "sin.approx")
    },
    "neg.ftz, added": (
        "mul.ftz.f32 %f9,%f1,%f2; neg.ftz.f32 %f10,%f9; add.ftz.f32 %f20,%f10,%f5; mov.f32 %f21,%f10;",
        "neg.f32 %f6,%f1; fma.rn.ftz.f32 %f20,%f6,%f2,%f5; mul.rn.ftz.f32 %f9,%f1,%f2; neg.f32 %f21,%f9;",
    ),
    "neg.ftz, subtracted": (
        "mul.ftz.f32 %f9,%f1,%f2; neg.ftz.f32 %f10,%f9; sub.ftz.f32 %f20,%f5,%f10;",
        "mul.rn.ftz.f32 %f9,%f1,%f2; add.rn.ftz.f32 %f20,%f5,%f9;",
    ),
    "f64": (
        PACKED + "mul.f64 %d5,%d1,%d2; sub.f64 %d6,%d3,%d5; mov.b64 {%f20,%f21},%d6;",
        PACKED + "neg.f64 %d1,%d1; fma.rn.f64 %d6,%d1,%d2,%d3; mov.b64 {%f20,%f21},%d6;",
    ),
    "f16": (
        PACKED + "mul.f16 %h5,%h1,%h2; neg.f16 %h6,%h5; add.sat.f16 %h7,%h6,%h3; mov.b32 %f20,{%h7,%h7};",
        PACKED + "neg.f16 %h1,%h1; fma.rn.sat.f16 %h7,%h1,%h2,%h3; mov.b32 %f20,{%h7,%h7};",
    ),
    "f16, neg.ftz": (
        PACKED + "mul.ftz.f16 %h5,%h1,%h2; neg.ftz.f16 %h6,%h5; add.ftz.f16 %h7,%h6,%h3; "
        "mov.b32 %f20,{%h7,%h7};",
        PACKED + "mul.rn.ftz.f16 %h5,%h1,%h2; neg.ftz.f16 %h6,%h5; add.rn.ftz.f16 %h7,%h6,%h3; "
        "mov.b32 %f20,{%h7,%h7};",
    ),
    "f16x2": (
        PACKED + "mul.f16x2 %q4,%q1,%q2; mul.f16x2 %q5,%q2,%q3; add.f16x2 %q6,%q4,%q5; mov.b32 %f20,%q6;",
        PACKED + "mul.rn.f16x2 %q5,%q2,%q3; fma.rn.f16x2 %q6,%q1,%q2,%q5; mov.b32 %f20,%q6;",
    ),
}
"""Two kernels each: as written, and what the chip executes, without anything left to join."""

EXACT = {"t + 0, + e", "power of two factor, another block", "t - t'", "rcp.approx + e"}
"""Rows whose product is exact, or added to nothing."""

JOINED = [
    name for name, (body, chip) in ROWS.items() if chip.count("fma") > body.count("fma") and name not in EXACT
]
