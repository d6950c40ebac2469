"""Modules that are Verilated apart: their texts, and simulations that agree with one of the whole."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from random_commands import MULTIPLIES
from rtl import CONFIG, FOUR_WARPS, TINY, WIDE, load, rtl_machine

from golden.memory import Memory
from golden.tables.commands import Mma
from sim.blocks import driven, instances, ports_of, separate
from sim.build import core_verilog
from sim.simulation import BusTiming, Simulation, SimulationError
from sim.verilate import SHARED_MODULES, build_verilog

COPIER = Path(__file__).with_name("copier.v").read_text()
CONSTANTS = {"BEAT_BYTES": 16, "DATA_BITS": 128, "OUTSTANDING_READS": 1, "QUEUE_DEPTH": 1, "WARPS": 1}
FMA = next(name for name in SHARED_MODULES if "fma" in name)


def modules(text):
    return set(re.findall(r"^module (\\\S+|\w+)", text, re.MULTILINE))


@pytest.mark.parametrize(("config", "count"), [(TINY, 1), (CONFIG, 3)])
def test_a_block_has_the_modules_it_needs_and_the_core_calls_it(config, count):
    whole = core_verilog(config)
    core, blocks = separate(whole, SHARED_MODULES)
    assert [block.name for block in blocks] == [name for name in SHARED_MODULES if name in modules(whole)]
    assert len(blocks) == count
    assert modules(core) == modules(whole)
    for block in blocks:
        assert f'import "DPI-C" function chandle {block.name}_create();' in core
        assert {block.name, block.top} <= modules(block.verilog)
        assert modules(block.verilog) - {block.top} < modules(whole)
        assert "openwmma_core" not in modules(block.verilog)


def test_a_block_is_the_same_in_every_core_so_that_it_is_built_once():
    found, expected = (separate(core_verilog(config), SHARED_MODULES)[1] for config in (WIDE, CONFIG))
    assert found == expected


def test_instances_are_counted_through_the_hierarchy():
    config = replace(TINY, dot_product_units=8)
    dot_product, *others = SHARED_MODULES
    assert [instances(core_verilog(each), dot_product) for each in (TINY, config)] == [1, 8]
    assert [instances(core_verilog(config), name) for name in others] == [0] * len(others)
    assert instances(core_verilog(config), "openwmma_core") == 0


def test_a_driven_core_reads_its_inputs_in_registers_alone():
    text = driven(core_verilog(TINY), "openwmma_core", "aclk")
    (top,) = re.findall(r"^module openwmma_core\(.*?^endmodule$", text, re.MULTILINE | re.DOTALL)
    inputs = [port for way, _, port in ports_of(top) if way == "input" and port not in ("aclk", "retake")]
    assert {"aresetn", "m_axi_rdata", "s_axil_wvalid"} < set(inputs)
    body = top[top.index("  reg ") :]
    for port in inputs:
        assert re.findall(rf".*[^.\w]{port}\b.*", body) == [f"    taken_{port} <= {port};"]


def test_what_the_host_has_written_is_seen_without_a_cycle():
    """The edge that writes it is the last one before; what the host asks next is not a cycle later for it."""
    random, cycles = np.random.default_rng(4), []
    for looks in (True, False):
        machine = rtl_machine(config=TINY)
        for first in range(0, TINY.registers - 2, 3):
            values = random.integers(0, 1 << 32, (2, 32), dtype=np.uint32)
            machine.write_registers(first, values)
            if looks:
                np.testing.assert_array_equal(machine.inspect_registers()[first : first + 2], values)
            np.testing.assert_array_equal(machine.read_registers(first, 2), values)
        cycles.append(machine.simulation.cycles)
        machine.close()
    assert cycles[0] == cycles[1]


def with_block(body):
    """A copier beside whose port `irq` stands a block."""
    ports = "(clk, given, taken);\n  input clk;\n  input [31:0] given;\n  output [31:0] taken;\n"
    inner = f"  {FMA} unit (\n    .clk(clk),\n    .given(given),\n    .taken(taken)\n  );\n"
    module = f"module {FMA}{ports}{body}endmodule\n\nmodule beside{ports}{inner}endmodule\n\n"
    unit = "  beside beside (.clk(aclk), .given(words[1]), .taken(taken));\n"
    text = COPIER.replace(
        "    assign irq = fault;\n", f"  wire [31:0] taken;\n{unit}  assign irq = taken[0];\n"
    )
    assert text != COPIER
    assert instances(module, FMA) == 1
    return module + text


OPEN = "  assign taken = given;\n"
REGISTERED = "  reg [31:0] held = 0;\n  assign taken = held;\n  always @(posedge clk) held <= given;\n"


@pytest.mark.parametrize(
    "body",
    [pytest.param(REGISTERED, id="registered", marks=pytest.mark.long), pytest.param(OPEN, id="not")],
)
def test_an_output_without_a_register_before_it_ends_the_simulation(body):
    simulation = Simulation(
        build_verilog(with_block(body), CONSTANTS), Memory(4096), timing=BusTiming(), cycle_limit=2000
    )
    command = [(1, 64, 1024, 4, 0)]
    if body == REGISTERED:
        assert simulation.execute(command)
    else:
        with pytest.raises(SimulationError, match="an output of a block follows from an input without a"):
            simulation.execute(command)
    simulation.close()


def program(config):
    """A multiply of each format and each type of result, two at a time between loads."""
    families = {(item.mnemonic, item.a_type, item.d_type): item for item in MULTIPLIES}
    legal = {type for family in config.families for type in family.multiplicands}
    for item in families.values():
        if item.a_type in legal:
            yield from (
                load("c", 16, type="f32"),
                Mma(item, d=24, a=0, b=8, c=16),
                Mma(item, d=0, a=8, b=16, c=24),
            )


@pytest.mark.long
@pytest.mark.parametrize("latency", [0, 150])
@pytest.mark.parametrize("config", [TINY, FOUR_WARPS], ids=["tiny", "four warps"])
def test_blocks_and_the_whole_core_take_the_same_cycles(config, latency, tmp_path):
    """A waveform is of the whole core; with a slow memory the units come to rest between multiplies."""
    ends = []
    for options in ({}, {"waves": tmp_path / "whole.fst"}):
        machine = rtl_machine(config=config, timing=BusTiming(latency=latency), **options)
        for command in program(config):
            machine.execute(command)
        ends.append(
            (machine.counters, machine.read_registers(0, config.registers), machine.memory.data.copy())
        )
        machine.close()
    (blocks, registers, data), (whole, *others) = ends
    assert blocks == whole
    for found, expected in zip((registers, data), others, strict=True):
        np.testing.assert_array_equal(found, expected)
