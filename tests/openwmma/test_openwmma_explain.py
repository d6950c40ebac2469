"""`openwmma explain`: what it prints and writes, and that its rulers hold golden's bits."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from rich.text import Text

import golden
from golden.resolve import resolve_instruction
from golden.tables.formats import FORMATS, FloatFormat
from openwmma.cli import main
from openwmma.element_values import parse_elements, parse_scalar
from openwmma.explaining import explain_text
from openwmma.explanation_facts import value_text
from openwmma.explanation_text import explanation_text, print_wide, svg_picture

F16 = "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16"
F32 = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
S8 = "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32"
INSTRUCTIONS = [
    F16,
    F32,
    "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    S8,
    "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
]
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "explain.md"
SVG = "{http://www.w3.org/2000/svg}"
LOST_ON_AMPERE = [
    "--a",
    ",".join(["0.0001220703125"] * 8),
    "--b",
    ",".join(["0.000244140625"] * 8),
    "--c",
    "1",
]
"""Eight products of 2^-25 beside 1: 25 fraction bits keep them, 24 do not."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def printed(capsys, *arguments):
    """Lines of the output, without the spaces behind them."""
    assert main(["explain", *arguments]) == 0
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def random_text(type, count, rng):
    """Elements as the command line takes them, and as golden.mma does."""
    format = FORMATS[type]
    if isinstance(format, FloatFormat):
        exponent = (1 << format.exponent_bits - 1) - 1 + rng.integers(-6, 7, count)
        fraction = rng.integers(0, 1 << format.fraction_bits, count)
        sign = rng.integers(0, 2, count)
        bits = [
            int(s) << format.bits - 1 | (int(e) << format.fraction_bits | int(f)) << format.ignored_bits
            for s, e, f in zip(sign, exponent, fraction, strict=True)
        ]
        return ",".join(map(hex, bits)), np.array(bits, dtype=f"u{format.bits // 8}")
    values = rng.integers(format.minimum, format.maximum, count, endpoint=True)
    dtype = f"{'i' if format.signed else 'u'}{max(8, format.bits) // 8}"
    return ",".join(map(str, values)), values.astype(dtype)


@pytest.mark.parametrize("text", INSTRUCTIONS)
def test_the_result_is_that_of_golden(text):
    rng = np.random.default_rng(22)
    instruction = resolve_instruction(text)
    shape = instruction.shape
    for _ in range(5):
        a_text, a_row = random_text(instruction.a_type, shape.k, rng)
        b_text, b_column = random_text(instruction.b_type, shape.k, rng)
        c_text, c = random_text(instruction.c_type, 1, rng)
        found = explain_text(text, a_text, b_text, c_text, "hopper")
        a, b = np.tile(a_row, (shape.m, 1)), np.tile(b_column[:, None], (1, shape.n))
        d = golden.mma(text, a, b, np.full((shape.m, shape.n), c[0]))
        assert found.result == int(d[0, 0])
        assert not any("rounded" in note or "others" in note for note in found.notes)


RULER_ROW = re.compile(r"([+-])([01.]{8,})(?:\|([01.]*))? +([0-9]+)(?: +([0-9]+))?")
"""Sign, bits before and behind the bar, and how many of them are kept and cut."""


@pytest.mark.parametrize("text", [F16, F32, INSTRUCTIONS[2]])
def test_kept_bits_of_a_ruler_add_up_to_the_sum(text, capsys):
    rng = np.random.default_rng(23)
    instruction = resolve_instruction(text)
    lost = 0
    for _ in range(20):
        types = (instruction.a_type, instruction.shape.k), (instruction.b_type, instruction.shape.k)
        a, b, c = (random_text(type, count, rng)[0] for type, count in (*types, (instruction.c_type, 1)))
        found = explain_text(text, a, b, c, "hopper")
        print_wide(explanation_text(found))
        rulers = re.split(r"^term .*\n", capsys.readouterr().out, flags=re.MULTILINE)[1:]
        assert len(rulers) == len(found.steps)
        for ruler, step in zip(rulers, found.steps, strict=True):
            rows = [RULER_ROW.search(line) for line in ruler.splitlines()]
            *terms, total = [row.groups("") for row in rows[: rows.index(None)]]
            kept = 0
            for sign, bits, behind, count, cut in terms:
                kept += int(sign + bits.replace(".", "0"), 2)
                assert int(count) == len(bits.replace(".", ""))
                assert int(cut) == len(behind.replace(".", ""))
                lost += int(cut)
            assert kept == step.total == int(total[0] + total[1].replace(".", "0"), 2)
            assert int(total[3]) == len(total[1].replace(".", ""))
    assert lost > 100


def test_2048_and_1_is_2048_in_f16(capsys):
    lines = printed(capsys, F16, "--a", "1", "--b", "1", "--c", "2048")
    assert lines[0] == f"{F16}, profile hopper"
    assert "note: --a has 1 of 16 values; the others are 0" in lines
    assert any(
        line.split() == ["sum", "2049", "+1" + "0" * 10 + "1" + "0" * 14 + "|......", "26"] for line in lines
    )
    text = "\n".join(lines)
    assert "2^-14: lower bits of each term are cut" in text
    assert "15 bits below the last place, 100000000000000: dropped" in text
    assert "f16 0x6800 = 2048" in text
    assert lines[-1].split(maxsplit=1)[1] == "0 units in the last place of f16"


