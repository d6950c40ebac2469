"""Align: bring terms of different exponents to one unit, cutting off what lies below it."""

from typing import Final

from golden.arithmetic.compiled import compiled, unsigned_word, word

_FAR: Final = 31
"""Nothing is left of a term that is shifted so far."""


@compiled
def align(term: int, distance: int) -> int:
    """The term in units of ``2**distance``, truncated towards zero.

    Parameters
    ----------
    term : int
        Below ``2**31`` in magnitude.
    distance : int
        From 0 on.
    """
    magnitude = word(word(abs(word(term))) >> min(unsigned_word(distance), _FAR))
    return word(-magnitude if term < 0 else magnitude)
