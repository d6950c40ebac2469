"""Coverpoints of the alignment: how far the terms of a sum lie below the largest of them."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.arrays import decode
from golden.arithmetic.decode import ZERO_EXPONENT
from golden.tables.formats import FloatFormat, float_format
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import HOPPER
from regression.functional.model import Seen, bin_name, count_codes, coverpoint

__all__ = ["DISTANCES", "EDGES", "POINTS", "first_block", "sample_alignment"]

_MULTIPLICANDS: Final = ("f16", "bf16", "tf32")
_WINDOW: Final = HOPPER.fraction_bits
EDGES: Final = (0, 1, 2, 8, 16, _WINDOW - 1, _WINDOW, _WINDOW + 1, _WINDOW + 2)
"""The first distance of each bucket; the last has no end."""

DISTANCES: Final = ("0", "1", "2 to 7", "8 to 15", "16 to 23", "24", "25", "26", "27 and more", "zero")
_F64_EDGES: Final = (-108, -53, -1, 0, 1, 2, 54, 108)
_F64_DISTANCES: Final = (
    "less than -108",
    "-108 to -54",
    "-53 to -2",
    "-1",
    "0",
    "1",
    "2 to 53",
    "54 to 107",
    "108 and more",
)


def _no_floor(type: str, result: str) -> str | None:
    if result == "f16" and type != "f16":
        return "only f16 has results of f16"
    if result == "f32" and type == "f16":
        return "products of f16 are at least 2**-48, and an addend of f32 is above the floor"
    return None


POINTS: Final = (
    coverpoint(
        "alignment distance",
        "How far the exponent of a term is below the largest of its sum, to beyond the bits that are kept.",
        {"type": _MULTIPLICANDS, "term": ("product", "addend"), "distance": DISTANCES},
    ),
    coverpoint(
        "exponent floor",
        "Sums whose terms are all below the least exponent that the alignment takes for the largest.",
        {"type": _MULTIPLICANDS, "result": ("f32", "f16")},
        _no_floor,
    ),
    coverpoint(
        "f64 distance",
        "Exponent of the addend less that of the product.",
        {"distance": _F64_DISTANCES, "signs": ("alike", "opposite")},
    ),
)


def sample_alignment(seen: Seen, instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]]) -> None:
    """Note the distances in the first sum of each element, of finite numbers of other types than fp8."""
    a = decode(matrices["a"], float_format(instruction.a_type))
    b = decode(matrices["b"], float_format(instruction.b_type))
    c = decode(matrices["c"], float_format(instruction.c_type))
    if instruction.a_type == "f64":
        _sample_double(seen, a, b, c)
        return
    block = first_block(instruction)
    products = a.alignment_exponent()[:, :block, None] + b.alignment_exponent()[None, :block, :]
    addend = c.alignment_exponent()
    zero: NDArray[np.bool_] = products <= ZERO_EXPONENT // 2
    largest = np.maximum(np.where(zero, ZERO_EXPONENT, products).max(axis=1), addend)
    in_row = np.logical_or.reduce(a.special[:, :block], axis=1)
    in_column = np.logical_or.reduce(b.special[:block], axis=0)
    finite: NDArray[np.bool_] = ~(in_row[:, None] | in_column[None, :] | c.special)
    fused = _fused(instruction)
    floor = HOPPER.least_exponent(fused)
    assert floor is not None
    below = finite & (largest < floor) & (largest > ZERO_EXPONENT // 2)
    if below.any() and _no_floor(instruction.a_type, fused.name) is None:
        seen["exponent floor", bin_name(instruction.a_type, fused.name)] += int(below.sum())
    largest = np.maximum(largest, floor)
    for term, exponents, shown in (
        ("product", products, np.broadcast_to(finite[:, None, :], products.shape)),
        ("addend", addend, finite),
    ):
        reference = largest[:, None, :] if term == "product" else largest
        is_zero: NDArray[np.bool_] = exponents <= ZERO_EXPONENT // 2
        codes = np.searchsorted(EDGES, reference - exponents, side="right") - 1
        codes = np.where(is_zero, len(EDGES), codes)[shown]
        bins = [bin_name(instruction.a_type, term, distance) for distance in DISTANCES]
        count_codes(seen, "alignment distance", bins, codes)


def first_block(instruction: MmaInstruction) -> int:
    """How many products the first sum of each element takes."""
    depth = instruction.shape.k
    return min(HOPPER.block(float_format(instruction.a_type), instruction.mnemonic) or depth, depth)


def _fused(instruction: MmaInstruction) -> FloatFormat:
    """The format of the sum's result, before any conversion."""
    alike = instruction.c_type == instruction.d_type
    return float_format(instruction.d_type if alike else "f32")


def _sample_double(seen: Seen, a: Any, b: Any, c: Any) -> None:
    """The first product of each element with its addend."""
    product = a.exponent[:, :1].astype(np.int64) + b.exponent[:1].astype(np.int64)
    usable = ~(a.special[:, :1] | b.special[:1] | c.special)
    usable &= (a.significand[:, :1] != 0) & (b.significand[:1] != 0) & (c.significand != 0)
    opposite = a.negative[:, :1] ^ b.negative[:1] ^ c.negative
    codes = np.searchsorted(_F64_EDGES, c.exponent - product, side="right")
    for signs, where in (("alike", usable & ~opposite), ("opposite", usable & opposite)):
        bins = [bin_name(distance, signs) for distance in _F64_DISTANCES]
        count_codes(seen, "f64 distance", bins, codes[where])
