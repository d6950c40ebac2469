"""Block scales: which lane and byte of a register has the scale of a row or column, without arrays."""

from types import MappingProxyType
from typing import Final

BYTE_IDS: Final = MappingProxyType({"1X": (0, 1, 2, 3), "2X": (0, 2), "4X": (0,)})
"""The first byte that an instruction reads, by its ``.scale_vec``; the others follow."""

THREAD_IDS: Final = MappingProxyType({"a": (0, 1), "b": (0, 1, 2, 3)})
"""Which lanes of a quad it reads: two for the rows of A, one for a column of B."""


def scale_lane(use: str, line: int, thread_id: int) -> int:
    """The lane that has the scales of a row of A, or of a column of B."""
    if use == "a":
        return 4 * (line % 8) + 2 * thread_id + line // 8
    return 4 * line + thread_id
