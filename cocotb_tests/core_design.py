"""A preset's core as it is generated, as a design for the testbenches."""

from cocotb_tests.runner import Design
from cocotb_tests.unit import TOP, with_axi_ids
from hdl.config import PRESETS
from hdl.verilog.core_verilog import TOP as CORE
from sim.build import core_description, core_verilog

__all__ = ["core_design"]


def core_design(preset: str) -> Design:
    """Make a design of the Verilog that `openwmma verilog` writes, with the ids that AXI bus models want."""
    config = PRESETS[preset]
    text = with_axi_ids(core_verilog(config), CORE, core_description(config)["ports"])
    return Design(name=f"core-{preset}", verilog=text, top=TOP)
