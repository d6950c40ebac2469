"""f16 and bf16, alone and in pairs: the f32 result for the same value, truncated to the format.

A format has 65 536 numbers, so each function is a table, made on first use.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from golden.approximation import unit
from golden.approximation.unit import INFINITY, LEAST_NORMAL, MAGNITUDE, SIGN, Bits

__all__ = ["NAN", "results"]

NAN = np.uint16(0x7FFF)
_F16_INFINITY = np.uint16(0x7C00)

_FUNCTIONS = {"ex2": unit.ex2, "tanh": unit.tanh}


@cache
def results(function: str, element: str) -> NDArray[np.uint16]:
    """The result for every bit pattern.

    Parameters
    ----------
    function : {"ex2", "tanh"}
        ex2 of bf16 is the form with ``.ftz``.
    element : {"f16", "bf16"}

    Returns
    -------
    ndarray of uint16, shape (65536,), read-only
    """
    every = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    if element == "f16":
        with np.errstate(invalid="ignore"):
            wide = every.view(np.float16).astype(np.float32).view(np.uint32)
    else:
        wide = every.astype(np.uint32) << np.uint32(16)
    result = _FUNCTIONS[function](wide)
    narrow = _truncated_f16(result) if element == "f16" else (result >> np.uint32(16)).astype(np.uint16)
    narrow[wide & MAGNITUDE > INFINITY] = NAN
    narrow.flags.writeable = False
    return narrow


def _truncated_f16(x: Bits) -> NDArray[np.uint16]:
    """An f32 number, truncated to f16; from 65536 up, infinity."""
    magnitude = x & MAGNITUDE
    normal = (magnitude.astype(np.int64) - (112 << 23)) >> 13
    significand = (magnitude & np.uint32(0x7FFFFF) | LEAST_NORMAL).astype(np.int64)
    shift = np.clip(126 - (magnitude >> np.uint32(23)).astype(np.int64), 0, 31)
    narrow = np.where(magnitude >= np.uint32(113 << 23), normal, significand >> shift)
    narrow = np.minimum(narrow, int(_F16_INFINITY))
    return (narrow | ((x & SIGN) >> np.uint32(16)).astype(np.int64)).astype(np.uint16)
