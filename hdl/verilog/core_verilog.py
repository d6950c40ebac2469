"""From a configuration to one Verilog file, and a description of it for other tools."""

from dataclasses import fields
from typing import Any, Final

from hdl.command import COMMAND_WORDS
from hdl.config import PRESETS, CoreConfig
from hdl.control.host.register_map import (
    COUNTERS,
    IDENTITY,
    REGISTER_MAP,
    SHARED_WINDOW,
    VERSION,
    WINDOW,
    constants,
)
from hdl.core import Core
from hdl.memory.axi import HOST_ADDRESS_BITS
from hdl.verilog.modules import Conversion, convert
from hdl.verilog.top import Port, Top

TOP: Final = "openwmma_core"
"""Name of the top module."""

_WAIVED: Final = ("CASEINCOMPLETE", "DECLFILENAME", "UNOPTFLAT", "UNUSEDSIGNAL", "VARHIDDEN", "WIDTH")
"""Warnings of Verilator's -Wall that generated Verilog draws by its nature; 5.006 knows all of them."""


def generate(config: CoreConfig, conversion: Conversion = convert) -> tuple[str, dict[str, Any]]:
    """Generate the core's Verilog.

    Parameters
    ----------
    config : CoreConfig
    conversion : Conversion
        As for `Top.convert`.

    Returns
    -------
    verilog : str
        One file of Verilog-2001, without names of other files; the same configuration gives the same text.
    description : dict
        Ports, parameters and register map, for `json.dump`.
    """
    top = core_top(config)
    text = f"{_header(config)}{top.convert(TOP, conversion)}\n// verilator lint_restore\n"
    return text, describe(config, top.ports)


def core_top(config: CoreConfig, *, count_from: int = 0) -> Top:
    """Make a core whose ports have the names of AXI; `Top.convert` and `Top.rtlil` write it."""
    core = Core(config, count_from=count_from)
    top = Top(core)
    top.memory(core.memory, config)
    top.host(core.host)
    top.output("irq", core.irq)
    return top


def describe(config: CoreConfig, ports: dict[str, Port]) -> dict[str, Any]:
    """Describe a core for other tools.

    Parameters
    ----------
    config : CoreConfig
    ports : dict
        Name to `Port`, from `core_top`.

    Returns
    -------
    dict
        Only what JSON can hold. ``preset`` is the name of the configuration, or None; ``presets`` has the
        parameters of all, for those who choose. Of the host's registers there are the byte addresses
        (`hdl.control.host.register_map` says what each means), which of them are 64-bit counters, and what
        the constant ones read.
    """
    return {
        "top": TOP,
        "preset": _preset(config),
        "clock": "aclk",
        "reset": {"name": "aresetn", "active": "low", "synchronous": True},
        "interrupt": "irq",
        "parameters": _parameters(config),
        "ports": [
            {"name": name, "direction": port.direction, "width": len(port.signal)}
            for name, port in ports.items()
        ],
        "host": {
            "identity": IDENTITY,
            "version": VERSION,
            "address_bits": HOST_ADDRESS_BITS,
            "window": WINDOW,
            "shared_window": SHARED_WINDOW,
            "command_words": COMMAND_WORDS,
            "registers": {item.name: item.offset for item in REGISTER_MAP.values() if item.exists(config)},
            "counters": list(COUNTERS),
            "constants": constants(config),
        },
        "presets": {name: _parameters(preset) for name, preset in PRESETS.items()},
    }


def _parameters(config: CoreConfig) -> dict[str, Any]:
    sizes = {item.name: getattr(config, item.name) for item in fields(config)}
    for name in ("dot_product", "f64_depth", "sparse", "mxf4"):  # the last two are among the formats
        del sizes[name]
    return {"formats": sorted(config.formats), "profile": config.dot_product.profile.name, **sizes}


def _preset(config: CoreConfig) -> str | None:
    return next((name for name, preset in PRESETS.items() if preset == config), None)


def _header(config: CoreConfig) -> str:
    title = f"preset {name}" if (name := _preset(config)) else "a configuration of its own"
    parameters = "".join(
        f"//   {name}: {', '.join(value) if isinstance(value, list) else value}\n"
        for name, value in _parameters(config).items()
    )
    waived = "".join(f"// verilator lint_off {name}\n" for name in _WAIVED)
    return f"""\
// {TOP}, {title}:
{parameters}\
// Clock aclk; reset aresetn, synchronous, active low. m_axi_ is an AXI4 master to global memory, s_axil_
// an AXI4-Lite slave with the host's registers. The other modules are named after their place in the core.
// Verilog-2001 for any synthesis; Verilator must be 5.006 or newer, Icarus Verilog 11.0.
// verilator lint_save
{waived}
"""
