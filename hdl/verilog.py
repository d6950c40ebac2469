"""From a configuration to one Verilog file, and a description of it for other tools."""

from typing import Any, Final

from hdl.command import COMMAND_WORDS
from hdl.config import CoreConfig
from hdl.control.host import IDENTITY, REGISTERS, VERSION, WINDOW
from hdl.core import Core
from hdl.ports import Port, Top

__all__ = ["TOP", "describe", "generate"]

TOP: Final = "openwmma_core"
"""Name of the top module."""


def generate(config: CoreConfig) -> tuple[str, dict[str, Any]]:
    """Generate the core's Verilog.

    Parameters
    ----------
    config : CoreConfig

    Returns
    -------
    verilog : str
        One file; the same configuration gives the same text.
    description : dict
        Ports, parameters and register map, for `json.dump`.
    """
    core = Core(config)
    top = Top(core)
    top.memory(core.memory, config)
    top.host(core.host)
    top.output("irq", core.irq)
    return top.convert(TOP), describe(config, top.ports)


def describe(config: CoreConfig, ports: dict[str, Port]) -> dict[str, Any]:
    """Describe a core for other tools; the result holds only what JSON can."""
    return {
        "top": TOP,
        "clock": "aclk",
        "reset": {"name": "aresetn", "active": "low", "synchronous": True},
        "parameters": {
            "formats": sorted(config.formats),
            "profile": config.dot_product.profile.name,
            "dot_product_units": config.dot_product_units,
            "double_units": config.double_units,
            "registers": config.registers,
            "queue_depth": config.queue_depth,
            "address_bits": config.address_bits,
            "data_bits": config.data_bits,
            "outstanding_reads": config.outstanding_reads,
        },
        "ports": [
            {"name": name, "direction": port.direction, "width": len(port.signal)}
            for name, port in ports.items()
        ],
        "host": {
            "identity": IDENTITY,
            "version": VERSION,
            "window": WINDOW,
            "command_words": COMMAND_WORDS,
            "registers": dict(REGISTERS),
        },
    }
