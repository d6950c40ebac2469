"""Statements about which golden and the assembler differ: a pattern of the statement, and the reason.

`STRICTER` are accepted by the assembler alone, `LOOSER` by golden alone. `TYPES_STRICTER` and `TYPES_LOOSER`
are about the types and kinds of operands.
"""

UNDOCUMENTED = "accepted by the assembler, without a meaning in the manual"
WIDE = "loads by ldu of 128 bits are not run"

STRICTER = {
    r"fma\.\S*oob\.": "out-of-bounds NaNs come with tensor copies",
    r"fma\.r[zmp]\.(relu\.)?bf16": "of the roundings of bf16 the manual has .rn alone",
    r"(addc|subc|madc\.lo|madc\.hi)\.[us]16 ": UNDOCUMENTED,
    r"(addc|subc|madc\.hi)\.sat\.s32": UNDOCUMENTED,
    r"rcp\.r.\.ftz\.f64": UNDOCUMENTED,
    r"testp\.f(32|64) ": UNDOCUMENTED,
    r"setp\S*\.b?f16x2 %p1,": "two halves have two predicates",
    r"cp\.async\.wait_group -1": "a number of groups is not negative",
    r"bar\.warp\.sync 0": "a mask without lanes stops the chip",
    r"mov\.[usb]16 %h1, (glob|shar|loca|cons|func)": "an address has more than 16 bits",
    r"mov\.[usb]32 %r1, (glob|cons|func)": "an address in .global has more than 32 bits",
    r"mov\.(f32|f64|pred) %.1, func": "an address is an integer",
    r"mov\.b128 %q1, (glob|shar|loca|cons|func)": "an address has 64 bits",
    r"mov\.(u64|s64|b64|f64) %d1, k": "kernels are launched by the host alone",
    r"ldu\.\S*b128": WIDE,
    r"st\.async\S* \[%r1\], [{%]": "the assembler does not count the registers of a vector of st.async",
    r"cp\.async\.bulk\S* \[%r1\], \[%r2\]": "an address in .global has 64 bits",
    r"cp\.async\.mbarrier\.arrive\.(noinc\.)?b64 \[%r1\]": "refused in a file without other errors",
    r"atom\.\S*(and|or|xor|exch)\.b\d+ %.1, \[%d2\], %.3, %.4": "a fourth operand without a use",
    r"w?mma\.\S*(s4|u4|b1|f64|tf32)": "shapes that the manual does not have",
    r"mma\.sp\S*m16n8k32\S*f16\..*, [23]$": "the manual has selectors 0 and 1",
}
LOOSER = {
    r"cvt\.rn\.bf16x2\.e[45]m[23]x2": "conversions of compute capability 10.0 and above",
    r"mma\.sp\S*f16\.e[45]m[23]\.": "an instruction of compute capability 12.0",
    r"st\.(weak\.)?param": "the assembler crashes at a store to a parameter through a register",
}
TYPES_STRICTER = {
    r"mov\.v2": "registers of a vector have the type of the move, or bits",
    r"ld\.shared\.u32 %r1, \[%h2\]": "an address in .shared has 32 or 64 bits",
    r"cp\.\S*\.tensor\.\S* .*%[rd]f\d": "the address of a tensor map and coordinates are integers",
    r"tensormap\.replace\S* \[%d1\], (%[rd]f2|1\.5|0[df])": "the fields of a tensor map are integers",
    r"st\.async\.\S*\.v[24]\S* \[%r1\], (1|0[df])": "one constant stands for one value",
}
TYPES_LOOSER = {
    r"v[a-z]+[24]\.": "two or four parts may be a constant",
    r"bar(rier)?\.\S*(sync|arrive)\S* \S+, 1": "a count that is no multiple of 32 is found when it runs",
    r"cp\.(reduce\.)?async\.bulk\.\S* .*, 1(,|$)": "a size that is no multiple of 16 is found when it runs",
    r"mov\.b64 \{_, _\}": "half of a register of 128 bits may be dropped",
    r"w?mma\.": "registers of a fragment are bits",
    r"ldmatrix\.\S* \S+, \[128\]": "matrices may have a number as their address",
    r"prefetch\.\S* \[%r2\]": "the address of a prefetch has no effect",
}
