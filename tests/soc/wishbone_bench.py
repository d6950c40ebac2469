"""One tile on the core behind Wishbone: a host that knows nothing else, and a memory of single transfers."""

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

from golden.tables.commands import Fill, Load, Mma, Store
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.command import encode
from hdl.control.host.register_map import IDENTITY, REGISTERS

SHAPE = Shape(16, 16, 16)
A, B, D = 0x1000, 0x2000, 0x3000
BEAT = 16


def commands():
    load_a = LoadInstruction(use="a", layout="row", shape=SHAPE, type="f16", space="global")
    load_b = LoadInstruction(use="b", layout="col", shape=SHAPE, type="f16", space="global")
    types = {"a_type": "f16", "b_type": "f16", "c_type": "f32", "d_type": "f32"}
    multiply = MmaInstruction(shape=SHAPE, a_layout="row", b_layout="col", **types)
    store = StoreInstruction(layout="row", shape=SHAPE, type="f32", space="global")
    yield Load(load_a, register=0, address=A, stride=16)
    yield Load(load_b, register=8, address=B, stride=16)
    yield Fill(register=16, count=8, value=0)
    yield Mma(multiply, d=16, a=0, b=8, c=16)
    yield Store(store, register=16, address=D, stride=16)


async def serve(dut, memory):
    """Answer each transfer in the cycle after it was asked for."""
    dut.memory_ack.value = 0
    dut.memory_err.value = 0
    while True:
        await FallingEdge(dut.sys_clk)
        asked = int(dut.memory_cyc.value) and int(dut.memory_stb.value) and not int(dut.memory_ack.value)
        dut.memory_ack.value = int(bool(asked))
        if not asked:
            continue
        place = int(dut.memory_adr.value) * BEAT
        if dut.memory_we.value:
            data = int(dut.memory_dat_w.value).to_bytes(BEAT, "little")
            for byte in range(BEAT):
                if int(dut.memory_sel.value) >> byte & 1:
                    memory[place + byte] = data[byte]
        else:
            dut.memory_dat_r.value = int.from_bytes(memory[place : place + BEAT], "little")


async def access(dut, address, value=None):
    """Write a register, or read it."""
    dut.host_adr.value = address // 4
    dut.host_we.value = int(value is not None)
    dut.host_dat_w.value = value or 0
    dut.host_sel.value = 15
    dut.host_cyc.value = dut.host_stb.value = 1
    while True:
        await FallingEdge(dut.sys_clk)
        if dut.host_ack.value or dut.host_err.value:
            break
    assert not dut.host_err.value, hex(address)
    found = int(dut.host_dat_r.value)
    await FallingEdge(dut.sys_clk)
    dut.host_cyc.value = dut.host_stb.value = 0
    await FallingEdge(dut.sys_clk)
    return found


@cocotb.test
async def one_tile(dut):
    memory = bytearray(1 << 16)
    row, column = np.indices((16, 16))
    a, b = (3 * row + 5 * column) % 7 - 3, (2 * row + 3 * column) % 5 - 2
    memory[A : A + 512] = a.astype("<f2").tobytes()
    memory[B : B + 512] = b.T.astype("<f2").tobytes()
    cocotb.start_soon(Clock(dut.sys_clk, 10, "ns").start())
    for name in ("cyc", "stb", "we", "adr", "dat_w", "sel"):
        getattr(dut, f"host_{name}").value = 0
    cocotb.start_soon(serve(dut, memory))
    dut.sys_rst.value = 1
    await ClockCycles(dut.sys_clk, 4)
    dut.sys_rst.value = 0
    await FallingEdge(dut.sys_clk)
    assert await access(dut, REGISTERS["IDENTITY"]) == IDENTITY
    for command in commands():
        while not await access(dut, REGISTERS["STATUS"]) >> 8:
            pass
        for index, word in reversed(list(enumerate(encode(command)))):
            await access(dut, REGISTERS["COMMAND"] + 4 * index, word)
    await access(dut, REGISTERS["INTERRUPT_ENABLE"], 3)
    while not dut.irq.value:
        await FallingEdge(dut.sys_clk)
    assert not await access(dut, REGISTERS["STATUS"]) & 2
    np.testing.assert_array_equal(np.frombuffer(memory[D : D + 1024], "<f4").reshape(16, 16), a @ b)
