"""Addresses of rows: read from a register, checked, and handed to loads and stores once their move starts."""

import random
from itertools import cycle, product
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.register_ports import RegisterPorts
from cocotb_tests.streams import StreamSink, pauses, reset, start
from golden.tables.faults import Cause
from hdl.config import CoreConfig
from hdl.memory.row_addresses import RowAddresses, RowRequest
from sim.testbench.unit import unit_design

_LANES = 4
_ALWAYS_ROOM = 32
"""Rows in flight with which another move still has room: half of what is kept."""

CONFIG = CoreConfig(
    address_bits=24, shared_bytes=4096, shared_base=0, dot_product_units=4, registers=256, warps=8
)


def expected_cause(addresses: list[int]) -> int:
    if any(address % 16 for address in addresses):
        return Cause.MISALIGNED_ADDRESS
    return Cause.ADDRESS_RANGE if any(address >> CONFIG.address_bits for address in addresses) else 0


@cocotb.test
@cocotb.parametrize(share=[0.0, 0.5, 0.85])
async def random_moves(dut: Any, share: float) -> None:
    """Good and bad addresses, moves that start or do not, takers that pause until all is full, resets."""
    rng = random.Random(cocotb.RANDOM_SEED)
    registers = RegisterPorts(dut, CONFIG, pauses(rng, min(share, 0.5)))
    sinks = {name: StreamSink(dut, name, pauses(rng, share)) for name in ("load_rows", "store_rows")}
    expected: dict[str, list[int]] = {name: [] for name in sinks}
    dut.start.value = dut.keep.value = 0
    await start(dut)
    edge = RisingEdge(dut.aclk)
    causes = set()
    # A single bit at fault, in each place of a quad and each bit in turn.
    low = cycle(product(range(_LANES), range(4)))
    high = cycle(product(range(_LANES), range(CONFIG.address_bits, 32)))
    for number in range(360):
        if number % 36 == 0:
            await reset(dut)
            for name, sink in sinks.items():
                assert sink.received == expected[name][: len(sink.received)]
                sink.received.clear()
                expected[name].clear()
        count_log2, is_store = rng.randrange(3), rng.random() < 0.5
        rows = 8 << count_log2
        addresses = [16 * rng.randrange(1 << CONFIG.address_bits - 4) for _ in range(32)]
        for flaws, turn in ((low, number % 3 == 0), (high, number % 3 == 1)):
            if turn or rng.random() < 0.1:
                lane, bit = next(flaws)
                addresses[_LANES * rng.randrange(rows // _LANES) + lane] |= 1 << bit
        for lane in range(rows, 32):
            addresses[lane] = rng.getrandbits(32)
        register = rng.randrange(CONFIG.all_registers)
        registers.values[register] = np.array(addresses, dtype=np.uint32)
        fields = {"register": register, "count_log2": count_log2, "is_store": is_store}
        dut.request.value = int(RowRequest.const(fields).as_bits())
        kept, received = (
            sum(map(len, item)) for item in (expected.values(), (s.received for s in sinks.values()))
        )
        if kept - received <= _ALWAYS_ROOM:
            assert dut.room.value
        while not dut.room.value:
            await edge
        dut.start.value = 1
        await edge
        dut.start.value = 0
        for _ in range(200):
            await edge
            if dut.done.value:
                break
        else:
            raise AssertionError("the addresses were never read")
        cause = int(dut.cause.value)
        assert cause == expected_cause(addresses[:rows])
        causes.add(cause)
        for _ in range(rng.randrange(3)):
            await edge
        if not cause and rng.random() < 0.8:
            dut.keep.value = 1
            expected["store_rows" if is_store else "load_rows"] += addresses[:rows]
            await edge
            dut.keep.value = 0
        await edge
    assert causes == {0, Cause.MISALIGNED_ADDRESS, Cause.ADDRESS_RANGE}
    for name, sink in sinks.items():
        assert await sink.take(len(expected[name])) == expected[name]
    for _ in range(20):
        await edge
    assert not any(sink.received for sink in sinks.values())


def test_row_addresses(simulate: Simulate) -> None:
    simulate(unit_design("row_addresses", RowAddresses(CONFIG)), __name__)
