"""Nobody uses what a collision-free memory answers where something is written in the same cycle."""

import re
from functools import cache

import pytest
from test_sim_overlap import run_random_programs

import sim.build
import sim.verilate
from hdl.config import PRESETS
from hdl.verilog.core_verilog import TOP, core_top
from hdl.verilog.modules import to_verilog

MODULE = re.compile(r"^module .*?^end$", re.MULTILINE | re.DOTALL)
COLLISION_FREE = re.compile(r"attribute \\no_rw_check 1\n(?:  attribute .*\n)*  memory .*? (\\\w+)\n")
READ = re.compile(r"cell \$memrd_v2 .*?\n  end\n", re.DOTALL)
UNDEFINED = re.compile(r"<= (\d+)'hx+;")


def undefined_at_collisions(text):
    """A design in RTLIL in which reading a collision-free memory where it is written gives undefined bits."""

    def read(names, cell):
        memory = re.search(r'\\MEMID "\\(\\\w+)"', cell)[1]
        if memory not in names:
            return cell
        return re.sub(
            r"(\\COLLISION_X_MASK \d+')0+", lambda mask: mask[1] + "1" * (len(mask[0]) - len(mask[1])), cell
        )

    def module(found):
        names = set(COLLISION_FREE.findall(found[0]))
        return READ.sub(lambda cell: read(names, cell[0]), found[0]) if names else found[0]

    return MODULE.sub(module, text)


@cache
def poisoned(config):
    """The Verilog of a core whose collision-free memories answer a collision with ones."""
    plain = core_top(config).rtlil(TOP)
    undefined = undefined_at_collisions(plain)
    assert plain.count("no_rw_check") > 30
    assert undefined != plain
    text, count = UNDEFINED.subn(lambda found: f"<= {{{found[1]}{{1'b1}}}};", to_verilog(undefined))
    assert count > plain.count("no_rw_check")
    return text


@pytest.fixture
def poison(monkeypatch):
    monkeypatch.setattr(sim.build, "core_verilog", poisoned)
    # It is built for a few programs alone.
    monkeypatch.setitem(sim.verilate._OPTIMISATION, False, sim.verilate._OPTIMISATION[True])


@pytest.mark.long
@pytest.mark.parametrize("preset", ["small", "standard"])
def test_random_programs_on_poisoned_memories(poison, preset):
    for seed in range(4):
        run_random_programs(PRESETS[preset], seed, 60 * (seed % 3))
