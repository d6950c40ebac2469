"""Variables in memory: where they are, what may name them, and generic addresses."""

import pytest
from modules import vector

from golden.ptx import PtxError, parse_module

A = vector("%a", 8)
LOAD = "wmma.load.a.sync.aligned.row.m16n16k16"
WINDOW = range(0x8000, 0xC000)


def kernel(declarations, body):
    """The entry of a module: declarations of the module on its second line, the body on its fourth."""
    return parse_module(
        f".version 8.0 .target sm_90 .address_size 64\n{declarations}\n"
        f".entry k() {{ .reg .b32 %a<8>; .reg .u32 %r<4>; .reg .u64 %rd<4>;\n{body}\n}}\n",
        "k.ptx",
    ).entry()


def addresses(declarations, body, arguments=None, shared=WINDOW):
    """The address of each load."""
    entry = kernel(declarations, body)
    return [command.address for command, _ in entry.commands(arguments or {}, shared=shared)]


def message_of(declarations, body, arguments=None, **options):
    with pytest.raises(PtxError) as caught:
        list(kernel(declarations, body).commands(arguments or {}, **{"shared": WINDOW, **options}))
    return str(caught.value)


def loads(*names):
    return " ".join(f"{LOAD}.shared.f16 {A}, [{name}];" for name in names)


@pytest.mark.parametrize(
    ("declarations", "names", "expected"),
    [
        (".shared .b8 x[3]; .shared .b32 y; .shared .b8 z;", "xyz", [0, 4, 8]),
        (".shared .b8 x[3]; .shared .b32 y; .shared .b8 z;", "zyx", [8, 4, 0]),
        (".shared .align 32 .b8 x[33], y[2][3], z;", "xyz", [0, 64, 96]),
        (".shared .v4 .f32 x; .shared .b8 y; .shared .v2 .f64 z[2];", "xyz", [0, 16, 32]),
        (".shared .align 64 .v2 .b8 y[2]; .shared .b64 x, z;", "xyz", [8, 0, 16]),
        # A variable that is not named takes no room; all arrays without a length are what is left.
        (".shared .b8 w[100]; .shared .b16 x; .shared .b8 y, z;", "xyz", [0, 2, 3]),
        (".extern .shared .align 16 .b8 x[]; .shared .b8 y[5]; .shared .b64 z;", "xyz", [16, 0, 8]),
        (
            ".extern .shared .b8 x[]; .extern .shared .align 32 .f32 y[]; .shared .b8 z[3];",
            "xyz",
            [32, 32, 0],
        ),
    ],
)
def test_shared_variables_follow_each_other(declarations, names, expected):
    assert addresses(declarations, loads(*names)) == expected


def test_those_of_the_entry_come_after_those_of_the_module():
    body = f".shared .align 16 .b8 y[2]; {loads('x', 'y')} {{ .shared .b8 z; {loads('z')} }}"
    assert addresses(".shared .b8 x;", body) == [0, 16, 18]


def test_a_block_may_declare_the_name_again():
    body = f".shared .b8 x[9]; {loads('x')} {{ {loads('x')} .shared .align 8 .b8 x; }} {loads('x')}"
    assert addresses(".shared .b8 x;", body) == [0, 16, 0]


