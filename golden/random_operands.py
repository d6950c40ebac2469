"""Random operands that reach the corners: each tile draws its exponents from one of several distributions."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arguments import dtype_of
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import USES
from golden.tables.matrix_instructions import MmaInstruction


def exponent_fields(
    random: np.random.Generator, format: FloatFormat, kind: str, shape: tuple[int, ...], addend: bool
) -> NDArray[np.int64]:
    """Biased exponents of one tile of a multiplicand, or of the addend that meets their products."""
    top = (1 << format.exponent_bits) - 1
    half = format.bias // 2
    if kind == "near one":
        centre, spread = format.bias, {2: 1, 3: 2, 4: 5, 5: 6, 8: 14, 11: 60}[format.exponent_bits]
    elif kind == "products near the bottom":
        spread = {2: 1, 3: 2, 4: 3, 5: 4, 8: 10, 11: 30}[format.exponent_bits]
        centre = spread if addend else half + 1
    elif kind == "products near the top":
        spread = {2: 1, 3: 1, 4: 2, 5: 3, 8: 4, 11: 20}[format.exponent_bits]
        centre = top - 1 - spread if addend else format.bias + half - 2
    elif kind == "subnormal":
        return random.integers(0, 3, shape)
    elif kind == "largest":
        return random.integers(max(top - 5, 0), top, shape)
    else:
        values = [0, 1, format.bias, format.bias + 1, top - 1, top]
        return random.choice(values, shape, p=[0.5, 0.1, 0.2, 0.15, 0.03, 0.02])
    return np.clip(random.integers(centre - spread, centre + spread, shape, endpoint=True), 0, top)


KINDS: Final = (
    "uniform bits",
    "near one",
    "few bits",
    "products near the bottom",
    "products near the top",
    "near one",
    "sparse and special",
    "subnormal",
    "few bits",
    "products near the bottom",
    "products near the top",
    "largest",
)


def random_floats(
    random: np.random.Generator, format: FloatFormat, shape: tuple[int, ...], addend: bool = False
) -> NDArray[Any]:
    """Bit patterns; the kind goes round along the first axis."""
    unsigned = dtype_of(format).type
    bits = random.integers(0, 1 << format.bits, shape, dtype=unsigned)
    low = format.fraction_bits + format.ignored_bits
    keep = unsigned(format.sign_mask | ((1 << low) - 1))
    for tile in range(shape[0]):
        kind = KINDS[tile % len(KINDS)]
        if kind == "uniform bits":
            continue
        source = "near one" if kind == "few bits" else kind
        field = exponent_fields(random, format, source, shape[1:], addend)
        bits[tile] = bits[tile] & keep | field.astype(unsigned) << unsigned(low)
        if kind == "few bits":
            bits[tile] &= ~unsigned((1 << (low - 2)) - 1)
        if kind == "sparse and special":
            bits[tile] &= np.where(random.random(shape[1:]) < 0.5, unsigned(format.sign_mask), ~unsigned(0))
    return bits


def random_operand(
    random: np.random.Generator, type: str, shape: tuple[int, ...], addend: bool = False
) -> NDArray[Any]:
    """Any element type; integers uniform, with tiles of extremes."""
    format = FORMATS[type]
    if isinstance(format, FloatFormat):
        return random_floats(random, format, shape, addend)
    dtype = np.int32 if format.bits == 32 else np.int16
    values = random.integers(format.minimum, format.maximum, shape, dtype=dtype, endpoint=True)
    extremes = random.choice(np.array([format.minimum, format.maximum], dtype), shape)
    extreme_tile = np.arange(shape[0]) % 3 == 2
    return np.where(extreme_tile.reshape(-1, *[1] * (len(shape) - 1)), extremes, values)


def random_operands(
    random: np.random.Generator, instruction: MmaInstruction, tiles: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """a, b and c of an instruction; in every fifth tile of floating point the products cancel.

    In a sparse multiply they cancel if the second half of a row of metadata repeats the first.
    """
    shape = instruction.shape
    a, b, c = (
        random_operand(random, instruction.types[use], (tiles, *instruction.extent(use)), use == "c")
        for use in USES[:3]
    )
    format = FORMATS[instruction.a_type]
    if isinstance(format, FloatFormat):
        half, stored = shape.k // 2, a.shape[2] // 2
        cancelling = slice(4, None, 5)
        a[cancelling, :, stored:] = a[cancelling, :, :stored] ^ a.dtype.type(format.sign_mask)
        b[cancelling, half:] = b[cancelling, :half]
        nearly = random.random(b[cancelling, half:].shape) < 1 / shape.k
        b[cancelling, half:][nearly] ^= b.dtype.type(1 << format.ignored_bits)
    return a, b, c


def random_metadata(
    random: np.random.Generator, instruction: MmaInstruction, tiles: int
) -> NDArray[np.uint8]:
    """Metadata of a sparse multiply; in every other tile the second half of each row repeats the first."""
    groups = instruction.sparsity.groups
    allowed = np.array(instruction.sparsity.nibbles, np.uint8)
    metadata = random.choice(allowed, (tiles, instruction.shape.m, groups))
    metadata[::2, :, groups // 2 :] = metadata[::2, :, : groups // 2]
    return metadata
