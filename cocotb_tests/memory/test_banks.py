"""Loads and stores that share one memory of banks."""

import random
from typing import Any

import cocotb
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import Combine, RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.memory.test_load_crossbar import Bench as Loads
from cocotb_tests.memory.test_store_crossbar import Bench as Stores
from cocotb_tests.streams import start
from golden.tables.instruction_set import Shape
from hdl.config import PRESETS
from hdl.memory.banks import Banks
from hdl.memory.beats import access_layout
from hdl.memory.load_crossbar import LoadCrossbar
from hdl.memory.store_crossbar import StoreCrossbar, stored_layout
from hdl.registers.register_ports import QUAD_BITS
from sim.testbench.unit import unit_design

CONFIG = PRESETS["small"]


class Crossbars(wiring.Component):
    """Both crossbars and their banks; some ports of the one for stores have a prefix."""

    def __init__(self) -> None:
        self.load = LoadCrossbar(CONFIG)
        self.store = StoreCrossbar(CONFIG)
        loads = {name: member for name, member in self.load.signature.members.items() if name != "banks"}
        super().__init__(
            {
                **loads,
                "quad": self.store.signature.members["quad"],
                "data": In(QUAD_BITS),
                "freed": Out(1),
                "hold": Out(1),
                "store_access": In(stream.Signature(access_layout(CONFIG))),
                "store_beats": Out(stream.Signature(stored_layout(CONFIG))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        m.submodules.load, m.submodules.store = load, store = self.load, self.store
        m.submodules.banks = banks = Banks(CONFIG, 2)
        connect(m, store.banks, banks.users[0])
        connect(m, load.banks, banks.users[1])
        connect(m, flipped(self.access), load.access)
        connect(m, flipped(self.beats), load.beats)
        connect(m, load.words, flipped(self.words))
        connect(m, flipped(self.store_access), store.access)
        connect(m, store.beats, flipped(self.store_beats))
        m.d.comb += [store.quad.eq(self.quad), store.data.eq(self.data), self.freed.eq(store.freed)]
        m.d.comb += self.hold.eq(store.hold)
        return m


async def both(dut: Any, share: float) -> tuple[Loads, Stores]:
    loads, stores = Loads(dut, share), Stores(dut, share, prefix="store_")
    await start(dut)
    return loads, stores


@cocotb.test
async def each_gets_its_own(dut: Any) -> None:
    """Every load and store in random order, side by side, with random backpressure."""
    loads, stores = await both(dut, 0.25)
    rng = random.Random(cocotb.RANDOM_SEED)
    order = loads.rows * 2
    rng.shuffle(order)
    words = [word for row in order for word in loads.put(loads.placed(row), 0.005)]
    order = stores.rows * 2
    rng.shuffle(order)
    beats = [beat for row in order for beat in stores.put(stores.placed(row))]
    await Combine(cocotb.start_soon(loads.check(words)), cocotb.start_soon(stores.check(beats)))


@cocotb.test
async def stores_take_what_loads_leave(dut: Any) -> None:
    """Loads are as fast as alone, a beat or a word a cycle; stores add a cycle for each of their beats."""
    loads, stores = await both(dut, 0)
    row = ("c", "f32", Shape(16, 16, 16), "row")
    placed = [loads.placed(row) for _ in range(12)]
    words = [word for load in placed for word in loads.put(load)]
    alone = max(len(words), sum(len(load.beats) for load in placed))
    beats = [beat for _ in range(4) for beat in stores.put(stores.placed(row))]
    elapsed = 0
    while len(loads.sink.received) < len(words):
        await RisingEdge(dut.aclk)
        elapsed += 1
    assert elapsed <= alone + 64 + 16, elapsed
    while len(stores.sink.received) < len(beats):
        await RisingEdge(dut.aclk)
        elapsed += 1
    assert elapsed <= alone + len(beats) + 2 * 64 + 32, elapsed
    await loads.check(words)
    await stores.check(beats)


def test_banks(simulate: Simulate) -> None:
    simulate(unit_design("banks", Crossbars()), __name__, values={"preset": "small"})
