"""Multiply and align fp8, beside f16 too: from significands and distances to terms, against whole numbers."""

import random
from typing import Any

import cocotb
import pytest
from amaranth.lib.wiring import Out

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage, join
from hdl.config import DotProductConfig
from hdl.dot_product.align import Align, AlignSelects
from hdl.dot_product.factors import Factors
from hdl.dot_product.fp8_align import Fp8Align
from hdl.dot_product.multiply import Multiply
from hdl.dot_product.operands import Operation
from hdl.dot_product.widths import LANES, Widths
from hdl.dot_product.words import WORDS
from hdl.stream.pipeline import Pipeline
from sim.testbench.dot_product_operands import FP8_MODES, MODES
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIGS = {
    "alone": DotProductConfig(formats=frozenset({"fp8"})),
    "beside": DotProductConfig(formats=frozenset({"f16", "fp8"})),
}
FP8_WINDOW = 15
F16_MODES = [mode for mode in MODES if mode.format == "f16"]


class FromFactorsToTerms(Pipeline):
    """Every stage between the distances and the sum."""

    def __init__(self, config: DotProductConfig) -> None:
        widths = Widths(config)
        lanes, words = widths.fp8_lanes, Out(64).array(WORDS)
        significands = Out(4).array(lanes)
        shared = {
            **{"significand_a": words, "significand_b": words, "fine": Out(3).array(LANES)},
            **{"coarse": Out(3).array(LANES), "quarter": Out(LANES), "foreign": Out(3).array(LANES)},
            **{"sign": Out(LANES), "fp8_shifted": Out(lanes)},
        }
        factors, selects = ((Factors(config),), (AlignSelects(config),)) if widths.lanes else ((), ())
        super().__init__(
            {
                **{"operation": Out(Operation), "c_sign": Out(1), "c_value": Out(32), "c_distance": Out(6)},
                **{"fp8_fine": Out(2).array(lanes), "fp8_a": significands, "fp8_b": significands},
                **{"fp8_quarter": Out(lanes), "fp8_near": Out(lanes), "fp8_far": Out(lanes)},
                "fp8_sign": Out(lanes),
                **(shared if widths.lanes else {}),
            },
            {
                **{"fp8_term": Out(16).array(lanes), "fp8_carry": Out(lanes), "c_term": Out(widths.total)},
                **({"term": Out(28).array(LANES), "carry": Out(LANES)} if widths.lanes else {}),
            },
            [*factors, *selects, Multiply(config), (Align(config), Fp8Align(config))],
        )


Operands = tuple[dict[str, int], dict[str, int]]
"""Inputs and outputs of an operation, by name."""


def own_bits(distance: int) -> int:
    """Which of the lowest three bits of a shifted product are its own."""
    return 0b111 & (0b111 << (3 - distance % 4))


def of_fp8(rng: random.Random, lanes: int, *, is_wide: bool, is_largest: bool) -> Operands:
    """Inputs and outputs of one operation of fp8, but for C."""
    c_sign = rng.getrandbits(1)
    # The products of a multiplier side by side: even ones first, then odd ones.
    a, b = ([15 if is_largest else rng.getrandbits(4) for _ in range(32)] for _ in range(2))
    far = [rng.randrange(15 if is_wide else 4) for _ in range(32)]
    signs = [rng.getrandbits(1) for _ in range(32)]
    magnitudes = [(x * y << 7) >> distance for x, y, distance in zip(a, b, far, strict=True)]
    relative = [sign ^ c_sign for sign in signs]
    wanted = [~m if sign else m for m, sign in zip(magnitudes, relative, strict=True)]
    given = {
        "c_sign": c_sign,
        "fp8_fine": join([distance % 4 for distance in far[:lanes]], 2),
        "fp8_a": join(a[:lanes], 4),
        "fp8_b": join(b[:lanes], 4),
        "fp8_quarter": join([distance >> 2 for distance in far[:lanes]], 1),
        "fp8_near": join([distance < 8 for distance in far[:lanes]], 1),
        "fp8_far": join([distance >= 8 for distance in far[:lanes]], 1),
        "fp8_sign": join(relative[:lanes], 1),
    }
    terms = {
        "fp8_term": join(wanted[:lanes], FP8_WINDOW + 1),
        "fp8_carry": join(relative[:lanes], 1),
    }
    if lanes > LANES:
        return given, terms
    # The odd products come as significands of f16, and one more than their distance.
    raised = [distance + 1 for distance in far[LANES:]]
    given |= {
        "fp8_shifted": join([distance % 4 < 2 for distance in far[:LANES]], 1),
        "significand_a": join([x << 7 for x in a[LANES:]], 16),
        "significand_b": join([y << 7 for y in b[LANES:]], 16),
        "fine": join([distance % 4 for distance in raised], 3),
        "coarse": join([distance >> 3 for distance in raised], 3),
        "quarter": join([distance >> 2 for distance in raised], 1),
        "foreign": join([~own_bits(distance) for distance in raised], 3),
        "sign": join(signs[LANES:], 1),
    }
    odd = zip(magnitudes[LANES:], relative[LANES:], strict=True)
    terms["term"] = join([~(m << 12) if sign else m << 12 for m, sign in odd], 28)
    terms["carry"] = join(relative[LANES:], 1)
    return given, terms


