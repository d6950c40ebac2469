"""Multiplications and additions on fragments and accumulators are joined, as those on scalars are."""

import numpy as np
import pytest
from modules import entry, kernels, module

REGISTERS = (
    ".reg .f32 %a<8>, %b<8>, %d<8>, %z<8>, %f<8>; .reg .b32 %h<8>, %g<8>, %k<8>; .reg .b64 %rd<4>;"
    ".reg .pred %p<4>; .reg .b32 %n; .reg .b16 %s<4>;"
)


def each(statement, count=8):
    return "".join(statement.replace("#", str(index)) for index in range(count))


def vector(prefix, count=8):
    return "{" + ", ".join(f"%{prefix}{index}" for index in range(count)) + "}"


LOAD = "wmma.load.c.sync.aligned.row.m16n16k16.f32"
STORE = "wmma.store.d.sync.aligned.row.m16n16k16.f32"
BEGIN = (
    f"ld.param.u64 %rd1, [A]; {LOAD} {vector('a')}, [%rd1]; ld.param.u64 %rd1, [B]; "
    f"{LOAD} {vector('b')}, [%rd1]; ld.param.u64 %rd1, [D]; ld.param.f32 %f1, [alpha]; "
)
END = f"{STORE} [%rd1], {vector('d')};"
BRANCH = "setp.eq.u32 %p1, %n, 1; @%p1 bra L; {} L: "
FP8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%d0,%d1,%d2,%d3},"
BYTES = each("mov.b32 %k#, 0x3738393a;", 6) + each("mov.f32 %z#, 0.0;")

ROWS = {
    "fragments": (
        each("mul.f32 %d#, %a#, %b#;") + each("add.f32 %d#, %d#, %f1;"),
        each("fma.rn.f32 %d#, %a#, %b#, %f1;"),
    ),
    "from a scalar": (
        each("mul.f32 %z#, %a#, %f1;") + each("sub.f32 %d#, %b#, %z#;"),
        "mov.f32 %f2, -1.0; mul.rn.f32 %f2, %f1, %f2;" + each("fma.rn.f32 %d#, %a#, %f2, %b#;"),
    ),
    "less a fragment": (
        each("mul.f32 %z#, %a#, %f1;") + each("sub.f32 %d#, %z#, %b#;"),
        each("mul.rn.f32 %z#, %b#, -1.0;") + each("fma.rn.f32 %d#, %a#, %f1, %z#;"),
    ),
    "scalars": (
        "mul.f32 %f2, %f1, %f1; add.f32 %f3, %f2, -2.89;" + each("max.f32 %d#, %a#, %f3;"),
        "fma.rn.f32 %f3, %f1, %f1, -2.89;" + each("max.f32 %d#, %a#, %f3;"),
    ),
    "used twice": (
        each("mul.f32 %z#, %a#, %b#;") + each("add.f32 %d#, %z#, %f1;") + each("min.f32 %d#, %z#, %d#;"),
        each("mul.rn.f32 %z#, %a#, %b#;")
        + each("add.rn.f32 %d#, %z#, %f1;")
        + each("min.f32 %d#, %z#, %d#;"),
    ),
    "rounding given": (
        each("mul.rn.f32 %z#, %a#, %b#;") + each("add.f32 %d#, %z#, %f1;"),
        each("mul.rn.f32 %z#, %a#, %b#;") + each("add.rn.f32 %d#, %z#, %f1;"),
    ),
    "after a branch": (
        each("mul.f32 %z#, %a#, %b#;")
        + each("mov.b32 %d#, %a#;")
        + "mov.u32 %n, 2;"
        + BRANCH.format(each("add.f32 %d#, %z#, %f1;")),
        each("mul.rn.f32 %z#, %a#, %b#;") + each("add.rn.f32 %d#, %z#, %f1;"),
    ),
    "parameter, after a branch": (
        each("mul.f32 %z#, %a#, %f1;")
        + each("mov.b32 %d#, %a#; mov.b32 %a#, %b#;")
        + "mov.u32 %n, 2;"
        + BRANCH.format(each("add.f32 %d#, %z#, %b#;")),
        each("fma.rn.f32 %d#, %a#, %f1, %b#;"),
    ),
    "clamp": (
        each("min.f32 %z#, %a#, 1.0;") + each("max.f32 %d#, %z#, 0.0;"),
        each("max.f32 %z#, %a#, 0.0;") + each("min.f32 %d#, %z#, 1.0;"),
    ),
    "mul by 1": (each("mul.f32 %d#, %a#, 1.0;"), each("mov.b32 %d#, %a#;")),
    "accumulator of fp8": (
        BYTES
        + each("mov.f32 %d#, 0.0;")
        + each("mul.f32 %z#, %a#, %f1;", 2)
        + FP8
        + "{%k0,%k1,%k2,%k3},{%k4,%k5},{%z0,%z1,%b2,%b3};",
        BYTES
        + each("mov.f32 %d#, 0.0;")
        + FP8
        + "{%k0,%k1,%k2,%k3},{%k4,%k5},{%z0,%z1,%b2,%b3};"
        + each("fma.rn.f32 %d#, %a#, %f1, %d#;", 2),
    ),
}
"""Two programs each: as written, and what the chip executes, without anything left to join."""

SEPARATE = {"used twice", "rounding given", "after a branch"}


def results(body, *, contract):
    text = module(
        REGISTERS + BEGIN + body + END, ".param .u64 A, .param .u64 B, .param .u64 D, .param .f32 alpha"
    )
    random = np.random.default_rng(1)
    a, b = random.normal(size=(2, 16, 16)).astype(np.float32)
    a[0, :3] = np.nan, -np.inf, -0.0
    d = np.zeros((16, 16), np.float32)
    kernels(text)["k"].launch(1, 32, [a, b, d, 1.7], contract=contract)
    return d.view(np.uint32)


@pytest.mark.parametrize("name", ROWS)
def test_a_row(name):
    body, chip = ROWS[name]
    expected = results(chip, contract=False)
    np.testing.assert_array_equal(results(body, contract=True), expected)
    assert (results(body, contract=False) != expected).any() == (name not in SEPARATE)


def test_pairs_are_listed_with_their_lines():
    found = entry(".reg .f32 %f<4>;\nmov.f32 %f1, 1.5;\nmul.f32 %f2, %f1, %f1;\nadd.f32 %f3, %f2, 1.0;")
    assert not found.contractions  # nobody reads the sum
    text = f"{REGISTERS}\n{LOAD} {vector('a')}, [0];\nmul.f32 %a0, %a0, %a1;\nadd.f32 %a0, %a0, 1.0;\n"
    (pair,) = entry(text + f"{STORE} [0], {vector('a')};").contractions
    assert str(pair) == "k.ptx:8: mul.f32 %a0, %a0, %a1; -> k.ptx:9: add.f32 %a0, %a0, 1.0;"
