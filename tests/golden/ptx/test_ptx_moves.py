"""`ldmatrix`, `stmatrix` and `movmatrix` in programs of one warp, and scalars that differ between lanes."""

import numpy as np
import pytest
from modules import commands, entry, marked, module, vector

from golden.memory import Memory
from golden.ptx.mnemonic import MalformedInstruction, parse_move
from golden.ptx.program import parse_module
from golden.ptx.source import PtxError
from golden.tables.commands import Fill, LoadMatrix, Move, MoveMatrix, SetLanes, StoreMatrix
from golden.tables.matrix_instructions import MoveInstruction
from golden.warp import GoldenMachine

LOAD = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
STORE = "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16"
MOVE = "movmatrix.sync.aligned.m8n8.trans.b16"
REGISTERS = ".reg .b32 %r<8>, %x; .reg .f32 %f0; .reg .u64 %rd<4>; .reg .pred %p;"
ROWS = "mov.u32 %x, %laneid; shl.b32 %x, %x, 4;"
SHARED = range(0xFF000000, 0xFF004000)


def made(body, **options):
    return commands(f"{REGISTERS}\n{body}\nret;", shared=SHARED, **options)


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


def test_addresses_of_rows_are_set_lane_by_lane():
    rows = tuple(16 * lane for lane in range(32))
    found = made(
        f"{ROWS} {LOAD} {vector('%r', 4)}, [%x+512];\n"
        f"{STORE} [%x], {vector('%r', 2)};\n{MOVE} %r5, %r3;\n{STORE} [%x], {{%r5, %r5}};"
    )
    first, second, third = (item.register for item in found if isinstance(item, SetLanes))
    load = next(item for item in found if isinstance(item, LoadMatrix))
    assert found[:4] == [
        SetLanes(first, tuple(row + 512 for row in rows)),
        LoadMatrix(load.register, first, 4),
        SetLanes(second, rows),
        StoreMatrix(load.register, second, 2, True),
    ]
    # A register twice is no two registers in a row: both are copied.
    assert isinstance(found[4], MoveMatrix)
    assert found[4].source == load.register + 3
    assert [type(item) for item in found[5:]] == [Move, Move, SetLanes, StoreMatrix]
    assert found[-1].addresses == third
    assert len({first, *range(load.register, load.register + 4)}) == 5


def test_an_address_that_is_the_same_in_all_lanes_is_a_fill():
    found = made(
        f".shared .align 16 .b16 pair[64]; .shared .align 16 .b16 tile[64]; {LOAD} {vector('%r', 4)}, [tile];"
    )
    # Only what is named is placed, from 0 on.
    assert found == [Fill(found[0].register, 1, 0), LoadMatrix(found[1].register, found[0].register, 4)]
    generic = LOAD.replace(".shared", "")
    address = ".shared .align 16 .b16 tile[64]; cvta.shared.u64 %rd0, tile;"
    found = made(f"{address} {generic} {vector('%r', 4)}, [%rd0+32];")
    assert found[0] == Fill(found[0].register, 1, SHARED.start + 32)
    assert found[1].space == "generic"


def test_addresses_may_come_from_a_fragment_register():
    found = made(
        "wmma.load.c.sync.aligned.row.m8n8k32.s32 {%r0, %r1}, [%rd0];\n"
        "add.s32 %r1, %r1, 16;\n"
        f"{LOAD} {vector('%r', 4, 2)}, [%r1];".replace("[%rd0]", "[4096]")
    )
    load = found[-1]
    assert load == LoadMatrix(load.register, found[0].register + 1, 4)


