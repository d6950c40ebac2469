"""Numbers that several stages of the dot-product unit agree on, derived from its configuration."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from amaranth.hdl import Cat, Const, Value

from golden.tables.formats import float_format
from golden.tables.profiles import Profile
from hdl.dot_product.operands import Multiplicand
from hdl.unit_config import MULTIPLIERS, DotProductConfig

LANES = MULTIPLIERS
"""Multipliers of one unit."""

FP8_SIGNIFICAND_BITS = 4
"""Of e4m3, and of e5m2 with a zero behind."""

FP8_EXPONENT_BITS = 6
"""The sum of two biased exponents on e5m2's scale, 2 to 60; 0 for a zero product."""

FLOATING = frozenset({"f16", "bf16", "tf32", "fp8"})
"""Multiplicand formats with an exponent."""

HALF = frozenset({"f16", "fp8"})
"""Multiplicand formats whose C and D can be f16."""

WIDE = frozenset({"bf16", "tf32"})
"""Multiplicand formats with f32's exponent range."""

INTEGER = frozenset({"i8", "i4", "b1"})
"""Multiplicand formats with an s32 result."""


@dataclass(frozen=True)
class Widths:
    """Widths and offsets of the datapath of one configuration.

    Exponents travel with an offset that makes every one of them positive, so that comparisons are unsigned:
    a product has the sum of its two biased exponents, `half_offset` for f16, and `exponent_lead`. C is
    brought to the same scale.
    """

    config: DotProductConfig

    @property
    def half_offset(self) -> int:
        """Added to the exponents of f16 products: the least exponent of an f32 C, -126, then lies above 0.

        A product of f16 has 2 to 60, so the addition only sets a bit, or two. fp8 is on the same scale: e5m2
        has f16's bias, and e4m3's exponents are raised by 8. With block scales, which are subtracted from C's
        exponent, that goes down by 254 more.
        """
        return 384 if self.config.block_scale else 128

    exponent_bits = 9
    """Of products. bf16: 1 + 1 to 254 + 254, C 128 to 381. f16: 130 to 188, C 32 to 285."""

    @property
    def maximum_bits(self) -> int:
        """Bits of the exponents of C and of Emax. With block scales f16 has 386 to 444, C 34 to 795."""
        return self.exponent_bits + int(self.config.block_scale)

    multiplier_bits = 18
    """Of one factor, signed. A float significand shifted left by up to 4 plus `placement` takes 17."""

    integer_bit = 4
    """The product bit that is the lowest bit of an aligned term at distance 0.

    Integers are placed for this (`hdl.dot_product.integers`); floating-point products by `placement`.
    """

    @property
    def profile(self) -> Profile:
        """The numerics profile."""
        return self.config.profile

    @property
    def fp8_window(self) -> int:
        """Bits of an aligned magnitude of fp8: two before the binary point, the fraction bits after it."""
        return (self.config.fp8_fraction_bits or 13) + 2

    @property
    def fp8_is_short(self) -> bool:
        """Whether sums of fp8 keep fewer fraction bits than an f32 has."""
        return self.fp8 and self.fp8_window - 2 < float_format("f32").fraction_bits

    @property
    def fp8(self) -> bool:
        """Whether fp8 is computed."""
        return "fp8" in self.config.formats

    @property
    def lanes(self) -> bool:
        """Whether the sixteen lanes of 16 bits exist: for every format but fp8, which uses them if they do.

        The odd products of fp8 then take them as if they were of f16. All other products of fp8 have lanes of
        their own (`fp8_lanes`).
        """
        return self.config.multiplicands != {"fp8"}

    @property
    def fp8_lanes(self) -> int:
        """Products of fp8 outside the lanes of 16 bits: the even ones, and the odd ones behind them."""
        return (LANES if self.lanes else 2 * LANES) if self.fp8 else 0

    @property
    def fp8_upper(self) -> int:
        """The lowest bit of the upper one of two products of fp8 in a multiplier."""
        return 21 if self.lanes else 24

    @property
    def fraction_bits(self) -> int:
        """Fraction bits of aligned terms: the profile's for the formats that there are."""
        if self.lanes:
            return self.profile.fraction_bits
        return self.fp8_window - 2

    @property
    def fp8_padding(self) -> int:
        """Bits of aligned terms below the last bit that fp8 keeps."""
        return self.fraction_bits - (self.fp8_window - 2)

    @property
    def placement(self) -> int:
        """How far left the first factor's significand sits in its multiplier input.

        Products have 20 fraction bits and are shifted left by 7 at distance 0, so that all but
        `fraction_bits` of those 27 have to lie below `integer_bit`.
        """
        return self.integer_bit + self.profile.fraction_bits - 27

    @property
    def wide(self) -> bool:
        """Whether any products have f32's exponent range."""
        return bool(self.config.formats & WIDE) or self.config.block_scale

    @property
    def integer(self) -> bool:
        """Whether any integer format is computed."""
        return bool(self.config.formats & INTEGER)

    @property
    def multiplied_integer(self) -> bool:
        """Whether integers of more than one bit are computed."""
        return bool(self.config.formats & {"i8", "i4"})

    @property
    def window(self) -> int:
        """Bits of an aligned magnitude: two before the binary point, the profile's fraction bits after it."""
        return self.fraction_bits + 2

    @property
    def total(self) -> int:
        """Bits of the sum of all terms, the sign included.

        16 products below ``4 * 2**Emax`` and C below ``2 * 2**Emax`` stay below ``66 * 2**Emax``, so seven
        bits before the binary point and a sign. 32 products of fp8, each at most ``1.875**2 * 2**Emax``, and
        C stay below ``115 * 2**Emax``. s32 plus 2**21 in magnitude takes 33.
        """
        return max(self.fraction_bits + 8, 33 if self.integer else 0)

    @property
    def top_exponent(self) -> int:
        """The highest magnitude bit of the sum stands for 2**(Emax + top_exponent)."""
        return self.total - 2 - self.fraction_bits

    @property
    def exponent_lead(self) -> int:
        """Added to all exponents, except of products of fp8 in the lanes of 16 bits.

        So these lanes have the distance of fp8 from Emax plus one, as `Multiply` needs it.
        """
        return int(self.lanes and self.fp8)

    def as_maxima(self, exponents: Iterable[Value]) -> list[Value]:
        """Exponents of products with as many bits as Emax has."""
        missing = self.maximum_bits - self.exponent_bits
        return [Cat(exponent, Const(0, missing)) if missing else exponent for exponent in exponents]

    def exponent_zero(self, *, narrow: bool) -> int:
        """The travelling exponent that stands for 2**0."""
        biases = 2 * float_format("f16").bias + self.half_offset if narrow else 2 * float_format("bf16").bias
        return biases + self.exponent_lead

    def least_maximum(self, *, narrow: bool, half_result: bool) -> int:
        """The travelling exponent of the least Emax."""
        least = self.profile.least_exponent(float_format("f16" if half_result else "f32"))
        return 0 if least is None else self.exponent_zero(narrow=narrow) + least

    def limit_offset(self, *, narrow: bool) -> int:
        """What to add to the travelling Emax for the shift that makes the sum an f32 subnormal."""
        bias = float_format("f32").bias
        return bias - self.exponent_zero(narrow=narrow) + self.top_exponent - 1

    @property
    def most_right(self) -> int:
        """How far the sum's highest bit can lie below the smallest normal f32's.

        Only sums of products of bf16 or tf32 do so, and only while C is zero: the exponent of any other C is
        at least the smallest normal's. With a least Emax it is one place at most, otherwise up to 122.
        """
        least = self.least_maximum(narrow=False, half_result=False) + self.limit_offset(narrow=False)
        return max(0, -least) if self.wide else 0

    @property
    def right_bits(self) -> int:
        """Bits of the distance by which `Round` shifts significands right; 0 where it never does.

        Five suffice: of a significand's 24 bits a shift by 24 or more leaves nothing, so greater distances
        become 31.
        """
        return min(self.most_right.bit_length(), 5)

    def chosen(self, multiplicand: Value, formats: frozenset[str]) -> Value:
        """Whether multiplicands are of one of `formats`: a constant, or what a bit of `Multiplicand` says."""
        multiplicands = self.config.multiplicands
        present = multiplicands & formats
        if not present:
            return Const(0, 1)
        if present == multiplicands:
            return Const(1, 1)
        codes = {name: Multiplicand[name.upper()].value for name in multiplicands}
        code = Value.cast(multiplicand)
        return next(
            code[bit] ^ inverted
            for bit, inverted in product(range(len(code)), (0, 1))
            if {name for name in codes if codes[name] >> bit & 1 != inverted} == present
        )
