"""The dot-product unit with fp8, fp6, fp4 and block scales, at its streams: every kind of operand."""

import random
from typing import Any

import cocotb
import numpy as np
import pytest

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.dot_product.small_operands import SMALL_KINDS, SMALL_TYPES, random_small
from cocotb_tests.dot_product.test_small_bulk import ALL, ALONE, directed
from cocotb_tests.streams import StreamSink, StreamSource, pauses, start
from hdl.config import DotProductConfig
from hdl.dot_product.unit import DotProductUnit
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIGS = {"alone": ALONE, "beside": ALL}


def operations(config: DotProductConfig, seed: int) -> tuple[list[int], list[int]]:
    """Some of each kind, type and directed set, in random order, and golden's results."""
    rng = np.random.default_rng(seed)
    batches = [
        random_small(a_type, SMALL_TYPES[rng.integers(5)], result, kind, 12, seed)
        for kind in SMALL_KINDS
        for result in ("f32", "f16")
        for a_type in SMALL_TYPES
    ]
    words, results = [], []
    for batch in (*batches, *directed()):
        chosen = rng.choice(len(batch.c), min(len(batch.c), 150), replace=False)
        words.append(batch.pack(config)[chosen])
        results.append(batch.expected()[chosen])
    order = rng.permutation(sum(map(len, results)))
    payloads = [int.from_bytes(row.tobytes(), "little") for row in np.concatenate(words)[order]]
    return payloads, [int(value) for value in np.concatenate(results)[order]]


@cocotb.test
async def results_in_order(dut: Any) -> None:
    """Types, results and scales change from one operation to the next."""
    rng = random.Random(cocotb.RANDOM_SEED)
    dut.operands_valid.value = 0
    dut.result_ready.value = 0
    await start(dut)
    source = StreamSource(dut, "operands", pauses(rng, 0.1))
    sink = StreamSink(dut, "result", pauses(rng, 0.1))
    operands, expected = operations(CONFIGS[parameters()["where"]], rng.getrandbits(30))
    source.put(*operands)
    assert await sink.take(len(expected), limit=60_000) == expected


@pytest.mark.parametrize("where", [pytest.param(where, marks=SLOW) for where in CONFIGS])
def test_small_unit(simulate: Simulate, where: str) -> None:
    simulate(unit_design(f"small-{where}", DotProductUnit(CONFIGS[where])), __name__, values={"where": where})
