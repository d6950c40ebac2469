"""The example that comes with a core's Verilog: everything done through the host port alone."""

from typing import Any

import cocotb
import numpy as np
import pytest
from cocotbext.axi import AxiResp

from cocotb_tests.conftest import Simulate
from cocotb_tests.host_port import HostPort
from cocotb_tests.streams import start
from golden.memory import Memory
from golden.tables.commands import Command, Load, Mma, Store
from golden.tables.instruction_set import Shape
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from golden.warp import GoldenMachine
from hdl.command import encode
from hdl.config import PRESETS
from hdl.verilog.example import EXAMPLE, generate_example
from sim.build import core_description, core_verilog
from sim.testbench.design import Design

CONFIG = PRESETS["tiny"]
SHAPE = Shape(16, 16, 16)
PLACE = 0x1_0FC0  # the memory of 64 KiB repeats, and bursts cross its end
MEMORY_BYTES = 1 << 16


def commands() -> list[Command]:
    """Store registers 0 to 7, load them as A, B and C in other layouts, multiply into 0 to 7."""
    store = StoreInstruction(layout="row", shape=SHAPE, type="f32")
    loads = [
        Load(LoadInstruction(use="a", layout="row", shape=SHAPE, type="f16"), 8, PLACE, 32),
        Load(LoadInstruction(use="b", layout="row", shape=SHAPE, type="f16"), 16, PLACE + 0x40),
        Load(LoadInstruction(use="c", layout="col", shape=SHAPE, type="f32"), 24, PLACE, 24),
    ]
    multiply = MmaInstruction(
        shape=SHAPE, a_layout="row", b_layout="row", a_type="f16", b_type="f16", c_type="f32", d_type="f32"
    )
    return [Store(store, 0, PLACE, 24), *loads, Mma(multiply, 0, 8, 16, 24)]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def from_registers_to_memory_and_back(dut: Any) -> None:
    host = HostPort(dut)
    await start(dut)
    await host.set("INTERRUPT_ENABLE", 1)
    golden = GoldenMachine(
        registers=CONFIG.registers, memory=Memory(2 * MEMORY_BYTES, 0), formats=CONFIG.formats
    )
    noise = np.random.default_rng(cocotb.RANDOM_SEED)
    values = noise.standard_normal((8, 2 * LANES)).astype(np.float16).view(np.uint32)
    golden.write_registers(0, values)
    for register, lane in np.ndindex(values.shape):
        await host.write_lane(register, lane, int(values[register, lane]))
    for command in commands():
        golden.execute(command)
        await host.push(encode(command))
        while await host.get("STATUS") & 1:
            pass
    assert dut.irq.value
    assert await host.get("FAULT_CAUSE") == 0
    expected = golden.read_registers()
    assert not np.array_equal(expected[:8], values), "the result is to be another"
    for register, lane in np.ndindex(values.shape):
        word = await host.read_lane(register, lane)
        assert word == (expected[register, lane], AxiResp.OKAY), (register, lane)


@pytest.mark.icarus
def test_example(simulate: Simulate) -> None:
    text = core_verilog(CONFIG) + generate_example(core_description(CONFIG))
    simulate(Design.of_text("example-tiny", text, EXAMPLE), __name__)
