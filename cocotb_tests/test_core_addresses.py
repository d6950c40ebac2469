"""A core asked for addresses all over, and its host for registers: nothing is there, and nothing happens."""

import cocotb
import pytest
from cocotbext.axi import AxiResp

from cocotb_tests.conftest import Simulate
from cocotb_tests.core_bench import SQUARE, CoreBench
from cocotb_tests.core_design import core_design
from golden.tables.commands import Command, Load, Store
from golden.tables.faults import Cause
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from hdl.config import PRESETS
from hdl.memory.axi import HOST_ADDRESS_BITS
from sim.testbench.parameters import parameters

ALIGNMENT = 32
FRAGMENT_BYTES = 512
NOWHERE = 1 << 20
"""Behind the memory."""
UNUSED = 1 << 16
"""Behind the registers of the host and the window onto the fragments' registers."""


@cocotb.test
async def memory(dut: object) -> None:
    """The bus sees every bit of an address, and the decode error ends the command."""
    config = PRESETS[parameters()["preset"]]
    made = CoreBench(dut, config)
    await made.start()
    load = LoadInstruction(use="a", layout="row", shape=SQUARE, type="f16")
    store = StoreInstruction(layout="row", shape=SQUARE, type="f16")
    end = (1 << config.address_bits) - FRAGMENT_BYTES
    for number in range(24):
        address = made.rng.randrange(NOWHERE, end + 1, ALIGNMENT)
        bursts = made.checker.write_bursts if number % 2 else made.checker.read_bursts
        bursts.clear()
        command: Command = Store(store, 0, address) if number % 2 else Load(load, 0, address)
        fault = await made.run(command)
        assert fault is not None
        assert fault.cause == (Cause.WRITE_DECODE_ERROR if number % 2 else Cause.READ_DECODE_ERROR)
        first, _ = bursts[0]
        assert first == address
    await made.compare()


@cocotb.test
async def registers(dut: object) -> None:
    """What the host reads and writes where nothing is, is refused."""
    made = CoreBench(dut, PRESETS[parameters()["preset"]])
    await made.start()
    for _ in range(40):
        address = made.rng.randrange(UNUSED, 1 << HOST_ADDRESS_BITS, 4)
        assert (await made.host.read_word(address))[1] == AxiResp.SLVERR, hex(address)
        assert await made.host.write_word(address, made.rng.getrandbits(32)) == AxiResp.SLVERR, hex(address)
    await made.compare()


@pytest.mark.parametrize("preset", ["tiny"])
def test_core_addresses(simulate: Simulate, preset: str) -> None:
    simulate(core_design(preset), __name__, values={"preset": preset})
