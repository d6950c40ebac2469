"""A preset's core as it is generated, as a design for the testbenches."""

from dataclasses import replace

from hdl.config import PRESETS
from hdl.verilog.core_verilog import TOP, core_top
from hdl.verilog.modules import Conversion, convert
from sim.build import core_verilog
from sim.testbench.design import Design

__all__ = ["core_design"]


def core_design(preset: str, warps: int = 1, *, count_from: int = 0) -> Design:
    """Make a design of the Verilog that `openwmma verilog` writes.

    Its counters count from `count_from` after reset.
    """
    config = replace(PRESETS[preset], warps=warps)

    def write(conversion: Conversion) -> str:
        if conversion is convert and not count_from:
            return core_verilog(config)
        return core_top(config, count_from=count_from).convert(TOP, conversion)

    parts = [f"core-{preset}", f"{warps}-warps" if warps > 1 else "", "counts" if count_from else ""]
    return Design(name="-".join(filter(None, parts)), top=TOP, write=write)
