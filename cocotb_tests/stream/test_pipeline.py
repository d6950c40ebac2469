# amaranth: UnusedElaboratable=no
"""A pipeline of small stages: every field arrives in time, and what does not fit together is refused.

The first line is for the pipelines that the constructor refuses: nobody can use them.
"""

import random
from typing import Any

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import Out

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage, join
from hdl.stream.pipeline import Pipeline, Stage, delay
from sim.testbench.unit import unit_design

BITS, LANES = 9, 16
BYTE, ARRAY = Out(8), Out(BITS).array(LANES)


class Increment(Stage):
    """``one = x + 1``, two cycles later."""

    latency = 2

    def __init__(self) -> None:
        super().__init__({"x": BYTE}, {"one": BYTE})

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        m.d.comb += self.output.one.eq(delay(m, (self.input.x + 1)[:8], 2, "one"))
        return m


class Reverse(Stage):
    """The elements of an array in the opposite order, three cycles later."""

    latency = 3

    def __init__(self) -> None:
        super().__init__({"elements": ARRAY}, {"reversed": ARRAY})

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        for index, element in enumerate(self.input.elements):
            late = delay(m, element, 3, f"element{index}")
            m.d.comb += self.output.reversed[LANES - 1 - index].eq(late)
        return m


class Select(Stage):
    """The element numbered by ``one`` of the reversed array, and that of the array; one cycle later."""

    latency = 1

    def __init__(self) -> None:
        super().__init__(
            {"one": BYTE, "elements": ARRAY, "reversed": ARRAY}, {"forward": Out(BITS), "backward": Out(BITS)}
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        with m.Switch(self.input.one):
            for index in range(LANES):
                with m.Case(index):
                    m.d.sync += [
                        self.output.forward.eq(self.input.elements[index]),
                        self.output.backward.eq(self.input.reversed[index]),
                    ]
        return m


class Small(Pipeline):
    """Two stages side by side, and one that takes what both give and what neither touches."""

    latency = 4

    def __init__(self) -> None:
        super().__init__(
            {"x": BYTE, "elements": ARRAY},
            {"forward": Out(BITS), "backward": Out(BITS), "x": BYTE},
            [(Increment(), Reverse()), Select()],
        )


class Wrong(Pipeline):
    """A pipeline of any stages."""

    latency = 2

    def __init__(self, stages: list[Any]) -> None:
        super().__init__({"x": BYTE}, {"one": BYTE}, stages)


@cocotb.test
async def fields_arrive_together(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    inputs, expected = [], []
    for _ in range(300):
        x = rng.randrange(LANES - 1)
        elements = [rng.getrandbits(BITS) for _ in range(LANES)]
        inputs.append({"x": x, "elements": join(elements, BITS)})
        expected.append({"forward": elements[x + 1], "backward": elements[LANES - 2 - x], "x": x})
    await check_stage(dut, inputs, expected, Small.latency)


def test_pipeline(simulate: Simulate) -> None:
    simulate(unit_design("pipeline", Small()), __name__)


def test_a_field_has_one_producer() -> None:
    with pytest.raises(ValueError, match=r"Field one must be produced once, but increment does again$"):
        Wrong([Increment(), Increment()])


def test_a_field_is_produced_before_it_is_consumed() -> None:
    message = r"Field elements must be produced before it is consumed; there are x, one$"
    with pytest.raises(ValueError, match=message):
        Wrong([Increment(), Reverse()])


def test_declared_latency_is_that_of_the_longest_path() -> None:
    class Slow(Wrong):
        latency = 3

    with pytest.raises(ValueError, match=r"Latency must be the 2 cycles of the longest path, not 3$"):
        Slow([Increment()])
