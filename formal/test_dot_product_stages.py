"""The dot-product unit, stage by stage: alignment, sum, normalisation and rounding, for every input."""

from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Mux, Signal, Value, signed

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Flushed, prove
from golden.tables.formats import float_format
from golden.tables.profiles import PROFILES
from hdl.config import DotProductConfig
from hdl.dot_product import align, normalize, reduce, round
from hdl.dot_product.fields import fields
from hdl.dot_product.operands import Multiplicand, Operation, Result
from hdl.dot_product.widths import LANES, Widths
from hdl.stream.pipeline import Pipeline

pytestmark = pytest.mark.formal

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"}))
WIDTHS = Widths(CONFIG)
VOLTA = DotProductConfig(formats=frozenset({"f16", "bf16", "i8"}), profile=PROFILES["volta"])
"""Without a least Emax: limits of bf16 go down to -120."""

FP8 = DotProductConfig(formats=frozenset({"fp8"}))
"""With sums shorter than the longest shift."""

FLOATS = (Multiplicand.F16, Multiplicand.BF16, Multiplicand.TF32, Multiplicand.FP8)
F16, F32 = float_format("f16"), float_format("f32")
_TO_TERMS = len(align.AlignSelects.delays) + len(align.Align.delays)


def is_float(operation: Any) -> Value:
    """Whether an operation is on floating-point multiplicands."""
    return Cat(operation.multiplicand == name for name in FLOATS).any()


def aligner(hdl: ModuleType) -> Pipeline:
    """`AlignSelects` and `Align`."""
    found = fields(CONFIG)
    given = "operation coarse sign c_sign c_value c_beyond c_distance count product"
    return Pipeline(
        {name: found[name] for name in given.split()},
        {name: found[name] for name in ("term", "carry", "c_term")},
        [hdl.AlignSelects(CONFIG), hdl.Align(CONFIG)],
    )


def aligned(hdl: ModuleType = align) -> Claim:
    """`Align`, floating point: each product and C, cut off at the last bit, with its sign.

    A lane's term and carry are together the product without its lowest four bits, shifted right by eight
    times the distance, towards zero. Assumes what `Multiply` keeps to: products of magnitudes below
    2 ** (window + 4), and no popcount; and that C is a significand of 24 bits.
    """
    claim = Claim()
    unit = aligner(hdl)
    claim.include(unit)
    end = WIDTHS.integer_bit + WIDTHS.window
    floating = is_float(unit.input.operation)
    padding = WIDTHS.profile.fraction_bits - 23
    c_distance, c_value = unit.input.c_distance, unit.input.c_value
    c_term = Mux(c_distance[5], 0, Cat(Const(0, padding), c_value) >> c_distance[:5])
    late = claim.past(Cat(floating, c_term), unit.latency, name="c")
    claim.assume("c_is_significand", implies(floating, c_value < 1 << 24))
    claim.always("c_term", implies(late[0], unit.output.c_term == late[1:]))
    claim.assume("no_popcount", implies(floating, unit.input.count == 0))
    for lane in range(LANES):
        distance = unit.input.coarse[lane]
        sign = unit.input.sign[lane] ^ unit.input.c_sign
        product = Value.cast(unit.input.product[lane])
        claim.assume(f"product{lane}_fits", implies(floating, product[end:] == 0))
        magnitude = Mux(distance[2], 0, product[WIDTHS.integer_bit : end] >> (distance[:2] << 3))
        wanted = Signal(signed(WIDTHS.window + 1), name=f"wanted{lane}")
        claim.module.d.comb += wanted.eq(Mux(sign, -magnitude, magnitude))
        late_wanted = claim.past(Cat(floating, wanted), unit.latency, name=f"term{lane}")
        term = Value.cast(unit.output.term[lane]) + unit.output.carry[lane]
        same = term[: len(wanted)] == late_wanted[1:]
        claim.always(f"term{lane}", implies(late_wanted[0], same))
    return claim


