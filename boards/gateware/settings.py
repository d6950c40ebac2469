"""What the SoCs of all boards have in common, as `litex.soc.integration.soc_core.SoCCore` takes it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

SETTINGS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "cpu_type": "vexriscv",
        "cpu_variant": "standard",
        "integrated_rom_size": 0x1_0000,
        "integrated_sram_size": 0x2000,
        "uart_name": "crossover",
        "uart_baudrate": 1_000_000,
        "with_uartbone": True,
        "bus_timeout": 1 << 14,
        "l2_size": 0,
        "timer_uptime": True,
    }
)
"""The serial line belongs to the host's bridge; the processor's console goes over it as registers. There is
no second-level cache, as the core reads the memory beside it."""
