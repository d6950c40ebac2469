"""Sums of 8, 6 and 4 bits, with block scales or without, sparse or not: what becomes of their terms."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.decode import ZERO_EXPONENT
from golden.arithmetic.fp4 import KEPT_BITS, LEAST_EXPONENT
from golden.arithmetic.rules import fused_rules
from golden.arithmetic.scales import SCALE_BITS, SCALE_TYPES, decode_scale
from golden.sparsity import stored_places
from golden.tables.formats import float_format
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import Profile
from regression.functional.decoded import decode
from regression.functional.model import Coverpoint, Seen, bin_name, count_codes, coverpoint

OUTCOMES: Final = ("exact", "cut", "cancelled", "special")
"""Of a sum: all bits count; some do not; none is left, of products that are not zero; no number comes out."""

_GROUP_OUTCOMES: Final = (
    "a group cancels",
    "a group that cancels is the only one of the greatest exponent",
    "a group has no products",
    "a scale is zero",
)
SCALE_PARTS: Final = {
    name: np.array([decode_scale(byte, number) for byte in range(256)])
    for number, name in enumerate(SCALE_TYPES)
}
"""Significand, exponent and whether it is NaN, of each byte."""


def has_groups(instruction: MmaInstruction) -> bool:
    """Whether products are added in groups, each aligned by its scales alone."""
    return instruction.kind.startswith("mxf4")


def sum_name(instruction: MmaInstruction) -> str:
    """How a sum is formed; without a kind types of 8 bits are multiplied as with ``f8f6f4``."""
    sparse = "sparse" if instruction.is_sparse else "dense"
    if has_groups(instruction):
        return f"{sparse} {instruction.kind} {instruction.scale_vec} {instruction.scale_type}"
    types = f"{instruction.a_type}.{instruction.b_type} to {instruction.d_type}"
    return f"{sparse} {instruction.kind or 'f8f6f4'} {types}"


def points_of(forms: list[MmaInstruction]) -> Iterator[Coverpoint]:
    """The coverpoints of the sums of some multiplies."""
    fused = dict.fromkeys(sum_name(item) for item in forms if not has_groups(item))
    yield coverpoint(
        "small sum",
        "What becomes of the products of each pair of types of 8, 6 and 4 bits, under their scales, and C.",
        {"sum": tuple(fused), "outcome": OUTCOMES},
    )
    grouped = {sum_name(item): item.scale_type for item in forms if has_groups(item)}
    if grouped:
        yield coverpoint(
            "group sum",
            "What becomes of groups of products of e2m1 under their scales, and C.",
            {"sum": tuple(grouped), "outcome": (*OUTCOMES, *_GROUP_OUTCOMES)},
            lambda name, outcome: (
                "no ue8m0 is zero" if (grouped[name], outcome) == ("ue8m0", "a scale is zero") else None
            ),
        )


def outcomes(
    terms: NDArray[Any], addend: NDArray[Any], some: NDArray[Any], unit: NDArray[Any]
) -> NDArray[Any]:
    """The places in `OUTCOMES` of sums.

    Parameters
    ----------
    terms, addend : ndarray of float64, shapes (m, t, n) and (m, n)
        Exact.
    some : ndarray of bool, shape (m, n)
        Whether a product is not zero.
    unit : ndarray of int, shape (m, n)
        Exponent of the unit of which whole multiples are kept.
    """
    with np.errstate(invalid="ignore"):
        in_units = np.ldexp(np.concatenate([terms, addend[:, None]], axis=1), -unit[:, None])
        kept = np.trunc(in_units)
        is_cut, is_zero = (kept != in_units).any(axis=1), kept.sum(axis=1) == 0
    is_special = ~np.isfinite(in_units).all(axis=1)
    return np.select([is_special, is_cut, is_zero & some], [3, 1, 2], 0)


def sample_sums(
    seen: Seen,
    instruction: MmaInstruction,
    matrices: Mapping[Use, NDArray[Any]],
    profile: Profile,
    scales: Mapping[Use, NDArray[np.uint8]],
    metadata: NDArray[np.uint8] | None,
) -> None:
    """Note the sums of a multiply; no scales and no metadata where it has none."""
    x, y = (decode(matrices[use], float_format(instruction.types[use])) for use in ("a", "b"))
    others = y.float64(), y.alignment_exponent()
    if metadata is None:
        y_values, y_exponents = (each[None] for each in others)
    else:
        y_values, y_exponents = (each[stored_places(instruction.sparsity, metadata)] for each in others)
    c = decode(matrices["c"], float_format(instruction.c_type))
    with np.errstate(invalid="ignore"):
        products = x.float64()[:, :, None] * y_values
    name, powers = sum_name(instruction), c.alignment_exponent()
    factors, exponents, is_nan = _products_of_scales(instruction, scales)
    if has_groups(instruction):
        count = profile.fp4_group
        assert count is not None
        grouped = products.reshape(len(products), -1, count, products.shape[2])
        repeat = grouped.shape[1] // factors.shape[1]
        factors, exponents, is_nan = (np.repeat(each, repeat, 1) for each in (factors, exponents, is_nan))
        is_some = (grouped != 0).any(axis=2)
        terms = grouped.sum(axis=2)
        takes_part = is_some & (factors != 0)
        own = np.where(takes_part, exponents, ZERO_EXPONENT)
        largest = np.maximum(own.max(axis=1), np.maximum(powers, LEAST_EXPONENT))
        _sample_groups(seen, name, terms, takes_part, own, largest, powers)
        for what, where in (
            ("a group has no products", ~is_some),
            ("a scale is zero", is_some & (factors == 0)),
        ):
            if where.any():
                seen["group sum", bin_name(name, what)] += int(where.any(axis=1).sum())
        unit, some, point = largest - KEPT_BITS, takes_part.any(axis=1), "group sum"
    else:
        rules, _ = fused_rules(x.format, y.format, c.format, profile, instruction.mnemonic)
        own = x.alignment_exponent()[:, :, None] + y_exponents + exponents
        largest = np.maximum(own.max(axis=1), np.maximum(powers, rules.least_exponent))
        terms, unit, some, point = (
            products,
            largest - rules.fraction_bits,
            (products != 0).any(axis=1),
            "small sum",
        )
    terms = np.where(is_nan, np.nan, np.ldexp(terms * factors, exponents))
    codes = outcomes(terms, c.float64(), some, unit)
    count_codes(seen, point, codes, name, OUTCOMES)


def _sample_groups(
    seen: Seen,
    name: str,
    terms: NDArray[Any],
    takes_part: NDArray[Any],
    own: NDArray[Any],
    largest: NDArray[Any],
    powers: NDArray[Any],
) -> None:
    cancels = takes_part & (terms == 0)
    # How many terms have the greatest exponent, C among them.
    of_largest = own == largest[:, None]
    is_alone = of_largest.sum(axis=1) + (powers == largest) == 1
    found = cancels.any(axis=1), (cancels & of_largest).any(axis=1) & is_alone
    for what, where in zip(_GROUP_OUTCOMES, found, strict=False):
        if where.any():
            seen["group sum", bin_name(name, what)] += int(where.sum())


def _products_of_scales(
    instruction: MmaInstruction, scales: Mapping[Use, NDArray[np.uint8]]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Factors, exponents and whether one is NaN, of shape (m, scales, n); one, zero and no without scales."""
    if not scales:
        return np.ones((1, 1, 1)), np.zeros((1, 1, 1), np.int64), np.zeros((1, 1, 1), np.bool_)
    table = SCALE_PARTS[instruction.scale_type]
    x, y = (np.moveaxis(table[scales[use]], -1, 0) for use in ("a", "b"))
    x, y = x[:, :, :, None], y[:, None]
    return x[0] * y[0] / 4.0**SCALE_BITS, x[1] + y[1], (x[2] | y[2]) != 0
