"""The sum of ``.kind::mxf4`` and ``.kind::mxf4nvf4``: exact sums of groups, scaled, aligned and added.

It is no fused dot-product-add of `golden.arithmetic.fdpa`: a group is aligned by the exponents of its scales
alone, whatever its elements are.

Four elements of e2m1, doubled, are the fields of one integer of 64 bits. The product of two such integers,
one of them with its fields in reverse order, has the dot product of the elements in its top field, above
which nothing is left modulo ``2**64``.

Sources: ``docs/explanation/small-formats.md``.
"""

from typing import Any, Final

from golden.arithmetic.compiled import compiled, unsigned_word, word
from golden.arithmetic.decode import Format
from golden.arithmetic.round_pack import TOWARDS_ZERO, pack, round_significand
from golden.arithmetic.scales import SCALE_BITS

KEPT_BITS: Final = 35
"""Alignment keeps multiples of ``2**(Emax - KEPT_BITS)``."""

LEAST_EXPONENT: Final = -139
"""Lower limit of Emax."""

TERM_BITS: Final = 2 + 2 * SCALE_BITS
"""Fraction bits of a term: its elements have one each."""

FIELD: Final = 16
FIELDS: Final = 0x0001000100010001
"""A one at the low end of each field."""

_TOP: Final = 3 * FIELD
_HALF: Final = 1 << (FIELD - 1)


@compiled
def doubled(codes: int) -> int:
    """The elements of four fields, doubled: the sum of each, with its sign, at the low end of its field.

    The magnitudes 0, 1, 2, 3, 4, 6, 8, 12 are the code, from 4 on with its low two bits once more, and 2 more
    for 7.
    """
    large = codes >> 2 & FIELDS
    magnitude = (codes & 7 * FIELDS) + (codes & 3 * large) + 2 * (large & codes >> 1 & codes)
    return magnitude - 2 * (magnitude & 15 * (codes >> 3 & FIELDS))


@compiled
def nonzero(codes: int) -> int:
    """A one in each field whose element is not zero."""
    return (codes | codes >> 1 | codes >> 2) & FIELDS


@compiled
def reversed_fields(fields: int) -> int:
    """The fields in reverse order; none has its top bit set."""
    low = (1 << FIELD) - 1
    middle = (fields >> FIELD & low << FIELD) | (fields & low << FIELD) << FIELD
    return fields >> _TOP | middle | (fields & low) << _TOP


@compiled
def sum_of_words(row: Any, first: int, columns: Any, start: int, words: int, lanes: int) -> int:
    """The dot product of the elements of some words of a row and of one of some columns side by side."""
    total = 1 << (_TOP - 1)  # what is below the top field may be negative
    for k in range(words):
        total += row[first + k] * columns[start + k * lanes]
    return ((total >> _TOP) + _HALF & 2 * _HALF - 1) - _HALF


@compiled
def rounded_sum(total: int, exponent: int, format: Format) -> int:
    """The result of a sum below ``2**56`` in units of ``2**exponent``, truncated; every zero is +0.

    Beyond the largest finite number it is an infinity.
    """
    magnitude = abs(total)
    # A word holds at least 24 bits of it.
    raised = word(
        (8 if magnitude >> 32 else 0) + (8 if magnitude >> 40 else 0) + (8 if magnitude >> 48 else 0)
    )
    negative, short = 1 if total < 0 else 0, unsigned_word(magnitude >> raised)
    normal, _, kept, _ = round_significand(
        negative, short, word(word(exponent) + raised), format, TOWARDS_ZERO, 0
    )
    packed = word(pack(negative, kept, normal, format, TOWARDS_ZERO, True))
    return word(packed if kept else 0)
