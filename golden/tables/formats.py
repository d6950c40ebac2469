"""Number formats as data: the one place where widths, biases and special encodings are written down."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FloatFormat:
    """A binary floating-point format with subnormals and NaN."""

    name: str
    """The PTX type qualifier, without its dot."""
    bits: int
    """Bits of one element in memory and in a register."""
    exponent_bits: int
    fraction_bits: int
    """Widths of the biased exponent and of the stored fraction."""
    ignored_bits: int = 0
    """Low bits of the storage word that carry no information (tf32: 13)."""
    canonical_nan: int
    """The bit pattern a dot product returns for NaN."""
    has_infinity: bool = True
    """Whether the largest exponent is kept for infinities and NaN, as in IEEE 754. Otherwise only the pattern
    with all ones below the sign is a NaN, and there is no infinity (e4m3)."""
    has_nan: bool = True
    """Otherwise every pattern is a number (formats below 8 bits), and the largest one stands for NaN."""

    @property
    def minimum(self) -> int:
        """The least bit pattern."""
        return 0

    @property
    def maximum(self) -> int:
        """The greatest bit pattern."""
        return (1 << self.bits) - 1

    @property
    def bias(self) -> int:
        """The exponent bias."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def minimum_exponent(self) -> int:
        """The exponent of the smallest normal number, and of every subnormal."""
        return 1 - self.bias

    @property
    def significand_bits(self) -> int:
        """Bits of the significand, the hidden one included."""
        return self.fraction_bits + 1

    @property
    def infinity(self) -> int:
        """The bit pattern of +Inf, or what follows the largest finite number: NaN, or nothing."""
        if not self.has_infinity:
            return self.sign_mask - self.has_nan
        return ((1 << self.exponent_bits) - 1) << (self.fraction_bits + self.ignored_bits)

    @property
    def largest_finite(self) -> int:
        """The bit pattern of the largest finite number."""
        return self.infinity - (1 << self.ignored_bits)

    @property
    def sign_mask(self) -> int:
        """The bit pattern of -0."""
        return 1 << (self.bits - 1)


@dataclass(frozen=True, kw_only=True)
class IntegerFormat:
    """A two's-complement or unsigned integer; single bits are one-bit unsigned integers."""

    name: str
    bits: int
    signed: bool
    """Whether the top bit has negative weight."""

    @property
    def minimum(self) -> int:
        """The least value."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def maximum(self) -> int:
        """The greatest value."""
        return (1 << (self.bits - self.signed)) - 1


Format = FloatFormat | IntegerFormat


def _without_specials(name: str, exponent_bits: int, fraction_bits: int) -> FloatFormat:
    """A format below 8 bits (OCP MX 1.0): neither infinities nor NaN, for which the largest number stands."""
    bits = 1 + exponent_bits + fraction_bits
    return FloatFormat(
        name=name,
        bits=bits,
        exponent_bits=exponent_bits,
        fraction_bits=fraction_bits,
        canonical_nan=(1 << bits - 1) - 1,
        has_infinity=False,
        has_nan=False,
    )


FORMATS: dict[str, Format] = {
    item.name: item
    for item in (
        FloatFormat(name="f16", bits=16, exponent_bits=5, fraction_bits=10, canonical_nan=0x7FFF),
        FloatFormat(name="bf16", bits=16, exponent_bits=8, fraction_bits=7, canonical_nan=0x7FFF),
        FloatFormat(
            name="tf32", bits=32, exponent_bits=8, fraction_bits=10, ignored_bits=13, canonical_nan=0x7FFFFFFF
        ),
        FloatFormat(name="f32", bits=32, exponent_bits=8, fraction_bits=23, canonical_nan=0x7FFFFFFF),
        FloatFormat(
            name="f64", bits=64, exponent_bits=11, fraction_bits=52, canonical_nan=0xFFF8000000000000
        ),
        IntegerFormat(name="s8", bits=8, signed=True),
        IntegerFormat(name="u8", bits=8, signed=False),
        IntegerFormat(name="s4", bits=4, signed=True),
        IntegerFormat(name="u4", bits=4, signed=False),
        IntegerFormat(name="b1", bits=1, signed=False),
        IntegerFormat(name="s32", bits=32, signed=True),
        FloatFormat(
            name="e4m3", bits=8, exponent_bits=4, fraction_bits=3, canonical_nan=0x7F, has_infinity=False
        ),
        FloatFormat(name="e5m2", bits=8, exponent_bits=5, fraction_bits=2, canonical_nan=0x7F),
        _without_specials("e3m2", 3, 2),
        _without_specials("e2m3", 2, 3),
        _without_specials("e2m1", 2, 1),
    )
}
"""Every element type of the instruction set, by its PTX qualifier."""

SCALE_FORMATS: dict[str, FloatFormat] = {
    item.name: item
    for item in (
        FloatFormat(
            name="ue8m0", bits=8, exponent_bits=8, fraction_bits=0, canonical_nan=0xFF, has_infinity=False
        ),
        FloatFormat(
            name="ue4m3", bits=8, exponent_bits=4, fraction_bits=3, canonical_nan=0x7F, has_infinity=False
        ),
    )
}
"""Types of block scales, which have no sign: `golden.arithmetic.scales` decodes them."""


def float_format(name: str) -> FloatFormat:
    """The floating-point format of that name; KeyError where there is none."""
    found = FORMATS[name]
    if not isinstance(found, FloatFormat):
        raise KeyError(f"{name} is not a floating-point format")
    return found
