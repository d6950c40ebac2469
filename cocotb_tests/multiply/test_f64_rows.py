"""The row memories of the f64 multiplier, against the elements of fragments in Python."""

import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import start
from hdl.config import CoreConfig
from hdl.multiply.f64.rows import F64Rows, Use
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

QUADS, LANES = 8, 4


class Model:
    """Elements by buffer and fragment: A by row and k, B by column and k, C by row and column."""

    def __init__(self) -> None:
        self._halves: dict[tuple[Any, ...], int] = {}

    def write(self, place: dict[str, int], word: int) -> None:
        """Keep the four halves of a quad."""
        for lane in range(LANES):
            half = word >> (32 * lane) & 0xFFFFFFFF
            high, first, second = place["register"] & 1, place["register"] >> 1, place["register"] >> 2
            key = {
                Use.A: ("a", place["quad"] + QUADS * (first & 1), lane + LANES * second),
                Use.B: ("b", place["quad"], lane + LANES * (first & 3)),
                Use.C: ("c", place["quad"] + QUADS * (second & 1), 2 * lane + (first & 1)),
            }[Use(place["use"])]
            self._halves[(place["buffer"], high, *key)] = half

    def element(self, buffer: int, *key: Any) -> int:
        """Both halves of an element; zero where nothing was written."""
        low, high = (self._halves.get((buffer, high, *key), 0) for high in range(2))
        return high << 32 | low


def packed(place: dict[str, int]) -> int:
    """The bits of a `QuadPlace`."""
    return place["quad"] | place["register"] << 3 | place["use"] << 7 | place["buffer"] << 9


@cocotb.test
async def elements(dut: Any) -> None:
    """Writes to one buffer, reads of the other; what was read stays until the next read."""
    rng = random.Random(cocotb.RANDOM_SEED)
    units = parameters()["units"]
    lane_parts = LANES // units
    model = Model()
    dut.enable.value = dut.write.value = 0
    await start(dut)
    expected: dict[str, list[int]] | None = None
    buffer = reached = 0
    for cycle in range(3000):
        if cycle % 150 == 0:
            buffer = 1 - buffer
        place = {"register": rng.getrandbits(4), "use": rng.randrange(3)}
        place |= {"quad": rng.randrange(QUADS), "buffer": buffer}
        word, is_written = rng.getrandbits(128), rng.random() < 0.8
        lane_part, row, pair, k = (
            rng.randrange(lane_parts),
            rng.randrange(2 * QUADS),
            rng.randrange(2),
            rng.randrange(16),
        )
        is_read = rng.random() < 0.7
        dut.write.value = is_written | packed(place) << 1 | word << 11
        dut.enable.value, dut.buffer.value, dut.k.value = is_read, 1 - buffer, k
        dut.step.value = lane_part + lane_parts * (row % QUADS + QUADS * (pair + 2 * (row // QUADS)))
        await RisingEdge(dut.aclk)
        if expected is not None:
            for name, values in expected.items():
                found = int(getattr(dut, name).value)
                assert found == sum(value << 64 * unit for unit, value in enumerate(values)), (cycle, name)
                reached += sum(value != 0 for value in values)
        if is_read:
            columns = [2 * (lane_part * units + unit) + pair for unit in range(units)]
            expected = {
                "a": [model.element(1 - buffer, "a", row, k)],
                "b": [model.element(1 - buffer, "b", column, k) for column in columns],
                "c": [model.element(1 - buffer, "c", row, column) for column in columns],
            }
        if is_written:
            model.write(place, word)
    assert reached > 3000, "most of what is read was written"


@pytest.mark.parametrize("units", [1, 2, 4])
def test_f64_rows(simulate: Simulate, units: int) -> None:
    design = unit_design(f"f64_rows-{units}", F64Rows(CoreConfig(f64_units=units)))
    simulate(design, __name__, values={"units": units})
