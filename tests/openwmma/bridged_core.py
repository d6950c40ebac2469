"""The bus of a SoC with a simulated core, as a bridge gives access to it, without a serial line."""

import numpy as np

from boards.address_map import INFO, ORIGIN, REGISTER_BYTES, SocInfo
from boards.host.link.bus_link import Link
from golden.memory import Memory
from hdl.config import PAGE_BYTES, CoreConfig
from sim.build import build_core
from sim.simulation import BusTiming, HostRefusal, Simulation

MEMORY_BASE = 0x4000_0000
CLOCK_HZ = 50_000_000
NOTHING = 0xFFFF_FFFF


class BridgedCore:
    """Answers accesses as the bus of LiteX does: what a core refuses reads 0, an empty address all ones.

    Parameters
    ----------
    config : CoreConfig
    memory_bytes : int
        A power of two.

    Attributes
    ----------
    memory : Memory
        From the second page on, where the core sees it; noise at first, as after some other program.
    corrupts : dict of int to int
        What is flipped in words of memory that are read, by their address.
    replaced : dict of int to int
        Words of the bus that read otherwise, by their address.
    """

    def __init__(self, config: CoreConfig, memory_bytes: int) -> None:
        self.info = SocInfo(memory_base=MEMORY_BASE, memory_bytes=memory_bytes, clock_hz=CLOCK_HZ)
        self.memory = Memory(memory_bytes - PAGE_BYTES, PAGE_BYTES)
        noise = np.random.default_rng(1).integers(0, 256, self.memory.size, dtype=np.uint8)
        self.memory.write(PAGE_BYTES, noise)
        self.simulation = Simulation(build_core(config), self.memory, timing=BusTiming())
        self.corrupts: dict[int, int] = {}
        self.replaced: dict[int, int] = {}
        self.closed = 0

    def read(self, addr: int, length: int) -> list[int]:
        """Successive words."""
        return [self._read_word(addr + 4 * word) for word in range(length)]

    def write(self, addr: int, data: list[int]) -> None:
        """Set successive words."""
        for word, value in enumerate(data):
            place = addr + 4 * word
            offset = place - MEMORY_BASE
            if PAGE_BYTES <= offset < self.info.memory_bytes:
                self.memory.write(offset, np.array([value], dtype="<u4").view(np.uint8))
            elif 0 <= place - ORIGIN < REGISTER_BYTES:
                self.simulation.write(place - ORIGIN, np.array([value], dtype=np.uint32))

    def close(self) -> None:
        """Count how often the link was given back."""
        self.closed += 1

    def link(self) -> Link:
        """The host's link to it."""
        return Link(self)

    def _read_word(self, place: int) -> int:
        if place in self.replaced:
            return self.replaced[place]
        if 0 <= place - INFO < 4 * len(self.info.words()):
            return self.info.words()[(place - INFO) // 4]
        if 0 <= place - ORIGIN < REGISTER_BYTES:
            try:
                return int(self.simulation.read(place - ORIGIN, 1)[0])
            except HostRefusal:
                return 0
        offset = place - MEMORY_BASE
        if PAGE_BYTES <= offset < self.info.memory_bytes:
            return int(self.memory.read(offset, 4).view("<u4")[0]) ^ self.corrupts.get(offset, 0)
        return NOTHING
