"""A preset's core as it is generated, as a design for the testbenches."""

from dataclasses import replace

from hdl.config import PRESETS
from hdl.verilog.core_verilog import TOP as CORE
from hdl.verilog.core_verilog import core_top, describe
from hdl.verilog.modules import Conversion, convert
from sim.build import core_description, core_verilog
from sim.testbench.design import Design
from sim.testbench.unit import TOP, with_axi_ids

__all__ = ["core_design"]


def core_design(preset: str, warps: int = 1, *, count_from: int = 0) -> Design:
    """Make a design of the Verilog that `openwmma verilog` writes, with the ids that AXI bus models want.

    Its counters count from `count_from` after reset.
    """
    config = replace(PRESETS[preset], warps=warps)

    def write(conversion: Conversion) -> str:
        if conversion is convert and not count_from:
            return with_axi_ids(core_verilog(config), CORE, core_description(config)["ports"])
        top = core_top(config, count_from=count_from)
        return with_axi_ids(top.convert(CORE, conversion), CORE, describe(config, top.ports)["ports"])

    parts = [f"core-{preset}", f"{warps}-warps" if warps > 1 else "", "counts" if count_from else ""]
    return Design(name="-".join(filter(None, parts)), top=TOP, write=write)
