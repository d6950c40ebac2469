"""Operands that reach the corners of the arithmetic: each tile is drawn from one of several kinds."""

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from golden.arguments import dtype_of
from golden.fragments import distribute
from golden.random_operands import exponent_fields
from golden.sparsity import pack_metadata, stored_places
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.instruction_set import USES, Shape, Use
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.scales import BYTE_IDS, THREAD_IDS

TWO_PRODUCTS: Final = ("two products", "two small products", "two infinite products")
"""Distributions in which all products but two are zeros: of any exponents, near the least, and infinite."""

FLOAT_KINDS: Final = (
    *("uniform bits", "near one", "few bits", "bottom", "top", "special", "subnormal", "largest"),
    *("cancelling", "far apart", "ties", "one product", "no addend", "special alone"),
    *TWO_PRODUCTS,
)
"""Distributions of floating point, from which all operands of one multiply are drawn together."""

_FEW_PRODUCTS: Final = ("ties", "special alone", *TWO_PRODUCTS)
"""Distributions with the same few products in every row."""

INTEGER_KINDS: Final = ("uniform", "extremes", "small", "at the limits", "zeros")
"""Distributions of integers."""

_EXPONENTS: Final = {
    **{"bottom": "products near the bottom", "no addend": "products near the bottom"},
    **{"top": "products near the top", "subnormal": "subnormal", "largest": "largest"},
}
"""Distributions of exponents as `golden.random_operands` names them, of those that are not near one."""

SOURCES: Final = USES[:3]
Bits = NDArray[Any]