@pytest.mark.parametrize(
    ("profile", "bits", "value", "difference"),
    [
        ("hopper", "0x3f800002", "1.000000238418579", "0"),
        ("ampere", "0x3f800000", "1", "-2"),
        ("exact", "0x3f800002", "1.000000238418579", "0"),
    ],
)
def test_the_exact_result_stands_beside_that_of_the_profile(capsys, profile, bits, value, difference):
    lines = printed(capsys, F32, *LOST_ON_AMPERE, "--profile", profile)
    assert [line.split() for line in lines[-3:]] == [
        [profile, bits, "=", value],
        ["exact", "0x3f800002", "=", "1.000000238418579"],
        ["difference", *f"{difference} units in the last place of f32".split()],
    ]


def test_values_and_raw_bits_may_be_mixed(capsys):
    text = "\n".join(printed(capsys, F32, "--a", "1,0x3c00,0.1", "--b", "-inf,2,1"))
    assert "note: --a[2]: 0.1 is rounded to 0.0999755859375, f16 0x2e66" in text
    assert re.search(r"a\[0\] \* b\[0\] +1 \* -inf is infinite", text)
    assert "f32 0xff800000 = -inf" in text
    assert re.search(
        r"result +f32 0x7fffffff = nan", "\n".join(printed(capsys, F32, "--a", "nan", "--b", "1"))
    )


def test_integers_and_single_bits(capsys):
    text = "\n".join(printed(capsys, S8, "--a", "1,0xff,-128", "--b", "3,-4,2", "--c", "0x80000000"))
    assert re.search(r"a\[1\] \* b\[1\] +-1 \* -4 = 4\n", text)
    assert re.search(r"exact sum +-2147483897\n", text)
    assert re.search(r"result +2147483399, wrapped modulo 2\^32\n", text)
    text = "\n".join(printed(capsys, INSTRUCTIONS[-1], "--a", "1,1,0,1", "--b", "1,0,1", "--c", "5"))
    assert re.search(r"a xor b +0111(0{124})\n", text)
    assert re.search(r"result +8, wrapped", text)


def test_approximate_instructions(capsys):
    lines = printed(capsys, "ex2.approx.ftz.f32", "--a", "0.3")
    expected = int(golden.approximate("ex2.approx.ftz.f32", np.float32(0.3)).view(np.uint32))
    assert lines[-3].split()[:2] == ["result", f"0x{expected:08x}"]
    assert "note: --a: 0.3 is rounded to 0.30000001192092896, f32 0x3e99999a" in lines
    raw = printed(capsys, "ex2.approx.ftz.f32", "--a", "0x3e99999a")
    assert raw[-3:] == lines[-3:]
    assert printed(capsys, "div.full.f32", "--a", "1", "--b", "4")[-3].split()[1:] == [
        "0x3e800000",
        "=",
        "0.25",
    ]


def test_files_have_the_same_and_load_nothing(capsys):
    lines = printed(capsys, F32, *LOST_ON_AMPERE, "--profile", "ampere", "--html", "e.html", "--svg", "e.svg")
    html, svg = Path("e.html").read_text(), Path("e.svg").read_text()
    assert "http" not in html
    assert svg.count("http") == svg.count('xmlns="http://www.w3.org/2000/svg"') == 1
    plain = re.sub(r"<[^>]*>", "", html)
    assert all(word in plain for line in lines for word in line.split() if word.isalnum())
    texts = [element.text.replace("\xa0", " ") for element in ET.fromstring(svg).iter(f"{SVG}text")]
    assert "step 1 of 2: products and c on one ruler of binary places" in texts
    assert all(word in " ".join(texts) for line in lines for word in line.split() if word.isalnum())
    lost = "2.9802322387695312e-08"
    assert " ".join(texts).count(lost) == "\n".join(lines).count(lost) >= 8


def test_the_picture_colours_each_bit():
    found = explain_text(F32, "3", "5", "0.25", "hopper")
    drawn = ET.fromstring(svg_picture(explanation_text(found), found.title))
    cells = [element for element in drawn.iter(f"{SVG}rect") if element.get("fill")]
    width = min(float(cell.get("width")) for cell in cells)
    bits = Counter()
    for cell in cells:
        bits[cell.get("fill")] += round(float(cell.get("width")) / width)
    (step,) = found.steps
    terms = [(term.significand.bit_length(), term.cut_bits) for term in step.terms if term.kind == "finite"]
    assert bits["#bfe3c4"] == sum(max(0, length - cut) for length, cut in terms)
    assert bits["#f6c1b5"] == sum(min(length, cut) for length, cut in terms)
    assert bits["#c5d7f2"] == abs(step.total).bit_length()


