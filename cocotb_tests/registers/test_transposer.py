"""The transposer against the golden machine's `movmatrix`."""

import random
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.register_ports import RegisterPorts
from cocotb_tests.streams import StreamSource, pauses, start
from golden.matrix_moves import movmatrix
from golden.tables.layouts import LANES
from hdl.config import QUADS, CoreConfig
from hdl.registers.mover import MoveRequest
from hdl.registers.transposer import Transposer
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design


def config_of(units: int) -> CoreConfig:
    """With as many registers as their numbers allow."""
    return CoreConfig(registers=256, warps=8, dot_product_units=units)


@cocotb.test
@cocotb.parametrize(share=[0.0, 0.4])
async def random_moves(dut: Any, share: float) -> None:
    """Registers anywhere, a third of them onto themselves; requests offered while others are at work."""
    config = config_of(parameters()["units"])
    rng = random.Random(cocotb.RANDOM_SEED)
    registers = RegisterPorts(dut, config, pauses(rng, share), pauses(rng, share))
    values = np.random.default_rng(cocotb.RANDOM_SEED).integers(0, 1 << 32, (config.all_registers, LANES))
    expected = values.astype(np.uint32)
    registers.values[:] = expected
    await start(dut)
    source = StreamSource(dut, "request", pauses(rng, share))
    count, done, cycles = 40, 0, 0
    written = []
    for _ in range(count):
        destination, other = (rng.randrange(config.all_registers) for _ in range(2))
        place = destination if rng.random() < 0.3 else other
        expected[destination] = movmatrix(expected[place])
        ignored = {"is_move": rng.getrandbits(1), "count": rng.getrandbits(9), "value": rng.getrandbits(32)}
        fields = {"transposes": 1, "destination": destination, "source": place, **ignored}
        source.put(int(MoveRequest.const(fields).as_bits()))
        for quad in range(QUADS):
            word, within = divmod(QUADS * destination + quad, config.word_quads)
            written.append((word, 0b1111 << 4 * within))
    while done < count:
        await RisingEdge(dut.aclk)
        done += int(dut.done.value)
        cycles += 1
        assert cycles < 400 * count, "no end"
    await RisingEdge(dut.aclk)
    assert np.array_equal(registers.values, expected)
    assert registers.reads == QUADS * count
    assert registers.written == written, "each row once, in order"
    cocotb.log.info(f"{cycles / count:.1f} cycles each")
    if share == 0:
        assert cycles <= 86 * count


@pytest.mark.parametrize("units", [1, 4, 16])
def test_transposer(simulate: Simulate, units: int) -> None:
    design = unit_design(f"transposer_{units}", Transposer(config_of(units)))
    simulate(design, __name__, values={"units": units})
