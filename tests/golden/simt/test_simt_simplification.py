"""Divisions by constants, copies and clamps as an assembler makes them, and accumulators of fp8."""

import numpy as np
import pytest
from contraction_kernels import PACKED, both, numbers, results


@pytest.mark.parametrize("kind", ["rcp.approx", "div.approx", "div.full"])
@pytest.mark.parametrize("flush", ["", ".ftz"])
@pytest.mark.parametrize("held", [False, True])
def test_the_reciprocal_of_a_constant_is_rounded_correctly(kind: str, flush: str, held: bool) -> None:
    given = numbers(2)
    for bits in (
        0x40490FDB,
        0xBFB504F3,
        0x3EAAAAAB,
        0x7E800000,
        0x7E800001,
        0x7EC00000,
        0x7F000001,
        0x00000123,
        0x007FFFFF,
        0x00800000,
        0x80000000,
        0xFF800000,
        0x3F800000,
    ):
        divisor = "%f12" if held else f"0f{bits:08X}"
        sources = divisor if kind == "rcp.approx" else f"%f1,{divisor}"
        found = results(f"mov.f32 %f12,0f{bits:08X}; {kind}{flush}.f32 %f20,{sources};", given)[0]
        np.testing.assert_array_equal(found, quotients(kind, bool(flush), bits, given[0]))


def quotients(kind: str, flush: bool, bits: int, numerators: np.ndarray) -> np.ndarray:
    """Division by a constant, in float64 and float32 of numpy."""
    divisor = np.array([bits], np.uint32).view(np.float32)
    scale = np.float32(1)
    if kind != "rcp.approx":
        scale = np.float32(2**24) if not flush and abs(divisor) < 2.0**-126 else scale
        scale = np.float32(0.25) if kind == "div.full" and abs(divisor) > 2.0**126 else scale
    with np.errstate(all="ignore"):
        scaled = divisor * scale
        scaled = np.where(flush & (abs(scaled) < 2.0**-126), np.copysign(np.float32(0), scaled), scaled)
        reciprocal = (1 / scaled.astype(np.float64)).astype(np.float32)
        tiny = (abs(reciprocal) < 2.0**-126) & (flush or kind != "rcp.approx")
        reciprocal = np.where(tiny, np.copysign(np.float32(0), reciprocal), reciprocal)
        if kind == "rcp.approx":
            return np.broadcast_to(reciprocal, numerators.shape).view(np.uint32)
        body = f"mul.rn{'.ftz' * flush}.f32"
        steps = f"{body} %f9,%f1,0f{int(scale.view(np.uint32)):08X}; " * bool(scale != 1)
        first = "%f9" if scale != 1 else "%f1"
        if bits == 0x3F800000 and not flush:
            return numerators
        steps += f"{body} %f20,{first},0f{int(reciprocal.view(np.uint32)[0]):08X};"
        given = np.broadcast_to(numerators, (8, numerators.size))
        return results(steps, np.ascontiguousarray(given), contract=False)[0]


@pytest.mark.parametrize("kind", ["rcp.approx", "div.approx", "div.approx.ftz", "div.full", "div.full.ftz"])
def test_a_joined_division_scales_its_operands(kind: str) -> None:
    """A sum with -0 leaves the quotient as it is, whatever the range of the divisor."""
    edges = [0x00000001, 0x007FFFFF, 0x00800000, 0x3F9D70A4, 0x7E800000, 0x7E800001, 0x7EC00000, 0x7F7FFFFF]
    given = numbers(4)
    given[1] = np.resize(np.array(edges, np.uint32), given.shape[1]) | (given[2] & np.uint32(1 << 31))
    sources = "%f2" if kind == "rcp.approx" else "%f1,%f2"
    flush = ".ftz" * kind.endswith(".ftz")
    divide = f"{kind}.f32 %f9,{sources};"
    joined = results(f"mov.f32 %f12,%f8; {divide} add{flush}.f32 %f20,%f9,%f12;", with_zeros(given))[0]
    alone = results(f"{divide} add.rn{flush}.f32 %f20,%f9,%f8;", with_zeros(given), contract=False)[0]
    np.testing.assert_array_equal(joined, alone)


def with_zeros(given: np.ndarray) -> np.ndarray:
    """The inputs, %f8 of which is -0."""
    given = given.copy()
    given[7] = 1 << 31
    return given


