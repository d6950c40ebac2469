"""`ldmatrix`, `stmatrix` and `movmatrix`: their text, their operands, and dropped results."""

import numpy as np
import pytest
from modules import entry, marked, vector

from golden.ptx.mnemonic import MalformedInstruction, parse_move
from golden.ptx.source import PtxError
from golden.tables.matrix_instructions import MoveInstruction

LOAD = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
STORE = "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16"
MOVE = "movmatrix.sync.aligned.m8n8.trans.b16"
REGISTERS = ".reg .b32 %r<8>, %x; .reg .f32 %f0; .reg .u64 %rd<4>; .reg .pred %p;"
ROWS = "mov.u32 %x, %laneid; shl.b32 %x, %x, 4;"


ALL = [
    MoveInstruction(mnemonic="movmatrix", transposed=True),
    *(
        MoveInstruction(mnemonic=name, count=count, transposed=transposed, space=space)
        for name in ("ldmatrix", "stmatrix")
        for count in (1, 2, 4)
        for transposed in (False, True)
        for space in ("shared", "generic")
    ),
]


@pytest.mark.parametrize("instruction", ALL, ids=str)
def test_text_and_back(instruction):
    assert parse_move(str(instruction).split(".")) == instruction


def test_other_ways_to_write_the_same():
    wanted = MoveInstruction(mnemonic="ldmatrix", count=4, space="shared")
    assert parse_move(LOAD.replace("shared", "shared::cta").split(".")) == wanted
    assert parse_move(LOAD.replace(".aligned", "").split(".")) == wanted


@pytest.mark.parametrize(
    "order", ["m8n8.x4.trans", "x4.m8n8.trans", "x4.trans.m8n8", "trans.m8n8.x4", "m8n8.trans.x4"]
)
def test_shape_number_and_trans_in_any_order(order):
    """CUTLASS writes ``.x4.trans.m8n8``, others ``.trans.m8n8.x4``."""
    wanted = MoveInstruction(mnemonic="ldmatrix", count=4, transposed=True, space="shared")
    assert parse_move(f"ldmatrix.sync.aligned.{order}.shared.b16".split(".")) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ldmatrix.m8n8", "qualifier .m8n8 out of place after ldmatrix; allowed here: .sync"),
        (
            "ldmatrix.sync.aligned.m8n16.x1.b16",
            "unknown qualifier .m8n16 after ldmatrix.sync.aligned; "
            "allowed here: .m8n8, .x1, .x2, .x4, .trans",
        ),
        (
            "stmatrix.sync.aligned.m8n8.x3.b16",
            "unknown qualifier .x3 after stmatrix.sync.aligned.m8n8; allowed here: .x1, .x2, .x4, .trans",
        ),
        (
            "ldmatrix.sync.aligned.m8n8.x1.global.b16",
            "qualifier .global out of place after ldmatrix.sync.aligned.m8n8.x1; "
            "allowed here: .trans, .shared, .shared::cta, .b16",
        ),
        (
            "ldmatrix.sync.aligned.m8n8.x1.shared.trans.b16",
            "qualifier .trans out of place after ldmatrix.sync.aligned.m8n8.x1.shared; allowed here: .b16",
        ),
        (
            "movmatrix.sync.aligned.m8n8.b16",
            "qualifier .b16 out of place after movmatrix.sync.aligned.m8n8; allowed here: .trans",
        ),
        (
            "ldmatrix.sync.aligned.m8n8.x1",
            "missing qualifier after ldmatrix.sync.aligned.m8n8.x1; "
            "allowed here: .trans, .shared, .shared::cta, .b16",
        ),
        (
            f"{LOAD}.b16",
            f"qualifier .b16 given twice, after {LOAD}; allowed here: nothing",
        ),
    ],
)
def test_qualifiers_at_fault(text, message):
    with pytest.raises(MalformedInstruction) as raised:
        parse_move(text.split("."))
    assert str(raised.value) == message


