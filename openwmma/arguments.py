"""Arrays and numbers on the command line."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from golden.host_arrays import little_endian
from golden.integers import parsed_integer, shortened
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
