"""Drives one stage of the f64 unit: an operation per cycle, results a fixed number of cycles later."""

from collections.abc import Mapping, Sequence
from typing import Any

from cocotb.triggers import RisingEdge

from cocotb_tests.streams import start

__all__ = ["run_stage"]

Ports = Mapping[str, int]


async def run_stage(
    dut: Any,
    operations: Sequence[Ports],
    outputs: Sequence[str],
    latency: int,
) -> list[dict[str, int]]:
    """Send operations one per cycle and return what the outputs show `latency` cycles after each.

    Parameters
    ----------
    dut : handle
    operations : sequence of mapping
        Field of the input to value.
    outputs : sequence of str
        Fields of the output to be read.
    latency : int
        Cycles from an operation to its outputs.
    """
    await start(dut)
    results = []
    for cycle in range(len(operations) + latency):
        for name in operations[0]:
            value = operations[cycle][name] if cycle < len(operations) else 0
            getattr(dut, f"input_{name}").value = value
        await RisingEdge(dut.aclk)
        if cycle >= latency:
            results.append({name: int(getattr(dut, f"output_{name}").value) for name in outputs})
    return results
