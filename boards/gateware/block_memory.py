"""Memories of the processor on a board: no choice between block RAMs follows them, but a register."""

from collections.abc import Sequence
from types import SimpleNamespace

from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import READ_FIRST, Cat, Memory, Signal

_READ_ONLY_BITS = 2
"""Width of a ROM's memories. A block RAM of the ECP5 holds 8192 words of so many bits, and the BIOS has 6400
words; of one memory of 32 bits yosys makes block RAMs of 512 words, with a choice of twelve behind them."""

_BYTE_BITS = 8


class BlockMemory(LiteXModule):
    """A RAM or ROM on a Wishbone bus, in place of `litex.soc.interconnect.wishbone.SRAM`.

    Block RAMs are slow, and far from the masters of the bus.

    Throughput: one word every 3 cycles. Latency: 2 cycles.

    Parameters
    ----------
    size : int
        In bytes.
    bus : wishbone.Interface
        Addressed in words, without bursts.
    words : sequence of int
        Contents; the rest reads as zero.
    read_only : bool

    Attributes
    ----------
    mem
        Size and contents in words, as ``depth`` and ``init``, which LiteX sets when it has compiled the BIOS.
        `fill` brings them into the memories.
    """

    def __init__(
        self, size: int, bus: wishbone.Interface, words: Sequence[int] = (), *, read_only: bool
    ) -> None:
        self.bus = bus
        self.mem = SimpleNamespace(init=words, depth=size * 8 // bus.data_width)
        self._memories = []
        asked, reading, read = bus.cyc & bus.stb, Signal(), []
        self._bits = _READ_ONLY_BITS if read_only else _BYTE_BITS
        for low in range(0, bus.data_width, self._bits):
            memory = Memory(self._bits, self.mem.depth)
            # In this mode LiteX describes a register behind the memory, and no register of the address.
            port = memory.get_port(write_capable=not read_only, mode=READ_FIRST)
            self.specials += memory, port
            self.comb += port.adr.eq(bus.adr[: len(port.adr)])
            if not read_only:
                self.comb += [
                    port.dat_w.eq(bus.dat_w[low : low + self._bits]),
                    port.we.eq(asked & bus.we & bus.sel[low // _BYTE_BITS]),
                ]
            self._memories.append(memory)
            read.append(port.dat_r)
        self.sync += [
            reading.eq(asked & ~reading & ~bus.ack),
            bus.ack.eq(asked & reading),
            bus.dat_r.eq(Cat(*read)),
        ]
        self.fill()

    def fill(self) -> None:
        """Give each memory its bits of the words of `mem`."""
        for place, memory in enumerate(self._memories):
            memory.depth = self.mem.depth
            memory.init = [word >> self._bits * place & (1 << self._bits) - 1 for word in self.mem.init]