def of_f16(rng: random.Random, *, is_wide: bool, is_largest: bool) -> Operands:
    """Inputs and outputs of one operation of f16, but for C, where fp8 is beside it."""
    c_sign = rng.getrandbits(1)
    a, b = ([2047 if is_largest else rng.getrandbits(11) for _ in range(LANES)] for _ in range(2))
    far = [rng.randrange(64 if is_wide else 32) for _ in range(LANES)]
    signs = [rng.getrandbits(1) for _ in range(LANES)]
    relative = [sign ^ c_sign for sign in signs]
    # 20 fraction bits, of which the window keeps 25 at distance 0.
    magnitudes = [
        (x * y << 5) >> distance if distance < 32 else 0 for x, y, distance in zip(a, b, far, strict=True)
    ]
    given = {
        **dict.fromkeys(("fp8_fine", "fp8_a", "fp8_b", "quarter", "foreign"), 0),
        # Both: nothing is left of what the multipliers give.
        **dict.fromkeys(("fp8_near", "fp8_far"), (1 << LANES) - 1),
        **{name: rng.getrandbits(LANES) for name in ("fp8_quarter", "fp8_sign", "fp8_shifted")},
        "c_sign": c_sign,
        "significand_a": join(a, 16),
        "significand_b": join(b, 16),
        "fine": join([distance % 8 for distance in far], 3),
        "coarse": join([distance >> 3 for distance in far], 3),
        "sign": join(signs, 1),
    }
    terms = join([~m if sign else m for m, sign in zip(magnitudes, relative, strict=True)], 28)
    return given, {"fp8_term": 0, "fp8_carry": 0, "term": terms, "carry": join(relative, 1)}


@cocotb.test
async def terms(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    lanes, latency = parameters()["lanes"], parameters()["latency"]
    alone = lanes > LANES
    inputs: list[dict[str, int]] = []
    expected: list[dict[str, int | tuple[int, int]]] = []
    for operation in range(800):
        mode = rng.choice(FP8_MODES if alone or operation % 4 else F16_MODES)
        is_wide, is_largest = bool(operation & 1), operation % 5 == 0
        if mode in FP8_MODES:
            given, wanted = of_fp8(rng, lanes, is_wide=is_wide, is_largest=is_largest)
        else:
            given, wanted = of_f16(rng, is_wide=is_wide, is_largest=is_largest)
        c_value, c_distance = rng.getrandbits(24), rng.choice((0, 1, 12, 13, 14, 24, 40))
        if mode in F16_MODES:
            c_term = c_value << 2 >> c_distance
        else:
            c_term = c_value >> 10 >> c_distance << (0 if alone else 12)
        c = {"c_value": c_value, "c_distance": min(c_distance, 32)}
        inputs.append({"operation": mode.code(), **c, **given})
        expected.append({**wanted, "c_term": c_term})
    await check_stage(dut, inputs, expected, latency)


@pytest.mark.parametrize("where", CONFIGS)
def test_fp8_align(simulate: Simulate, where: str) -> None:
    stages = FromFactorsToTerms(CONFIGS[where])
    values = {"lanes": Widths(CONFIGS[where]).fp8_lanes, "latency": stages.latency}
    simulate(unit_design(f"dot_product_fp8_align_{where}", stages), __name__, values=values)
