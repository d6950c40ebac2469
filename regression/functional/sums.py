"""The sums of which golden makes a result of floating point, as data: every coverpoint of them is a cross."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.arrays import convert
from golden.arithmetic.chains import Patterns, chain_by_lanes
from golden.arithmetic.decode import NAN
from golden.arithmetic.fdpa import Rules
from golden.arithmetic.rules import fp8_halves, fused_format, fused_rules
from golden.tables.formats import FloatFormat, float_format
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import HOPPER, Profile
from regression.functional.decoded import Decoded, decode
from regression.random_programs.choices import multiplies_of
from regression.random_programs.operands import SOURCES

_COLUMNS: Final = 16
"""Columns of a tile that are multiplied side by side."""


@dataclass(frozen=True, kw_only=True)
class SumKind:
    """One kind of fused dot-product-add."""

    terms: str
    """The types of A and B; before fp8 types, which sum it is."""
    types: tuple[FloatFormat, FloatFormat]
    """Of A and B."""
    multiplied: tuple[FloatFormat, FloatFormat]
    """To which A and B are converted first, if they are."""
    result: FloatFormat
    """Of the sum and of its addend."""
    rules: Rules
    """Golden's."""
    block: int
    """Products, at most."""
    has_addend: bool = True
    """Whether the addend may be anything but zero."""
    addition: str = ""
    """The name of the addition of C that follows, if one does."""

    @property
    def name(self) -> str:
        """As in the bins."""
        return f"{self.terms} to {self.result.name}"

    @property
    def kept(self) -> FloatFormat:
        """The numbers that a sum may become: an f32 of fp8 has fewer fraction bits than the format."""
        lost = self.rules.discarded_bits
        return replace(self.result, fraction_bits=self.result.fraction_bits - lost, ignored_bits=lost)

    @property
    def least_exponent(self) -> int:
        """Of a product, as the alignment sees it."""
        pairs = zip(self.types, self.multiplied, strict=True)
        return sum(max(least_exponent(type), multiplied.minimum_exponent) for type, multiplied in pairs)

    @property
    def bound(self) -> int:
        """All products together are less than two to this."""
        # Without infinities the highest exponent is of numbers.
        greatest = sum(type.bias + (not type.has_infinity) + 1 for type in self.types)
        return greatest + (self.block - 1).bit_length()


@dataclass(frozen=True, kw_only=True)
class Sum:
    """One fused dot-product-add of every element, with what golden finds on the way.

    Arrays have shape (m, n) unless another one is named.
    """

    kind: SumKind
    products: NDArray[np.float64]
    """Exact, shape (m, k, n); infinite or NaN where an operand is."""
    product_exponents: NDArray[np.int64]
    """Sums of the factors' exponents, shape (m, k, n)."""
    addend: Decoded
    """C, or the sum before."""
    total: NDArray[np.float64]
    """Sum of the aligned terms in units; infinite or NaN where the result is."""
    unit: NDArray[np.int32]
    """Exponent of the unit."""
    bits: NDArray[Any]
    """Patterns of the result."""

    @property
    def largest(self) -> NDArray[np.int32]:
        """The greatest exponent, to which the terms are aligned."""
        return self.unit + np.int32(self.kind.rules.fraction_bits)


def block_sums(
    a: Patterns, b: Patterns, c: Patterns, a_format: FloatFormat, b_format: FloatFormat, rules: Rules
) -> tuple[NDArray[np.float64], NDArray[np.int32], Patterns]:
    """One FDPA for each result of a tile, with what lies before its rounding.

    The shapes are (m, k), (k, n) and (m, n), and k is at most a block. Returned are the sums of the aligned
    terms in units, infinite or NaN where the result is; the exponents of the units; and the bit patterns of
    the results.
    """
    fused = rules.format
    assert isinstance(fused, FloatFormat)
    d = np.empty(c.shape, c.dtype)
    largest, total = np.empty(c.shape, np.int32), np.empty(c.shape)
    for i, start in product(range(len(c)), range(0, c.shape[1], _COLUMNS)):
        row, columns = slice(i, i + 1), slice(start, start + _COLUMNS)
        tile, result = (a[None, row], b[None, :, columns], c[None, row, columns]), d[None, row, columns]
        formats = a_format, b_format
        _, *sums = chain_by_lanes(*tile, formats, rules, [a.shape[1]], out=result)
        largest[i, columns], total[i, columns] = (each[: result.shape[2]] for each in sums)
    number, x, y = decode(d, fused), decode(a, a_format), decode(b, b_format)
    special = np.logical_or.reduce(x.special, axis=1, keepdims=True) | decode(c, fused).special
    special |= np.logical_or.reduce(y.special, axis=0, keepdims=True)
    values = np.where(number.kind == NAN, np.nan, np.where(number.negative, -np.inf, np.inf))
    return np.where(special, values, total), largest - rules.fraction_bits, d


