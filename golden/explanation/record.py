"""Every step of one result, as plain data: what `golden.explain` returns and pictures are drawn from."""

from dataclasses import dataclass
from typing import Literal

from golden.arithmetic.number import Number


@dataclass(frozen=True, kw_only=True)
class Term:
    """One term of a sum, before and after alignment."""

    factors: tuple[Number, ...]
    """The two factors of a product and its block scales, or c alone."""
    kind: Literal["zero", "finite", "infinity", "nan"]
    """A product of an infinity and a zero is ``"nan"``."""
    negative: bool
    exponent: int
    """Sum of the factors' exponents; the significand is not normalised."""
    significand: int
    """Exact product of the factors' significands."""
    fraction_bits: int
    """Places of the significand behind the point."""
    aligned: int
    """Magnitude in whole units, truncated towards zero."""
    cut_bits: int
    """How many low bits of the significand lie below the unit."""
    lost: int
    """Value of those bits: 0 when truncation changed nothing."""


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """From an exact magnitude to a bit pattern."""

    format: str
    """PTX type of the result."""
    mode: str
    """``"rn"``, ``"rz"``, ``"rm"`` or ``"rp"``."""
    negative: bool
    significand: int
    """The magnitude, in units of ``2**exponent``."""
    exponent: int
    leading_exponent: int | None
    """Of the magnitude's leading one, which normalisation moves in front of the point; None for 0."""
    last_place: int
    """Exponent of the result's last place; it does not fall below the subnormals'."""
    kept: int
    """Significand of the result before rounding."""
    dropped_bits: int
    """Bits of the magnitude below the last place; negative when zeros were appended instead."""
    dropped: int
    """Value of those bits."""
    up: bool
    """Whether one was added in the last place."""
    subnormal: bool
    """Whether the result is below the smallest normal number."""
    overflow: bool
    """Whether it is beyond the largest finite number."""
    bits: int
    """The bit pattern."""


@dataclass(frozen=True, kw_only=True)
class FusedSum:
    """One fused dot-product-add, or one fused multiply-add of f64."""

    terms: tuple[Term, ...]
    """The products in ascending k, then c."""
    largest_exponent: int | None
    """Emax: of the terms that are not zero, but no less than `least_exponent`; None for a sum that is aligned
    without loss."""
    least_exponent: int | None
    """Lower limit of Emax, where there is one."""
    unit_exponent: int
    """Every aligned term is a multiple of ``2**unit_exponent``."""
    total: int
    """Sum of the aligned terms, in units, with its sign."""
    special: Literal["nan", "infinity", "-infinity"] | None
    """The result where a term is not finite; there is no rounding then."""
    rounding: Rounding | None
    result_format: str
    result: int
    """Bit pattern."""


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """A conversion between f16 and f32: of c before the sum, or of the result after it."""

    source: Number
    rounding: Rounding | None
    """None for infinities and NaN."""
    result_format: str
    result: int
    """Bit pattern."""


@dataclass(frozen=True, kw_only=True)
class Saturation:
    """satf: infinities to the largest finite number, NaN to +0."""

    before: int
    result: int
    """Bit patterns."""


@dataclass(frozen=True, kw_only=True)
class IntegerSum:
    """An integer dot product."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    products: tuple[int, ...]
    c: int
    exact: int
    """Sum of products and c."""
    saturate: bool
    """Clamped to s32 instead of wrapped modulo 2**32."""
    result: int


@dataclass(frozen=True, kw_only=True)
class BitStep:
    """A dot product of single bits."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    operation: str
    """``"xor"`` or ``"and"``."""
    combined: tuple[int, ...]
    """``a op b``, bit by bit."""
    count: int
    """How many of them are set."""
    c: int
    result: int
    """``c + count``, wrapped modulo 2**32."""


Step = FusedSum | Conversion | Saturation | IntegerSum | BitStep


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """How one element of D came about; `dataclasses.asdict` makes JSON of it."""

    instruction: str
    """PTX text."""
    profile: str
    """Name of the numerics profile."""
    steps: tuple[Step, ...]
    """In the order in which they happen; each sum's c is the result before it."""
    result: int
    """Bit pattern of floating point, value of integers."""
    notes: tuple[str, ...] = ()
    """One sentence for each operand that was given as a value which its format does not hold exactly."""