def reduced(hdl: ModuleType = reduce) -> Claim:
    """`Reduce`: the sum of all terms, carries and C, modulo 2 ** total. No assumptions."""
    claim = Claim()
    unit = hdl.Reduce(CONFIG)
    claim.include(unit)
    # In the order of the tree, since solvers do not know that addition is associative.
    sums: list[Value] = [Value.cast(term) for term in unit.input.term]
    carries = list(unit.input.carry)
    while len(sums) > 1:
        half = len(sums) // 2
        sums = [sums[index] + sums[index + half] + carries[index] for index in range(half)]
        carries = carries[half:]
    total = (sums[0] + unit.input.c_term + carries[0])[: WIDTHS.total]
    claim.always("sum", Value.cast(unit.output.sum)[:] == claim.past(total, unit.latency, name="total"))
    return claim


def is_of(operation: Any, config: DotProductConfig) -> Value:
    """Whether an operation's multiplicands are of a format of the configuration."""
    return Cat(operation.multiplicand == Multiplicand[name.upper()] for name in sorted(config.formats)).any()


def limited(hdl: ModuleType = normalize, config: DotProductConfig = CONFIG, lowest: int = -1) -> Claim:
    """`Limit`: Emax on the scale of the exponents of f32, and its distance below 0, of five bits at most.

    Assumes a format that exists, and an Emax for which the limit is `lowest` at least; 0 for f16.
    """
    claim = Claim()
    unit = hdl.Limit(config)
    claim.include(unit)
    widths, operation, maximum = Widths(config), unit.input.operation, unit.input.maximum
    wide = (operation.multiplicand == Multiplicand.BF16) | (operation.multiplicand == Multiplicand.TF32)
    limit = Signal(signed(len(maximum) + 2), name="limit")
    zero = Mux(wide, widths.exponent_zero(narrow=False), widths.exponent_zero(narrow=True))
    claim.module.d.comb += limit.eq(maximum - zero + widths.top_exponent + F32.bias - 1)
    claim.assume("format", is_of(operation, config))
    claim.assume("limit", Mux(wide, limit >= lowest, limit >= 0))
    floating = is_float(operation)
    positive = Mux(floating & (limit > 0), limit, 0)
    right = Mux(limit < 0, Mux(limit < -31, 31, -limit), 0)
    late = claim.past(Cat(floating, positive[:9], right[:5]), unit.latency, name="wanted")
    claim.always("limit", unit.output.limit == late[1:10])
    claim.always("right", implies(late[0], unit.output.right == late[10:]))
    return claim


def normalized(hdl: ModuleType = normalize, config: DotProductConfig = CONFIG) -> Claim:
    """`Normalize`: the magnitude of the sum, shifted left by what the exponent becomes less.

    With the leading bit one, limit + 1 - exponent is the shift; without, the exponent is 0 and the limit the
    shift. A negative sum's magnitude lacks one in a last place behind all others. Integers pass. Assumes a
    format that exists, and a limit below 511, so that the exponent fits; integers have none (`limited`).
    """
    claim = Claim()
    unit = hdl.Normalize(config)
    claim.include(unit)
    output = unit.output
    bits, limit_bits = len(output.value), len(unit.input.limit)
    integer = ~is_float(unit.input.operation)
    claim.assume("format", is_of(unit.input.operation, config))
    claim.assume("limit", unit.input.limit < Mux(integer, 1, (1 << limit_bits) - 1))
    late = claim.past(Cat(integer, unit.input.limit, unit.input.sum), unit.latency, name="input")
    integer, limit = late[0], late[1 : 1 + limit_bits]
    total = late[1 + limit_bits :].as_signed()
    negative = total < 0
    magnitude = Mux(negative, ~total, total)[:bits]
    normal = output.value[-1]
    shift = Signal(10, name="shift")
    claim.module.d.comb += shift.eq(Mux(normal, limit + 1 - output.exponent, limit))
    longer = Cat(negative.replicate(bits), magnitude, Const(0, bits))
    shifted = (longer << shift[:6])[bits:]
    fits = Mux(shift <= bits, shifted[bits:] == 0, (magnitude == 0) & ~negative)
    wanted = Mux(shift <= bits, shifted[:bits], 0)
    claim.always("negative", output.negative == negative)
    claim.always("integer", implies(integer, output.value == total[:bits]))
    claim.always("value", implies(~integer, (output.value == wanted) & fits))
    claim.always("exponent", implies(~integer, (output.exponent != 0) == normal))
    claim.always("shift", implies(~integer & normal, output.exponent <= limit + 1))
    return claim


