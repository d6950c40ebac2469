"""Operands that reach the corners of the arithmetic: each tile is drawn from one of several kinds."""

from typing import Any, Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from golden.arguments import dtype_of
from golden.random_operands import exponent_fields
from golden.tables.formats import FORMATS, FloatFormat, IntegerFormat, float_format
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import MmaInstruction

TWO_PRODUCTS: Final = ("two products", "two small products", "two infinite products")
"""Distributions in which all products but two are zeros: of any exponents, near the least, and infinite."""

FLOAT_KINDS: Final = (
    "uniform bits",
    "near one",
    "few bits",
    "bottom",
    "top",
    "special",
    "subnormal",
    "largest",
    "cancelling",
    "far apart",
    "ties",
    "one product",
    "no addend",
    "special alone",
    *TWO_PRODUCTS,
)
"""Distributions of floating point, from which all operands of one multiply are drawn together."""

INTEGER_KINDS: Final = ("uniform", "extremes", "small", "at the limits", "zeros")
"""Distributions of integers."""

_EXPONENTS: Final = {
    **{"bottom": "products near the bottom", "no addend": "products near the bottom"},
    **{"top": "products near the top", "subnormal": "subnormal", "largest": "largest"},
}
"""Distributions of exponents as `golden.random_operands` names them, of those that are not near one."""

_USES: Final[tuple[Use, ...]] = ("a", "b", "c")
Bits = NDArray[Any]


def draw_operands(random: Generator, instruction: MmaInstruction, kind: str) -> tuple[Bits, Bits, Bits]:
    """A, B and C of one multiply, as `golden.mma` takes them.

    The kind is one of `FLOAT_KINDS` or `INTEGER_KINDS`, whichever the instruction multiplies.
    """
    shape = instruction.shape
    a_format, b_format = FORMATS[instruction.a_type], FORMATS[instruction.b_type]
    c_format = FORMATS[instruction.c_type]
    extents = [shape.extent(use) for use in _USES]
    if isinstance(a_format, IntegerFormat):
        a, b = (
            _integers(random, FORMATS[name], kind, extent)
            for name, extent in zip((instruction.a_type, instruction.b_type), extents[:2], strict=True)
        )
        return a, b, _integers(random, c_format, kind, extents[2])
    assert isinstance(b_format, FloatFormat)
    assert isinstance(c_format, FloatFormat)
    if kind == "ties":
        return _ties(random, instruction)
    if kind == "special alone":
        return _special_alone(random, instruction)
    if kind in TWO_PRODUCTS:
        return _two_products(random, instruction, kind)
    a = _floats(random, a_format, kind, extents[0], addend=False)
    b = _floats(random, b_format, kind, extents[1], addend=False)
    c = _floats(random, c_format, kind, extents[2], addend=True)
    if kind == "cancelling":
        _cancel(random, a, b, a_format, b_format)
    elif kind == "one product":
        a[:, 1:] &= a.dtype.type(a_format.sign_mask)
    elif kind == "no addend":
        c &= c.dtype.type(c_format.sign_mask)
    return a, b, c


def special_values(format: FloatFormat) -> list[int]:
    """Zeros, subnormals, ones, largest numbers, infinities and NaN with payloads, each of both signs."""
    step = 1 << format.ignored_bits
    top = format.infinity
    quiet = 1 << (format.fraction_bits + format.ignored_bits - 1)
    one = format.bias << (format.fraction_bits + format.ignored_bits)
    least_normal = 1 << (format.fraction_bits + format.ignored_bits)
    magnitudes = [0, step, least_normal - step, least_normal, one, format.largest_finite, top]
    magnitudes += [top | quiet, top | quiet | 3 * step, top | step, top | quiet - step]
    if format.ignored_bits:
        magnitudes += [top | 1, one | step - 1, step - 1]
    return [sign | magnitude for magnitude in magnitudes for sign in (0, format.sign_mask)]


