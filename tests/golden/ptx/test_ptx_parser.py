"""The syntax tree of modules and bodies."""

import pytest
from modules import kernels

from golden.ptx import PtxError
from golden.ptx.body import parse_body
from golden.ptx.parser import parse_syntax
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Source
from golden.ptx.special_registers import SPECIAL
from golden.ptx.syntax import (
    Address,
    Arguments,
    Immediate,
    Negated,
    Pair,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Vector,
    parts,
)

HEADER = ".version 8.0 .target sm_90, debug .address_size 64\n"


def module(text):
    return parse_syntax(Source(HEADER + text, "m.ptx"))


def body(text, before=""):
    parsed = module(f"{before}\n.entry k(.param .u64 a)\n{{ {text} }}")
    return parse_body(parsed, parsed.functions["k"])


def test_functions():
    parsed = module("""
    .extern .func (.param .b32 r) f(.reg .b64 x, .param .align 8 .b8 s[16]);;
    .visible .entry k(.param .u64 .ptr .global .align 16 a, .param .v4 .f32 v)
        .maxntid 64, 2 .minnctapersm 3 .pragma "nounroll"; .explicitcluster .pragma "a", "b"; { ret; }
    .func (.param .b32 r) f(.reg .b64 x, .param .align 8 .b8 s[16]) { ret; }
    .alias g, f;
    .weak .func g;
    """)
    assert (parsed.version, parsed.target) == ((8, 0), ("sm_90", "debug"))
    assert list(parsed.functions) == ["f", "k", "g"]
    f, k, g = parsed.functions.values()
    assert [item.kind for item in (f, k, g)] == ["function", "entry", "function"]
    assert [token.text for token in f.tokens] == ["{", "ret", ";", "}", ""]
    assert (f.location.line, g) == (5 + 1, f)
    assert [(item.name, item.space) for item in f.results + f.parameters] == [
        *(("r", "param"), ("x", "reg"), ("s", "param"))
    ]
    assert [(item.size, item.alignment, item.is_array) for item in f.parameters] == [
        *((8, 8, False), (16, 8, True))
    ]
    assert [(item.size, item.alignment, item.is_array) for item in k.parameters] == [
        *((8, 8, False), (16, 16, True))
    ]
    assert k.directives == {".maxntid": (64, 2), ".minnctapersm": (3,), ".explicitcluster": ()}
    assert k.pragmas == {"nounroll", "a", "b"}


def test_bodies_are_parsed_when_they_are_needed():
    parsed = module(".entry bad() { ret; } .entry k() { ret 0 ret; } .func f() { call nothing; }")
    assert len(parse_body(parsed, parsed.functions["bad"]).instructions) == 1
    with pytest.raises(PtxError, match=r"m\.ptx:2:42: expected ';', not 'ret'"):
        parse_body(parsed, parsed.functions["k"])
    with pytest.raises(PtxError, match=r"m\.ptx:2:66: nothing is not declared"):
        parse_body(parsed, parsed.functions["f"])


def test_variables_of_a_module():
    parsed = module("""
    .extern .global .b32 x[]; .global .align 16 .u16 x[4] = {1, 2}, y = -1; .extern .global .b32 y[];
    .shared .v2 .f64 z; .extern .shared .b8 w[]; .const .f32 c[] = {1.0, 0f40000000, 3.0};
    .global .attribute(.managed) .u64 p = generic(x)+8;
    """)
    assert {key: (item.size, item.alignment) for key, item in parsed.variables.items()} == {
        **{"x": (8, 16), "y": (2, 16), "z": (16, 16), "w": (None, 1), "c": (12, 4), "p": (8, 8)}
    }
    values = {
        name: [(piece.offset, piece.size, piece.value, piece.symbol) for piece in item.initialiser]
        for name, item in parsed.variables.items()
        if item.initialiser is not None
    }
    assert values == {
        "x": [(0, 2, 1, None), (2, 2, 2, None)],
        "y": [(0, 2, 0xFFFF, None)],
        "c": [(0, 4, 0x3F800000, None), (4, 4, 0x40000000, None), (8, 4, 0x40400000, None)],
        "p": [(0, 8, 8, "x")],
    }


