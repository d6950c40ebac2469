"""The burst router between bursts of random spaces and two memories that answer when they like."""

import random
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

import cocotb
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import StreamMonitor, StreamSource, never, pauses, start
from golden.tables.instruction_set import SPACES
from hdl.config import PAGE_BYTES, CoreConfig
from hdl.memory.burst_router import BurstRouter
from sim.testbench.unit import unit_design

CONFIG: Final = CoreConfig(address_bits=20, shared_bytes=3 * PAGE_BYTES, shared_base=0xF3 * PAGE_BYTES)
BASE, END = CONFIG.shared_base, CONFIG.shared_base + CONFIG.shared_bytes
MOST: Final = 254
"""Bursts that a memory takes without an answer."""


@dataclass(frozen=True)
class Burst:
    """A burst as it is offered."""

    space: str
    address: int
    length: int

    def packed(self) -> int:
        """The bits of the payload."""
        return SPACES.index(self.space) | self.address << 2 | self.length << (2 + CONFIG.address_bits)

    def routed(self) -> tuple[bool, int]:
        """Whether it is for the on-chip memory, and what that memory or the bus is to see."""
        inside = self.space == "generic" and BASE <= self.address < END
        address = self.address - BASE if inside else self.address
        return inside or self.space == "shared", address | self.length << CONFIG.address_bits


def random_burst(rng: random.Random) -> Burst:
    space = rng.choice(SPACES)
    if space == "shared":
        address = rng.randrange(CONFIG.shared_bytes)
    else:
        edges = (0, BASE - 16, BASE, BASE + PAGE_BYTES, END - 16, END, (1 << CONFIG.address_bits) - 16)
        # One bit away from the window, and a power of two behind it.
        bit, inside = 1 << rng.randrange(CONFIG.address_bits), rng.randrange(BASE, END)
        near = (inside ^ bit, (inside + bit) % (1 << CONFIG.address_bits))
        address = rng.choice((*edges, *near, rng.getrandbits(CONFIG.address_bits)))
    return Burst(space, address & ~15 | rng.getrandbits(4), rng.getrandbits(8))


class Bench:
    """Both memories; they record what they take, in the order in which it comes."""

    def __init__(self, dut: Any, share: float, patience: int) -> None:
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        pause = pauses(random.Random(self.rng.random()), share) if share else never()
        self.bursts = StreamSource(dut, "bursts", pause)
        self.monitors = [StreamMonitor(dut, name) for name in ("to_bus", "to_shared")]
        self.taken: list[tuple[bool, int]] = []
        self.cycles: list[int] = []
        self._patience = patience
        self._share = share
        self._owed: deque[tuple[bool, int]] = deque()
        dut.answered.value = dut.to_bus_ready.value = dut.to_shared_ready.value = 0
        cocotb.start_soon(self._memories())

    async def _memories(self) -> None:
        dut, cycle = self.dut, 0
        answering = False
        while True:
            await RisingEdge(dut.aclk)
            cycle += 1
            if self._owed:
                assert bool(dut.is_shared.value) == self._owed[0][0], "another memory answers"
            if answering:
                self._owed.popleft()
            for is_shared, name in ((False, "to_bus"), (True, "to_shared")):
                if getattr(dut, f"{name}_valid").value and getattr(dut, f"{name}_ready").value:
                    others = [burst for burst in self._owed if burst[0] != is_shared]
                    # An answer in this very cycle does not let the other memory's burst pass yet.
                    assert not others, "the other memory still owes answers"
                    self.taken.append((is_shared, int(getattr(dut, f"{name}_payload").value)))
                    self.cycles.append(cycle)
                    self._owed.append((is_shared, cycle + self.rng.randrange(self._patience + 1)))
            answering = bool(self._owed) and self._owed[0][1] <= cycle
            dut.answered.value = answering
            has_room = len(self._owed) < MOST
            for name in ("to_bus", "to_shared"):
                getattr(dut, f"{name}_ready").value = has_room and self.rng.random() >= self._share


async def compare(bench: Bench, bursts: list[Burst]) -> None:
    bench.bursts.put(*(burst.packed() for burst in bursts))
    for _ in range(100 * len(bursts) + 1000):
        if len(bench.taken) == len(bursts):
            break
        await RisingEdge(bench.dut.aclk)
    assert bench.taken == [burst.routed() for burst in bursts]


@cocotb.test
@cocotb.parametrize(share=[0, 0.4], patience=[0, 30])
async def spaces(dut: Any, share: float, patience: int) -> None:
    """Bursts of all spaces, at and beside both ends of the window."""
    bench = Bench(dut, share, patience)
    await start(dut)
    await compare(bench, [random_burst(bench.rng) for _ in range(600)])


@cocotb.test
async def one_burst_per_cycle(dut: Any) -> None:
    """Bursts for one memory do not wait for each other, even with many answers owed; the other one does."""
    bench = Bench(dut, 0, 400)
    await start(dut)
    bursts = [Burst("global", 16 * index, 3) for index in range(MOST - 1)]
    await compare(bench, [*bursts, Burst("shared", 0, 3)])
    assert bench.cycles[-2] - bench.cycles[0] == len(bursts) - 1


def test_burst_router(simulate: Simulate) -> None:
    simulate(unit_design("burst_router", BurstRouter(CONFIG)), __name__)
