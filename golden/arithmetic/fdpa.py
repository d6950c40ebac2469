"""The fused dot-product-add (FDPA) of f16, bf16 and tf32, and the chain that makes an element of D of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.accumulate import accumulate
from golden.arithmetic.align import align, power_of_two
from golden.arithmetic.decode import decode
from golden.arithmetic.round_pack import round_pack
from golden.tables.formats import FloatFormat, float_format
from golden.tables.instruction_set import Mnemonic
from golden.tables.profiles import Profile

__all__ = ["convert", "dot_product", "fdpa", "put_specials", "saturate_to_finite"]

F32 = float_format("f32")

# How float64 carries the arithmetic exactly. A finite operand has at most 24 significand bits and a
# magnitude between 2**-149 and 2**128, so the product of two multiplicands (at most 11 bits each) is an
# exact float64 between 2**-272 and 2**256, and infinities and NaN multiply as the specification asks.
# Truncation needs only the product with a power of two (`align`), the sum only integers below 2**53
# (`accumulate`), so that nothing is ever rounded before `round_pack`.


class Operand:
    """Elements of A, B or C, decoded once for all the products they take part in.

    Parameters
    ----------
    bits : ndarray
        Bit patterns.
    format : FloatFormat

    Attributes
    ----------
    values : ndarray of float64
    exponents : ndarray of int16
        Alignment exponents.
    """

    def __init__(self, bits: NDArray[Any], format: FloatFormat) -> None:
        decoded = decode(bits, format)
        self.values = decoded.float64()
        self.exponents = decoded.alignment_exponent()


def fdpa(
    a: list[tuple[NDArray[np.float64], NDArray[np.int16]]],
    b: list[tuple[NDArray[np.float64], NDArray[np.int16]]],
    c: Operand,
    fraction_bits: int,
    least_exponent: int,
) -> tuple[NDArray[np.float64], NDArray[np.int16]]:
    """Align and add the products of one block and c.

    Parameters
    ----------
    a, b : list of (values, exponents)
        One entry a product; the arrays of a and b broadcast against each other to the shape of c.
    c : Operand
    fraction_bits : int
        The unit is ``2**(Emax - fraction_bits)``.
    least_exponent : int
        Emax is never less.

    Returns
    -------
    total : ndarray of float64
        Whole number of units; infinite or NaN where the result is.
    exponent : ndarray of int16
        Of the unit.
    """
    largest = np.maximum(c.exponents, np.int16(least_exponent))
    sums = np.empty_like(largest)
    for (_, a_exponents), (_, b_exponents) in zip(a, b, strict=True):
        np.add(a_exponents, b_exponents, out=sums)
        np.maximum(largest, sums, out=largest)
    unit = largest
    unit -= np.int16(fraction_bits)
    per_unit = power_of_two(np.negative(unit, out=sums))

    total = align(c.values, per_unit)
    products = np.empty_like(total)
    for (a_values, _), (b_values, _) in zip(a, b, strict=True):
        np.multiply(a_values, b_values, out=products)
        accumulate(total, align(products, per_unit, out=products))
    return total, unit


def pack_sum(
    total: NDArray[np.float64], unit: NDArray[np.int16], format: FloatFormat, rounding: str
) -> NDArray[Any]:
    """Round the sum of an FDPA to `format`: NaN is canonical, every zero is +0."""
    finite = np.isfinite(total)
    all_finite = bool(finite.all())
    magnitude = np.abs(total)
    if not all_finite:
        magnitude[~finite] = 0.0
    result = round_pack(total < 0, magnitude.astype(np.int64), unit, format, rounding, "infinity")
    result[result == format.sign_mask] = 0
    if not all_finite:
        put_specials(result, total, format)
    return result


def put_specials(result: NDArray[Any], values: NDArray[np.float64], format: FloatFormat) -> None:
    """Put infinities and the canonical NaN where `values` has any, in place."""
    result[np.isnan(values)] = format.canonical_nan
    result[values == np.inf] = format.infinity
    result[values == -np.inf] = format.infinity | format.sign_mask


def _truncate(result: NDArray[Any], count: int) -> None:
    """Clear the lowest fraction bits of finite f32 results, in place."""
    nan = result == F32.canonical_nan
    result &= np.uint32(~((1 << count) - 1) & 0xFFFFFFFF)
    result[nan] = F32.canonical_nan


def convert(bits: NDArray[Any], source: FloatFormat, target: FloatFormat) -> NDArray[Any]:
    """Convert between formats as IEEE 754 does, to nearest even; a NaN becomes the canonical one."""
    number = decode(bits, source)
    significand = np.where(number.special, 0, number.significand.astype(np.int64))
    result = round_pack(number.negative, significand, number.exponent - source.fraction_bits, target, "rn")
    result[number.infinite] |= target.infinity
    result[number.nan] = target.canonical_nan
    return result


def saturate_to_finite(bits: NDArray[Any], format: FloatFormat) -> None:
    """satf, in place: infinities become the largest finite number of their sign, NaN becomes +0."""
    number = decode(bits, format)
    bits[number.infinite] -= 1 << format.ignored_bits
    bits[number.nan] = 0


def dot_product(
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    *,
    multiplicand: FloatFormat,
    c_format: FloatFormat,
    d_format: FloatFormat,
    profile: Profile,
    mnemonic: Mnemonic = "wmma",
    saturate: bool = False,
    b_multiplicand: FloatFormat | None = None,
) -> NDArray[Any]:
    """D = A B + C by chained FDPAs; the tiles are the last axis, where numpy is fastest.

    Parameters
    ----------
    a : ndarray, shape (k, m, tiles)
        Bit patterns of `multiplicand`.
    b : ndarray, shape (k, n, tiles)
        Likewise.
    c : ndarray, shape (m, n, tiles)
        Bit patterns of `c_format`.
    multiplicand, c_format, d_format : FloatFormat
    profile : Profile
    mnemonic : {"wmma", "mma", "wgmma"}
        Decides how many products of tf32 an FDPA takes.
    saturate : bool
        satf.
    b_multiplicand : FloatFormat or None
        Format of b where it is not that of a.

    Returns
    -------
    ndarray, shape (m, n, tiles)
        Bit patterns of `d_format`.
    """
    block = profile.block(multiplicand, mnemonic)
    if block is None:
        raise ValueError(f"profile {profile.name} has no {multiplicand.name}")
    fraction_bits = profile.fraction_bits
    discarded = 0
    if multiplicand.bits == 8:
        assert profile.fp8_fraction_bits is not None
        fraction_bits = profile.fp8_fraction_bits
        discarded = F32.fraction_bits - fraction_bits
    fused = d_format if c_format == d_format else F32
    if c_format != fused:
        c, c_format = convert(c, c_format, fused), fused
    least = profile.least_exponent(fused)
    if least is None:  # a limit that no term can be below
        least = min(2 * multiplicand.minimum_exponent, fused.minimum_exponent)
    rounding = "rz" if fused == F32 else "rn"

    rows, columns = Operand(a, multiplicand), Operand(b, b_multiplicand or multiplicand)
    row_terms = [(v[:, None, :], e[:, None, :]) for v, e in zip(rows.values, rows.exponents, strict=True)]
    column_terms = [
        (v[None, :, :], e[None, :, :]) for v, e in zip(columns.values, columns.exponents, strict=True)
    ]
    result = c
    with np.errstate(invalid="ignore"):
        for start in range(0, len(row_terms), block):
            here = slice(start, start + block)
            total, unit = fdpa(
                row_terms[here], column_terms[here], Operand(result, c_format), fraction_bits, least
            )
            result = pack_sum(total, unit, fused, rounding)
            if discarded and fused == F32:
                _truncate(result, discarded)
    if d_format != fused:
        result = convert(result, fused, d_format)
    if saturate:
        saturate_to_finite(result, d_format)
    return result
