"""`openwmma layout`: every fragment's cells are where `golden.distribute` puts the elements."""

import re
import xml.etree.ElementTree as ET
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import golden
from golden.arguments import dtype_of
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import FAMILIES
from openwmma.cli import main
from openwmma.fragment_grid import descriptor_grid, fragment_grid

FRAGMENTS = sorted(
    {
        (use, type, str(shape))
        for family in FAMILIES
        for use in "abcd"
        for type in (family.multiplicands if use in "ab" else family.accumulators)
        for shape in family.shapes
    }
)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize("fragment", FRAGMENTS, ids="-".join)
def test_cells_are_where_the_elements_are(fragment):
    """One cell after the other is filled with ones: just its registers hold something."""
    grid = fragment_grid(*fragment)
    ones = -1 if fragment[1] in ("s8", "s4", "s32") else (1 << FORMATS[fragment[1]].bits) - 1
    dtype = dtype_of(FORMATS[fragment[1]])
    covered = np.zeros((grid.rows, grid.columns), dtype=int)
    for cell in grid.cells:
        matrix = np.zeros((grid.rows, grid.columns), dtype=dtype)
        place = np.s_[cell.row : cell.row + grid.cell_rows, cell.column : cell.column + grid.cell_columns]
        matrix[place] = ones
        covered[place] += 1
        words = golden.distribute(matrix, *fragment)
        expected = np.zeros_like(words)
        for registers in cell.place:
            expected[list(registers), cell.lane] = 0xFFFFFFFF
        np.testing.assert_array_equal(words, expected)
    assert (covered == 1).all()


def printed(capsys, *arguments):
    assert main(["layout", *arguments]) == 0
    return capsys.readouterr().out


def test_the_lane_of_an_element(capsys):
    """PTX: row 5 is quad 5's, columns 2 and 3 are the second lane's."""
    lines = printed(capsys, "c", "f32", "m16n16k16").splitlines()
    header = next(line for line in lines if line.startswith("row"))
    line = next(line for line in lines if line.startswith("  5 "))
    at = header.index(" 3 ") + 1
    assert line[at:].startswith("T21 r1 ")


def test_a_narrow_terminal_gets_blocks_of_columns(capsys, monkeypatch):
    wide = printed(capsys, "d", "f32", "m8n32k16")
    monkeypatch.setenv("COLUMNS", "60")
    narrow = printed(capsys, "d", "f32", "m8n32k16")
    assert max(map(len, narrow.splitlines()[2:])) <= 60
    assert narrow.count("row ") > wide.count("row ")
    cells = re.compile(r"T\d+ r\d+\b")
    assert sorted(cells.findall(narrow)) == sorted(cells.findall(wide))
    assert len(set(cells.findall("\n".join(narrow.splitlines()[2:])))) == 256


def test_the_picture_has_a_cell_for_each_word(capsys):
    printed(capsys, "a", "f16", "m16n16k16", "--svg", "l.svg")
    drawn = ET.fromstring(Path("l.svg").read_text())
    assert sum(element.get("fill") is not None for element in drawn.iter(f"{SVG}rect")) == 16 * 8
    texts = [element.text.replace("\xa0", " ").rstrip() for element in drawn.iter(f"{SVG}text")]
    assert texts.count("T5 r0,4") == 1
    assert "The lane holds each element 2 times." in texts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("c", "f31", "m16n16k16"), "type: got 'f31'; allowed: f16, f32, f64, s32 for c"),
        (
            ("c", "f64", "m16n16k16"),
            "shape: got 'm16n16k16'; allowed: m8n8k4, m16n8k4, m16n8k8, m16n8k16 for c of f64",
        ),
        (
            ("c", "f32", "m16n16k16", "--svg", "no/l.svg"),
            "--svg no/l.svg: expected a file in a folder that exists, not in no",
        ),
    ],
)
def test_bad_usage_is_one_line_and_code_2(capsys, arguments, message):
    assert main(["layout", *arguments]) == 2
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", f"openwmma: {message}\n")


