"""Memories in Verilog: loops set the words that begin alike, and one block writes what is written at once."""

import re

import pytest
from amaranth.hdl import Cat, Const, Elaboratable, Module, Signal, unsigned
from amaranth.lib.memory import Memory

from hdl.verilog.memories import with_initial_loops, with_wide_writes
from hdl.verilog.modules import convert

_LOOP = re.compile(
    r"  initial begin : (\w+)\n    integer word;\n    for \(word = (\d+); word <= (\d+); word = word \+ 1\)\n"
    r"      (\\\S+ |\w+)\[word\] = ([^;\n]+);\n  end\n"
)
_BLOCK = re.compile(r"  initial begin\n((?:    .*\n)+)  end\n")


class Memories(Elaboratable):  # type: ignore[misc]
    """Two memories of one module, read at the same address."""

    def __init__(self, *contents: list[int]) -> None:
        self.contents = contents
        self.address = Signal(10)
        self.data = Signal(8 * len(contents))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for index, words in enumerate(self.contents):
            m.submodules[f"memory{index}"] = memory = Memory(shape=unsigned(8), depth=len(words), init=words)
            port = memory.read_port()
            m.d.comb += [port.addr.eq(self.address), self.data.word_select(index, 8).eq(port.data)]
        return m


def assignments(text: str) -> list[tuple[str, int, str]]:
    """What a text sets, in order."""
    found = []
    for line in re.finditer(r"^    (\\\S+ |\w+)\[(\d+)\] = ([^;\n]+);$", text, re.MULTILINE):
        found.append((line.start(), [(line[1], int(line[2]), line[3])]))
    for loop in _LOOP.finditer(text):
        words = range(int(loop[2]), int(loop[3]) + 1)
        found.append((loop.start(), [(loop[4], word, loop[5]) for word in words]))
    return [item for _, items in sorted(found) for item in items]


def block(memory: str, *values: int) -> str:
    lines = "".join(f"    {memory}[{word}] = 8'h{value:02x};\n" for word, value in enumerate(values))
    return f"  initial begin\n{lines}  end\n"


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([0] * 1000, id="all alike"),
        pytest.param(list(range(200)) * 3, id="all different"),
        pytest.param([7, *[0] * 300, 1, 2, *[0] * 4, 9, *[3] * 5], id="runs"),
        pytest.param([5], id="one word"),
    ],
)
@pytest.mark.parametrize("memory", ["memory", "\\memory$3 "])
def test_every_word_begins_with_its_value(memory: str, values: list[int]) -> None:
    text = with_initial_loops(block(memory, *values))
    assert assignments(text) == [(memory, word, f"8'h{value:02x}") for word, value in enumerate(values)]


def test_a_loop_sets_what_is_alike() -> None:
    text = with_initial_loops(block("memory", 7, *[0] * 6, 1, 1))
    assert text == (
        "  initial begin\n    memory[0] = 8'h07;\n  end\n"
        "  initial begin : initial_words_0\n    integer word;\n"
        "    for (word = 1; word <= 6; word = word + 1)\n      memory[word] = 8'h00;\n  end\n"
        "  initial begin\n    memory[7] = 8'h01;\n    memory[8] = 8'h01;\n  end\n"
    )


def test_no_block_sets_more_than_256_words() -> None:
    text = with_initial_loops(block("memory", *[0] * 1000, *range(1, 251), *range(1, 251)))
    assert {int(loop[3]) - int(loop[2]) + 1 for loop in _LOOP.finditer(text)} == {256, 1000 - 3 * 256}
    assert [match[1].count("\n") for match in _BLOCK.finditer(text)] == [256, 244]


def test_loops_of_a_design_have_different_names() -> None:
    design = Memories([0] * 600, [1] * 600)
    text = convert(design, "top", {"address": (design.address, None), "data": (design.data, None)})
    names = [loop[1] for loop in _LOOP.finditer(text)]
    assert len(names) == 6
    assert len(set(names)) == 6
    assert {value for _, _, value in assignments(text)} == {"8'h00", "8'h01"}


def test_other_initial_blocks_stay() -> None:
    text = "  initial begin\n    state = 2'h0;\n  end\n  initial begin\n    if (x) begin end\n  end\n"
    assert with_initial_loops(text) == text


class WideWrites(Elaboratable):  # type: ignore[misc]
    """Two memories: one whose four words are written at once, one with an enable for each of two."""

    def __init__(self) -> None:
        self.enable = Signal(3)
        self.address = Signal(4)
        self.data = Signal(32)
        self.read = Signal(16)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for index, enables in enumerate(((0, 0, 0, 0), (1, 2))):
            m.submodules[f"memory{index}"] = memory = Memory(shape=unsigned(8), depth=64, init=[])
            for part, enable in enumerate(enables):
                port = memory.write_port()
                m.d.comb += [
                    port.en.eq(self.enable[enable]),
                    port.addr.eq(Cat(Const(part, 2), self.address)),
                    port.data.eq(self.data.word_select(part, 8)),
                ]
            read = memory.read_port()
            m.d.comb += [read.addr.eq(self.address), self.read.word_select(index, 8).eq(read.data)]
        return m


def test_one_block_writes_what_is_written_at_once() -> None:
    design = WideWrites()
    names = ("enable", "address", "data", "read")
    text = convert(design, "top", {name: (getattr(design, name), None) for name in names})
    blocks = re.findall(r"  always @\(posedge clk\) begin\n(.*?)\n  end\n", text, re.DOTALL)
    conditions = [re.findall(r"if \((.*?)\)", block) for block in blocks if "<= data" in block]
    assert conditions == [["enable[0]"], ["enable[1]"], ["enable[2]"]]
    assert [block.count("<= data") for block in blocks if "<= data" in block] == [4, 1, 1]


def write_block(memory: str, word: int, *, clock: str = "clk", enable: str = "en") -> str:
    assignment = f"      {memory}[{{ a, 1'h{word} }}] <= d[{word}];\n"
    return f"  always @(posedge {clock}) begin\n    if ({enable})\n{assignment}  end\n"


@pytest.mark.parametrize("memory", ["memory", "\\memory$3 "])
def test_assignments_keep_their_order(memory: str) -> None:
    assert with_wide_writes(write_block(memory, 1) + write_block(memory, 0)) == (
        "  always @(posedge clk) begin\n    if (en) begin\n"
        f"      {memory}[{{ a, 1'h1 }}] <= d[1];\n      {memory}[{{ a, 1'h0 }}] <= d[0];\n"
        "    end\n  end\n"
    )


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(write_block("other", 1), id="another memory"),
        pytest.param(write_block("memory", 1, clock="clk2"), id="another clock"),
        pytest.param(write_block("memory", 1, enable="en & x"), id="another condition"),
        pytest.param("  assign x = y;\n" + write_block("memory", 1), id="something between"),
    ],
)
def test_other_blocks_stay_apart(second: str) -> None:
    text = write_block("memory", 0) + second
    assert with_wide_writes(text) == text