STATEMENTS = [
    (f"{LOAD} §{{%r0, %r1}}, [%x];", f"expected 4 registers for the matrices of {LOAD}, not 2"),
    (f"{LOAD} {{%r0, %r1, %r2, §3}}, [%x];", f"expected a register for the matrices of {LOAD}"),
    (
        f"{LOAD} {{%r0, %r1, %r2, §%rd1}}, [%x];",
        f"expected a 32-bit register for the matrices of {LOAD}, but %rd1 is .u64",
    ),
    (f"§{LOAD} {vector('%r', 4)};", f"{LOAD} takes its matrices and an address, not 1 operands"),
    (f"§{STORE} [%x];", f"{STORE} takes an address and its matrices, not 1 operands"),
    (f"§{MOVE} %r0;", f"{MOVE} takes two registers, not 1 operands"),
    (f"{LOAD} {vector('%r', 4)}, §%x;", "the address must be in brackets, as in [%rd1]"),
    (
        "ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [§%f0];",
        "an address cannot be in %f0, which is .f32",
    ),
    (
        "§ldmatrix.sync.aligned.m8n8.x8.b16 {%r0}, [%x];",
        "unknown qualifier .x8 after ldmatrix.sync.aligned.m8n8; allowed here: .x1, .x2, .x4, .trans",
    ),
]


@pytest.mark.parametrize(("statement", "message"), STATEMENTS)
def test_statements_at_fault(statement, message):
    body, place = marked(f"{REGISTERS}\n{statement}\nret;")
    with pytest.raises(PtxError) as raised:
        entry(body)
    assert str(raised.value) == f"{place}: {message}"


def launched(body):
    """What a kernel of one warp leaves in an array of bytes."""
    out = np.zeros(4096, np.uint8)
    text = f"{REGISTERS} .reg .u64 %out; ld.param.u64 %out, [out];\n{body}\nret;"
    entry(text, ".param .u64 out").launch(1, 32, [out])
    return out


def test_on_golden():
    """A matrix of its own indices, loaded transposed and stored by rows, is the transposed matrix."""
    found = launched(
        ".shared .align 16 .b8 rows[384]; .reg .b16 %h; .reg .b32 %i;\n"
        "mov.u32 %x, %laneid; shl.b32 %i, %x, 2; mad.lo.u32 %x, %x, 0x20002, 0x10000;\n"
        "st.shared.u32 [%i], %x;\n"
        "mov.u32 %x, %laneid; and.b32 %x, %x, 7; shl.b32 %x, %x, 4;\n"
        "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r0}, [%x];\n"
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%x+128], {%r0};\n"
        f"{MOVE} %r1, %r0;\n"
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%x+256], {%r1};\n"
        "ld.shared.u32 %r2, [%i+128]; ld.shared.u32 %r3, [%i+256]; cvt.u64.u32 %rd0, %i;\n"
        "add.u64 %rd0, %rd0, %out; st.global.u32 [%rd0], %r2; st.global.u32 [%rd0+128], %r3;"
    )
    indices = np.arange(64, dtype="<u2").reshape(8, 8)
    np.testing.assert_array_equal(found[:256].view("<u2").reshape(2, 8, 8), [indices.T, indices])


@pytest.mark.parametrize(
    "statement",
    [
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, _, %f2, _}, {%r0, %r1, %r2, %r3}, "
        "{%r4, %r5}, {%f4, %f5, %f6, %f7};",
        f"{LOAD} {{_, %r1, _, %r3}}, [%x];",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {_, %r1, %r2, _, %r4, _, %r6, _}, [%out];",
    ],
)
def test_a_dropped_result_is_an_unused_register(statement):
    unused = iter(["%u0", "%u1", "%u2", "%u3"])
    kind = ".f32" if statement.startswith("mma") else ".b32"
    named = "".join(
        next(unused) if part == "_" and before in "{ " else part
        for before, part in zip(" " + statement, statement, strict=False)
    )
    fills = "".join(f"mov.b32 %r{i}, {i + 7}; mov.f32 %f{i}, 0f3F80000{i};" for i in range(8))
    stores = "".join(f"mov.b32 %x, %f{i}; st.global.u32 [%out+{4 * i}], %x;" for i in (0, 2))
    stores += "".join(f"st.global.u32 [%out+{4 * i + 64}], %r{i};" for i in range(8))
    texts = (
        f".shared .align 16 .b8 rows[512]; .reg .f32 %f<8>; .reg {kind} %u<4>; {ROWS} {fills} {text} {stores}"
        for text in (statement, named)
    )
    found, expected = map(launched, texts)
    np.testing.assert_array_equal(found, expected)
    assert found.any()
    assert "_," not in named
