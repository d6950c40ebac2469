"""Numbers with their type: ``f16:0.5`` on the command line, type and value in a launch file."""

import math
from contextlib import suppress
from typing import Final

import numpy as np

from golden.integers import integer_of, shortened

TYPES: Final = {
    f"{letter}{8 * size}": np.dtype(f"{kind}{size}")
    for letter, kind, sizes in (("s", "i", (1, 2, 4, 8)), ("u", "u", (1, 2, 4, 8)), ("f", "f", (2, 4, 8)))
    for size in sizes
}
"""The dtype of each type of a number."""


def typed_number(type_: str, value: object) -> np.generic:
    """A number as a numpy scalar of a type: s or u with 8 to 64 bits, f with 16, 32 or 64.

    ValueError for another type, for a value that is no number of that kind, and one that the type does
    not have.
    """
    dtype = TYPES.get(type_)
    if dtype is None:
        raise ValueError(f"type {shortened(type_)}: expected s, u or f with 8, 16, 32 or 64 bits")
    found: np.generic
    integer = integer_of(value)
    if dtype.kind != "f":
        if integer is not None and np.iinfo(dtype).min <= integer <= np.iinfo(dtype).max:
            found = dtype.type(integer)
            return found
    elif integer is not None or isinstance(value, float):
        number = value if integer is None else integer
        with suppress(OverflowError), np.errstate(over="ignore"):
            found = dtype.type(float(number))  # type: ignore[arg-type]
            if np.isfinite(found) or not math.isfinite(number):  # type: ignore[arg-type]
                return found
    raise ValueError(f"{type_} cannot hold {shortened(value)}")
