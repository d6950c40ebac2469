"""Approximate instructions against what an H200 and an H100 computed, and published counts."""

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from approximate_captures import capture, digest_of, f32_digest, f64_digest, forms_of, quotient_digest

from golden.approximation.instructions import FORMS
from golden.approximation.interpolator import squares, table
from golden.approximation.operations import operation

CHUNKS = 512
EDGES = {0: "zero and subnormals", 127: "1 up to 2", 128: "2 up to 4", 255: "infinity and NaN"}
"""Chunks of all positive operands of one exponent that are compared with every form."""


def chosen(form, count, of):
    """A fixed pseudorandom choice of chunks, another for each form."""
    seed = int(hashlib.sha256(form.encode()).hexdigest()[:8], 16)
    return sorted(np.random.default_rng(seed).choice(of, count, replace=False).tolist())


def test_captures_are_complete():
    assert len(forms_of("h200")) == 13
    assert set(forms_of("results")) == set(FORMS)
    assert len(FORMS) == 29


@pytest.mark.parametrize("form", forms_of("h200"))
def test_digests(form):
    expected = capture(f"h200/{form}")
    assert expected.shape == (CHUNKS,)
    for chunk in {*EDGES, *chosen(form, 3, CHUNKS)}:
        assert f32_digest(form, chunk) == expected[chunk], f"operands from {chunk << 23:#010x} up"


@pytest.mark.long
@pytest.mark.parametrize("form", forms_of("h200"))
def test_all_digests(form):
    expected = capture(f"h200/{form}")
    wrong = [chunk for chunk in range(CHUNKS) if f32_digest(form, chunk) != expected[chunk]]
    assert wrong == []


@pytest.mark.long
@pytest.mark.parametrize("form", ["sin.approx.f32", "cos.approx.f32"])
def test_all_digests_of_an_h100(form):
    expected = capture(f"h100/{form}")
    wrong = [chunk for chunk in range(CHUNKS) if f32_digest(form, chunk) != expected[chunk]]
    assert wrong == []


@pytest.mark.parametrize("form", ["sin.approx.f32", "cos.approx.f32"])
def test_sine_and_cosine_without_ftz(form):
    """Both forms gave the same digests, and are one function here."""
    flushing = form.replace("approx", "approx.ftz")
    assert np.array_equal(capture(f"h100/{form}"), capture(f"h200/{flushing}"))
    (chunk,) = chosen(form, 1, CHUNKS)
    assert f32_digest(form, chunk) == capture(f"h100/{form}")[chunk]


@pytest.mark.parametrize("form", ["rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64"])
def test_f64_digests(form):
    for chunk in [0, 1, 127, 255, *chosen(form, 2, CHUNKS)]:
        assert f64_digest(form, chunk) == capture(f"h100/{form}")[chunk], (
            f"upper words {chunk << 23:#010x} up"
        )


@pytest.mark.long
@pytest.mark.parametrize("form", ["rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64"])
def test_all_f64_digests(form):
    expected = capture(f"h100/{form}")
    assert [chunk for chunk in range(CHUNKS) if f64_digest(form, chunk) != expected[chunk]] == []


DIVISIONS = [form for form in FORMS if form.startswith("div")]


@pytest.mark.parametrize("form", DIVISIONS)
def test_division_digests(form):
    for chunk in chosen(form, 3, 256):
        assert quotient_digest(form, chunk) == capture(f"h100/{form}")[chunk]


@pytest.mark.long
@pytest.mark.parametrize("form", DIVISIONS)
def test_all_division_digests(form):
    expected = capture(f"h100/{form}")
    assert [chunk for chunk in range(256) if quotient_digest(form, chunk) != expected[chunk]] == []


@pytest.mark.parametrize("form", FORMS)
def test_captured_operands(form):
    """512 operands of every form, special values included."""
    operands, expected = capture(f"operands/{form}"), capture(f"results/{form}")
    found = operation(form)(*operands)
    wrong = np.flatnonzero(found != expected)
    assert not len(wrong), [tuple(map(hex, (*operands[:, i], found[i], expected[i]))) for i in wrong[:5]]


def test_truncated_squares():
    """Against the definition, one partial product at a time."""
    for a in [0, 1, 2, 255, 256, 12345, 0x5555, 0x7FFF]:
        bits = [a >> i & 1 for i in range(15)]
        columns = [(2 * i, bits[i]) for i in range(15)]
        columns += [(i + j + 1, bits[i] * bits[j]) for i in range(15) for j in range(i + 1, 15)]
        assert sum(bit << column for column, bit in columns) == a * a
        kept = sum(bit << column for column, bit in columns if column >= 15)
        assert squares()[a] == kept >> 15
        assert kept % 2**15 == 0


