"""The f64 unit at its streams: order, pauses, reset in the middle of work, and full throughput."""

import random
from collections import deque
from typing import Any

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.fma64.corners import CORNERS
from cocotb_tests.fma64.exact import MODES, expected_fma64
from cocotb_tests.fma64.operands import Case, pack, random_cases
from cocotb_tests.streams import StreamSink, StreamSource, never, pauses, reset, start
from hdl.fma64.unit import FusedMultiplyAdd64
from sim.testbench.depths import F64_SETTINGS
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design


def expected(cases: list[Case]) -> list[int]:
    return [expected_fma64(case.a, case.b, case.c, MODES[case.mode]) for case in cases]


@cocotb.test
@cocotb.parametrize(shares=[(0.0, 0.0), (0.3, 0.0), (0.0, 0.6), (0.5, 0.5), (0.05, 0.97)])
async def results_in_order(dut: Any, shares: tuple[float, float]) -> None:
    """Every kind of operand, modes mixed, while both sides pause as they like."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut)
    source = StreamSource(dut, "operands", pauses(rng, shares[0]))
    sink = StreamSink(dut, "result", pauses(rng, shares[1]))
    cases = [*random_cases(2_000, cocotb.RANDOM_SEED), *CORNERS["single_bits"]()]
    source.put(*map(pack, cases))
    results = await sink.take(len(cases), limit=200_000)
    for case, result, wanted in zip(cases, results, expected(cases), strict=True):
        assert result == wanted, f"{case}: {result:016x} instead of {wanted:016x}"
    for _ in range(50):
        await RisingEdge(dut.aclk)
    assert not sink.received, "results that nobody asked for"


@cocotb.test
async def reset_in_the_middle_of_work(dut: Any) -> None:
    """Whatever was in flight or waited at the output is forgotten, and the unit goes on as new."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut)
    cases = iter(random_cases(5_000, cocotb.RANDOM_SEED))
    forgotten = received = 0
    for round_ in range(20):
        case = next(cases)
        waiting: deque[Case] = deque()
        eager = (0.9, 0.1, 0.5)[round_ % 3]
        valid = 0
        for _ in range(rng.randrange(20, 150)):
            valid = valid or int(rng.random() < 0.9)
            dut.operands_valid.value = valid
            dut.operands_payload.value = pack(case)
            dut.result_ready.value = int(rng.random() < eager)
            await RisingEdge(dut.aclk)
            if valid and dut.operands_ready.value:
                waiting.append(case)
                case, valid = next(cases), 0
            if dut.result_valid.value and dut.result_ready.value:
                assert int(dut.result_payload.value) == expected([waiting.popleft()])[0], f"round {round_}"
                received += 1
        forgotten += len(waiting)
        dut.operands_valid.value = 0
        await reset(dut, cycles=1)
        assert not dut.result_valid.value
    assert received > 400
    assert forgotten > 7 * parameters()["depth"]


@cocotb.test
async def blocked_output(dut: Any) -> None:
    """With no result taken, exactly as many operations are admitted as there are places, and all come out."""
    await start(dut)
    cases = random_cases(100, cocotb.RANDOM_SEED)
    source = StreamSource(dut, "operands")
    blocked = True

    def while_blocked():
        while True:
            yield blocked

    sink = StreamSink(dut, "result", while_blocked())
    source.put(*map(pack, cases))
    admitted = 0
    for _ in range(200):
        await RisingEdge(dut.aclk)
        admitted += bool(dut.operands_valid.value) and bool(dut.operands_ready.value)
    assert admitted == 1 << parameters()["depth"].bit_length()
    blocked = False
    assert await sink.take(len(cases)) == expected(cases)


@cocotb.test
async def one_per_cycle(dut: Any) -> None:
    """Without pauses an operation enters and a result leaves in each cycle, after the stated latency."""
    await start(dut)
    cases = random_cases(300, cocotb.RANDOM_SEED)
    source, sink = StreamSource(dut, "operands", never()), StreamSink(dut, "result", never())
    source.put(*map(pack, cases))
    accepted, left = [], []
    for cycle in range(400):
        await RisingEdge(dut.aclk)
        if dut.operands_valid.value and dut.operands_ready.value:
            accepted.append(cycle)
        if dut.result_valid.value and dut.result_ready.value:
            left.append(cycle)
    assert accepted == list(range(accepted[0], accepted[0] + len(cases)))
    assert left == [cycle + parameters()["depth"] for cycle in accepted]
    assert sink.received == expected(cases)


@cocotb.test
async def no_path_between_the_ports(dut: Any) -> None:
    """Within a cycle, the outputs of one port do not follow the inputs of the other."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut)
    cases = random_cases(60, cocotb.RANDOM_SEED)
    dut.operands_payload.value = pack(cases[0])
    seen = set()
    for _ in range(300):
        await RisingEdge(dut.aclk)
        valid, ready = rng.randrange(2), int(rng.random() < 0.3)
        observed = []
        for flip in (1, 0):
            dut.operands_valid.value = valid ^ flip
            dut.result_ready.value = ready ^ flip
            await (FallingEdge(dut.aclk) if flip else ReadOnly())
            observed.append((int(dut.operands_ready.value), int(dut.result_valid.value)))
        assert observed[0] == observed[1]
        seen.add(observed[0])
    assert seen >= {(0, 1), (1, 0)}


@pytest.mark.parametrize(
    "depth", [pytest.param(depth, marks=SLOW if depth in (8, 16) else ()) for depth in F64_SETTINGS]
)
def test_fma64(simulate: Simulate, depth: int) -> None:
    design = unit_design(f"fma64-{depth}", FusedMultiplyAdd64(depth))
    simulate(design, __name__, values={"depth": depth})
