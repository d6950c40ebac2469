"""Driver and checker of one pipeline stage: a struct in, a struct out, a fixed latency, no flow control."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cocotb.triggers import FallingEdge

from cocotb_tests.streams import start

__all__ = ["check_stage", "join", "split"]


def join(values: Iterable[int], bits: int) -> int:
    """The bits of an array port: elements of `bits` bits, ascending from the low ones."""
    word = 0
    for index, value in enumerate(values):
        word |= (value & ((1 << bits) - 1)) << (index * bits)
    return word


def split(word: int, bits: int, count: int) -> list[int]:
    """The elements of an array port."""
    return [(word >> (index * bits)) & ((1 << bits) - 1) for index in range(count)]


async def check_stage(
    dut: Any,
    inputs: Sequence[Mapping[str, int]],
    expected: Sequence[Mapping[str, int | tuple[int, int]]],
    latency: int,
) -> None:
    """Drive one operation per cycle and compare every output of every operation.

    Parameters
    ----------
    dut : handle
    inputs, expected : sequence of mapping
        Fields and their values, one mapping an operation; an output that does not matter may be left out,
        and of a pair the second is a mask of the bits that matter.
    latency : int
        Cycles from inputs to outputs.
    """
    await start(dut)
    compared = 0
    for cycle in range(len(inputs) + latency + 8):
        await FallingEdge(dut.aclk)
        index = cycle - latency
        if 0 <= index < len(expected):
            for field, entry in expected[index].items():
                value = int(getattr(dut, f"output_{field}").value)
                wanted, mask = entry if isinstance(entry, tuple) else (entry, -1)
                assert value & mask == wanted & mask, (
                    f"operation {index}, {field}: {value:#x}, expected {wanted:#x}; inputs {inputs[index]}"
                )
                compared += 1
        if cycle < len(inputs):
            for field, value in inputs[cycle].items():
                getattr(dut, f"input_{field}").value = value
    assert compared >= len(expected)