OTHERS = {
    "mul x, 1": ("mul.f32 %f20,%f1,0f3F800000;", "mov.f32 %f20,%f1;"),
    "mul 1, x in f64": (
        PACKED + "mul.f64 %d5,0d3FF0000000000000,%d1; mov.b64 {%f20,%f21},%d5;",
        PACKED + "mov.b64 {%f20,%f21},%d1;",
    ),
    "mul.ftz x, 1": ("mul.ftz.f32 %f20,%f1,0f3F800000;", "mul.rn.ftz.f32 %f20,%f1,0f3F800000;"),
    "mul.rn x, 1": ("mul.rn.f32 %f20,%f1,0f3F800000;", "add.rn.f32 %f20,%f1,0f80000000;"),
    "max x, x": ("max.f32 %f20,%f1,%f1;", "mov.f32 %f20,%f1;"),
    "cvt.f32.f32": ("cvt.f32.f32 %f20,%f1;", "mov.f32 %f20,%f1;"),
    "rcp rcp x": (
        "rcp.approx.ftz.f32 %f9,%f1; rcp.approx.ftz.f32 %f20,%f9; mov.f32 %f21,%f9;",
        "mov.f32 %f20,%f1; rcp.approx.ftz.f32 %f21,%f1;",
    ),
    "rcp rcp x, x written again": (
        "rcp.approx.ftz.f32 %f9,%f1; mov.f32 %f1,%f2; rcp.approx.ftz.f32 %f20,%f9; mov.f32 %f21,%f1;",
        "mov.f32 %f20,%f1; mov.f32 %f21,%f2;",
    ),
    "rcp rcp x without ftz": (
        "rcp.approx.f32 %f9,%f1; rcp.approx.f32 %f20,%f9;",
        "rcp.approx.f32 %f9,%f1; bar.sync 0; rcp.approx.f32 %f20,%f9;",
    ),
    **{
        f"{first} {second} {flush}": (
            f"{first}.f32 %f9,%f1,{one if first == 'min' else zero}; "
            f"{second}{flush}.f32 %f20,{one if second == 'min' else zero},%f9;",
            f"add.rn{flush}.sat.f32 %f20,%f1,0f00000000;",
        )
        for first, second in (("min", "max"), ("max", "min"))
        for flush in ("", ".ftz")
        for one, zero in (("0f3F800000", "0f00000000"),)
    },
    "min.NaN max.NaN": (
        "min.NaN.f32 %f9,%f1,0f3F800000; max.NaN.f32 %f20,%f9,0f00000000;",
        "max.NaN.f32 %f9,%f1,0f00000000; min.NaN.f32 %f20,%f9,0f3F800000;",
    ),
}
"""Two kernels each: as written, and the same results without another rewriting."""


@pytest.mark.parametrize("name", OTHERS)
def test_another_rewriting(name: str) -> None:
    found, expected, _ = both(OTHERS[name])
    np.testing.assert_array_equal(found, expected)


FP8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 "
FP8 += "{{%f20,%f21,{},%f23}},{{%q1,%q2,%q3,%q1}},{{%q2,%q3}},{{{}}};"
BYTES = "and.b32 %q1,%q1,0x37373737; and.b32 %q2,%q2,0x37373737; and.b32 %q3,%q3,0x37373737;"
SCALE = "mul.f32 %f10,%f1,%f2; mul.f32 %f11,%f3,%f4; mul.f32 %f12,%f5,%f6; "
ZEROS = "mov.f32 %f13,0f00000000; "
FP8_ROWS = {
    "all elements": (
        SCALE + FP8.format("%f22", "%f10,%f11,%f12,%f10"),
        ZEROS
        + FP8.format("%f22", "%f13,%f13,%f13,%f13")
        + "fma.rn.f32 %f20,%f1,%f2,%f20; fma.rn.f32 %f21,%f3,%f4,%f21;",
    ),
    "one element, negated": (
        "mul.f32 %f10,%f1,%f2; neg.f32 %f11,%f10; " + FP8.format("%f22", "%f11,%f4,%f5,%f6"),
        ZEROS
        + "neg.f32 %f1,%f1; "
        + FP8.format("%f22", "%f13,%f4,%f5,%f6")
        + "fma.rn.f32 %f20,%f1,%f2,%f20;",
    ),
    "a result replaces a factor": (
        "mul.f32 %f10,%f20,%f2; " + FP8.format("%f22", "%f10,%f4,%f5,%f6"),
        ZEROS + FP8.format("%f22", "%f13,%f4,%f5,%f6") + "fma.rn.f32 %f20,%f13,%f2,%f20;",
    ),
    "an element nobody reads": (
        "mul.f32 %f10,%f1,%f2; add.f32 %f30,%f10,%f3; "
        + FP8.format("%f22", "%f6,%f4,%f10,%f5")
        + "mov.f32 %f21,%f30;",
        "fma.rn.f32 %f30,%f1,%f2,%f3; " + FP8.format("%f22", "%f6,%f4,%f5,%f5") + "mov.f32 %f21,%f30;",
    ),
    "product used by a store too": (
        "mul.f32 %f10,%f1,%f2; " + FP8.format("%f22", "%f10,%f4,%f5,%f6") + "mov.f32 %f21,%f10;",
        "mul.rn.f32 %f10,%f1,%f2; " + FP8.format("%f22", "%f10,%f4,%f5,%f6") + "mov.f32 %f21,%f10;",
    ),
    "f16 accumulators": (
        "mul.f16x2 %q4,%q1,%q2; mul.f16x2 %q5,%q2,%q3; mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16 "
        "{%q6,%q7},{%q1,%q2,%q3,%q1},{%q2,%q3},{%q4,%q5}; mov.b32 %f20,%q6; mov.b32 %f21,%q7;",
        "mov.b32 %q8,0; mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16 "
        "{%q6,%q7},{%q1,%q2,%q3,%q1},{%q2,%q3},{%q8,%q8}; fma.rn.f16x2 %q6,%q1,%q2,%q6; "
        "fma.rn.f16x2 %q7,%q2,%q3,%q7; mov.b32 %f20,%q6; mov.b32 %f21,%q7;",
    ),
}


@pytest.mark.parametrize("name", FP8_ROWS)
def test_products_join_the_accumulator_of_fp8(name: str) -> None:
    body, chip = (PACKED + BYTES + item for item in FP8_ROWS[name])
    found, expected, separate = both((body, chip))
    np.testing.assert_array_equal(found, expected)
    assert (expected != separate).any() == (
        name not in ("product used by a store too", "a result replaces a factor")
    )
