"""The f64 unit, stage by stage: alignment, normalisation and rounding, for every input."""

from types import ModuleType

import pytest
from amaranth.hdl import Cat, Const, Mux, Signal, Value

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Flushed, prove
from hdl.fma64 import align, normalize, round
from hdl.fma64.fma64_operands import MINUS, NEAREST, PLUS
from hdl.fma64.widths import FRACTION, SIGNIFICAND, SPECIAL_EXPONENT, SPLIT, WINDOW, WINDOW_STEP

pytestmark = pytest.mark.formal

ONES = 114
"""Bits of a number's continuation below the window that a shift may bring into it, and two more."""


def places(hdl: ModuleType = align) -> Claim:
    """`Place`: who leads, the shift and the exponent, from distances that the window does not limit.

    No assumptions.
    """
    claim = Claim()
    unit = hdl.Place()
    claim.include(unit)
    given, output = unit.input, unit.output
    above = given.no_product | (given.distance < 0)
    leads = ~above & (given.distance >= SPLIT)
    step = Mux(leads, WINDOW_STEP, 0)
    shift = (Mux(above, 0, given.distance) - step)[: len(given.distance)]
    exponent = (Mux(above, given.addend_exponent, given.product_exponent) - step)[: len(output.exponent)]
    late = claim.past(Cat(leads, exponent, shift), unit.latency, name="expected")
    shift = late[1 + len(exponent) :]
    claim.always("leads", output.product_leads == late[0])
    claim.always("exponent", output.exponent == late[1 : 1 + len(exponent)])
    claim.always("shift", Mux(shift < WINDOW, output.shift == shift, output.shift >= WINDOW))
    return claim


def aligned(hdl: ModuleType = align) -> Claim:
    """`Align`: the addend, from the window's top, shifted right by any distance; ones that leave are told.

    No assumptions.
    """
    claim = Claim()
    unit = hdl.Align()
    claim.include(unit)
    given = unit.input
    below = (1 << len(given.shift)) - 1
    shifted = Cat(Const(0, below), Const(0, WINDOW - SIGNIFICAND), given.addend) >> given.shift
    term = shifted[below:] ^ given.subtract.replicate(WINDOW)
    late = claim.past(Cat(term, shifted[:below].any()), unit.latency, name="expected")
    claim.always("term", unit.output.term == late[:WINDOW])
    claim.always("lost", unit.output.lost == late[WINDOW])
    return claim


def normalized(hdl: ModuleType = normalize) -> Claim:
    """`Normalize`: the magnitude with its continuation, shifted left by what the exponent becomes less.

    The leading bit is one, or the exponent 1, or the magnitude zero. Assumes a true exponent (not zero), and
    that only a difference is negative.
    """
    claim = Claim()
    unit = hdl.Normalize()
    claim.include(unit)
    given, output = unit.input, unit.output
    claim.assume("exponent", given.exponent != 0)
    claim.assume("negative", implies(given.negative, given.subtract))
    inputs = Cat(given.sum, given.negative, given.inexact, given.subtract, given.exponent)
    late = claim.past(inputs, unit.latency, name="input")
    total, negative, inexact, subtract = late[:WINDOW], late[WINDOW], late[WINDOW + 1], late[WINDOW + 2]
    exponent = late[WINDOW + 3 :]
    magnitude = total ^ negative.replicate(WINDOW)
    ones = subtract & ~negative
    shift = Signal(range(ONES), name="shift")
    wide = Signal(WINDOW + ONES, name="wide")
    claim.module.d.comb += [
        shift.eq(exponent - output.biased),
        wide.eq(Cat(ones.replicate(ONES), magnitude) << shift | (1 << shift) - 1 & ones.replicate(ONES)),
    ]
    zero = (magnitude == 0) & ~ones
    low = wide[: -SIGNIFICAND - 1]
    claim.always("biased", implies(~zero, (output.biased >= 1) & (exponent - output.biased <= WINDOW)))
    claim.always("leading", zero | output.significand[-1] | (output.biased == 1))
    kept = (Cat(output.guard, output.significand) == wide[-SIGNIFICAND - 1 :]) | zero
    claim.always("kept", kept & implies(zero, ~output.guard & (output.significand == 0)))
    rest = inexact | (low != ones.replicate(len(low)))
    claim.always("rest", implies(~zero, output.rest == rest) & implies(zero, output.rest == inexact))
    claim.always("cancelled", output.cancelled == (subtract & zero & ~inexact))
    return claim