def draw_operands(random: Generator, instruction: MmaInstruction, kind: str) -> tuple[Bits, ...]:
    """A, B and C of one multiply, as `golden.mma` takes them, and the metadata of a sparse one.

    The kind is one of `FLOAT_KINDS` or `INTEGER_KINDS`, whichever the instruction multiplies.
    """
    if not instruction.is_sparse:
        return _draw(random, instruction, kind, np.arange(instruction.shape.k))
    sparsity = instruction.sparsity
    metadata = random.choice(
        np.array(sparsity.nibbles, np.uint8), (instruction.shape.m, instruction.shape.k // sparsity.group)
    )
    half = metadata.shape[1] // 2
    if kind == "cancelling":
        metadata[:, half:] = metadata[:, :half]
    elif kind in _FEW_PRODUCTS:
        metadata[:] = metadata[0]
    return *_draw(random, instruction, kind, stored_places(sparsity, metadata[:1])[0]), metadata


def _draw(random: Generator, instruction: MmaInstruction, kind: str, places: Bits) -> tuple[Bits, ...]:
    """`places` are the rows of B that the elements of A's first row meet."""
    extents = [instruction.extent(use) for use in SOURCES]
    if instruction.c_type == "s32":
        named = zip(SOURCES, extents, strict=True)
        return tuple(
            _integers(random, FORMATS[instruction.types[use]], kind, extent) for use, extent in named
        )
    formats = [float_format(instruction.types[use]) for use in USES]
    if kind in _FEW_PRODUCTS:
        a, b = (_zeros(random, *each) for each in zip(formats[:2], extents[:2], strict=True))
        fill = {"ties": _ties, "special alone": _special_alone}.get(kind, partial(_two_products, kind))
        return a, b, fill(random, instruction.shape, formats, a, b, places)
    a, b, c = (
        _floats(random, format, kind, extent, addend=place == 2)
        for place, (format, extent) in enumerate(zip(formats[:3], extents, strict=True))
    )
    if kind == "cancelling":
        _cancel(random, a, b, *formats[:2])
    elif kind == "one product":
        a[:, 1:] &= a.dtype.type(formats[0].sign_mask)
    elif kind == "no addend":
        c &= c.dtype.type(formats[2].sign_mask)
    return a, b, c


def metadata_words(
    random: Generator, instruction: MmaInstruction, metadata: Bits, selector: int
) -> NDArray[np.uint32]:
    """The register of the metadata of a multiply; lanes that the selector does not choose hold anything."""
    words = random.integers(0, 1 << 32, LANES, dtype=np.uint32)
    words[list({lane for lane, *_ in instruction.sparsity.positions(selector)})] = 0
    return words | pack_metadata(instruction, metadata, selector)


def scale_words(random: Generator) -> NDArray[np.uint32]:
    """A register of block scales: any bytes, none twice, or bytes near one with a few of any value."""
    any_bytes = random.permutation(256)[: 4 * LANES].astype(np.uint8)
    centre = int(random.choice([127, 0x38]))
    near = random.integers(centre - 6, centre + 7, 4 * LANES, dtype=np.uint8)
    bytes_ = np.where(random.random(4 * LANES) < random.choice([0.02, 0.1, 1.0]), any_bytes, near)
    return bytes_.view("<u4").astype(np.uint32)


def scale_selectors(random: Generator, instruction: MmaInstruction) -> dict[str, int]:
    """The selectors of block scales, any that the instruction has; none without scales."""
    if not instruction.scales:
        return {}
    found = {f"byte_{use}": BYTE_IDS[instruction.scale_vec] for use in "ab"}
    found |= {f"thread_{use}": threads for use, threads in THREAD_IDS.items()}
    return {name: int(random.choice(allowed)) for name, allowed in found.items()}


def spare_bits(random: Generator, instruction: MmaInstruction, use: Use) -> NDArray[np.uint32]:
    """Bits of a fragment where containers of smaller elements have none: zeros, or anything."""
    element, extent = FORMATS[instruction.types[use]], instruction.extent(use)
    if not instruction.kind or element.bits >= 8 or random.random() < 0.5:
        return np.zeros((1, LANES), np.uint32)
    full = np.full(extent, element.maximum, np.uint8)
    used = distribute(full, use, element.name, instruction.shape, sparse=instruction.is_sparse)
    return random.integers(0, 1 << 32, used.shape, dtype=np.uint32) & ~used


def _low(format: FloatFormat) -> int:
    """The place of the lowest bit of the exponent."""
    return format.fraction_bits + format.ignored_bits


def _zeros(random: Generator, format: FloatFormat, extent: tuple[int, ...]) -> Bits:
    """Zeros of both signs."""
    zeros: Bits = random.choice(np.array([0, format.sign_mask], dtype_of(format)), extent)
    return zeros


def special_values(format: FloatFormat) -> list[int]:
    """Zeros, subnormals, ones, largest numbers, infinities and NaN with payloads, each of both signs."""
    step, top = 1 << format.ignored_bits, format.infinity
    least_normal = 1 << _low(format)
    quiet, one = least_normal >> 1, format.bias * least_normal
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
    low = _low(format)
    keep = unsigned(format.sign_mask | ((1 << low) - 1))
    if kind == "far apart":
        field = random.integers(1, (1 << format.exponent_bits) - 1, extent)
    else:
        field = exponent_fields(random, format, _EXPONENTS.get(kind, "near one"), extent, addend)
    bits = bits & keep | field.astype(unsigned) << unsigned(low)
    if kind in ("few bits", "special"):
        bits &= ~unsigned((1 << max(low - 2, 0)) - 1)
    if kind == "special":
        chosen = np.array(special_values(format), dtype=unsigned)
        where = random.random(extent)
        bits = np.where(where < 0.4, _zeros(random, format, extent), bits)
        bits = np.where(where > 0.9, random.choice(chosen, extent), bits)
    return bits


def _cancel(random: Generator, a: Bits, b: Bits, a_format: FloatFormat, b_format: FloatFormat) -> None:
    """Make the second half of the products the negative of the first, but for a last bit here and there."""
    stored, half = a.shape[1] // 2, b.shape[0] // 2
    a[:, stored:] = a[:, :stored] ^ a.dtype.type(a_format.sign_mask)
    b[half:] = b[:half]
    nearly = random.random(b[half:].shape) < 1 / a.shape[1]
    b[half:][nearly] ^= b.dtype.type(1 << b_format.ignored_bits)


def _ties(
    random: Generator, shape: Shape, formats: list[FloatFormat], a: Bits, b: Bits, places: Bits
) -> Bits:
    """One product for each element, near half the last place of C; or C near half the last place of D."""
    a_format, b_format, c_format, d_format = formats
    if c_format.fraction_bits > d_format.fraction_bits:
        return _halves(random, shape.extent("c"), d_format)
    c: Bits = random.integers(0, 1 << c_format.bits, shape.extent("c"), dtype=dtype_of(c_format))
    field = int(random.choice([0, 1, c_format.bias + int(random.integers(-3, 4))]))
    c &= c.dtype.type(c_format.sign_mask | (1 << _low(c_format)) - 1)
    c |= c.dtype.type(field << _low(c_format))
    c[random.random(c.shape) < 0.2] = 0
    at = max(field, 1) - c_format.bias
    half = d_format.fraction_bits + 1
    below = random.integers(half - 1, half + 2, shape.n)
    row = max(a_format.minimum_exponent, min(a_format.bias, (at - half) // 2))
    column = np.clip(b_format.bias + at - below - row, 1, 2 * b_format.bias)
    k = int(random.integers(len(places)))
    a[:, k] |= a.dtype.type(a_format.bias + row << _low(a_format))
    b[places[k]] |= column.astype(b.dtype) << b.dtype.type(_low(b_format))
    return c


def _special_alone(
    random: Generator, shape: Shape, formats: list[FloatFormat], a: Bits, b: Bits, places: Bits
) -> Bits:
    """One product of special values for each element, or of one and a special value; the others are zeros."""
    a_format, b_format, c_format, d_format = formats
    k = int(random.integers(len(places)))
    a[:, k] = random.choice(np.array(special_values(a_format), a.dtype), shape.m)
    b[places[k]] = random.choice(np.array(special_values(b_format), b.dtype), shape.n)
    b[places[k], random.random(shape.n) < 0.5] = b_format.bias << _low(b_format)
    addends = np.array(special_values(c_format), dtype_of(c_format))
    if (c_format.name, d_format.name) == ("f32", "f16"):
        with np.errstate(invalid="ignore"):
            widened = np.array(special_values(d_format), np.uint16).view(np.float16).astype(np.float32)
        addends = np.concatenate([addends, widened.view(np.uint32)])
    c: Bits = random.choice(addends, shape.extent("c"))
    c[random.random(c.shape) < 0.3] &= c.dtype.type(c_format.sign_mask)
    return c


def _two_products(
    kind: str,
    random: Generator,
    shape: Shape,
    formats: list[FloatFormat],
    a: Bits,
    b: Bits,
    places: Bits,
) -> Bits:
    """All k but two are zeros, one in each half that `mma` of fp8 takes at once: more products hide a sum."""
    a_format, b_format, c_format, _ = formats
    quads = 4 * random.integers(len(places) // 4, size=2)
    for k in (quads + random.integers(2, size=2) + (0, 2)).tolist():
        a[:, k] = _apart(random, a_format, kind, (shape.m,), addend=False)
        b[places[k]] = _apart(random, b_format, kind, (shape.n,), addend=False)
    return _apart(random, c_format, kind, shape.extent("c"), addend=True)


def _apart(
    random: Generator, format: FloatFormat, kind: str, extent: tuple[int, ...], *, addend: bool
) -> Bits:
    """Numbers of any exponents, or near the least product, some least or zero; or ones and infinities."""
    if kind == "two infinite products":
        one = format.bias << _low(format)
        chosen = [one, format.infinity if format.has_infinity else one, *([0] if addend else [])]
        magnitudes = random.choice(chosen, extent)
    else:
        reach = format.bias - 1 if format.bits == 16 else 24
        highest = 2 * format.bias if kind == "two products" else format.bias // 2
        fields = (format.bias - reach, format.bias + reach) if addend else (0, highest)
        fractions = random.integers(0, 1 << _low(format), extent) * random.integers(2, size=extent)
        magnitudes = random.integers(*fields, extent, endpoint=True) << _low(format) | fractions
        place = random.random(extent)
        least = random.choice([1, 1, 2, 3, 5, 11], extent) << format.ignored_bits
        magnitudes = np.where(place < 0.4, least, np.where(place > 0.8, 0, magnitudes))
    bits: Bits = _zeros(random, format, extent) | magnitudes.astype(dtype_of(format))
    return bits


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
