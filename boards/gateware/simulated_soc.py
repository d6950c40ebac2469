"""The SoC of a board for LiteX's simulation: processor, bus, LiteDRAM on a memory model, UART and core."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from litedram import modules
from litedram.phy.model import SDRAMPHYModel, sdram_module_nphases
from litex.build.generic_platform import Pins, Subsignal
from litex.build.io import CRG
from litex.build.sim import SimPlatform
from litex.soc.cores.uart import RS232PHYModel, UARTBone
from litex.soc.integration.soc_core import SoCCore

from boards.boards import Board
from boards.gateware.core import add_tensor_core
from boards.gateware.registered_soc import RegisteredSoC
from boards.gateware.settings import SETTINGS
from hdl.verilog.core_verilog import TOP
from sim.verilate import tracing_named

CONSOLE: Final = 0
BRIDGE: Final = 1
"""Numbers of the serial lines."""

_BYTES: Final = tuple(
    Subsignal(f"{end}_{name}", Pins(width))
    for end in ("source", "sink")
    for name, width in (("valid", 1), ("ready", 1), ("data", 8))
)
"""A serial line without its bits: a stream of bytes in each direction."""


class SimulatedSoc(RegisteredSoC, SoCCore):
    """A board's SoC with models in place of its pins.

    It has two serial lines: the host's bridge, and the processor's console, which a board has as registers
    behind the bridge.

    Parameters
    ----------
    board : Board
    folder : Path
        Takes the core's Verilog.
    program : sequence of int
        Words from the beginning of the memory on, which the BIOS starts.
    """

    def __init__(self, board: Board, folder: Path, program: Sequence[int]) -> None:
        pins: list[Any] = [("sys_clk", 0, Pins(1)), ("sys_rst", 0, Pins(1))]
        pins += [("serial", number, *_BYTES) for number in (CONSOLE, BRIDGE)]
        platform = SimPlatform("SIM", pins)
        self.crg = CRG(platform.request("sys_clk"))
        clock = board.clock_hz
        super().__init__(
            platform,
            clock,
            ident=f"openwmma on a simulated {board.title}",
            **{**SETTINGS, "with_uartbone": False, "uart_name": "sim"},
        )
        memory = getattr(modules, board.memory.module)
        module = memory(clock, f"1:{sdram_module_nphases[memory.memtype]}")
        self.sdrphy = SDRAMPHYModel(
            module, data_width=board.memory.data_bits, clk_freq=clock, init=list(program)
        )
        self.add_sdram("sdram", phy=self.sdrphy, module=module, l2_cache_size=0)
        self.core = add_tensor_core(self, board.core, folder)
        source = folder / f"{TOP}.v"
        source.write_text(tracing_named(source.read_text()))
        phy = RS232PHYModel(platform.request("serial", BRIDGE))
        self.bridge = UARTBone(phy, clock, address_width=self.bus.address_width)
        self.bus.add_master(name="bridge", master=self.bridge.wishbone)
        self.register_answers("bridge")
        for name in ("BIOS_NO_PROMPT", "BIOS_NO_DELAYS", "BIOS_NO_CRC"):
            self.add_config(name)
        self.add_constant("SDRAM_TEST_DISABLE")
        self.add_constant("ROM_BOOT_ADDRESS", self.mem_map["main_ram"])
        platform.add_debug(self)
