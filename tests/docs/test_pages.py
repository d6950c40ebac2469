"""The pages: links lead somewhere, tables are as the code prints them, and what lessons print is printed."""

import doctest
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.tables.__main__ import PAGES as REFERENCE
from docs.tables.__main__ import TABLES, main, with_tables
from docs.tables.command_words import command_words
from docs.tables.instructions import multiply_table
from docs.tables.registers import register_map
from golden.tables.commands import Load, Mma
from golden.tables.instruction_set import FAMILIES, QUAD_PAIRS, Shape
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction
from hdl.command import encode
from hdl.control.host.register_map import REGISTERS
from openwmma.cli import main as openwmma

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if "generated" not in path.parts]
LINK = re.compile(r"\]\((?!https?:)([^)\s#]+)(?:#[\w-]+)?\)|^```\{(?:include|literalinclude)\} (\S+)", re.M)
BLOCK = re.compile(r"^```(python|text|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LESSONS = (
    "tutorials/first-tile",
    "tutorials/matrix-multiply",
    "tutorials/regression",
    "tutorials/labs/scale-split",
)
NEEDS_CORE = ("d_core.npy", "d_rtl.npy", "import pytest")
"""In blocks that need the simulated core, or that are files of their own."""


def same(expected: str, found: str) -> bool:
    """Equal but for spaces; ``...`` stands for anything."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(expected.strip() + "\n", found.strip() + "\n", flags)


@pytest.mark.parametrize(
    "path", [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))], ids=str
)
def test_links_lead_to_files(path: Path) -> None:
    targets = [link or file for link, file in LINK.findall(path.read_text())]
    missing = [
        target
        for target in targets
        if "generated/" not in target and not (path.parent / target).exists() and "." in target
    ]
    assert not missing


def test_the_path_of_a_kernel_is_at_most_twenty_files() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    files = re.findall(r"^\| (\d+) \| `([\w/.]+)` \|", page, re.MULTILINE)
    assert [int(number) for number, _ in files] == list(range(1, len(files) + 1))
    assert 10 < len(files) <= 20
    assert [file for _, file in files if not (ROOT / file).is_file()] == []


def test_every_table_is_on_a_page_and_is_as_the_code_makes_it() -> None:
    """`python -m docs.tables` writes them."""
    texts = {path: path.read_text() for path in REFERENCE}
    placed = re.findall(r"^<!-- table ([\w-]+) -->$", "".join(texts.values()), re.MULTILINE)
    assert sorted(placed) == sorted(TABLES)
    old = [path.name for path, text in texts.items() if with_tables(text) != text]
    assert not old, "python -m docs.tables writes the tables anew"
    assert all(table().strip() in "".join(texts.values()) for table in TABLES.values())
    assert main(["folder"]) == 2


def test_every_family_has_a_row() -> None:
    rows = re.findall(r"^\| `.*$", multiply_table(), re.MULTILINE)
    families = sorted((*FAMILIES, QUAD_PAIRS), key=lambda family: family.mnemonic == "mma")
    for family, row in zip(families, rows, strict=True):
        cells = row.split(" | ")
        assert all(f"`{name}`" in cells[0] for name in family.multiplicands)
        assert [f"`{shape}`" for shape in family.shapes] == cells[2].split(", ")


def test_the_register_map_has_every_address() -> None:
    rows = re.findall(r"^\| `(0x\w+)`.*?\| `(\w+)` \|", register_map(), re.MULTILINE)
    assert {name: int(address, 16) for address, name in rows} == dict(REGISTERS)


def decoded(words: tuple[int, ...], section: str) -> dict[str, int]:
    """The fields of a command by the page alone."""
    text = next(part for part in command_words().split("### ") if part.startswith(section))
    bits = sum(word << 32 * number for number, word in enumerate(words))
    fields = {}
    for first, high, low, name in re.findall(r"^\| (\d)[^|]* \| (\d+)(?::(\d+))? \| `(\w+)` \|", text, re.M):
        bottom = int(low or high)
        fields[name] = bits >> 32 * int(first) + bottom & (1 << int(high) - bottom + 1) - 1
    return fields


def test_the_words_of_commands_are_those_of_the_page() -> None:
    shape = Shape(16, 16, 16)
    load = LoadInstruction(use="b", layout="col", shape=shape, type="f16", space="shared")
    fields = decoded(encode(Load(load, register=9, address=0x12345678_9ABCDEF0, stride=77)), "LOAD")
    assert fields == {
        **{"opcode": 1, "use": 1, "layout": 1, "tile_shape": 0, "element_type": 0, "space": 1, "warp": 0},
        **{"has_stride": 1, "register": 9, "address": 0x12345678_9ABCDEF0, "stride": 77},
    }
    multiply = MmaInstruction(
        shape=shape, a_layout="row", b_layout="col", a_type="f16", b_type="f16", c_type="f32", d_type="f16"
    )
    fields = decoded(encode(Mma(multiply, d=24, a=1, b=8, c=16)), "MMA")
    assert {name: fields[name] for name in ("opcode", "c_type", "d_type", *"dabc")} == {
        **{"opcode": 3, "c_type": 3, "d_type": 0, "d": 24, "a": 1, "b": 8, "c": 16},
    }


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_prints_what_it_shows(name, tmp_path, monkeypatch, capsys) -> None:
    """Blocks of Python share their names; a block of text after one is what it prints."""
    text = (DOCS / f"{name}.md").read_text().replace(" examples/", f" {ROOT}/examples/")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    names: dict[str, object] = {"__name__": "lesson"}
    printed, blocks = "", 0
    for kind, content in BLOCK.findall(text):
        if kind == "console":
            commands = re.findall(r"^\$ openwmma (.*)\n((?:(?!\$ ).*\n)*)", content, re.MULTILINE)
            for command, shown in commands:
                assert openwmma(command.split()) == 0
                output = capsys.readouterr().out
                assert not shown or same(shown, output), output
                blocks += 1
        elif kind == "python":
            printed = ""
            if not any(word in content for word in NEEDS_CORE):
                exec(compile(content, name, "exec"), names)
                printed = capsys.readouterr().out
                blocks += 1
        elif printed:
            assert same(content, printed), printed
    assert blocks >= 2


def test_the_picture_of_the_readme_is_what_explain_draws(tmp_path: Path) -> None:
    instruction = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
    operands = ["--a", "1,2.5,0.1", "--b", "3,-4,0.0078125", "--c", "10000"]
    assert openwmma(["explain", instruction, *operands, "--svg", str(tmp_path / "sum.svg")]) == 0
    texts = [
        [element.text for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
        for path in (tmp_path / "sum.svg", DOCS / "images" / "sum.svg")
    ]
    assert texts[0] == texts[1]
    assert "10011100001001000000000011" in "".join(texts[0])
