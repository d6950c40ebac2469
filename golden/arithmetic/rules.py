"""The rules of an instruction's sums under a profile."""

from golden.arithmetic.fdpa import GROUP, HALF, Rules
from golden.arithmetic.round_pack import NEAREST, TOWARDS_ZERO
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FloatFormat, float_format
from golden.tables.instruction_set import Mnemonic
from golden.tables.profiles import Profile

_F32 = float_format("f32")
_SUM_BITS = 31
"""The sum of half a block, of products below ``2**(fraction_bits + 2)``, fits into 32 bits with its sign."""


def fused_format(c_format: FloatFormat, d_format: FloatFormat) -> FloatFormat:
    """The format of sums and of their addend: C is converted to it, and the result from it to D's format."""
    return d_format if c_format == d_format else _F32


def fp8_halves(depth: int) -> tuple[list[int], list[int]]:
    """Which of `depth` products the first sum of fp8 takes, and which the second.

    An H200 executes `mma.sync` on fp8 by two multiplies of f16 and one addition. The multiplicands become
    f16, which holds all their values. One chain of FDPAs takes the k with ``k % 4 < 2`` and C = +0, a second
    one the other k and the result of the first. C is added in the end, by one IEEE 754 addition to nearest
    even in the type of D.
    """
    first = [k for k in range(depth) if k % 4 < 2]
    return first, [k for k in range(depth) if k % 4 >= 2]


def fused_rules(
    a_format: FloatFormat, b_format: FloatFormat, fused: FloatFormat, profile: Profile, mnemonic: Mnemonic
) -> tuple[Rules, int]:
    """The rules of a chain of FDPAs, and the products in one of them.

    InvalidArgument where the profile keeps too many fraction bits for so many products, or does not multiply
    these formats.
    """
    block = profile.block(a_format, mnemonic)
    short = a_format.bits <= 8 and profile.narrow_block is None
    kept = profile.fp8_fraction_bits if short else profile.fraction_bits
    if block is None or kept is None:
        raise InvalidArgument("profile", f"{profile.name}, which has no {a_format.name}", "one that has")
    greatest = _SUM_BITS - 2 - (max(min(block, HALF), block - HALF) - 1).bit_length()
    if not 0 < kept <= greatest:
        raise InvalidArgument("profile", f"{kept} fraction bits", f"1 to {greatest} for {block} products")
    least = profile.least_exponent(fused)
    if least is None:  # a limit that no term can be below
        least = min(a_format.minimum_exponent + b_format.minimum_exponent, fused.minimum_exponent)
    truncated = fused == _F32
    return (
        Rules(
            products=-(-block // GROUP) * GROUP,
            fraction_bits=kept,
            least_exponent=least,
            format=fused,
            rounding=TOWARDS_ZERO if truncated else NEAREST,
            discarded_bits=_F32.fraction_bits - kept if short and truncated else 0,
        ),
        block,
    )
