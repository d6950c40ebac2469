"""What the testbenches of the host interface share: its inputs at rest, and accesses by its pins."""

import random
from dataclasses import replace
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from cocotb_tests.host_port import HostPort
from cocotb_tests.streams import start
from hdl.config import PRESETS, CoreConfig
from hdl.control.host import HostInterface
from sim.testbench.design import Design
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

__all__ = [
    "CLOCK_PS",
    "CONFIGS",
    "COUNTERS",
    "COUNT_FROM",
    "INCREMENTS",
    "accepted",
    "at_rest",
    "configuration",
    "host_design",
    "host_of",
    "read_by_hand",
]

CONFIGS = {preset: replace(config, warps=1, wgmma=False) for preset, config in PRESETS.items()}
"""By preset, with one warp; `test_host_warps` has several."""
CLOCK_PS = 10_000
INCREMENTS = {
    "CYCLES": "busy",
    "DOT_PRODUCT_CYCLES": "busy_units",
    "READ_BEATS": "read_beat",
    "WRITE_BEATS": "write_beat",
    "STALL_REGISTERS": "stall_registers",
    "STALL_MEMORY": "stall_memory",
    "STALL_UNIT": "stall_unit",
    "QUEUE_EMPTY_CYCLES": "queue_empty",
}
"""The counters that count, and what each counts."""
INPUTS = ("cause", "executed", "progress", "shared_ready", *INCREMENTS.values())
COUNTERS = ("INSTRUCTIONS", *INCREMENTS)
COUNT_FROM = (1 << 63) - 100
"""The counters start with this, so that a carry passes through all their bits."""


def configuration() -> CoreConfig:
    return CONFIGS[parameters()["preset"]]


def host_design(preset: str) -> Design:
    """The host interface of a preset."""
    return unit_design(f"host-{preset}", HostInterface(CONFIGS[preset], count_from=COUNT_FROM))


async def host_of(dut: Any, pause: float = 0.2) -> tuple[HostPort, random.Random]:
    """The host port, with every input of the unit at rest and random waits."""
    rng = random.Random(cocotb.RANDOM_SEED)
    for name in INPUTS:
        getattr(dut, name).value = 0
    dut.commands_0_ready.value = 0
    dut.read_ready.value = 0
    dut.write_ready.value = 0
    host = HostPort(dut)
    host.pause(rng, pause)
    await start(dut)
    return host, rng


def at_rest(dut: Any) -> None:
    """Drive all inputs by hand, without the bus model."""
    for name in (*INPUTS, "commands_0_ready", "read_ready", "write_ready"):
        getattr(dut, name).value = 0
    for name in ("awvalid", "wvalid", "bready", "arvalid", "rready"):
        getattr(dut, f"s_axil_{name}").value = 0


async def accepted(dut: Any, *channels: str) -> None:
    """Offer the channels of an access until the host takes them, in the same cycle."""
    for channel in channels:
        getattr(dut, f"s_axil_{channel}valid").value = 1
    await RisingEdge(dut.aclk)
    while not all(getattr(dut, f"s_axil_{channel}ready").value for channel in channels):
        await RisingEdge(dut.aclk)
    for channel in channels:
        getattr(dut, f"s_axil_{channel}valid").value = 0


async def read_by_hand(dut: Any, address: int) -> tuple[int, int]:
    """Response and data."""
    dut.s_axil_araddr.value, dut.s_axil_rready.value = address, 1
    await accepted(dut, "ar")
    while not dut.s_axil_rvalid.value:
        await RisingEdge(dut.aclk)
    answer = int(dut.s_axil_rresp.value), int(dut.s_axil_rdata.value)
    await RisingEdge(dut.aclk)
    return answer
