"""The core as a module of LiteX: registers on the SoC's bus, memory through LiteDRAM, an interrupt."""

from pathlib import Path
from typing import Any, Final

from litedram.frontend.axi import LiteDRAMAXI2Native
from litex.gen import LiteXModule
from litex.soc.integration.soc import LiteXSoC, SoCRegion
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.axi import AXIInterface, AXILiteInterface
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel
from migen import ClockSignal, Instance, ResetSignal, Signal

from boards.address_map import INFO, INFO_BYTES, ORIGIN, REGISTER_BYTES, SocInfo
from boards.gateware.address_guard import AddressGuard
from hdl.config import CoreConfig
from hdl.verilog.core_verilog import TOP
from sim.build import core_description, core_verilog

_ADDRESS_BITS: Final = 32
_READ_BEATS: Final = 64
"""From LiteDRAM to the core: as many as the longest latency of an SDRAM holds in flight."""

_WRITTEN_BEATS: Final = 16
"""To LiteDRAM: so few that they lie in look-up tables. From a block RAM they would reach the pins late."""


class TensorCore(LiteXModule):
    """An instance of the generated Verilog.

    Parameters
    ----------
    platform : GenericPlatform
        Is given the source file.
    config : CoreConfig
    folder : Path
        Takes ``openwmma_core.v``.

    Attributes
    ----------
    host : AXILiteInterface
        Slave with the host's registers, `boards.address_map.REGISTER_BYTES` long.
    memory : AXIInterface
        Master of `CoreConfig.data_bits` data bits.
    ev : EventManager
        One level event, ``core``: the core's `irq`.
    """

    def __init__(self, platform: Any, config: CoreConfig, folder: Path) -> None:
        self.host = host = AXILiteInterface(data_width=32, address_width=_ADDRESS_BITS)
        self.memory = memory = AXIInterface(data_width=config.data_bits, address_width=_ADDRESS_BITS)
        self.ev = EventManager()
        self.ev.core = EventSourceLevel(description="The core's interrupt, while it is raised.")
        self.ev.finalize()
        ports: dict[str, Any] = {
            "i_aclk": ClockSignal("sys"),
            "i_aresetn": ~ResetSignal("sys"),
            "o_irq": self.ev.core.trigger,
        }
        for port in core_description(config)["ports"]:
            prefix, _, name = port["name"].rpartition("_")
            if not prefix:
                continue
            bus = {"m_axi": memory, "s_axil": host}[prefix]
            channel = name[: 2 if name.startswith("a") else 1]
            signal = getattr(getattr(bus, channel), name.removeprefix(channel))
            if port["direction"] == "input":
                ports[f"i_{port['name']}"] = signal[: port["width"]]
            else:
                # An AXI address of the core may be shorter or longer than one of the bus.
                ports[f"o_{port['name']}"] = driven = Signal(port["width"])
                self.comb += signal.eq(driven)
        self.specials += Instance(TOP, **ports)

        folder.mkdir(parents=True, exist_ok=True)
        source = folder / f"{TOP}.v"
        source.write_text(core_verilog(config))
        platform.add_source(str(source))


def add_tensor_core(soc: LiteXSoC, config: CoreConfig, folder: Path, *, name: str = "openwmma") -> TensorCore:
    """Add a core to a SoC that has its processor, if any, and its memory.

    The registers lie at `boards.address_map.ORIGIN`, and behind them the constants from which the host
    learns the rest of the address map. The memory is the region ``main_ram``: a port of LiteDRAM where
    the SoC has one, otherwise the SoC's bus. Bursts outside it are answered with DECERR.

    Parameters
    ----------
    soc : LiteXSoC
        As the targets of `litex_boards` make it, with ``l2_size=0``.
    config : CoreConfig
        With at most 32 address bits.
    folder : Path
        Takes the core's Verilog.
    name : str
        Of the module, its registers of the interrupt and its regions.

    Returns
    -------
    TensorCore

    Raises
    ------
    ValueError
        For a SoC without ``main_ram``, with a cache in front of it, or too wide an address.
    """
    region = soc.bus.regions.get("main_ram")
    if region is None:
        raise ValueError(f"The SoC must have the region main_ram, not only {', '.join(soc.bus.regions)}")
    if hasattr(soc, "l2_cache"):
        raise ValueError("The SoC must be built with l2_size=0: the core would not see what its cache holds")
    if config.address_bits > _ADDRESS_BITS:
        raise ValueError(f"Address bits must be at most {_ADDRESS_BITS}, not {config.address_bits}")
    core = TensorCore(soc.platform, config, folder)
    soc.add_module(name=name, module=core)
    soc.bus.add_slave(
        name=name, slave=core.host, region=SoCRegion(origin=ORIGIN, size=REGISTER_BYTES, cached=False)
    )
    if soc.irq.enabled:
        soc.irq.add(name, use_loc_if_exists=True)
    size = 1 << int(region.size).bit_length() - 1
    guard = AddressGuard(core.memory, region.origin, size)
    soc.add_module(name=f"{name}_guard", module=guard)
    if hasattr(soc, "sdram"):
        port = soc.sdram.crossbar.get_port(data_width=config.data_bits)
        converter = LiteDRAMAXI2Native(
            guard.slave,
            port,
            w_buffer_depth=_WRITTEN_BEATS,
            r_buffer_depth=_READ_BEATS,
            base_address=region.origin,
        )
        soc.add_module(name=f"{name}_port", module=converter)
    else:
        soc.bus.add_master(name=name, master=guard.slave)
    info = SocInfo(memory_base=region.origin, memory_bytes=size, clock_hz=int(soc.sys_clk_freq))
    rom = wishbone.SRAM(INFO_BYTES, init=info.words(), read_only=True, name=f"{name}_info")
    soc.add_module(name=f"{name}_info", module=rom)
    soc.bus.add_slave(
        name=f"{name}_info",
        slave=rom.bus,
        region=SoCRegion(origin=INFO, size=INFO_BYTES, mode="r", cached=False),
    )
    return core
