"""A preset's core as it is generated, as a design for the testbenches."""

from dataclasses import replace

from hdl.config import PRESETS
from hdl.verilog.core_verilog import TOP as CORE
from hdl.verilog.core_verilog import generate
from hdl.verilog.modules import Conversion, convert
from sim.build import core_description, core_verilog
from sim.testbench.design import Design
from sim.testbench.unit import TOP, with_axi_ids

__all__ = ["core_design"]


def core_design(preset: str, warps: int = 1) -> Design:
    """Make a design of the Verilog that `openwmma verilog` writes, with the ids that AXI bus models want."""
    config = replace(PRESETS[preset], warps=warps)

    def write(conversion: Conversion) -> str:
        text = core_verilog(config) if conversion is convert else generate(config, conversion)[0]
        return with_axi_ids(text, CORE, core_description(config)["ports"])

    return Design(name=f"core-{preset}" + (f"-{warps}-warps" if warps > 1 else ""), top=TOP, write=write)
