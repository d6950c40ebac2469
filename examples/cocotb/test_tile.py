"""A testbench of your own: D = A B of one f16 tile on the core, over its host port and its interrupt.

The core stands alone: cocotbext-axi's master drives the registers, its `AxiRam` is the global memory. The
words of the commands come from `hdl.command.encode`, the addresses of the registers from ``core.json``.
"""

import json
import os
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

from golden.tables.commands import Fill, Load, Mma, Store
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.command import encode

DESCRIPTION = json.loads(Path(os.environ["CORE_JSON"]).read_text())
REGISTERS = DESCRIPTION["host"]["registers"]
IDLE, FAULT = 1, 2
"""Bits of INTERRUPT_ENABLE; FAULT is one of STATUS as well."""

SHAPE = Shape(16, 16, 16)
A, B, D = 0x1000, 0x2000, 0x3000
"""Addresses in memory; the fragments lie in registers 0, 8 and 16 on."""


def commands():
    """Load A and B, clear D, multiply, store D: a stride is elements from one row or column to the next."""
    load_a = LoadInstruction(use="a", layout="row", shape=SHAPE, type="f16", space="global")
    load_b = LoadInstruction(use="b", layout="col", shape=SHAPE, type="f16", space="global")
    multiply = MmaInstruction(
        shape=SHAPE, a_layout="row", b_layout="col", a_type="f16", b_type="f16", c_type="f32", d_type="f32"
    )
    store = StoreInstruction(layout="row", shape=SHAPE, type="f32", space="global")
    return [
        Load(load_a, register=0, address=A, stride=16),
        Load(load_b, register=8, address=B, stride=16),
        Fill(register=16, count=8, value=0),
        Mma(multiply, d=16, a=0, b=8, c=16),
        Store(store, register=16, address=D, stride=16),
    ]


class Core:
    """The core between a host and a memory."""

    def __init__(self, dut):
        self.dut = dut
        self.host = AxiLiteMaster(
            AxiLiteBus.from_prefix(dut, "s_axil"), dut.aclk, dut.aresetn, reset_active_level=False
        )
        self.memory = AxiRam(
            AxiBus.from_prefix(dut, "m_axi"), dut.aclk, dut.aresetn, reset_active_level=False, size=1 << 16
        )

    async def start(self):
        """Start the clock and reset the core."""
        cocotb.start_soon(Clock(self.dut.aclk, 10, "ns").start())
        self.dut.aresetn.value = 0
        await ClockCycles(self.dut.aclk, 4)
        self.dut.aresetn.value = 1
        await ClockCycles(self.dut.aclk, 2)

    async def read(self, name):
        """Read a register."""
        return await self.host.read_dword(REGISTERS[name])

    async def write(self, name, value):
        """Write a register."""
        await self.host.write_dword(REGISTERS[name], value)

    async def queue(self, command):
        """Queue a command when there is room: words 1 to 4, then word 0."""
        while not await self.read("STATUS") >> 8:
            pass
        for index, word in reversed(list(enumerate(encode(command)))):
            await self.host.write_dword(REGISTERS["COMMAND"] + 4 * index, word)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_tile(dut):
    """Small integers, so that every sum is exact."""
    core = Core(dut)
    await core.start()
    assert await core.read("IDENTITY") == DESCRIPTION["host"]["identity"]
    row, column = np.indices((16, 16))
    a = (3 * row + 5 * column) % 7 - 3
    b = (2 * row + 3 * column) % 5 - 2
    core.memory.write(A, a.astype("<f2").tobytes())
    core.memory.write(B, b.T.astype("<f2").tobytes())  # column by column

    for command in commands():
        await core.queue(command)
    await core.write("INTERRUPT_ENABLE", IDLE | FAULT)
    if not dut.irq.value:
        await RisingEdge(dut.irq)
    assert not await core.read("STATUS") & FAULT, await core.read("FAULT_CAUSE")
    await core.write("INTERRUPT_ENABLE", 0)
    await ClockCycles(dut.aclk, 2)
    assert not dut.irq.value

    d = np.frombuffer(core.memory.read(D, 16 * 16 * 4), "<f4").reshape(16, 16)
    np.testing.assert_array_equal(d, a @ b)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_fault_raises_the_interrupt(dut):
    """A multiply whose registers the core lacks is refused; clearing the fault lowers the interrupt."""
    core = Core(dut)
    await core.start()
    await core.write("INTERRUPT_ENABLE", FAULT)
    assert not dut.irq.value
    await core.queue(Fill(register=DESCRIPTION["parameters"]["registers"], count=8, value=0))
    await RisingEdge(dut.irq)
    assert await core.read("FAULT_CAUSE") != 0
    await core.write("CONTROL", 1)
    await ClockCycles(dut.aclk, 2)
    assert not dut.irq.value