def rounded(hdl: ModuleType = round) -> Claim:
    """`Round`: the exact magnitude to the nearest, or to the side that the mode asks for.

    The magnitude is significand and guard bit, and one unit of the guard bit more where a positive difference
    continues with ones for ever; `rest` says that something lies beyond. Assumes a finite result, the
    exponent at least 1, and that only a difference is negative. Infinite and NaN results are not spoken of.
    """
    claim = Claim()
    unit = hdl.Round()
    claim.include(unit)
    given, d = unit.input, unit.output.d
    claim.assume("finite", ~given.special)
    claim.assume("biased", given.biased != 0)
    claim.assume("negative", implies(given.negative, given.subtract))
    parts = {name: Value.cast(getattr(given, name)) for name in unit.consumes}
    late = claim.past(Cat(*parts.values()), unit.latency, name="input")
    start = 0
    for name, part in parts.items():
        parts[name] = late[start : start + len(part)]
        start += len(part)
    significand, rest = parts["significand"], parts["rest"][0]
    minus, plus, nearest = (parts["rounding"] == mode for mode in (MINUS, PLUS, NEAREST))
    negative = Mux(parts["cancelled"], minus, parts["product_sign"] ^ parts["negative"])
    away = Mux(negative, minus, plus)
    exact = Cat(parts["guard"], significand) + (parts["subtract"][0] & ~parts["negative"][0] & ~rest)
    down, half = exact[1:], exact[0]
    up = Mux(nearest, half & (rest | down[0]), away & (half | rest))
    exponent = Mux(significand[-1], parts["biased"], 0)
    packed = Signal(80, name="packed")
    claim.module.d.comb += packed.eq(
        Cat(significand[:FRACTION], exponent) + (down - significand)[: len(down)] + up
    )
    infinite = packed >= SPECIAL_EXPONENT << FRACTION
    largest = (SPECIAL_EXPONENT << FRACTION) - 1
    limit = Mux(nearest | away, SPECIAL_EXPONENT << FRACTION, largest)
    claim.always("magnitude", d[:63] == Mux(infinite, limit, packed)[:63])
    claim.always("sign", d[63] == negative)
    return claim


def test_place() -> None:
    prove("fma64_place", places(), Flushed(len(align.Place.delays)))


def test_align() -> None:
    prove("fma64_align", aligned(), Flushed(len(align.Align.delays)))


def test_normalize() -> None:
    prove("fma64_normalize", normalized(), Flushed(len(normalize.Normalize.delays)))


def test_round() -> None:
    prove("fma64_round", rounded(), Flushed(len(round.Round.delays)))


@pytest.mark.parametrize(
    ("text", "fault", "broken"),
    [
        ("BEYOND = 0b1011_0000", "BEYOND = 0b1010_0000", "shift"),
        ("distance >= SPLIT", "distance > SPLIT", "leads"),
    ],
)
def test_faulty_place(text: str, fault: str, broken: str) -> None:
    with pytest.raises(Counterexample, match=f"broken: .*{broken}"):
        prove("faulty_fma64_place", places(faulty(align, text, fault)), Flushed(len(align.Place.delays)))


def test_faulty_align() -> None:
    broken = faulty(align, "near_term[:64].any()", "near_term[:63].any()")
    with pytest.raises(Counterexample, match="broken: lost"):
        prove("faulty_fma64_align", aligned(broken), Flushed(len(align.Align.delays)))


def test_faulty_normalize() -> None:
    broken = faulty(normalize, "free | (count < limit)", "free | (count <= limit)")
    with pytest.raises(Counterexample, match="broken: "):
        prove("faulty_fma64_normalize", normalized(broken), Flushed(len(normalize.Normalize.delays)))


def test_faulty_round() -> None:
    broken = faulty(round, "| (unit & nearest & given.significand[0]),", ",")
    with pytest.raises(Counterexample, match="broken: magnitude"):
        prove("faulty_fma64_round", rounded(broken), Flushed(len(round.Round.delays)))
