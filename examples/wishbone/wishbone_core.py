"""The core behind Wishbone, by LiteX's bridges: ``python wishbone_core.py FOLDER``.

The folder gets ``openwmma_core.v``, the core of preset tiny, and ``wishbone_core.v``, the module around it: a
Wishbone slave of 32 bits for the registers, a master of 128 bits for memory, and `irq`. Addresses count words
of their port.
"""

import sys
from pathlib import Path

from litex.build.generic_platform import GenericPlatform
from litex.gen import LiteXModule
from litex.gen.fhdl import verilog
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.axi import AXI2Wishbone, Wishbone2AXILite
from migen import ClockDomain, Signal

from boards.gateware.core import TensorCore
from hdl.config import PRESETS


class WishboneCore(LiteXModule):
    """A core whose AXI4-Lite slave and AXI4 master became Wishbone."""

    def __init__(self, platform, config, folder):
        self.host = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.memory = wishbone.Interface(data_width=config.data_bits, address_width=32, addressing="word")
        self.irq = Signal()
        self.cd_sys = ClockDomain("sys")
        self.core = core = TensorCore(platform, config, folder)
        self.host_bridge = Wishbone2AXILite(self.host, core.host)
        self.memory_bridge = AXI2Wishbone(core.memory, self.memory)
        self.comb += self.irq.eq(core.ev.core.trigger)

    def ports(self):
        """What becomes a port of the module."""
        names = ("adr", "dat_w", "dat_r", "sel", "cyc", "stb", "ack", "we", "err")
        buses = {getattr(bus, name) for bus in (self.host, self.memory) for name in names}
        return {self.cd_sys.clk, self.cd_sys.rst, self.irq, *buses}


folder = Path(sys.argv[1])
module = WishboneCore(GenericPlatform("", [], name="verilog"), PRESETS["tiny"], folder)
(folder / "wishbone_core.v").write_text(str(verilog.convert(module, module.ports(), name="wishbone_core")))
