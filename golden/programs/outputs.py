"""Arrays that a program leaves in memory."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from golden.invalid_argument import InvalidArgument

__all__ = ["OUTPUT_TYPES", "Output"]

OUTPUT_TYPES: Final = {
    "f16": "<f2",
    "f32": "<f4",
    "f64": "<f8",
    "bf16": "<u2",
    "tf32": "<u4",
    "s32": "<i4",
    "s8": "<i1",
    "u8": "<u1",
}
"""The dtype of each type of an output; numpy has none for bf16 and tf32, which stay raw bits."""


@dataclass(frozen=True)
class Output:
    """An array that is read from memory when the program has ended.

    Parameters
    ----------
    name : str
        The parameter or variable that points to it.
    type : str
        Key of `OUTPUT_TYPES`.
    shape : tuple of int

    Raises
    ------
    InvalidArgument
        For an unknown type, and for an extent below 1.
    """

    name: str
    type: str
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.type not in OUTPUT_TYPES:
            raise InvalidArgument(f"output {self.name}", f"type {self.type}", ", ".join(OUTPUT_TYPES))
        if min(self.shape, default=1) < 1:
            raise InvalidArgument(f"output {self.name}", f"shape {self.shape}", "extents of at least 1")

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the array."""
        return np.dtype(OUTPUT_TYPES[self.type])

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return int(np.prod(self.shape)) * self.dtype.itemsize