def _floats(
    random: Generator, format: FloatFormat, kind: str, extent: tuple[int, int], *, addend: bool
) -> Bits:
    """Bit patterns of one matrix."""
    unsigned = dtype_of(format).type
    bits: Bits = random.integers(0, 1 << format.bits, extent, dtype=unsigned)
    if kind == "uniform bits":
        return bits
    low = format.fraction_bits + format.ignored_bits
    keep = unsigned(format.sign_mask | ((1 << low) - 1))
    if kind == "far apart":
        field = random.integers(1, (1 << format.exponent_bits) - 1, extent)
    else:
        field = exponent_fields(random, format, _EXPONENTS.get(kind, "near one"), extent, addend)
    bits = bits & keep | field.astype(unsigned) << unsigned(low)
    if kind in ("few bits", "special"):
        bits &= ~unsigned((1 << (low - 2)) - 1)
    if kind == "special":
        chosen = np.array(special_values(format), dtype=unsigned)
        zeros = np.array([0, format.sign_mask], dtype=unsigned)
        where = random.random(extent)
        bits = np.where(where < 0.4, random.choice(zeros, extent), bits)
        bits = np.where(where > 0.9, random.choice(chosen, extent), bits)
    return bits


def _cancel(random: Generator, a: Bits, b: Bits, a_format: FloatFormat, b_format: FloatFormat) -> None:
    """Make the second half of the products the negative of the first, but for a last bit here and there."""
    half = a.shape[1] // 2
    a[:, half:] = a[:, :half] ^ a.dtype.type(a_format.sign_mask)
    b[half:] = b[:half]
    nearly = random.random(b[half:].shape) < 1 / a.shape[1]
    b[half:][nearly] ^= b.dtype.type(1 << b_format.ignored_bits)