def test_operands_of_every_kind():
    parsed = body(
        """.reg .b32 %r<2>; .reg .pred p, q; .shared .b8 v[4];
        @!p op.x::y.b32 %r1, -1, %tid.x, WARP_SZ, v+2, [a-8], [%r0], [16], {%r0, _, v}, (%r0, 1, v), !q,
          p|_, _;
        """
    )
    (instruction,) = parsed.instructions
    assert instruction.name == "op.x::y.b32"
    assert instruction.opcode == ("op", "x::y", "b32")
    assert (instruction.guard.register.key, instruction.guard.negated) == ("p@0", True)
    plain = []
    for operand in instruction.operands:
        elements = [
            getattr(part, "key", None) or getattr(part, "name", None) or getattr(part, "value", "_")
            for part in parts(operand)
        ]
        plain.append((type(operand), elements, getattr(operand, "offset", 0)))
    assert plain == [
        (Register, ["%r1@0"], 0),
        (Immediate, [-1], 0),
        (SpecialRegister, ["%tid.x"], 0),
        (Immediate, [32], 0),
        (Symbol, ["v@0"], 2),
        (Address, ["a"], -8),
        (Address, ["%r0@0"], 0),
        (Address, [16], 0),
        (Vector, ["%r0@0", "_", "v@0"], 0),
        (Arguments, ["%r0@0", 1, "v@0"], 0),
        (Negated, ["q@0"], 0),
        (Pair, ["p@0", "_"], 0),
        (Sink, ["_"], 0),
    ]
    assert instruction.operands[0].type is TYPES["b32"]


def test_names_belong_to_their_blocks():
    parsed = body(
        """L: bra L;
        { bra L; bra M; .shared .b8 x; op x; L: { op x; .reg .b32 x; op x; } op x; } op x; M: """,
        before=".global .b8 x;",
    )
    named = [operand.key for item in parsed.instructions for operand in item.operands]
    assert named == ["L@0", "L@1", "M@0", "x@1", "x@1", "x@2", "x@1", "x"]
    assert parsed.labels == {"L@0": 0, "L@1": 4, "M@0": 8}
    assert list(parsed.variables) == ["x@1"]
    assert [operand.name for item in parsed.instructions for operand in item.operands] == [*"LLMxxxxx"]


def test_a_variable_hides_a_register_of_the_block_around():
    parsed = body(".reg .b32 x; op x; { .shared .b8 x; op x; { .reg .b32 x; op x; } } op x;")
    operands = [item.operands[0] for item in parsed.instructions]
    assert [operand.key for operand in operands] == ["x@0", "x@1", "x@2", "x@0"]
    assert [type(operand) for operand in operands] == [Register, Symbol, Register, Register]


def test_lists_of_branch_targets():
    parsed = body(
        "T: .branchtargets A, B; { A: U: .branchtargets A; } A: B: P: .callprototype _ ();"
        "Q: .callprototype (.reg .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[]) .noreturn;"
    )
    assert {key: [item.key for item in items] for key, items in parsed.targets.items()} == {
        **{"T@0": ["A@0", "B@0"], "U@1": ["A@1"]}
    }
    sizes = {key: [[item.size for item in side] for side in pair] for key, pair in parsed.prototypes.items()}
    assert sizes == {"P@0": [[], []], "Q@0": [[4], [4, None]]}
    assert parsed.instructions == []


def test_the_names_of_predefined_registers():
    coordinates = (
        "tid",
        "ntid",
        "ctaid",
        "nctaid",
        "clusterid",
        "nclusterid",
        "cluster_ctaid",
        "cluster_nctaid",
    )
    assert set(SPECIAL) == {
        *(f"%{name}.{axis}" for name in coordinates for axis in "xyz"),
        *("%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid"),
        *(f"%lanemask_{relation}" for relation in ("eq", "lt", "le", "gt", "ge")),
        *("%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"),
        *("%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size"),
        *("%envreg1", "%envreg2"),
        *("%is_explicit_cluster", "%cluster_ctarank", "%cluster_nctarank"),
    }
    parsed = body(".reg .b32 %laneid; op %laneid, %clock, %other;", before=".global .b8 %other;")
    assert [type(operand) for operand in parsed.instructions[0].operands] == [
        *(Register, SpecialRegister, Symbol)
    ]


def test_declarations_that_need_no_code():
    """Functions without bodies, labels that nobody jumps to, directives in a body."""
    loaded = kernels(f"""{HEADER}
    .extern .func (.param .b32 r) vprintf(.param .b64 x);
    .entry k() {{ .reg .pred %p; bra M; {{ L: bra L; }} .noreturn; M: L: ret; T: .branchtargets L; }}
    .const .f32 later = 1.0;
    """)
    assert list(loaded) == ["k"]
    assert loaded["k"].launch(1, 32).warp_instructions == 2