def is_fused(instruction: MmaInstruction) -> bool:
    """Whether a multiply consists of fused dot-product-adds: floating point, but not f64."""
    return instruction.c_type in ("f16", "f32")


def is_fp8(instruction: MmaInstruction) -> bool:
    """Whether a multiply has multiplicands of fp8."""
    return is_fused(instruction) and float_format(instruction.a_type).bits == 8


def kinds_of(instruction: MmaInstruction, profile: Profile = HOPPER) -> tuple[SumKind, ...]:
    """The first sum of a multiply for which `is_fused`; both of fp8 in `mma`, of which f16 has been made."""
    family = instruction.family
    types = float_format(instruction.a_type), float_format(instruction.b_type)
    converted_to = None if profile.narrow_block else family.converted_to
    via = (float_format(converted_to),) * 2 if converted_to else types
    pair = f"{instruction.a_type}.{instruction.b_type}" if family.mixed else instruction.a_type
    result = fused_format(float_format(instruction.c_type), float_format(instruction.d_type))
    rules, block = fused_rules(*via, result, profile, instruction.mnemonic)
    terms = f"wgmma {pair}" if is_fp8(instruction) and not profile.narrow_block else pair
    kind = SumKind(terms=terms, types=types, multiplied=via, result=result, rules=rules, block=block)
    if converted_to is None:
        return (kind,)
    return (
        replace(kind, terms=f"mma first {pair}", has_addend=False),
        replace(kind, terms=f"mma second {pair}", addition=f"mma addition {pair} to {result.name}"),
    )


def sums_of(
    instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]], profile: Profile = HOPPER
) -> tuple[Sum, ...]:
    """The sums of `kinds_of`, one after the other."""
    kinds = kinds_of(instruction, profile)
    formats = (float_format(instruction.types[use]) for use in SOURCES)
    a, b, addend = (
        matrices[use] if format == held else convert(matrices[use], format, held)
        for use, format, held in zip(SOURCES, formats, (*kinds[0].multiplied, kinds[0].result), strict=True)
    )
    parts: Sequence[slice | list[int]] = [slice(kinds[0].block)]
    if len(kinds) == 2:
        addend, parts = np.zeros_like(addend), fp8_halves(instruction.shape.k)
    found = []
    for kind, part in zip(kinds, parts, strict=True):
        found.append(sum_of(kind, a[:, part], b[part], addend))
        addend = found[-1].bits
    return tuple(found)


def sum_of(kind: SumKind, a: NDArray[Any], b: NDArray[Any], addend: NDArray[Any]) -> Sum:
    """The sum of one kind of all elements of a matrix, of operands as they are multiplied."""
    total, unit, bits = block_sums(a, b, addend, *kind.multiplied, kind.rules)
    x, y = decode(a, kind.multiplied[0]), decode(b, kind.multiplied[1])
    with np.errstate(invalid="ignore"):
        products = x.float64()[:, :, None] * y.float64()[None]
    return Sum(
        kind=kind,
        products=products,
        product_exponents=x.alignment_exponent()[:, :, None] + y.alignment_exponent()[None],
        addend=decode(addend, kind.result),
        total=total,
        unit=unit,
        bits=bits.astype(addend.dtype),
    )


def least_exponent(format: FloatFormat) -> int:
    """The exponent of the least number."""
    return format.minimum_exponent - format.fraction_bits


SUMS: Final = {kind.name: kind for item in multiplies_of() if is_fused(item) for kind in kinds_of(item)}
"""Every kind, by its name; `wmma` and `mma` share those that differ only in the length of a block."""

ADDITIONS: Final = {kind.addition: kind for kind in SUMS.values() if kind.addition}
"""The second halves, by the names of the additions that follow them."""
