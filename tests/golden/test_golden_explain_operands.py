"""What `golden.explain` accepts: raw bits or values, in lists, tuples or arrays, with and without numpy."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import golden
from golden.explanation.operands import checked_elements
from golden.tables.formats import FORMATS

WMMA = "wmma.mma.sync.aligned.row.col"
F16 = f"{WMMA}.m16n16k16.f32.f32"
F64 = f"{WMMA}.m8n8k4.f64.f64.f64.f64"
S8 = f"{WMMA}.m16n16k16.s32.s8.s8.s32"
B1 = "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"
NAMES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def bits_and_notes(type, value):
    (bits,), notes = checked_elements("c", value, type, None)
    return bits, notes


@pytest.mark.parametrize("make", [list, tuple, np.array])
def test_sequences_of_raw_bits(make):
    a, b = [0x3C00, 0x4000, *[0] * 14], [0x4200, 0x3800, *[0] * 14]  # 1 * 3 + 2 * 0.5
    found = golden.explain(F16, make(a), make(b), 0x3F800000)
    assert found.result == 0x40A00000
    assert found.notes == ()


@pytest.mark.parametrize(
    "make", [list, tuple, np.array, lambda v: np.array(v, np.float16), lambda v: [*np.array(v)]]
)
def test_sequences_of_values(make):
    a, b = [1.0, 2.0, *[0.0] * 14], [3.0, 0.5, *[-0.0] * 14]
    found = golden.explain(F16, make(a), make(b), 1.0)
    assert found.result == 0x40A00000
    assert found.notes == ()
    assert [number.bits for number in found.steps[0].terms[2].factors] == [0, 0x8000]


@pytest.mark.parametrize("type", NAMES)
def test_values_are_rounded_as_the_processor_does(type):
    """Halfway cases, subnormals, overflow and signed zeros among them."""
    random = np.random.default_rng(31)
    patterns = random.integers(0, 1 << 64, 3000, dtype=np.uint64)
    values = [*patterns.view(np.float64), 65504.0, 65519.9, 65520.0, -65520.0, 2.0**-25, 1.5 * 2.0**-24]
    values += [*(random.standard_normal(3000) * 2.0 ** random.integers(-30, 18, 3000)), 0.0, -0.0]
    values += [2049.0, 2051.0, np.inf, -np.inf, 5e-324, 3.4028235677973366e38]
    dtype = f"u{FORMATS[type].bits // 8}"
    for value in values:
        if np.isnan(value):
            continue
        with np.errstate(all="ignore"):
            expected = NAMES[type](value)
        bits, notes = bits_and_notes(type, float(value))
        assert bits == int(expected.view(dtype))
        assert len(notes) == (float(expected) != float(value))


@pytest.mark.parametrize(
    ("type", "value", "bits", "note"),
    [
        ("bf16", 1.00390625, 0x3F80, ["c: 1.00390625 is rounded to 1.0, bf16 0x3f80"]),
        ("bf16", 1.01171875, 0x3F82, ["c: 1.01171875 is rounded to 1.015625, bf16 0x3f82"]),
        ("tf32", 1.0 + 2.0**-10, 0x3F802000, []),
        ("tf32", 1.0 + 2.0**-11, 0x3F800000, ["c: 1.00048828125 is rounded to 1.0, tf32 0x3f800000"]),
        ("tf32", -1e39, 0xFF800000, ["c: -1e+39 is rounded to -inf, tf32 0xff800000"]),
        ("f16", 1e-9, 0x0000, ["c: 1e-09 is rounded to 0.0, f16 0x0"]),
        ("f16", float("inf"), 0x7C00, []),
        ("f16", float("nan"), 0x7FFF, []),
        ("bf16", -float("inf"), 0xFF80, []),
        ("tf32", float("nan"), 0x7FFFFFFF, []),
        ("f64", 0.1, 0x3FB999999999999A, []),
        ("f16", Fraction(1, 4), 0x3400, []),
    ],
)
def test_value(type, value, bits, note):
    assert bits_and_notes(type, value) == (bits, note)


def test_nan_of_f64_keeps_its_bits():
    pattern = 0xFFF0000000000001 | 1 << 51
    assert bits_and_notes("f64", np.uint64(pattern).view(np.float64)) == (pattern, [])


def test_notes_name_every_rounded_operand():
    values = [0.1, *[1.0] * 15]
    found = golden.explain(F16, values, values, 0.1)
    assert found.notes == (
        "a_row[0]: 0.1 is rounded to 0.0999755859375, f16 0x2e66",
        "b_column[0]: 0.1 is rounded to 0.0999755859375, f16 0x2e66",
        "c: 0.1 is rounded to 0.10000000149011612, f32 0x3dcccccd",
    )


def test_integers_are_values():
    found = golden.explain(S8, [-128] * 16, [127] * 16, -7)
    assert found.result == -7 - 16 * 128 * 127
    bits = golden.explain(B1, [True, False] * 64, [0] * 128, 1)
    assert bits.result == 65


ROW = [0] * 16
BITS = "raw bit patterns of f16 from 0 to 65535, or floating-point values"
S8_VALUES = r"integers from -128 to 127 \(values of s8\)"


@pytest.mark.parametrize(
    ("instruction", "a", "message"),
    [
        (F16, [65536, *ROW[1:]], f"a_row\\[0\\]: got the value 65536; allowed: {BITS}"),
        (F16, [0, -1, *ROW[2:]], f"a_row\\[1\\]: got the value -1; allowed: {BITS}"),
        (F16, [True, *ROW[1:]], f"a_row\\[0\\]: got the truth value True; allowed: {BITS}"),
        (F16, np.zeros(16, bool), f"a_row\\[0\\]: got the truth value False; allowed: {BITS}"),
        (F16, ["1", *ROW[1:]], f"a_row\\[0\\]: got '1' of type str; allowed: {BITS}"),
        (F16, [1j, *ROW[1:]], f"a_row\\[0\\]: got 1j of type complex; allowed: {BITS}"),
        (F16, [None, *ROW[1:]], f"a_row\\[0\\]: got None of type NoneType; allowed: {BITS}"),
        (
            F16,
            [0.5, *ROW[1:]],
            r"a_row\[1\]: got the integer 0 beside floating-point values; allowed: only raw bit patterns "
            r"\(integers\), or only values \(floating-point numbers\)",
        ),
        (
            F16,
            [Fraction(1, 3)] * 16,
            rf"a_row\[0\]: got the value Fraction\(1, 3\), which f64 does not hold exactly; allowed: {BITS}",
        ),
        (S8, [128, *ROW[1:]], f"a_row\\[0\\]: got the value 128; allowed: {S8_VALUES}"),
        (S8, [-129, *ROW[1:]], f"a_row\\[0\\]: got the value -129; allowed: {S8_VALUES}"),
        (S8, [1.0] * 16, f"a_row\\[0\\]: got the floating-point value 1.0; allowed: {S8_VALUES}"),
        (S8, [float("nan")] * 16, f"a_row\\[0\\]: got the floating-point value nan; allowed: {S8_VALUES}"),
        (S8, [float("inf")] * 16, f"a_row\\[0\\]: got the floating-point value inf; allowed: {S8_VALUES}"),
        (S8, [True] * 16, f"a_row\\[0\\]: got the truth value True; allowed: {S8_VALUES}"),
        (S8, "0123456789abcdef", r"a_row: got shape \(\); allowed: shape \(16,\)"),
        (S8, [ROW], r"a_row: got shape \(1, 16\); allowed: shape \(16,\)"),
        (S8, [], r"a_row: got shape \(0,\); allowed: shape \(16,\)"),
        (S8, 3, r"a_row: got shape \(\); allowed: shape \(16,\)"),
    ],
)
def test_refused(instruction, a, message):
    with pytest.raises(golden.InvalidArgument, match=f"^{message}$"):
        golden.explain(instruction, a, ROW, 0)


def test_refused_addend():
    with pytest.raises(golden.InvalidArgument, match=r"^c: got shape \(1,\); allowed: shape \(\)$"):
        golden.explain(F16, ROW, ROW, [0])
    message = (
        r"c: got the value 2147483648; allowed: integers from -2147483648 to 2147483647 \(values of s32\)"
    )
    with pytest.raises(golden.InvalidArgument, match=f"^{message}$"):
        golden.explain(S8, ROW, ROW, 2**31)


@pytest.mark.parametrize(
    ("instruction", "length", "value"), [(F16, 16, 0.1), (F64, 4, 0.1), (S8, 16, -3), (B1, 128, 1)]
)
def test_works_where_numpy_cannot_be_imported(instruction, length, value):
    program = (
        "import sys\n"
        "sys.modules['numpy'] = None\n"
        "import golden\n"
        f"found = golden.explain({instruction!r}, [{value}] * {length}, [{value}] * {length}, {value})\n"
        "print(found.result)\n"
        "try: golden.mma\n"
        "except ImportError: print('no numpy')"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(golden.__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    expected = golden.explain(instruction, [value] * length, [value] * length, value).result
    assert (result.stdout, result.stderr) == (f"{expected}\nno numpy\n", "")
