"""The sums of which golden makes a result of fp8, computed once for all their coverpoints."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.arrays import Decoded, convert, decode
from golden.arithmetic.fp8 import fp8_halves
from golden.arithmetic.rules import fused_rules
from golden.arithmetic.tiles import block_sums
from golden.tables.formats import FloatFormat, float_format
from golden.tables.instruction_set import WGMMA_TILE, Use
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import HOPPER

__all__ = ["F16", "PAIRS", "RESULTS", "STAGES", "Fp8Sum", "fp8_sums", "is_fp8", "kept_format", "pair_of"]

F16: Final = float_format("f16")
_F32: Final = float_format("f32")
_TYPES: Final = WGMMA_TILE.multiplicands

PAIRS: Final = tuple(f"{a}.{b}" for a, b in product(_TYPES, repeat=2))
"""The types of A and B."""

RESULTS: Final = WGMMA_TILE.accumulators
STAGES: Final = ("wgmma", "mma first", "mma second")
"""The only sum of a tile of `wgmma`, and the two of `mma`, whose multiplicands have become f16."""


@dataclass(frozen=True, kw_only=True)
class Fp8Sum:
    """One fused dot-product-add, with what golden finds on the way.

    Parameters
    ----------
    stage : str
        One of `STAGES`.
    products : ndarray of float64, shape (m, k, n)
        Exact; infinite or NaN where an operand is.
    product_exponents : ndarray of int64, shape (m, k, n)
        Sums of the factors' exponents.
    addend : Decoded
        C, or the sum before; shape (m, n).
    fraction_bits : int
        Of the alignment.
    total : ndarray of float64, shape (m, n)
        Sum of the aligned terms in units; infinite or NaN where the result is.
    unit : ndarray of int32, shape (m, n)
        Exponent of the unit: the greatest exponent less the fraction bits.
    format : FloatFormat
        To which the sum is rounded, see `kept_format`.
    """

    stage: str
    products: NDArray[np.float64]
    product_exponents: NDArray[np.int64]
    addend: Decoded
    fraction_bits: int
    total: NDArray[np.float64]
    unit: NDArray[np.int32]
    format: FloatFormat


def is_fp8(instruction: MmaInstruction) -> bool:
    """Whether a multiply has multiplicands of fp8."""
    return instruction.a_type in _TYPES


def pair_of(instruction: MmaInstruction) -> str:
    """Which of `PAIRS` a multiply has."""
    return f"{instruction.a_type}.{instruction.b_type}"


def kept_format(stage: str, result: str) -> FloatFormat:
    """The numbers that a sum may become: those of f32 in `wgmma` have fewer fraction bits than the format."""
    format = float_format(result)
    if stage != "wgmma" or format != _F32:
        return format
    assert HOPPER.fp8_fraction_bits is not None
    discarded = _F32.fraction_bits - HOPPER.fp8_fraction_bits
    return FloatFormat(
        name=format.name,
        bits=format.bits,
        exponent_bits=format.exponent_bits,
        fraction_bits=format.fraction_bits - discarded,
        ignored_bits=discarded,
        canonical_nan=format.canonical_nan,
    )


def fp8_sums(
    instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]]
) -> tuple[tuple[Fp8Sum, ...], NDArray[Any]]:
    """The sums of a multiply, and the bit patterns of the last one."""
    a_format, b_format = float_format(instruction.a_type), float_format(instruction.b_type)
    result = float_format(instruction.d_type)
    if instruction.family.converted_to is None:
        whole, bits = _sum("wgmma", matrices["a"], matrices["b"], matrices["c"], a_format, b_format, result)
        return (whole,), bits
    a, b = convert(matrices["a"], a_format, F16), convert(matrices["b"], b_format, F16)
    bits = np.zeros_like(matrices["c"])
    sums = []
    for stage, half in zip(STAGES[1:], fp8_halves(instruction.shape.k), strict=True):
        found, bits = _sum(stage, a[:, half], b[half], bits, F16, F16, result)
        sums.append(found)
    return tuple(sums), bits


def _sum(
    stage: str,
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    a_format: FloatFormat,
    b_format: FloatFormat,
    result: FloatFormat,
) -> tuple[Fp8Sum, NDArray[Any]]:
    """One sum, and its bit patterns."""
    rules, _ = fused_rules(a_format, b_format, result, HOPPER, "wgmma" if stage == "wgmma" else "mma")
    total, unit, bits = block_sums(a, b, c, a_format, b_format, rules)
    x, y = decode(a, a_format), decode(b, b_format)
    with np.errstate(invalid="ignore"):
        products = x.float64()[:, :, None] * y.float64()[None]
    found = Fp8Sum(
        stage=stage,
        products=products,
        product_exponents=x.alignment_exponent()[:, :, None] + y.alignment_exponent()[None],
        addend=decode(c, result),
        fraction_bits=rules.fraction_bits,
        total=total,
        unit=unit,
        format=kept_format(stage, result.name),
    )
    return found, bits.astype(c.dtype)
