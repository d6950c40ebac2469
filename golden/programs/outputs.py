"""Arrays that a program leaves in memory."""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from golden.integers import checked_text, integer_of, listed, shortened
from golden.invalid_argument import InvalidArgument
from golden.limits import DEVICE_BYTES

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

    InvalidArgument for an unknown type, an extent below 1, and more bytes than `golden.limits.DEVICE_BYTES`.
    """

    name: str
    """The parameter or variable that points to it."""
    type: str
    """Key of `OUTPUT_TYPES`."""
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        checked_text("output", self.name)
        if not isinstance(self.type, str) or self.type not in OUTPUT_TYPES:
            given = f"type {shortened(self.type)}"
            raise InvalidArgument(f"output {self.name}", given, ", ".join(OUTPUT_TYPES))
        extents = [integer_of(value) or 0 for value in listed(self.shape) or (0,)]
        if min(extents, default=1) < 1:
            given = f"shape {shortened(self.shape)}"
            raise InvalidArgument(f"output {self.name}", given, "extents of at least 1")
        object.__setattr__(self, "shape", tuple(extents))
        if self.size > DEVICE_BYTES:
            raise InvalidArgument(
                f"output {self.name}", f"{shortened(self.size)} bytes", f"at most {DEVICE_BYTES} bytes"
            )

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the array."""
        return np.dtype(OUTPUT_TYPES[self.type])

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return math.prod(self.shape) * self.dtype.itemsize