def test_a_fragment_register_may_be_set_lane_by_lane():
    lanes = tuple(range(32))
    found = made(f"mov.u32 %r0, %laneid;\n{MOVE} %r1, %r0;")
    assert found == [SetLanes(found[1].source, lanes), found[1]]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("%tid.x", lambda lane: lane),
        ("%laneid", lambda lane: lane),
        ("%lanemask_eq", lambda lane: 1 << lane),
        ("%lanemask_lt", lambda lane: sum(1 << other for other in range(lane))),
        ("%lanemask_le", lambda lane: sum(1 << other for other in range(lane + 1))),
        ("%lanemask_gt", lambda lane: sum(1 << other for other in range(lane + 1, 32))),
        ("%lanemask_ge", lambda lane: sum(1 << other for other in range(lane, 32))),
    ],
)
def test_special_registers(name, value):
    (found, _) = made(f"mov.u32 %r0, {name};\n{MOVE} %r1, %r0;")
    assert found.values == tuple(map(value, range(32)))


def test_scalars_are_computed_lane_by_lane():
    """Uniform again where all lanes agree."""
    found = made(
        ".reg .b16 %h<2>; .reg .s64 %w; .reg .f32 %f;\n"
        "mov.u32 %x, %tid.x;\n"
        "mul.wide.s32 %w, %x, -3; cvt.u32.s64 %x, %w;\n"
        "mov.b32 {%h0, %h1}, %x; mov.b32 %x, {%h1, %h0};\n"
        "not.b32 %x, %x;\n"
        f"mov.b32 %r0, %x; {MOVE} %r1, %r0;\n"
        "mov.u32 %x, %tid.x; cvt.u16.u32 %h0, %x; cvt.u32.u16 %x, %h0; mov.b32 %f, %x; add.f32 %f, %f, %f;\n"
        f"mov.b32 %r2, %f; {MOVE} %r1, %r2;\n"
        "mov.u32 %x, %tid.x; sub.u32 %x, %x, %x; setp.eq.u32 %p, %x, 0;\n"
        f"@%p bra end;\n{MOVE} %r1, %r1;\nend:"
    )
    sets = [item.values for item in found if isinstance(item, SetLanes)]
    swapped = [(lane * -3) & 0xFFFFFFFF for lane in range(32)]
    assert sets[0] == tuple(~(value >> 16 | value << 16) & 0xFFFFFFFF for value in swapped)
    assert sets[1] == tuple(2 * lane for lane in range(32))
    assert len([item for item in found if isinstance(item, MoveMatrix)]) == 2


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
    (f"{LOAD} {{%r0, %r1, §%r0, %r2}}, [%x];", "%r0 stands twice in the fragment that is written"),
    (
        f"{LOAD} {vector('%r', 4)}, [§%r0+16];",
        "the address %r0 is in a register of the machine, which is taken as it is; "
        "expected no offset, not 16",
    ),
]


@pytest.mark.parametrize(("statement", "message"), STATEMENTS)
def test_statements_at_fault(statement, message):
    body, place = marked(f"{REGISTERS}\n{statement}\nret;")
    with pytest.raises(PtxError) as raised:
        entry(body)
    assert str(raised.value) == f"{place}: {message}"


RUNNING = [
    (f"{STORE} [%x], {{§%r0, %r1}};", "%r0 is read before it is written"),
    (f"{LOAD} {vector('%r', 4)}, [§%x];", "%x is read before it is written"),
    (
        "mov.u32 %x, %laneid; mul.wide.u32 %rd0, %x, 0x20000000; mov.u64 %rd1, 0;"
        "ldmatrix.sync.aligned.m8n8.x2.b16 {%r0, %r1}, [§%rd0+16];",
        "the row address 0x100000010 in lane 8 exceeds 32 bits, which a core reads",
    ),
    (
        f"{ROWS} wmma.load.c.sync.aligned.row.m8n8k32.shared.s32 {{%r0, %r1}}, [§%x];",
        "the address is 0x0 in lane 0 and 0x10 in lane 1; it must be the same in all lanes",
    ),
    (
        f"{ROWS} wmma.load.c.sync.aligned.row.m8n8k32.shared.s32 {{%r0, %r1}}, [0], §%x;",
        "the stride is 0x0 in lane 0 and 0x10 in lane 1; it must be the same in all lanes",
    ),
    (
        f"{ROWS} setp.ge.u32 %p, %x, 32;\n@§%p bra end;\nend:",
        "%p is 0x0 in lane 0 and 0x1 in lane 2; one warp without --block takes the same way in all lanes",
    ),
    (
        f"{ROWS} mov.b32 %r0, 0; {MOVE} %r1, %r0; add.s32 %r2, %r1, §%x;",
        "an operand of add.s32 on a fragment is 0x0 in lane 0 and 0x10 in lane 1; "
        "it must be the same in all lanes",
    ),
]


