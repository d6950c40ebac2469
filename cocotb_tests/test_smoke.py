"""A little of everything on the generated Verilog of each preset, the same in every simulator.

Programs of loads, multiplies of every family of the preset and stores, and each kind of fault; the core
between cocotbext-axi's host and memory, its golden machine beside it.
"""

from typing import Any

import cocotb
import numpy as np
import pytest
from cocotbext.axi import AxiResp

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.core_bench import BASE, SQUARE, CoreBench, start_bench
from cocotb_tests.core_commands import random_stride
from cocotb_tests.core_design import core_design
from golden.tables.commands import Command, Fill, Load, Mma, Move, Store
from golden.tables.faults import Cause
from golden.tables.instruction_set import LAYOUTS, Family
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.config import PRESETS

FIRST = {"a": 0, "b": 8, "c": 16, "d": 24}
"""Registers of the fragments; the smallest preset has no more."""

PLACES = {"a": BASE, "b": BASE + 0x1000, "c": BASE + 0x2000, "d": BASE + 0x3000}


def multiply_of(made: CoreBench, family: Family) -> MmaInstruction:
    """A multiply of a family, its types and qualifiers at random."""
    rng = made.rng
    a_type = rng.choice(family.multiplicands)
    c_type = rng.choice(family.accumulators)
    fixed = family.fixed_layout
    return MmaInstruction(
        mnemonic=family.mnemonic,
        shape=rng.choice(family.shapes),
        a_layout="row" if fixed else rng.choice(LAYOUTS),
        b_layout="col" if fixed else rng.choice(LAYOUTS),
        a_type=a_type,
        b_type=rng.choice(family.multiplicands) if family.mixed else a_type,
        c_type=c_type,
        d_type=c_type if family.same_accumulators else rng.choice(family.accumulators),
        saturate=family.saturate != "never" and rng.random() < 0.5,
        rounding=rng.choice(family.roundings) if family.roundings else None,
        operation=rng.choice(family.operations) if family.operations else None,
    )


def program(made: CoreBench, multiply: MmaInstruction) -> list[Command]:
    """Load A, B and C, multiply, store D: fragments of random bytes, strides longer than they need be.

    `mma` and the tile of `wgmma` have no loads and stores: their operands are what the registers hold.
    """
    commands: list[Command] = []
    types = {"a": multiply.a_type, "b": multiply.b_type, "c": multiply.c_type, "d": multiply.d_type}
    layouts = {"a": multiply.a_layout, "b": multiply.b_layout}
    for use, name in types.items():
        if use == "d":
            commands.append(Mma(multiply, FIRST["d"], FIRST["a"], FIRST["b"], FIRST["c"]))
        if multiply.mnemonic != "wmma":
            continue
        layout = layouts.get(use) or made.rng.choice(LAYOUTS)
        stride = random_stride(made.rng, use, layout, multiply.shape, name)
        if use == "d":
            store = StoreInstruction(layout=layout, shape=multiply.shape, type=name)
            commands.append(Store(store, FIRST[use], PLACES[use], stride))
        else:
            load = LoadInstruction(use=use, layout=layout, shape=multiply.shape, type=name)  # type: ignore[arg-type]
            commands.append(Load(load, FIRST[use], PLACES[use], stride))
    return commands


@cocotb.test
async def families(dut: Any) -> None:
    """Each family once, on operands of random bits."""
    made = await start_bench(dut)
    for family in made.config.families:
        noise = made.bits.integers(0, 256, len(made.bus.memory.data), dtype=np.uint8)
        made.bus.memory.data[:] = made.golden.memory.data[:] = noise
        multiply = multiply_of(made, family)
        assert await made.run(*program(made, multiply), Move(4, FIRST["d"], 2), Fill(0, 1, 7)) is None
        made.compare_memory(multiply)
    await made.compare()


@cocotb.test
async def faults(dut: Any) -> None:
    """Commands that are refused before they begin and by the memory; after each the core works on."""
    made = await start_bench(dut)
    registers = made.config.registers
    load = LoadInstruction(use="a", layout="row", shape=SQUARE, type="f16")
    store = StoreInstruction(layout="row", shape=SQUARE, type="f32")
    refused: list[tuple[Command, Cause]] = [
        (Load(load, 0, BASE + 2), Cause.MISALIGNED_ADDRESS),
        (Store(store, 0, BASE, 19), Cause.MISALIGNED_STRIDE),
        (Fill(registers - 1, 2, 0), Cause.REGISTER_RANGE),
        (Load(load, 0, (1 << made.config.address_bits) - 256), Cause.ADDRESS_RANGE),
    ]
    for command, cause in refused:
        fault = await made.run(Fill(1, 1, made.rng.getrandbits(32)), command, Fill(0, 8, 0xDEAD_BEEF))
        assert fault is not None
        assert fault.cause == cause, command
    made.bus.faults = {BASE + 0x40: AxiResp.SLVERR}
    await made.fail(Load(load, 0, BASE), Cause.READ_SLAVE_ERROR)
    made.bus.faults = {}
    assert await made.run(Load(load, 0, BASE), Store(store, 8, PLACES["d"])) is None
    await made.compare()


def presets(*quick: str) -> list[Any]:
    """All presets; those that are not quick are `long`, and all but the largest one count for coverage."""
    slow = {name: pytest.mark.long if name == "large" else SLOW for name in PRESETS}
    return [pytest.param(name, marks=() if name in quick else slow[name]) for name in PRESETS]


@pytest.mark.parametrize("preset", presets("tiny"))
def test_smoke(simulate: Simulate, preset: str) -> None:
    simulate(core_design(preset), __name__, values={"preset": preset})


@pytest.mark.icarus
@pytest.mark.parametrize("preset", presets("tiny"))
def test_smoke_under_icarus(simulate: Simulate, preset: str) -> None:
    simulate(core_design(preset), __name__, values={"preset": preset})