def test_a_picture_has_the_readers_colours_and_escaped_text():
    drawn = ET.fromstring(svg_picture(Text("x & y < z"), "a < b"))
    assert drawn.find(f"{SVG}title").text == "a < b"
    text = drawn.find(f"{SVG}text")
    assert text.text.replace("\xa0", " ") == "x & y < z"
    style = drawn.find(f"{SVG}style").text
    assert f".{text.get('class')} {{ fill: var(--ink) }}" in style
    assert "@media (prefers-color-scheme: dark)" in style


@pytest.mark.parametrize(
    ("magnitude", "exponent", "text"),
    [
        (0, 5, "0"),
        (3, -1, "1.5"),
        (5, 2, "20"),
        ((1 << 60) + 1, 0, "0x1000000000000001 * 2^0"),
        (1, 2000, "0x1 * 2^2000"),
        (1, -1080, "0x1 * 2^-1080"),
    ],
)
def test_values(magnitude, exponent, text):
    assert value_text(magnitude, exponent) == text
    assert value_text(magnitude, exponent, negative=True) == f"-{text}"


def test_elements_are_read_as_bits():
    assert parse_elements("--a", "1, 2.5,0x3c00,inf,-inf,-0", "f16", 6)[0] == [
        *(0x3C00, 0x4100, 0x3C00, 0x7C00, 0xFC00, 0x8000),
    ]
    assert parse_elements("--a", "0x80,-3,0x7f", "s8", 4) == (
        [-128, -3, 127, 0],
        ["--a has 3 of 4 values; the others are 0"],
    )
    assert parse_scalar("--c", "1e-3", "f32") == (
        0x3A83126F,
        ["--c: 0.001 is rounded to 0.0010000000474974513, f32 0x3a83126f"],
    )


BAD_USAGE = {
    "no number": (
        (F16, "--a", "1,x", "--b", "1"),
        "--a[1] x: expected a decimal number, inf, nan or raw bits in hexadecimal (0x...) of f16",
    ),
    "empty": (
        (F16, "--a", "1,,2", "--b", "1"),
        "--a[1] is empty: expected a decimal number, inf, nan or raw bits in hexadecimal (0x...) of f16",
    ),
    "too many": (
        (F16, "--a", ",".join("1" * 17), "--b", "1"),
        "--a: expected at most 16 values, the k of the instruction, not 17",
    ),
    "too wide": (
        (F16, "--a", "0x10000", "--b", "1"),
        "--a[0] 0x10000: expected at most 16 bits, as f16 has",
    ),
    "beyond f64": (
        (F16, "--a", "1e999", "--b", "1"),
        "--a[0] 1e999: expected a value that f64 can hold, or inf",
    ),
    "fraction": (
        (S8, "--a", "1.5", "--b", "1"),
        "--a[0] 1.5: expected an integer or raw bits in hexadecimal (0x...) of s8",
    ),
    "beyond s8": (
        (S8, "--a", "1", "--b", "128"),
        "--b[0] 128: expected integers from -128 to 127 (values of s8)",
    ),
    "two for c": ((F16, "--a", "1", "--b", "1", "--c", "1,2"), "--c 1,2: expected one value, not 2"),
    "no b": ((F16, "--a", "1"), f"--b: expected a column of B, as {F16} multiplies"),
    "unknown profile": (
        (F16, "--a", "1", "--b", "1", "--profile", "pascal"),
        "profile: got 'pascal'; allowed: hopper, blackwell, ada, ampere, turing, volta, "
        "exact, exact.rn, exact.rz, exact.rm, exact.rp",
    ),
    "one operand": (
        ("ex2.approx.ftz.f32", "--a", "1", "--b", "1"),
        "ex2.approx.ftz.f32: expected --a, not 2 operands",
    ),
    "two operands": (("div.full.f32", "--a", "1"), "div.full.f32: expected --a and --b, not 1 operands"),
    "approximate on another generation": (
        ("ex2.approx.ftz.f32", "--a", "1", "--profile", "volta"),
        "--profile volta: expected hopper, the only generation known for ex2.approx.ftz.f32",
    ),
    "no folder": (
        (F16, "--a", "1", "--b", "1", "--svg", "no/e.svg"),
        "--svg no/e.svg: expected a file in a folder that exists, not in no",
    ),
    "no a": ((F16,), "Missing option '--a'."),
}


@pytest.mark.parametrize("name", BAD_USAGE)
def test_bad_usage_is_one_line_and_code_2(capsys, name):
    arguments, message = BAD_USAGE[name]
    assert main(["explain", *arguments]) == 2
    output = capsys.readouterr()
    assert output.err == f"openwmma: {message}\n"
    assert output.out == ""


def test_help_has_an_example(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    assert main(["explain", "--help"]) == 0
    assert "--a 1 --b 1 --c 2048" in capsys.readouterr().out


def test_the_page_shows_what_is_printed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    blocks = re.findall(r"```text\n\$ openwmma (.*)\n((?:.*\n)*?)```", PAGE.read_text())
    assert [command.split()[0] for command, _ in blocks] == ["explain", "explain", "layout"]
    for command, shown in blocks:
        assert main(command.split()) == 0
        assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == shown.splitlines()