@pytest.mark.parametrize(("statements", "message"), RUNNING)
def test_what_turns_out_while_it_runs(statements, message):
    body, place = marked(f"{REGISTERS}\n{statements}\nret;")
    with pytest.raises(PtxError) as raised:
        list(entry(body).commands({}, shared=SHARED))
    assert str(raised.value) == f"{place}: {message}"


def test_lanes_beyond_the_matrices_may_have_any_address():
    found = made(
        "mov.u32 %x, %laneid; mul.wide.u32 %rd0, %x, 0x10000000;"
        "ldmatrix.sync.aligned.m8n8.x2.b16 {%r0, %r1}, [%rd0];"
    )
    assert found[0].values[15:18] == (0xF0000000, 0, 0x10000000)


RAW = '.pragma "openwmma.raw_registers";'


def raw(body):
    text = module(f"{REGISTERS}\n{body}\nret;").replace("{\n", f"{RAW}\n{{\n", 1)
    return [command for command, _ in parse_module(text, "k.ptx").entry().commands({}, registers=8)]


def test_machine_registers_by_their_numbers():
    assert raw(
        f"{LOAD} {vector('%r', 4, 3)}, [%r1];\n{STORE} [%r7], {vector('%r', 2)};\n{MOVE} %r6, %r2;"
    ) == [
        LoadMatrix(3, 1, 4),
        StoreMatrix(0, 7, 2, True),
        MoveMatrix(6, 2),
    ]
    assert raw("ldmatrix.sync.aligned.m8n8.x1.b16 {%r3}, [%r1];") == [LoadMatrix(3, 1, 1, space="generic")]


def test_machine_registers_take_their_addresses_from_a_register():
    with pytest.raises(PtxError, match="the addresses of rows must be in a 32-bit register, a lane each"):
        raw(f"{LOAD} {vector('%r', 4)}, [512];")


def test_on_the_golden_machine():
    """A matrix of its own indices, loaded transposed and stored by rows, is the transposed matrix."""
    memory = Memory(1 << 12)
    machine = GoldenMachine(registers=8, memory=memory, shared=Memory(1 << 12, 0x1000))
    indices = np.arange(64, dtype="<u2").reshape(8, 8)
    machine.shared.write(0x1000, indices.reshape(-1).view(np.uint8))
    kernel = entry(
        f"{REGISTERS}\n{ROWS}\n"
        "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r0}, [%x];\n"
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%x+128], {%r0};\n"
        f"{MOVE} %r1, %r0;\n"
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%x+256], {%r1};\nret;"
    )
    for command, _ in kernel.commands({}, registers=8, shared=range(0x1000, 0x2000)):
        machine.execute(command)
    stored = machine.shared.read(0x1080, 256).view("<u2").reshape(2, 8, 8)
    np.testing.assert_array_equal(stored, [indices.T, indices])


@pytest.mark.parametrize(
    "statement",
    [
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, _, %f2, _}, {%r0, %r1, %r2, %r3}, "
        "{%r4, %r5}, {%f4, %f5, %f6, %f7};",
        f"{LOAD} {{_, %r1, _, %r3}}, [%x];",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {_, %r1, %r2, _, %r4, _, %r6, _}, [4096];",
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
    store = "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%x], {%r1};"
    texts = (
        f".reg .f32 %f<8>; .reg {kind} %u<4>; {ROWS} {fills} {text} {store}" for text in (statement, named)
    )
    found, expected = (made(text) for text in texts)
    assert found == expected
    assert "_," not in named
