"""Conversion to Verilog: equal modules stand once, different ones stay, and masks stay masks."""

import re

import pytest
from amaranth.back import verilog as verilog_back
from amaranth.hdl import Cat, Elaboratable, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.shared_module import SharedModule
from hdl.verilog.modules import convert, merge_modules


class Adder(wiring.Component):  # type: ignore[misc]
    """A registered sum with a constant, of a slice that has no name of its own."""

    def __init__(self, constant: int) -> None:
        self.constant = constant
        super().__init__({"x": In(8), "y": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.y.eq((self.x & 0x55) + self.constant)
        return m


class Pair(wiring.Component):  # type: ignore[misc]
    """Two adders, one after the other; what goes between them has no name."""

    def __init__(self, *constants: int) -> None:
        self.constants = constants
        super().__init__({"x": In(8), "y": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value = self.x
        for index, constant in enumerate(self.constants):
            m.submodules[f"adder{index}"] = adder = Adder(constant)
            m.d.comb += adder.x.eq(value)
            value = Cat(adder.y[4:], ~adder.y[:4])
        m.d.comb += self.y.eq(value)
        return m


class Pairs(Elaboratable):  # type: ignore[misc]
    def __init__(self, *pairs: tuple[int, ...]) -> None:
        self.pairs = pairs
        self.x = Signal(8)
        self.y = Signal(8 * len(pairs))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for index, constants in enumerate(self.pairs):
            m.submodules[f"pair{index}"] = pair = Pair(*constants)
            m.d.comb += [pair.x.eq(self.x), self.y.word_select(index, 8).eq(pair.y)]
        return m


def verilog(*pairs: tuple[int, ...], sources: bool = False) -> str:
    top = Pairs(*pairs)
    return convert(top, "top", {"x": (top.x, None), "y": (top.y, None)}, sources=sources)


def modules(text: str) -> list[str]:
    return re.findall(r"^module (\\\S+|\w+)", text, re.MULTILINE)


def instances(text: str, name: str) -> list[str]:
    return re.findall(rf"^  {re.escape(name)} +(\S+) +\($", text, re.MULTILINE)


@pytest.mark.parametrize("sources", [False, True])
def test_equal_modules_stand_once_at_every_level(sources: bool) -> None:
    text = verilog((1, 2), (1, 2), (1, 2), sources=sources)
    assert (f'(* src = "{__file__}:' in text) == sources
    assert len(modules(text)) == 4, modules(text)  # top, a pair, and its two adders
    pair = next(name for name in modules(text) if name.endswith("pair0"))
    assert instances(text, pair) == ["pair0", "pair1", "pair2"]


def test_modules_that_differ_in_a_constant_stay() -> None:
    text = verilog((1, 2), (1, 3))
    names = modules(text)
    assert [name.split(".")[-1] for name in names] == ["top", "pair0", "adder0", "adder1", "pair1", "adder1"]
    # The equal first adders of both pairs are one.
    assert len(instances(text, next(name for name in names if name.endswith("pair0.adder0")))) == 2


def test_every_instance_has_its_module() -> None:
    text = verilog((1, 1), (2, 1), (1, 1))
    used = set(re.findall(r"^  (\\top\S+) +\S+ +\($", text, re.MULTILINE))
    assert used == {name for name in modules(text) if name != "top"}


def test_the_same_design_gives_the_same_text() -> None:
    assert verilog((1, 2), (3, 4)) == verilog((1, 2), (3, 4))


def test_a_mask_stays_one_operation() -> None:
    assert re.search(r"= x & 8'h55;|= x & 7'h55;", verilog((1,)))


LEAF = """module {name} (\\port${number}$0 , q);
  reg \\$auto$verilog_backend.cc:2355:dump_module${dummy}  = 0;
  input \\port${number}$0 ;
  wire \\port${number}$0 ;
  output q;
  wire q;
  assign q = {inverted}\\port${number}$0 ;
endmodule
"""
TOP = """module top (a, q, r);
  input a;
  wire a;
  output q;
  wire q;
  output r;
  wire r;
  \\top.x  x (
    .\\port$11$0 (a),
    .q(q)
  );
  \\top.y  y (
    .\\port$22$0 (a),
    .q(r)
  );
endmodule
"""


def leaf(name: str, number: int, inverted: str = "") -> str:
    return LEAF.format(name=f"\\top.{name}", number=number, dummy=number + 5, inverted=inverted)


def test_numbers_of_the_whole_design_do_not_make_modules_different() -> None:
    merged = merge_modules(TOP + leaf("x", 11) + leaf("y", 22))
    assert modules(merged) == ["top", "\\top.x"]
    assert instances(merged, "\\top.x") == ["x", "y"]
    connected = re.findall(r"\.(\S+) \(a\)", merged)
    assert len(connected) == 2
    assert len(set(connected)) == 1
    assert merged.count(f"input {connected[0]} ;") == 1
    assert "port$11" not in merged
    assert "port$22" not in merged


def test_one_operator_makes_modules_different() -> None:
    merged = merge_modules(TOP + leaf("x", 11) + leaf("y", 22, "~"))
    assert modules(merged) == ["top", "\\top.x", "\\top.y"]
    assert merge_modules(merged) == merged


class Shared(Elaboratable):  # type: ignore[misc]
    """Pairs that are converted once."""

    def __init__(self, *, count: int) -> None:
        self.count = count
        self.x = Signal(8)
        self.y = Signal(8 * count)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        signature = wiring.Signature({"x": In(8), "y": Out(8)})
        for index in range(self.count):
            unit = SharedModule("pair", signature, lambda: Pair(3, 5))
            m.submodules[f"unit{index}"] = unit
            m.d.comb += [unit.x.eq(self.x), self.y.word_select(index, 8).eq(unit.y)]
        return m


def test_a_shared_module_is_written_once():
    top = Shared(count=5)
    text = convert(top, "top", {"x": (top.x, None), "y": (top.y, None)})
    assert len(re.findall(r"^module \\?pair ?\(", text, re.MULTILINE)) == 1
    assert len(re.findall(r"^  pair +\S+ +\(", text, re.MULTILINE)) == 1, "the wrappers are equal, too"


def test_without_a_library_a_shared_module_stands_in_the_design():
    text = verilog_of_amaranth(Shared(count=2))
    assert text.count("adder0") > 0
    assert "pair " not in re.findall(r"^  (\S+ )", text, re.MULTILINE)


def verilog_of_amaranth(top: Shared) -> str:
    return str(verilog_back.convert(top, ports=[top.x, top.y]))