def test_an_unknown_use_is_named(capsys):
    assert main(["layout", "e", "f32", "m16n16k16"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "'e' is not one of 'a', 'b', 'c', 'd'" in error


def test_help_has_an_example(capsys):
    assert main(["layout", "--help"]) == 0
    assert "openwmma layout c f32 m16n16k16" in capsys.readouterr().out


def address_of(descriptor, row, k, bits, *, transposed):
    """Where the first byte of an element lies, by the formulas of docs/explanation/tma-and-swizzles.md."""
    start, leading, stride = (16 * (descriptor >> low & 0x3FFF) for low in (0, 16, 32))
    base, mode = descriptor >> 49 & 7, descriptor >> 62
    span = {0: 16, 1: 128, 2: 64, 3: 32}[mode]
    byte = k * bits // 8
    if not transposed:
        place = start + row % 8 * span + row // 8 * stride + byte // span * leading + byte % span
    elif mode == 0:
        place = start + row % 8 * 2 + row // 8 * stride + k % 8 * 16 + k // 8 * leading
    else:
        per = span // 2
        place = start + row % per * 2 + row // per * leading + k % 8 * span + k // 8 * stride
    return place ^ (((place >> 3) - (base << 4)) & {0: 0, 1: 0x70, 2: 0x30, 3: 0x10}[mode])


@pytest.mark.parametrize("type", ["f16", "tf32", "e4m3"])
@pytest.mark.parametrize("use", "ab")
@pytest.mark.parametrize("mode", range(4))
def test_a_descriptor_finds_its_elements(use, type, mode):
    bits = FORMATS[type].bits
    for transposed, sparse in product((False, True)[: 1 + (bits == 16)], (False, True)):
        descriptor = 0x123 | 0x11 << 16 | 0x46 << 32 | mode << 62 | (5 << 49 if mode else 0)
        shape = f"m64n24k{256 // bits << sparse}"
        grid = descriptor_grid(use, type, shape, descriptor, transposed=transposed)
        assert (grid.columns if use == "a" else grid.rows) == 256 // bits << (sparse and use == "b")
        assert len(grid.cells) * 128 // bits == grid.rows * grid.columns
        for cell in grid.cells:
            row, k = (cell.row, cell.column) if use == "a" else (cell.column, cell.row)
            assert cell.place == address_of(descriptor, row, k, bits, transposed=transposed)
            assert cell.lane // 4 == cell.place // 16 % 8


def test_a_descriptor_on_the_command_line(capsys):
    """The swizzle spreads eight rows over the banks; rows that are 128 bytes apart without one share them."""
    shown = ["layout", "a", "f16", "m64n8k16", "--descriptor"]
    assert main([*shown, "0x4000004000010000", "--svg", "a.svg"]) == 0
    printed = capsys.readouterr().out
    assert "The first 8 rows touch 32 of 32 banks; without the swizzle 4 of 32 banks." in printed
    assert "Most rows that meet in one bank: 1; without the swizzle 8." in printed
    assert "Row 3: banks 12 to 15; without the swizzle 0 to 3." in printed
    texts = [each.text.replace("\xa0", " ") for each in ET.parse("a.svg").iter(f"{SVG}text")]
    assert "Row 7: banks 28 to 31; without the swizzle 0 to 3." in texts
    assert re.search(r"^ *3 0x001b0 0x001a0 *$", printed, re.MULTILINE)
    assert len(ET.parse("a.svg").findall(f".//{SVG}rect")) >= 128


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("a", "f16", "m64n8k16", "--descriptor", "x"), "--descriptor x: expected an integer of 64 bits"),
        (("a", "f16", "m64n8k16", "--descriptor", "0x1" + 16 * "0"), "descriptor: got 0x10000000000000000"),
        (("c", "f16", "m64n8k16", "--descriptor", "1"), "an operand with a descriptor: got c of 'f16'"),
        (
            ("a", "f16", "m16n8k16", "--descriptor", "1"),
            "got a of 'f16', 'm16n8k16'; allowed: a and b of f16",
        ),
        (("a", "s8", "m64n8k32", "--descriptor", "1", "--transposed"), "order: got transposed s8; allowed"),
        (("a", "f16", "m16n8k16", "--transposed"), "--transposed: expected --descriptor with it"),
        (("a", "f16", "m16n8k16", "--selector", "1"), "--selector: expected metadata with it"),
        (("a", "f16", "m16n8k16", "--byte-id", "1"), "--byte-id: expected scale_a or scale_b with it"),
        (
            ("metadata", "f16", "m16n8k32", "--thread-id", "1"),
            "--thread-id: expected scale_a or scale_b with",
        ),
        (("metadata", "f16", "m16n8k32", "--descriptor", "1"), "--descriptor: expected a or b with it"),
        (
            ("a", "f16", "m64n8k16", "--descriptor", "1", "--sparse"),
            "--sparse: expected a, b, c or d with it",
        ),
        (("scale_a", "1X", "m16n8k32"), "SHAPE m16n8k32: expected no shape with scales"),
    ],
)
def test_what_has_no_descriptor_is_refused(capsys, arguments, part):
    assert main(["layout", *arguments]) == 2
    assert part in " ".join(capsys.readouterr().err.split())