def _ties(random: Generator, instruction: MmaInstruction) -> tuple[Bits, Bits, Bits]:
    """One product for each element, near half the last place of C; or C near half the last place of D."""
    shape = instruction.shape
    a_format, b_format = float_format(instruction.a_type), float_format(instruction.b_type)
    c_format, d_format = float_format(instruction.c_type), float_format(instruction.d_type)
    a = np.zeros(shape.extent("a"), dtype_of(a_format))
    b = np.zeros(shape.extent("b"), dtype_of(b_format))
    if c_format.fraction_bits > d_format.fraction_bits:
        return a, b, _halves(random, shape.extent("c"), d_format)
    c: Bits = random.integers(0, 1 << c_format.bits, shape.extent("c"), dtype=dtype_of(c_format))
    low = c_format.fraction_bits + c_format.ignored_bits
    field = int(random.choice([0, 1, c_format.bias + int(random.integers(-3, 4))]))
    c &= c.dtype.type(c_format.sign_mask | ((1 << low) - 1))
    c |= c.dtype.type(field << low)
    c[random.random(c.shape) < 0.2] = 0
    at = max(field, 1) - c_format.bias
    half = d_format.fraction_bits + 1
    below = random.integers(half - 1, half + 2, (1, shape.n))
    row = max(a_format.minimum_exponent, min(a_format.bias, (at - half) // 2))
    low = a_format.fraction_bits + a_format.ignored_bits
    b_low = b_format.fraction_bits + b_format.ignored_bits
    k = int(random.integers(shape.k))
    signs = random.choice(np.array([0, a_format.sign_mask], a.dtype), (shape.m, 1))
    a[:, k : k + 1] = signs | a.dtype.type(a_format.bias + row << low)
    column = np.clip(b_format.bias + at - below - row, 1, 2 * b_format.bias)
    b[k : k + 1] = column.astype(b.dtype) << b.dtype.type(b_low)
    return a, b, c


def _special_alone(random: Generator, instruction: MmaInstruction) -> tuple[Bits, Bits, Bits]:
    """One product of special values for each element, or of one and a special value; the others are zeros."""
    shape = instruction.shape
    a_format, b_format = float_format(instruction.a_type), float_format(instruction.b_type)
    c_format, d_format = float_format(instruction.c_type), float_format(instruction.d_type)
    a = random.choice(np.array([0, a_format.sign_mask], dtype_of(a_format)), shape.extent("a"))
    b = random.choice(np.array([0, b_format.sign_mask], dtype_of(b_format)), shape.extent("b"))
    k = int(random.integers(shape.k))
    a[:, k] = random.choice(np.array(special_values(a_format), dtype_of(a_format)), shape.m)
    b[k] = random.choice(np.array(special_values(b_format), dtype_of(b_format)), shape.n)
    ones = random.random(shape.n) < 0.5
    b[k, ones] = b_format.bias << (b_format.fraction_bits + b_format.ignored_bits)
    addends = np.array(special_values(c_format), dtype_of(c_format))
    if (c_format.name, d_format.name) == ("f32", "f16"):
        with np.errstate(invalid="ignore"):
            widened = np.array(special_values(d_format), np.uint16).view(np.float16).astype(np.float32)
        addends = np.concatenate([addends, widened.view(np.uint32)])
    c = random.choice(addends, shape.extent("c"))
    c[random.random(c.shape) < 0.3] &= c.dtype.type(c_format.sign_mask)
    return a, b, c


def _two_products(random: Generator, instruction: MmaInstruction, kind: str) -> tuple[Bits, Bits, Bits]:
    """All k but two are zeros, one in each half that `mma` of fp8 takes at once: more products hide a sum."""
    a_format, b_format, c_format = (float_format(instruction.types[use]) for use in _USES)
    a = np.zeros(instruction.shape.extent("a"), dtype_of(a_format))
    b = np.zeros(instruction.shape.extent("b"), dtype_of(b_format))
    quads = 4 * random.integers(instruction.shape.k // 4, size=2)
    for k in (quads + random.integers(2, size=2) + (0, 2)).tolist():
        a[:, k] = _apart(random, a_format, kind, a[:, k].shape, addend=False)
        b[k] = _apart(random, b_format, kind, b[k].shape, addend=False)
    return a, b, _apart(random, c_format, kind, instruction.shape.extent("c"), addend=True)


def _apart(
    random: Generator, format: FloatFormat, kind: str, extent: tuple[int, ...], *, addend: bool
) -> Bits:
    """Numbers of any exponents, or near the least product; some of the least numbers; ones and infinities."""
    low = format.fraction_bits + format.ignored_bits
    if kind == "two infinite products":
        one = format.bias << low
        chosen = [one, format.infinity if format.has_infinity else one, *([0] if addend else [])]
        magnitudes = random.choice(chosen, extent)
    else:
        reach = format.bias - 1 if format.bits == 16 else 24
        highest = 2 * format.bias if kind == "two products" else format.bias // 2
        fields = (format.bias - reach, format.bias + reach) if addend else (0, highest)
        fractions = random.integers(0, 1 << low, extent) * random.integers(2, size=extent)
        magnitudes = random.integers(*fields, extent, endpoint=True) << low | fractions
        place = random.random(extent)
        least = random.choice([1, 1, 2, 3, 5, 11], extent) << format.ignored_bits
        magnitudes = np.where(
            place < 0.4, least, np.where(place > 0.8, (not addend) << format.ignored_bits, magnitudes)
        )
    signs: Bits = random.choice(np.array([0, format.sign_mask], dtype_of(format)), extent)
    signs |= magnitudes.astype(signs.dtype)
    return signs


def _halves(random: Generator, extent: tuple[int, int], format: FloatFormat) -> Bits:
    """F32 values half way between neighbours of a smaller format, or one place to a side of it."""
    shorter = random.integers(0, format.fraction_bits + 1, extent)
    steps = 2 * (random.integers(0, 1 << format.fraction_bits, extent) >> shorter) + 1
    unit = format.minimum_exponent - format.fraction_bits - 1 + int(random.choice([0, 0, 9, 28]))
    values = np.ldexp(steps.astype(np.float32), unit) * random.choice(np.array([-1, 1], np.float32), extent)
    bits: Bits = values.view(np.uint32) + random.choice(np.array([0, 0, 1, 0xFFFFFFFF], np.uint32), extent)
    return bits


def _integers(random: Generator, format: Any, kind: str, extent: tuple[int, int]) -> Bits:
    """Values of one matrix."""
    dtype = np.int32 if format.bits == 32 else np.int16
    least, greatest = format.minimum, format.maximum
    if kind == "zeros":
        few = random.random(extent) < (0.7 if format.bits == 32 else 0.02)
        return np.where(few, random.choice(np.array([least, greatest], dtype), extent), dtype(0))
    if kind == "small":
        least, greatest = max(least, -4), min(greatest, 4)
    if kind == "extremes" or (kind == "at the limits" and format.bits < 32):
        return random.choice(np.array([least, greatest], dtype), extent)
    values: Bits = random.integers(least, greatest, extent, dtype=dtype, endpoint=True)
    if kind == "at the limits":
        near = np.abs(values % 64)
        values = np.where(values < 0, least + near, greatest - near).astype(dtype)
    return values
