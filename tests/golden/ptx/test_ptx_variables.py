"""Variables in memory: where they are, what may name them, and generic addresses."""

import numpy as np
import pytest
from modules import vector

from golden.ptx import PtxError
from golden.simt import LaunchError, Module
from golden.simt.address_map import SHARED

A = vector("%a", 8)
M5 = ".extern .shared .align 16 .b8 p[]; .extern .shared .align 64 .b8 q[];"
LOAD = "wmma.load.a.sync.aligned.row.m16n16k16"


def loaded(declarations, body):
    """A module: declarations on its second line, the body of its kernel on the fourth."""
    return Module(
        f".version 8.0 .target sm_90 .address_size 64\n{declarations}\n"
        f".entry k(.param .u64 out) {{ .reg .b32 %a<8>; .reg .u32 %r<4>; .reg .u64 %rd<4>, %out;\n"
        f"{body}\n}}\n",
        "k.ptx",
    )


def stored(module, count):
    """What the kernel stores to the array that it is given."""
    out = np.zeros(count, np.uint64)
    module.kernel().launch(1, 32, [out])
    return out.tolist()


def addresses(declarations, body, count):
    return stored(loaded(declarations, f"ld.param.u64 %out, [out]; {body}"), count)


def message_of(declarations, body):
    with pytest.raises((PtxError, LaunchError)) as caught:
        loaded(declarations, body).kernel()
    return str(caught.value)


def taken(*names, first=0):
    """Statements that store the addresses of variables."""
    return " ".join(
        f"mov.u64 %rd0, {name}; st.global.u64 [%out+{8 * number}], %rd0;"
        for number, name in enumerate(names, first)
    )


@pytest.mark.parametrize(
    ("declarations", "names", "expected"),
    [
        (".shared .b8 x[3]; .shared .b32 y; .shared .b8 z;", "xyz", [0, 4, 8]),
        (".shared .b8 x[3]; .shared .b32 y; .shared .b8 z;", "zyx", [8, 4, 0]),
        (".shared .align 32 .b8 x[33], y[2][3], z;", "xyz", [0, 64, 96]),
        (".shared .v4 .f32 x; .shared .b8 y; .shared .v2 .f64 z[2];", "xyz", [0, 16, 32]),
        (".shared .align 64 .v2 .b8 y[2]; .shared .b64 x, z;", "xyz", [8, 0, 16]),
        # A variable that is not named takes no room; arrays without a length are what is left,
        # each from 16 or its own alignment on: measured on an H200.
        (".shared .b8 w[100]; .shared .b16 x; .shared .b8 y, z;", "xyz", [0, 2, 3]),
        (".extern .shared .align 16 .b8 x[]; .shared .b8 y[5]; .shared .b64 z;", "xyz", [16, 0, 8]),
        (
            ".extern .shared .b8 x[]; .extern .shared .align 32 .f32 y[]; .shared .b8 z[3];",
            "xyz",
            [16, 32, 0],
        ),
        (f"{M5} .shared .align 8 .b8 s[8];", "spq", [0, 0x10, 0x40]),
        (f"{M5} .shared .align 8 .b8 s[8];", "qps", [0x40, 0x10, 0]),
        (f"{M5} .shared .align 8 .b8 s[72];", "sq", [0, 0x80]),
        (f"{M5} .shared .align 8 .b8 s[40];", "sp", [0, 0x30]),
        (
            ".extern .shared .align 16 .b8 p[]; .shared .align 4 .b8 u[12]; .shared .align 8 .b8 v[24]; "
            ".shared .align 16 .b8 w[40]; .shared .align 4 .b8 x[4];",
            "uvwxp",
            [0, 0x10, 0x30, 0x58, 0x60],
        ),
    ],
)
def test_shared_variables_follow_each_other(declarations, names, expected):
    assert addresses(declarations, taken(*names), len(names)) == expected


def test_those_of_the_entry_come_after_those_of_the_module():
    body = f".shared .align 16 .b8 y[2]; {taken('x', 'y')} {{ .shared .b8 z; {taken('z', first=2)} }}"
    assert addresses(".shared .b8 x;", body, 3) == [0, 16, 18]


def test_a_block_may_declare_the_name_again():
    inner = f"{{ {taken('x', first=1)} .shared .align 8 .b8 x; }}"
    body = f".shared .b8 x[9]; {taken('x')} {inner} {taken('x', first=2)}"
    assert addresses(".shared .b8 x;", body, 3) == [0, 16, 0]


