"""Sums of groups, for every input: products, the exact sum, alignment, normalisation and the result."""

from types import ModuleType

import pytest
from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value, signed

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Flushed, prove
from hdl.omma import add, align, products, scales
from hdl.omma.widths import (
    ADDEND,
    FINE,
    GROUP,
    GROUPS,
    LEAST_MAXIMUM,
    PASS_GROUPS,
    PASS_PRODUCTS,
    SIGNIFICAND,
    TERM,
    TOP,
    WINDOW,
)

pytestmark = pytest.mark.formal

DOUBLED = (0, 1, 2, 3, 4, 6, 8, 12)
"""The magnitudes of e2m1, doubled, by their bits."""

BEFORE = 1
"""Cycles by which the lower groups come earlier."""


def multiplied(hdl: ModuleType = products) -> Claim:
    """`Products`: each product in quarters, less one if it is negative; whether a group has one but zero.

    No assumptions.
    """
    claim = Claim()
    unit = hdl.Products()
    claim.include(unit)
    given = unit.input
    halves = [Mux(given.second, value[128:], value[:128]) for value in (given.a, given.b)]
    nonzero = []
    for k in range(PASS_PRODUCTS):
        x, y = (value.word_select(k, 4) for value in halves)
        magnitude = Signal(8, name=f"magnitude_{k}")
        # A row of the table of products for each element of A, without a multiplication.
        rows = Array(Array(Const(p * q, 8) for q in DOUBLED)[y[:3]] for p in DOUBLED)
        claim.module.d.comb += magnitude.eq(rows[x[:3]])
        negative = x[3] ^ y[3]
        nonzero.append(x[:3].any() & y[:3].any())
        wanted = claim.past(
            Cat(magnitude, Const(0, 1)) ^ negative.replicate(9), unit.latency, name=f"wanted_{k}"
        )
        claim.always(f"product_{k}", Value.cast(unit.output.product[k])[:] == wanted)
    some = Cat(Cat(nonzero[group * GROUP :][:GROUP]).any() for group in range(PASS_GROUPS))
    claim.always("some", unit.output.some == claim.past(some, unit.latency, name="some"))
    return claim


def summed(hdl: ModuleType = products) -> Claim:
    """`GroupSums`: sign and magnitude of each group's exact sum, in the pass that was given and the next one.

    The sum is that of numbers without a limit. Assumes what `Products` keeps to: magnitudes of at most 144.
    """
    claim = Claim()
    unit = hdl.GroupSums()
    claim.include(unit)
    output = unit.output
    for group in range(PASS_GROUPS):
        level: list[Value] = []
        carries: list[Value] = []
        for k in range(group * GROUP, (group + 1) * GROUP):
            product = Value.cast(unit.input.product[k]).as_signed()
            negative = product < 0
            claim.assume(f"product_{k}", Mux(negative, ~product, product) <= 12 * 12)
            level.append(product)
            carries.append(negative)
        # In the order of the tree, since solvers do not know that addition is associative.
        while len(level) > 1:
            half = len(level) // 2
            level = [level[n] + level[n + half] + carries[n] for n in range(half)]
            carries = carries[half:]
        total = Signal(signed(24), name=f"total_{group}")
        claim.module.d.comb += total.eq(level[0] + carries[0])
        claim.always(f"fits_{group}", (total >= -GROUP * 144) & (total <= GROUP * 144))
        for place, cycles in ((group + PASS_GROUPS, 0), (group, BEFORE)):
            late = claim.past(total, unit.latency + cycles, name=f"late_{place}").as_signed()
            magnitude, negative = output.group_sum[place], output.group_negative[place]
            claim.always(f"sum_{place}", Mux(negative, -magnitude, magnitude) == late)
    return claim


def scaled(hdl: ModuleType = scales) -> Claim:
    """`Scales`: the product of significands and the sum of exponents, of both types; NaN and zeros.

    No assumptions.
    """
    claim = Claim()
    unit = hdl.Scales()
    claim.include(unit)
    given, output = unit.input, unit.output
    nans = []
    for group in range(PASS_GROUPS):
        parts = []
        for name in ("scale_a", "scale_b"):
            chosen = Mux(given.second, getattr(given, name)[16:], getattr(given, name)[:16])
            byte = Signal(8, name=f"{name}_{group}")
            claim.module.d.comb += byte.eq(chosen.word_select(group, 8))
            subnormal = byte[3:7] == 0
            exponent = Mux(given.ue4m3, Mux(subnormal, 1, byte[3:7]) + 120, byte)
            parts.append((exponent, Mux(given.ue4m3, byte[:3] + Mux(subnormal, 0, 8), 8)))
            nans.append(Mux(given.ue4m3, byte[:7] == 0x7F, byte == 0xFF))
        (x_exponent, x), (y_exponent, y) = parts
        rows = Array(Array(Const(p * q, 8) for q in range(16))[y] for p in range(16))
        wanted = Signal(18, name=f"wanted_{group}")
        claim.module.d.comb += wanted.eq(Cat((x_exponent + y_exponent)[:9], rows[x], (x != 0) & (y != 0)))
        late = claim.past(wanted, unit.latency, name=f"late_{group}")
        claim.always(f"exponent_{group}", output.scale_exponent[group] == late[:9])
        claim.always(f"significand_{group + 2}", output.significand[group + PASS_GROUPS] == late[9:17])
        claim.always(f"nonzero_{group}", output.nonzero_scales[group] == late[17])
        before = claim.past(late[9:17], BEFORE, name=f"before_{group}")
        claim.always(f"significand_{group}", output.significand[group] == before)
    nan = claim.past(Cat(nans).any(), unit.latency, name="nan")
    claim.always("nan", output.scale_nan == (nan | claim.past(nan, BEFORE, name="nan_before")))
    return claim


