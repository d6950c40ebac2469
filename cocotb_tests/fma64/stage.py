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
    late: Mapping[str, int] | None = None,
) -> list[dict[str, int]]:
    """Send operations one per cycle and return what the outputs show `latency` cycles after each.

    Parameters
    ----------
    dut : handle
    operations : sequence of mapping
        Port name to value.
    outputs : sequence of str
        Ports to be read.
    latency : int
        Cycles from an operation's first inputs to its outputs.
    late : mapping or None
        Inputs that take their value some cycles after the others.
    """
    late = late or {}
    await start(dut)
    results = []
    for cycle in range(len(operations) + latency):
        for name in operations[0]:
            index = cycle - late.get(name, 0)
            getattr(dut, name).value = operations[index][name] if 0 <= index < len(operations) else 0
        await RisingEdge(dut.aclk)
        if cycle >= latency:
            results.append({name: int(getattr(dut, name).value) for name in outputs})
    return results