def test_a_declaration_of_the_entry_hides_that_of_the_module():
    body = f".shared .align 8 .b8 x[9]; {taken('y', 'x')}"
    assert addresses(".shared .b8 x; .shared .b8 y[9];", body, 2) == [0, 16]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("mov.u64 %rd0, y;", 64),
        ("mov.b64 %rd0, y;", 64),
        ("mov.u32 %r0, y; cvt.u64.u32 %rd0, %r0;", 64),
        ("mov.u64 %rd0, y+8;", 72),
        ("mov.u64 %rd0, y-8;", 56),
        ("cvta.shared.u64 %rd0, y;", SHARED + 64),
        ("cvta.shared::cta.u64 %rd0, y;", SHARED + 64),
        ("mov.u64 %rd1, y; cvta.shared.u64 %rd0, %rd1;", SHARED + 64),
        ("cvta.shared.u64 %rd1, y; cvta.to.shared.u64 %rd0, %rd1;", 64),
        ("cvta.shared.u64 %rd1, y+4; cvta.to.shared::cta.u64 %rd0, %rd1;", 68),
        ("mov.u64 %rd0, g;", 0),
        ("mov.u64 %rd0, g+32;", 32),
        ("cvta.global.u64 %rd0, g;", 0),
        ("mov.u64 %rd1, g; cvta.to.global.u64 %rd0, %rd1;", 0),
    ],
)
def test_addresses_in_registers(statements, expected):
    declarations = ".shared .b8 x; .shared .align 64 .b8 y[64]; .global .f32 g[64];"
    body = f"ld.param.u64 %out, [out]; mov.u32 %r1, x; {statements} st.global.u64 [%out], %rd0;"
    module = loaded(declarations, body)
    base = module["g"].address if "g;" in statements or "g+" in statements else 0
    assert stored(module, 1) == [base + expected]


@pytest.mark.parametrize(
    ("address", "space", "expected"),
    [("g", ".global", 0), ("g+8", ".global", 8), ("g", "", 0), ("x+8", ".shared", 8), ("x+8", "", 8)],
)
def test_variables_as_addresses(address, space, expected):
    place = "mov.u64 %rd0, g; st.global.u64 [%rd0], 5; st.global.u64 [%rd0+8], 6;"
    place += "mov.u64 %rd1, x; st.shared.u64 [%rd1+8], 6;"
    body = f"{place} ld{space}.u64 %rd2, [{address}]; ld.param.u64 %out, [out]; st.global.u64 [%out], %rd2;"
    assert stored(loaded(".global .b8 g[512]; .shared .b8 x[64];", body), 1) == [6 if expected else 5]


def test_what_a_kernel_says_of_its_variables():
    module = loaded(
        ".global .align 32 .f16 g[256], unused; .shared .b8 x[100];", f"{taken('x')} mov.u64 %rd0, g;"
    )
    assert module.variables == ("g", "unused")
    assert (module["g"].nbytes, module["g"].address % 32) == (512, 0)
    assert module.kernel().compiled.shared_base == 100


@pytest.mark.parametrize(
    ("declarations", "body", "message"),
    [
        (".shared .align 3 .b8 x;", "", "2:16: the alignment must be a power of two up to 65536, not 3"),
        (".shared .align 0 .b8 x;", "", "2:16: the alignment must be a power of two up to 65536, not 0"),
        (
            ".shared .align 131072 .b8 x;",
            "",
            "2:16: the alignment must be a power of two up to 65536, not 131072",
        ),
        (".shared .pred x;", "", "2:9: a variable in memory cannot be .pred"),
        (".shared .b8 x[2;", "", "2:16: expected ']', not ';'"),
        (".shared .b8 x, x;", "", "2:16: variable x is already declared"),
        (".global .b8 x[2] = {1, 2", "", "3:1: expected ',', not '.entry'"),
        (
            ".global .b8 x[4];",
            "mov.u32 %r0, x;",
            "4:14: the address of x has 64 bits, the instruction needs .u32",
        ),
        (
            ".shared .b8 x[4]; .reg",
            "",
            "2:19: unknown directive '.reg'; supported: .address_size, .entry, .func, .global, .const, "
            ".shared, .local, .file, .section, .pragma, .alias",
        ),
        (
            ".shared .b8 x[4];",
            "add.u64 %rd0, x, 4;",
            "4:15: x cannot stand here; only mov and cvta take an address",
        ),
        (
            ".shared .b8 x[4];",
            f"{LOAD}.global.f16 {A}, [x];",
            "4:94: x is in .shared, but the instruction accesses .global",
        ),
        (
            ".global .b8 x[4];",
            f"{LOAD}.shared.f16 {A}, [x];",
            "4:94: x is in .global, but the instruction accesses .shared",
        ),
        (
            ".global .b8 x[4];",
            "cvta.shared.u64 %rd0, x;",
            "4:23: x is in .global; cvta.shared.u64 cannot convert that",
        ),
        (
            ".shared .b8 x[4];",
            "cvta.to.shared.u64 %rd0, x;",
            "4:26: x is in .shared; cvta.to.shared.u64 cannot convert that",
        ),
    ],
)
def test_what_is_refused(declarations, body, message):
    assert message_of(declarations, body) == f"k.ptx:{message}"
