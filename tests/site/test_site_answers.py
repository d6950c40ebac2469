"""What the microscope answers: the result of `golden.mma`, with Python's own library alone."""

import ast
import json

import numpy as np
import pytest

import golden
from answers.archive import ROOT, code_of, modules_loaded_by
from answers.microscope import answer, answer_text
from golden.random_operands import random_operands
from golden.resolve import resolve_instruction
from golden.tables.formats import FORMATS, FloatFormat

F32 = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
NVFP4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
MXFP4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
MXFP8 = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0"
CASES = json.loads((ROOT / "site" / "pages" / "microscope" / "cases.json").read_text())
INSTRUCTIONS = [
    "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16",
    F32,
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32",
    "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32",
    "wmma.mma.sync.aligned.row.col.m8n8k4.rp.f64.f64.f64.f64",
    "wmma.mma.sync.aligned.row.col.m32n8k16.s32.u8.u8.s32.satfinite",
    "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
    "mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32",
    "mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e4m3.f16",
    "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2",
]


def asked(instruction=F32, profile="hopper", a="1", b="1", c="0"):
    return answer({"instruction": instruction, "profile": profile, "a": a, "b": b, "c": c})


def texts(elements, type):
    """Elements as a reader types them: floating point in hexadecimal."""
    is_float = isinstance(FORMATS[type], FloatFormat)
    return ",".join(f"{int(x):#x}" if is_float else str(int(x)) for x in elements)


@pytest.mark.parametrize("text", INSTRUCTIONS)
def test_results_and_comparison_are_those_of_golden(text):
    instruction = resolve_instruction(text)
    random = np.random.default_rng(22)
    a, b, c = (operand[0] for operand in random_operands(random, instruction, 1))
    bits = FORMATS[instruction.d_type].bits
    for i, j in ((0, 0), (3, 5), (7, 2)):
        found = asked(
            text,
            a=texts(a[i], instruction.a_type),
            b=texts(b[:, j], instruction.b_type),
            c=texts([c[i, j]], instruction.c_type),
        )
        assert found["errors"] == []
        rows = {row["profile"]: row["bits"] for row in found["comparison"] if "absent" not in row}

        def expected(profile, i=i, j=j):
            element = int(golden.mma(instruction, a, b, c, profile=profile)[i, j])
            return f"0x{element % (1 << bits):0{bits // 4}x}"

        assert found["result"]["bits"] == expected("hopper")
        if isinstance(FORMATS[instruction.d_type], FloatFormat):
            assert rows == {profile: expected(profile) for profile in rows}
            assert {"hopper", "exact"} <= set(rows)
        else:
            assert rows["every generation"] == expected("hopper")


def test_a_sum_is_told_bit_by_bit():
    (step,) = asked(a="1, 1, 0", b="1, 0x0400", c="-2")["steps"]
    assert (step["largest"], step["unit"], step["least"]) == (1, -24, -133)
    first, second, zero, *_, c = step["terms"]
    assert (first["bits"], first["lowest"], first["cut"]) == ("1" + "0" * 20, -20, 0)
    assert (second["value"], second["lowest"], second["cut"]) == ("6.103515625e-05", -34, 10)
    assert (zero["kind"], zero["bits"]) == ("zero", "")
    assert (c["negative"], c["bits"], c["lowest"], c["cut"]) == (True, "1" + "0" * 23, -22, 0)
    assert (step["total"]["negative"], step["total"]["units"]) == (True, str(-(2**24) + 2**10))
    result = step["result"]
    assert int(result["sign"] + result["exponent"] + result["fraction"], 2) == int(result["bits"], 16)


def test_block_scaled_results_are_those_of_golden():
    """Of the adder for groups, and of the fused dot-product-add; for scales that are missing 1 takes part."""
    random = np.random.default_rng(67)
    for text, element in ((NVFP4, "e2m1"), (MXFP4, "e2m1"), (MXFP8, "e4m3")):
        instruction = resolve_instruction(text)
        limit, k, parts = 1 << FORMATS[element].bits, instruction.shape.k, instruction.scales
        a, b = random.integers(0, limit, (16, k), np.uint8), random.integers(0, limit, (k, 8), np.uint8)
        c = random.standard_normal((16, 8)).astype(np.float32).view(np.uint32)
        scale_a, scale_b = random.integers(0x28, 0x48, (2, 16, parts), np.uint8)
        if instruction.scale_type == "ue8m0":
            scale_a, scale_b = scale_a + np.uint8(71), scale_b + np.uint8(71)
        scale_b = scale_b[:8].T.copy()
        scale_a[3, -1] = 0x38 if instruction.scale_type == "ue4m3" else 0x7F
        given = {"scale_a": scale_a, "scale_b": scale_b}
        found = answer(
            {
                "instruction": text,
                "profile": "blackwell",
                "a": texts(a[3], element),
                "b": texts(b[:, 5], element),
                "c": texts([c[3, 5]], "f32"),
                "scale_a": ", ".join(str(x) for x in scale_a[3, :-1]),
                "scale_b": ",".join(f"{x:#x}" for x in scale_b[:, 5]),
            }
        )
        assert found["errors"] == []
        wanted = int(golden.mma(text, a, b, c, **given, profile="blackwell").view(np.uint32)[3, 5])
        assert found["result"]["bits"] == f"0x{wanted:08x}"
        known = {row["profile"] for row in found["comparison"] if "absent" not in row}
        assert {"blackwell", "exact"} <= known
        assert "hopper" not in known
        json.dumps(found)