def aligned(hdl: ModuleType = align) -> Claim:
    """`Align`: the magnitude shifted right by eight times the distance's upper bits, cut off, with its sign.

    No assumptions.
    """
    claim = Claim()
    unit = hdl.Align()
    claim.include(unit)
    given, output = unit.input, unit.output
    for group in range(GROUPS):
        sign = given.group_negative[group] ^ given.c_negative
        product = given.scaled_sum[group]
        whole = Signal(WINDOW, name=f"whole_{group}")
        claim.module.d.comb += whole.eq(Cat(Const(0, WINDOW - (TERM + FINE - 1)), product))
        magnitude = whole >> Cat(Const(0, 3), given.distance[group][3:])
        wanted = Signal(signed(WINDOW + 1), name=f"wanted_{group}")
        claim.module.d.comb += wanted.eq(Mux(sign, -magnitude, magnitude))
        late = claim.past(wanted, unit.latency, name=f"late_{group}").as_signed()
        term = Value.cast(output.term[group]).as_signed() + output.carry[group]
        claim.always(f"term_{group}", term == late)
    return claim


def addend_aligned(hdl: ModuleType = align) -> Claim:
    """`AlignAddend`: C in the window's units, shifted right by its distance. No assumptions."""
    claim = Claim()
    unit = hdl.AlignAddend()
    claim.include(unit)
    whole = Cat(Const(0, ADDEND - SIGNIFICAND), unit.input.c_significand)
    late = claim.past(whole >> unit.input.distance[GROUPS], unit.latency, name="addend")
    claim.always("addend", unit.output.addend == late)
    return claim


def normalized(hdl: ModuleType = add) -> Claim:
    """`Normalize`: the magnitude shifted left by what the exponent becomes less, and cut to 24 bits.

    With the leading bit one, limit + 1 - exponent is the shift; without, the exponent is 0 and the limit the
    shift. Assumes what `Maximum` keeps to, an Emax of the least at least.
    """
    claim = Claim()
    unit = hdl.Normalize()
    claim.include(unit)
    given, output = unit.input, unit.output
    claim.assume("maximum", (given.maximum >= LEAST_MAXIMUM) & (given.maximum < 500))
    late = claim.past(Cat(given.magnitude, given.maximum), unit.latency, name="input")
    magnitude, limit = late[:TOP], late[TOP:] - LEAST_MAXIMUM
    normal = output.leading[-1]
    shift = Signal(10, name="shift")
    claim.module.d.comb += shift.eq(Mux(normal, limit + 1 - output.biased, limit))
    near = Signal(6, name="near")
    claim.module.d.comb += near.eq(Mux(shift < TOP, shift, TOP))
    shifted = Signal(2 * TOP, name="shifted")
    claim.module.d.comb += shifted.eq(magnitude << near)
    claim.always("fits", shifted[TOP:] == 0)
    claim.always("leading", output.leading == shifted[TOP - SIGNIFICAND : TOP])
    claim.always("biased", (output.biased != 0) == normal)
    claim.always("limit", implies(normal, output.biased <= limit + 1))
    return claim


CLAIMS = {
    "products": (multiplied, len(products.Products.delays)),
    "group_sums": (summed, len(products.GroupSums.delays) + BEFORE),
    "scales": (scaled, len(scales.Scales.delays) + BEFORE),
    "align": (aligned, len(align.Align.delays)),
    "align_addend": (addend_aligned, len(align.AlignAddend.delays)),
    "normalize": (normalized, len(add.Normalize.delays)),
}
"""Each with the cycles from its oldest input."""

SLOW = {"products": pytest.mark.long}


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in CLAIMS])
def test_stage(name: str) -> None:
    claim, latency = CLAIMS[name]
    prove(f"group_sums_{name}", claim(), Flushed(latency))


@pytest.mark.parametrize(
    ("name", "module", "text", "fault", "broken"),
    [
        pytest.param(
            *("products", products, "(ones[0] & ones[1])", "(ones[0] | ones[1])", "product"),
            marks=pytest.mark.long,
        ),
        ("group_sums", products, "(carry ^ negative)", "carry", "sum"),
        ("scales", scales, "field[0] | subnormal, field[1:3]", "field[0], field[1:3]", "exponent"),
        ("align", align, "(coarse == step)", "(coarse[:2] == step)", "term"),
        ("align_addend", align, "_FINE_BITS, DISTANCE))", "_FINE_BITS, DISTANCE - 1))", "addend"),
        ("normalize", add, "(steps[-1] & ~move)", "steps[-1]", "fits|leading|biased|limit"),
    ],
)
def test_faulty_stage(name: str, module: ModuleType, text: str, fault: str, broken: str) -> None:
    claim, latency = CLAIMS[name]
    with pytest.raises(Counterexample, match=f"broken: .*({broken})"):
        prove(f"faulty_group_sums_{name}", claim(faulty(module, text, fault)), Flushed(latency))
