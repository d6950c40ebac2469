"""A SoC with registers where LiteX's bus is slow on an FPGA: at the memories and at the host's bridge."""

from collections.abc import Sequence
from typing import Any

from litex.gen import LiteXModule
from litex.soc.integration.soc import LiteXSoC, SoCRegion
from litex.soc.interconnect import wishbone

from boards.gateware.block_memory import BlockMemory


class AnswerRegister(LiteXModule):
    """A register of the answers between a Wishbone bus and one of its masters.

    An answer leaves the choice of a slave and the limit of its time late in the cycle, and a master has its
    control behind it. Latency: 1 cycle. In the cycle in which the master sees its answer, the bus is free.

    Parameters
    ----------
    master : wishbone.Interface
        Of a master that keeps its request until it is answered.

    Attributes
    ----------
    bus : wishbone.Interface
        To the bus, in place of ``master``.
    """

    def __init__(self, master: wishbone.Interface) -> None:
        self.bus = bus = wishbone.Interface.like(master)
        self.comb += master.connect(bus, omit={"cyc", "stb", "ack", "err", "dat_r"})
        self.comb += [
            bus.cyc.eq(master.cyc & ~master.ack & ~master.err),
            bus.stb.eq(master.stb & ~master.ack & ~master.err),
        ]
        self.sync += [
            master.ack.eq(bus.cyc & bus.stb & bus.ack),
            master.err.eq(bus.cyc & bus.stb & bus.err),
            master.dat_r.eq(bus.dat_r),
        ]


class RegisteredSoC(LiteXSoC):
    """Base of a SoC, in front of its LiteX class, with `BlockMemory` and, at the bridge, `AnswerRegister`."""

    def add_ram(
        self, name: str, origin: int, size: int, contents: Sequence[int] = (), mode: str = "rwx"
    ) -> None:
        """Add a memory, as `LiteXSoC.add_ram` does."""
        bus = wishbone.Interface(
            data_width=self.bus.data_width, address_width=self.bus.address_width, addressing="word"
        )
        self.add_module(name=name, module=BlockMemory(size, bus, contents, read_only="w" not in mode))
        self.bus.add_slave(name=name, slave=bus, region=SoCRegion(origin=origin, size=size, mode=mode))

    def init_ram(self, name: str, contents: Sequence[int] = (), auto_size: bool = False) -> None:
        """Fill a memory, as `LiteXSoC.init_ram` does."""
        super().init_ram(name, contents, auto_size)
        getattr(self, name).fill()

    def add_uartbone(self, name: str = "uartbone", **options: Any) -> None:
        """Add the host's bridge, as `LiteXSoC.add_uartbone` does."""
        super().add_uartbone(name, **options)
        self.register_answers(name)

    def register_answers(self, name: str) -> None:
        """Put an `AnswerRegister` between the bus and its master ``name``."""
        register = AnswerRegister(self.bus.masters[name])
        self.add_module(name=f"{name}_answers", module=register)
        self.bus.masters[name] = register.bus
