# amaranth: UnusedElaboratable=no
"""A pipeline of small stages: every field arrives in time, and what does not fit together is refused.

The first line is for the pipelines that the constructor refuses: nobody can use them.
"""

import random
from itertools import accumulate, combinations, pairwise
from typing import Any

import cocotb
import pytest
from amaranth.hdl import Array, Module, Value
from amaranth.lib.wiring import Out

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage, join
from hdl.stream.pipeline import Cut, Pipeline, Stage, balanced, behind
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

BITS, LANES = 9, 16
BYTE, ARRAY = Out(8), Out(BITS).array(LANES)


class Increment(Stage):
    """``one = x + 1``, behind two cuts."""

    delays = (2.0, 1.0)

    def __init__(self) -> None:
        super().__init__({"x": BYTE}, {"one": BYTE})

    def _logic(self, m: Module, *cuts: Cut) -> None:
        m.d.comb += self.output.one.eq(behind(cuts, (self.input.x + 1)[:8], "one"))


class Reverse(Stage):
    """The elements of an array in the opposite order, behind three cuts."""

    delays = (0.0, 1.0, 3.0)

    def __init__(self) -> None:
        super().__init__({"elements": ARRAY}, {"reversed": ARRAY})

    def _logic(self, m: Module, *cuts: Cut) -> None:
        for index, element in enumerate(self.input.elements):
            late = behind(cuts, element, f"element{index}")
            m.d.comb += self.output.reversed[LANES - 1 - index].eq(late)


class Select(Stage):
    """Element ``one`` of the array and of the reversed array, behind one cut."""

    delays = (2.0,)

    def __init__(self) -> None:
        super().__init__(
            {"one": BYTE, "elements": ARRAY, "reversed": ARRAY}, {"forward": Out(BITS), "backward": Out(BITS)}
        )

    def _logic(self, m: Module, cut: Cut) -> None:
        forward, backward = (
            Value.cast(Array(row)[self.input.one]) for row in (self.input.elements, self.input.reversed)
        )
        m.d.comb += [
            self.output.forward.eq(cut(forward, "forward")),
            self.output.backward.eq(cut(backward, "backward")),
        ]


class Small(Pipeline):
    """Two stages side by side, and one that takes what both give and what neither touches."""

    def __init__(self, registers: int | None = None) -> None:
        super().__init__(
            {"x": BYTE, "elements": ARRAY},
            {"forward": Out(BITS), "backward": Out(BITS), "x": BYTE},
            [(Increment(), Reverse()), Select()],
            registers,
        )


class Wrong(Pipeline):
    """A pipeline of any stages."""

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
    await check_stage(dut, inputs, expected, parameters()["latency"])


@pytest.mark.parametrize("registers", range(1, 5))
def test_pipeline(simulate: Simulate, registers: int) -> None:
    design = unit_design(f"pipeline-{registers}", Small(registers))
    simulate(design, __name__, values={"latency": registers})


def test_all_cuts_hold_registers_unless_told_otherwise() -> None:
    assert Small().latency == 4


@pytest.mark.parametrize("seed", range(20))
def test_registers_divide_the_delays_evenly(seed: int) -> None:
    """No choice of cuts has a shorter longest sum, or the same and a smaller sum of squares."""
    rng = random.Random(seed)
    delays = [rng.randrange(8) / 2 for _ in range(rng.randrange(1, 9))]

    def cost(chosen: tuple[int, ...]) -> tuple[float, float]:
        ends = list(accumulate(delays, initial=0.0))
        sums = [ends[b] - ends[a] for a, b in pairwise((0, *chosen, len(delays)))]
        return max(sums), sum(part**2 for part in sums)

    for registers in range(len(delays) + 1):
        found = tuple(cut for cut, held in enumerate(balanced(delays, registers), 1) if held)
        assert len(found) == registers
        assert cost(found) == min(map(cost, combinations(range(1, len(delays) + 1), registers)))


@pytest.mark.parametrize("registers", [-1, 5])
def test_registers_need_cuts(registers: int) -> None:
    message = rf"Registers must be from 0 to 4, one for each cut, not {registers}$"
    with pytest.raises(ValueError, match=message):
        Small(registers)


def test_a_field_has_one_producer() -> None:
    with pytest.raises(ValueError, match=r"Field one must be produced once, but increment does again$"):
        Wrong([Increment(), Increment()])


def test_a_field_is_produced_before_it_is_consumed() -> None:
    message = r"Field elements must be produced before it is consumed; there are x, one$"
    with pytest.raises(ValueError, match=message):
        Wrong([Increment(), Reverse()])