def rounded(hdl: ModuleType = round, config: DotProductConfig = CONFIG) -> Claim:
    """`Round`: the magnitude truncated to f32, to the nearest f16, or the clamped integer.

    A negative sum's magnitude is one more than its value, in a last place behind all of its bits, which are
    ones beyond the last one: so one more in its last place.

    Assumes of `Normalize` that an exponent other than 0 comes with the leading bit; that there are no
    infinities or NaN among the operands; and that the exponent is below 400, or 300 where the result is f16:
    its products are of f16, and C is below 2 ** 128. Where the sum's highest bit lies below the
    smallest normal f32's, so that the significand goes `right`, the result is f32 and the exponent 0: C is
    zero, and sixteen products of bf16 stay below 64 * 2 ** Emax, the weight of that bit.
    """
    claim = Claim()
    unit = hdl.Round(config)
    claim.include(unit)
    given, d = unit.input, unit.output.d
    claim.assume("format", is_of(given.operation, config))
    claim.assume("no_specials", Value.cast(given.special) == 0)
    claim.assume("normal", (given.exponent != 0) == given.value[-1])
    single_result = given.operation.result == Result.F32
    claim.assume("exponent", given.exponent < Mux(single_result, 400, 300))
    claim.assume("right", implies(given.right.any(), (given.exponent == 0) & single_result))
    parts = [
        Value.cast(part)
        for part in (given.operation, given.c_sign, given.negative, given.right, given.value, given.exponent)
    ]
    late = claim.past(Cat(*parts), unit.latency, name="input")
    ends = [sum(map(len, parts[:index])) for index in range(len(parts) + 1)]
    operation, c_sign, negative, right, value, exponent = (late[start:end] for start, end in pairwise(ends))
    operation = Operation(operation)
    floating = is_float(operation)
    to_single = operation.result == Result.F32
    whole = value + negative
    # Where one more makes a power of two, it has an exponent of its own.
    magnitude = Mux(whole[-1], whole[1:], whole[:-1])
    becomes_normal = whole[-2] & (exponent == 0) & (right == 0)
    exponent = Mux(whole[-1] | becomes_normal, exponent + 1, exponent)
    significand, sticky = magnitude[-24:] >> right, magnitude[:-24].any()
    sign = (negative ^ c_sign)[0]

    # f32: zero is positive, what is too large is infinite or, saturated, the largest number.
    single = Mux(exponent >= 255, F32.infinity, Cat(significand[:23], exponent[:8]))
    single_zero = significand == 0
    single_limit = Mux(operation.saturate & (exponent >= 255), F32.infinity - 1, single)
    wanted_single = Cat(single_limit[:31], sign & ~single_zero)
    claim.always("f32", implies(floating & to_single, d == wanted_single))

    # f16: last place of 13 bits in a normal result, of more in a subnormal one.
    least = F32.bias - F16.bias + 1
    dropped = Signal(range(256), name="dropped_bits")
    claim.module.d.comb += dropped.eq(Mux(exponent < least, 13 + least - exponent, 13))
    far = dropped > 26
    kept = Mux(far, 0, significand >> dropped[:5])
    rest = Mux(far, significand, significand & ((1 << dropped[:5]) - 1)[:26])
    half = (1 << dropped[:5]) >> 1
    direct = operation.result == Result.F16
    beyond = sticky & direct
    up = ~far & ((rest > half) | (rest == half) & (beyond | kept[0]))
    packed = Signal(20, name="packed")
    above_least = Mux(exponent > least, exponent - least, 0)
    claim.module.d.comb += packed.eq((above_least << 10) + kept + up)
    infinite = packed >= F16.infinity
    bounded = Mux(infinite, Mux(operation.saturate, F16.infinity - 1, F16.infinity), packed)
    # The sign of zero goes, but not of what was another f32 before.
    half_sign = sign & Mux(direct, packed != 0, ~single_zero)
    claim.always("f16", implies(floating & ~to_single, d == Cat(bounded[:15], half_sign)))

    total = Cat(value[:32], negative).as_signed()
    clamped = Mux(total > 2**31 - 1, 2**31 - 1, Mux(total < -(2**31), Const(-(2**31), signed(32)), total))
    integer = Cat(operation.multiplicand == name for name in Multiplicand if name not in FLOATS).any()
    claim.always("integer", implies(integer, d == Mux(operation.saturate, clamped, total)[:32]))
    return claim


