"""Types of the arrays that stand for many threads or warps at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Addresses", "Strides", "Threads", "Values", "Warps", "Words"]

Threads = NDArray[np.int64]
"""Numbers of threads in their block."""

Addresses = NDArray[np.uint64]
"""An address for each thread, or for each warp."""

Values = Sequence[NDArray[Any]]
"""Raw bits, an element for each thread; an array for each register, or for each element of a vector."""

Warps = NDArray[np.int64]
"""Numbers of warps in their block."""

Strides = NDArray[np.int64]
"""Elements from one row (column) of a matrix to the next, for each warp."""

Words = NDArray[np.uint32]
"""Registers of warps, shape (warps, registers, 32 lanes)."""
