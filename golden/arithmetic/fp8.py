"""`mma.sync` on fp8 as an H200 executes it: by two multiplies of f16 and one addition.

The multiplicands become f16, which holds all their values. One chain of FDPAs takes the k with ``k % 4 <
2`` and C = +0, a second one the other k and the result of the first. C is added in the end, by one IEEE 754
addition to nearest even in the type of D.
"""

from typing import Final

_PERIOD: Final = 4
_HALF: Final = 2


def fp8_halves(depth: int) -> tuple[list[int], list[int]]:
    """Which of `depth` products the first sum takes, and which the second."""
    first = [k for k in range(depth) if k % _PERIOD < _HALF]
    return first, [k for k in range(depth) if k % _PERIOD >= _HALF]