def test_align() -> None:
    prove("dot_product_align", aligned(), Flushed(_TO_TERMS))


@pytest.mark.long
def test_reduce() -> None:
    prove("dot_product_reduce", reduced(), Flushed(len(reduce.Reduce.delays)))


def test_normalize() -> None:
    prove("dot_product_normalize", normalized(), Flushed(len(normalize.Normalize.delays)))


def test_round() -> None:
    prove("dot_product_round", rounded(), Flushed(len(round.Round.delays)))


def test_normalize_of_fp8_alone() -> None:
    prove("dot_product_normalize_fp8", normalized(config=FP8), Flushed(len(normalize.Normalize.delays)))


def test_limit() -> None:
    prove("dot_product_limit", limited(), Flushed(len(normalize.Limit.delays)))


def test_limit_without_least_maximum() -> None:
    claim = limited(config=VOLTA, lowest=-120)
    prove("dot_product_limit_volta", claim, Flushed(len(normalize.Limit.delays)))


def test_round_without_least_maximum() -> None:
    prove("dot_product_round_volta", rounded(config=VOLTA), Flushed(len(round.Round.delays)))


def test_faulty_align() -> None:
    broken = faulty(align, "fill.replicate(beyond)", "fill.replicate(beyond - 1)")
    with pytest.raises(Counterexample, match=r"broken: .*term"):
        prove("faulty_dot_product_align", aligned(broken), Flushed(_TO_TERMS))


def test_faulty_reduce() -> None:
    broken = faulty(reduce, "carries[half:]", "carries[:half]")
    with pytest.raises(Counterexample, match="broken: sum"):
        prove("faulty_dot_product_reduce", reduced(broken), Flushed(len(reduce.Reduce.delays)))


def test_faulty_limit_without_least_maximum() -> None:
    broken = faulty(normalize, "distance[bits:].any()", "distance[bits + 1 :].any()")
    claim = limited(broken, VOLTA, -120)
    with pytest.raises(Counterexample, match="broken: right"):
        prove("faulty_dot_product_limit_volta", claim, Flushed(len(normalize.Limit.delays)))


@pytest.mark.parametrize(
    ("text", "fault", "config"),
    [
        ("ample |= allowed & ~move", "ample |= allowed", CONFIG),
        ("top |= lacks_one", "top |= 0", CONFIG),
        ("_all_equal(shifted[-after:], fill)", "_all_equal(value[-after - shift : -shift], fill)", FP8),
    ],
)
def test_faulty_normalize(text: str, fault: str, config: DotProductConfig) -> None:
    claim = normalized(faulty(normalize, text, fault), config)
    with pytest.raises(Counterexample, match="broken: "):
        prove("faulty_dot_product_normalize", claim, Flushed(len(normalize.Normalize.delays)))


@pytest.mark.parametrize(
    ("text", "fault", "broken"),
    [
        ("guard & (differs | kept[0]))", "guard & differs)", "f16"),
        ("guard | ~differs & kept[0]", "guard", "f16"),
        (" | single[23:31].all()", "", "f32"),
        ("exponent[0] | up & kept[:10].all()", "exponent[0]", "f16"),
        ("_value()[:-24].all()", "_value()[:-25].all()", "f"),
        ("negative ^ whole[31]", "negative ^ whole[30]", "integer"),
    ],
)
def test_faulty_round(text: str, fault: str, broken: str) -> None:
    with pytest.raises(Counterexample, match=rf"broken: .*{broken}"):
        prove(
            "faulty_dot_product_round", rounded(faulty(round, text, fault)), Flushed(len(round.Round.delays))
        )