@pytest.mark.parametrize(
    ("name", "rows", "offset_bits"),
    [("ex2", 64, 17), ("rcp", 128, 16), ("rsqrt_even", 64, 17), ("sqrt_odd", 64, 17), ("sin", 64, 17)],
)
def test_tables(name, rows, offset_bits):
    found = table(name)
    assert (len(found.rows), found.offset_bits) == (rows, offset_bits)


NARROW = [form for form in FORMS if form.endswith("f16")]


@pytest.mark.parametrize("form", NARROW)
def test_every_narrow_operand(form):
    """The f32 result for the same value, rounded to nearest and taken back where that went away from zero."""
    operands = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    if form.endswith(".bf16"):
        wide = operands.astype(np.uint32) << np.uint32(16)
    else:
        with np.errstate(invalid="ignore"):
            wide = operands.view(np.float16).astype(np.float32).view(np.uint32)
    exact = operation("ex2.approx.ftz.f32" if form.startswith("ex2") else "tanh.approx.f32")(wide)
    value = exact.view(np.float32)
    if form.endswith(".bf16"):
        low = exact & np.uint32(0xFFFF)
        expected = (exact - low).view(np.float32)
        assert (np.abs(expected[~np.isnan(value)]) <= np.abs(value[~np.isnan(value)])).all()
        bits = (exact - low) >> np.uint32(16)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            nearest = value.astype(np.float16)
        away = (np.abs(nearest.astype(np.float32)) > np.abs(value)) & (np.abs(value) < 65536)
        bits = nearest.view(np.uint16) - away.astype(np.uint16)
    bits = np.where(np.isnan(value), 0x7FFF, bits)
    found = operation(form)(operands)
    assert np.array_equal(found, bits)
    assert digest_of(found) == capture(f"h100/{form}")[0]


@pytest.mark.parametrize("form", NARROW)
def test_pairs(form):
    """Both halves of a register, each by itself."""
    registers = np.random.default_rng(5).integers(0, 1 << 32, 4096, dtype=np.uint32)
    found = operation(f"{form}x2")(registers)
    single = operation(form)
    assert np.array_equal(found & np.uint32(0xFFFF), single(registers.astype(np.uint16)))
    assert np.array_equal(found >> np.uint32(16), single((registers >> np.uint32(16)).astype(np.uint16)))


def differences(form, first):
    """Result minus the rounded root or reciprocal, for all significands from the pattern `first` up."""
    operands = np.arange(first, first + (1 << 23), dtype=np.uint32)
    value = operands.view(np.float32).astype(np.float64)
    exact = 1 / value if form.startswith("rcp") else 1 / np.sqrt(value)
    rounded = exact.astype(np.float32).view(np.uint32).astype(np.int64)
    # f64 is accurate to 2**-51 here. Where f32's rounding is decided by less than that, integers decide.
    distance = np.abs(exact * 2.0**24 % 1 - 0.5)
    for i in np.flatnonzero(distance < 2.0**-20).tolist():
        rounded[i] = rounded_exactly(form, Fraction(float(value[i])), int(rounded[i]))
    found = operation(form)(operands).astype(np.int64) - rounded
    return dict(zip(*(part.tolist() for part in np.unique(found, return_counts=True)), strict=True))


def rounded_exactly(form, value, near):
    """The one of three neighbouring f32 patterns that is nearest, by comparing rational midpoints."""
    for pattern in (near - 1, near, near + 1):
        number = [Fraction(float(np.uint32(p).view(np.float32))) for p in (pattern - 1, pattern, pattern + 1)]
        low, high = (number[0] + number[1]) / 2, (number[1] + number[2]) / 2
        power = 1 if form.startswith("rcp") else 2
        if low**power * value < 1 < high**power * value:
            return pattern
    raise AssertionError(f"{value} lies on a midpoint")


@pytest.mark.parametrize(
    ("form", "first", "exact", "by_one", "by_two"),
    [
        ("rsqrt.approx.f32", 0x3F800000, 6_505_163, 1_883_437, 8),
        ("rsqrt.approx.f32", 0x40000000, 6_637_923, 1_750_685, 0),
        ("rcp.approx.f32", 0x3F800000, 7_280_086, 1_108_522, 0),
    ],
)
def test_published_counts(form, first, exact, by_one, by_two):
    """Differences from correct rounding that were published for A100, L4 and H100."""
    found = differences(form, first)
    assert found.pop(0) == exact
    assert found.pop(1, 0) + found.pop(-1, 0) == by_one
    assert found.pop(2, 0) + found.pop(-2, 0) == by_two
    assert not found