def test_a_declaration_of_the_entry_hides_that_of_the_module():
    body = f".shared .align 8 .b8 x[9]; {loads('y', 'x')}"
    assert addresses(".shared .b8 x; .shared .b8 y[9];", body) == [0, 16]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("mov.u64 %rd0, y;", 64),
        ("mov.b64 %rd0, y;", 64),
        ("mov.u32 %r0, y; cvt.u64.u32 %rd0, %r0;", 64),
        ("mov.u64 %rd0, y+8;", 72),
        ("mov.u64 %rd0, y-8;", 56),
        ("cvta.shared.u64 %rd0, y;", 0x8040),
        ("cvta.shared::cta.u64 %rd0, y;", 0x8040),
        ("mov.u64 %rd1, y; cvta.shared.u64 %rd0, %rd1;", 0x8040),
        ("cvta.shared.u64 %rd1, y; cvta.to.shared.u64 %rd0, %rd1;", 64),
        ("cvta.shared.u64 %rd1, y+4; cvta.to.shared::cta.u64 %rd0, %rd1;", 68),
        ("mov.u64 %rd0, g;", 4096),
        ("mov.u64 %rd0, g+32;", 4128),
        ("cvta.global.u64 %rd0, g;", 4096),
        ("mov.u64 %rd1, g; cvta.to.global.u64 %rd0, %rd1;", 4096),
    ],
)
def test_addresses_in_registers(statements, expected):
    declarations = ".shared .b8 x; .shared .align 64 .b8 y[64]; .global .f32 g[64];"
    arguments = {"g": 4096} if "g;" in statements or "g+" in statements else {}
    body = f"mov.u32 %r1, x; {statements} {LOAD}.f16 {A}, [%rd0];"
    assert addresses(declarations, body, arguments) == [expected]


@pytest.mark.parametrize(
    ("address", "space", "expected"),
    [
        ("g", ".global", 4096),
        ("g+32", ".global", 4128),
        ("g", "", 4096),
        ("x+32", ".shared", 32),
        ("x+32", "", 32),
    ],
)
def test_variables_as_addresses(address, space, expected):
    arguments = {"g": 4096} if address[0] == "g" else {}
    body = f"{LOAD}{space}.f16 {A}, [{address}];"
    assert addresses(".global .b8 g[512]; .shared .b8 x[64];", body, arguments) == [expected]


def test_what_an_entry_says_of_its_variables():
    entry = kernel(
        ".global .align 32 .f16 g[256], unused; .shared .b8 x[100];", f"{loads('x')} mov.u64 %rd0, g;"
    )
    assert [(item.name, item.size, item.alignment) for item in entry.variables] == [("g", 512, 32)]
    assert entry.shared_bytes == 100


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
            ".global .b8 x = 1, y;",
            "mov.u64 %rd0, x;",
            "4:15: x has values at the start, which is not supported",
        ),
        (
            "",
            ".global .b8 x[2] = {}; mov.u64 %rd0, x;",
            "4:38: x has values at the start, which is not supported",
        ),
        (
            "",
            ".local .b8 x[4]; mov.u64 %rd0, x;",
            "4:32: x is in .local; supported: variables in .shared and .global",
        ),
        (
            ".global .b8 x;",
            ".global .b8 x; mov.u64 %rd0, x; { .global .b8 x; mov.u64 %rd0, x; }",
            "4:47: x is the name of another variable in .global; arguments go by name",
        ),
        (
            ".const .b8 x[4];",
            "mov.u64 %rd0, x;",
            "4:15: x is in .const; supported: variables in .shared and .global",
        ),
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
        (
            ".shared .b8 x[16385];",
            loads("x"),
            "3:8: the .shared variables of k need 16385 bytes; the machine has 16384 bytes of shared memory",
        ),
        (
            ".global .align 32 .b8 x[4];",
            "mov.u64 %rd0, x;",
            "2:23: variable x in .global has no argument: its address",
        ),
    ],
)
def test_what_is_refused(declarations, body, message):
    assert message_of(declarations, body) == f"k.ptx:{message}"


@pytest.mark.parametrize("address", [16, -32, 1 << 64, 1.0])
def test_an_address_that_a_variable_cannot_have(address):
    assert message_of(".global .align 32 .b8 x[4];", "mov.u64 %rd0, x;", {"x": address}) == (
        f"k.ptx:2:23: the address {address} of variable x is no 64-bit multiple of 32, its alignment"
    )


def test_a_machine_without_shared_memory():
    assert message_of(".shared .b8 x[64];", loads("x"), shared=range(0)) == (
        "k.ptx:3:8: the .shared variables of k need 64 bytes; the machine has 0 bytes of shared memory"
    )
    assert message_of("", "ret;", {"x": 0}) == "k.ptx:3:8: k has no parameter x; its parameters: none"
