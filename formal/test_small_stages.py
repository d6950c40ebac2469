"""Sums of fp8 and smaller elements with 25 fraction bits: distance and alignment, for every input."""

from types import ModuleType

import pytest
from amaranth.hdl import Cat, Const, Mux, Signal, Value, signed

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Flushed, prove
from golden.tables.profiles import PROFILES
from hdl.config import DotProductConfig
from hdl.dot_product import fp8_align, fp8_distance
from hdl.dot_product.fields import fields
from hdl.dot_product.operands import Multiplicand
from hdl.dot_product.widths import LANES, Widths
from hdl.stream.pipeline import Pipeline

pytestmark = [pytest.mark.formal, pytest.mark.long]

CONFIG = DotProductConfig(
    formats=frozenset({"fp8", "fp6", "fp4"}), profile=PROFILES["blackwell"], block_scale=True
)
WIDTHS = Widths(CONFIG)
PRODUCT = 11
"""Bits of a product that is shifted left by up to 3."""

LATENCY = len(fp8_distance.Fp8Distance.delays) + len(fp8_align.Fp8Align.delays)


def aligned(distance: ModuleType = fp8_distance, align: ModuleType = fp8_align) -> Claim:
    """From Emax and exponents to terms: each product shifted right by its distance, cut off, with its sign.

    It comes shifted left by 3 less the two lowest bits of the distance; nothing is left from 32 on.

    Assumes that Emax is not below the exponent of a product that is not zero, and that a zero product and the
    product of a zero significand are zero.
    """
    claim = Claim()
    found = fields(CONFIG)
    first, second = distance.Fp8Distance(CONFIG), align.Fp8Align(CONFIG)
    names = (*first.consumes, "product", "fp8_sign")
    unit = Pipeline(
        {name: found[name] for name in names},
        {name: found[name] for name in ("fp8_term", "fp8_carry", "fp8_a")},
        [first, second],
    )
    claim.include(unit)
    given, output = unit.input, unit.output
    claim.assume("fp8", given.operation.multiplicand == Multiplicand.FP8)
    offset = WIDTHS.half_offset
    for lane in range(WIDTHS.fp8_lanes):
        exponent = given.fp8_exponent[lane]
        low = WIDTHS.fp8_upper if lane >= LANES else 0
        product = Value.cast(given.product[lane % LANES])[low : low + PRODUCT]
        claim.assume(f"maximum_{lane}", implies(exponent != 0, given.maximum >= offset + exponent))
        below = Signal(range(1 << 10), name=f"below_{lane}")
        claim.module.d.comb += below.eq(given.maximum - offset - exponent)
        is_near = (exponent != 0) & (below < 32)
        # The product of a significand that the distance has made zero.
        claim.assume(f"product_{lane}", is_near | (product == 0))
        whole = Signal(WIDTHS.fp8_window, name=f"whole_{lane}")
        claim.module.d.comb += whole.eq(Cat(Const(0, WIDTHS.fp8_window - PRODUCT), product))
        magnitude = whole >> Cat(Const(0, 2), below[2:5])
        wanted = Signal(signed(WIDTHS.fp8_window + 1), name=f"wanted_{lane}")
        claim.module.d.comb += wanted.eq(Mux(given.fp8_sign[lane], -magnitude, magnitude))
        late = claim.past(Cat(wanted, product != 0), LATENCY, name=f"late_{lane}")
        term = Value.cast(output.fp8_term[lane]).as_signed() + output.fp8_carry[lane]
        claim.always(f"term_{lane}", implies(late[-1], term == late[:-1].as_signed()))
        claim.always(f"zero_{lane}", implies(~late[-1], term == 0))
    return claim


def test_distance_and_alignment() -> None:
    prove("small_align", aligned(), Flushed(LATENCY))


@pytest.mark.parametrize(
    ("modules", "broken"),
    [
        ({"align": (fp8_align, "(0, 8, 16, 24)", "(0, 8, 24, 16)")}, "term"),
        ({"distance": (fp8_distance, "distance[3:5] != value", "distance[3:5] != value ^ 1")}, "term"),
    ],
    ids=["align", "distance"],
)
def test_faulty_distance_and_alignment(modules: dict[str, tuple[ModuleType, str, str]], broken: str) -> None:
    faults = {name: faulty(*fault) for name, fault in modules.items()}
    with pytest.raises(Counterexample, match=f"broken: .*{broken}"):
        prove("faulty_small_align", aligned(**faults), Flushed(LATENCY))