def test_groups_their_scales_and_the_cut_are_told():
    """1.5 x 256 x 256 less itself in a group; 2**-2 x 2**-18 in the next, below the unit 2**(16 - 35)."""
    (case,) = [case for case in CASES if case["id"] == "nvfp4"]
    question = {
        "instruction": NVFP4,
        **{name: case[name] for name in ("profile", *"abc", "scale_a", "scale_b")},
    }
    found = answer(question)
    (step,) = found["steps"]
    assert (step["largest"], step["unit"]) == (16, -19)
    first, second, third, _, c = step["terms"]
    assert [factor["name"] for factor in first["factors"]] == ["sum[0..15]", "scale_a[0]", "scale_b[0]"]
    assert [factor["value"] for factor in second["factors"]] == ["0.25", "0.001953125", "0.001953125"]
    assert [factor["bits"] for factor in second["factors"]] == ["", "0x01", "0x01"]
    assert (first["value"], second["lost"], second["value"]) == ("0", str(2.0**-20), str(2.0**-20))
    assert second["bits"].rstrip("0") == "1"
    assert second["cut"] == len(second["bits"])
    assert (third["kind"], c["kind"]) == ("zero", "zero")
    assert found["result"]["bits"] == case["result"]
    assert found["exactSum"] == str(2.0**-20)
    assert (
        answer(question | {"a": case["a"].replace("1.5", "3"), "scale_a": "0x70, 1"})["result"]["bits"]
        == "0x35800000"
    )


@pytest.mark.parametrize(
    ("scales", "message"),
    [
        ("1, x", "scale_b 1, x: expected bytes"),
        ("1,1,1,1,1", "4 bytes"),
        ("256", "got 256; allowed: integers from 0 to 255"),
    ],
)
def test_bad_scales_are_named(scales, message):
    question = {"instruction": NVFP4, "profile": "blackwell", "a": "1", "b": "1", "c": "0", "scale_b": scales}
    (error,) = answer(question)["errors"]
    assert error["field"] == "scale_b"
    assert message in error["message"]


def test_missing_values_are_zeros_and_make_no_note():
    found = asked(a="", b="", c="")
    assert (found["errors"], found["notes"], found["result"]["value"]) == ([], [], "0")
    assert asked(a="0.1", b="1")["notes"] == ["a[0]: 0.1 is rounded to 0.0999755859375, f16 0x2e66"]


def test_exact_sums():
    assert asked(a="1", b="1", c="2048", instruction=INSTRUCTIONS[0])["exactSum"] == "2049"
    assert asked(a="inf", b="0")["exactSum"] == ""
    integers = "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32"
    found = asked(integers, c="2147483647")
    assert (found["exactSum"], found["result"]["value"]) == ("2147483648", "-2147483648")


@pytest.mark.parametrize(
    ("question", "field", "message"),
    [
        ({"a": "x"}, "a", "a[0] x: expected a decimal number"),
        ({"b": "1," * 16 + "1"}, "b", "b: expected at most 16 values"),
        ({"c": "1,1"}, "c", "c 1,1: expected one value"),
        ({"profile": "kepler"}, "profile", "profile: got 'kepler'"),
        ({"instruction": "wmma.mma.sync"}, "instruction", "missing"),
        ({"instruction": "add.f32"}, "instruction", ""),
    ],
)
def test_bad_input_is_named_with_its_field(question, field, message):
    (error,) = asked(**question)["errors"]
    assert error["field"] == field
    assert message in error["message"]
    assert error["message"]


def test_every_bad_operand_is_named():
    assert [error["field"] for error in asked(a="x", b="y", c="z")["errors"]] == ["a", "b", "c"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_prepared_case_names_every_choice(case):
    assert {"id", "title", "story", "mnemonic", "shape", "profile", "a", "b", "c", "result"} <= set(case)
    assert len([other for other in CASES if other["id"] == case["id"]]) == 1


def test_it_needs_nothing_but_python():
    modules = modules_loaded_by("answers.microscope")
    assert {"golden.explanation.explain", "openwmma.element_values"} <= set(modules)
    with pytest.raises(ImportError, match="numpy is no part of Python"):
        modules_loaded_by("golden.multiply")


def test_json_in_json_out():
    question = {"instruction": F32, "profile": "hopper", "a": "1", "b": "1", "c": "1"}
    assert json.loads(answer_text(json.dumps(question)))["result"]["value"] == "2"


class WithoutTexts(ast.NodeTransformer):
    def visit_Expr(self, node):
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)


@pytest.mark.parametrize("folder", ["golden", "openwmma", "site/python"])
def test_the_browser_gets_all_code_and_no_docstring(folder):
    for path in (ROOT / folder).rglob("*.py"):
        source = path.read_text()
        found = ast.dump(ast.parse(code_of(source))).replace("Pass()", "")
        assert found == ast.dump(WithoutTexts().visit(ast.parse(source))).replace("Pass()", ""), path
