"""Arrays and numbers on the command line, and numbers with their type in a launch file."""

import math
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.host_arrays import little_endian
from golden.integers import integer_of, parsed_integer, shortened
from openwmma.input_files import NoArray, UnreadableFile, is_pipe, read_array, require_input
from openwmma.usage_error import UsageError

_RAW: Final = {"V1": "u1", "V2": "<u2"}
"""What .npy files have for bfloat16 and 8-bit floating point, and its bit patterns."""


def is_file(value: str) -> bool:
    """Whether the value of an argument names a file: it ends in .npy, or is an open file or a pipe."""
    return value.endswith(".npy") or value.startswith(("/dev/", "/proc/")) or is_pipe(Path(value))


def input_files(arguments: Iterable[str]) -> list[Path]:
    """The files that arguments of the command line name."""
    values = (value for text in arguments for value in (text, text.partition("=")[2]))
    return [Path(value) for value in values if value and is_file(value)]


def parse_number(text: str) -> int | float:
    """An integer in any base of Python's, or a floating-point number; ValueError for anything else.

    OverflowError for a finite number that float64 does not have, and an integer of thousands of digits.
    """
    integer = parsed_integer(text)
    if integer is not None:
        return integer
    number = float(text)
    if math.isinf(number) and "inf" not in text.lower():
        raise OverflowError(shortened(text))
    return number


def load_array(what: str, path: Path) -> NDArray[Any]:
    """Read an .npy file of numbers; UsageError, which begins with `what`, for any other file."""
    require_input(path, f"{what}: expected an .npy file")
    try:
        array = read_array(path)
    except NoArray as error:
        if error.reason:
            raise UsageError(
                f"{what}: expected an array of integers or floating point, not {error.reason}"
            ) from None
        raise UsageError(f"{what}: expected an .npy file of numbers, which {path} is not") from None
    except UnreadableFile as error:
        problem = f"which {path} is not ({error.reason})"
        raise UsageError(f"{what}: expected an .npy file of numbers, {problem}") from None
    if array.dtype.names is None and array.dtype.str[1:] in _RAW:
        return array.view(_RAW[array.dtype.str[1:]])
    if array.dtype.kind not in "iuf":
        found = f"dtype {shortened(str(array.dtype))}"
        raise UsageError(f"{what}: expected an array of integers or floating point, not {found}")
    return little_endian(array)


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
