"""The command line's arrays and numbers: `--arg` and `--out`."""

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from golden.host_arrays import little_endian
from golden.integers import parsed_integer, shortened
from golden.invalid_argument import InvalidArgument
from golden.programs.kernel_run import OUTPUT_TYPES, Output
from openwmma.input_files import NoArray, UnreadableFile, is_pipe, is_readable, read_array
from openwmma.usage import UsageError

__all__ = [
    "input_files",
    "is_file",
    "load_array",
    "parse_argument",
    "parse_number",
    "parse_output",
]


_RAW: Final = {"V1": "u1", "V2": "<u2"}
"""What .npy files have for bfloat16 and 8-bit floating point, and its bit patterns."""


def parse_argument(text: str) -> tuple[str, NDArray[Any] | int | float]:
    """Parse ``NAME=FILE.npy`` or ``NAME=NUMBER``, and read the file.

    Raises
    ------
    UsageError
    """
    name, separator, value = text.partition("=")
    if not separator or not name or not value:
        raise UsageError(f"--arg {text}: expected NAME=FILE.npy or NAME=NUMBER, as in A=a.npy or n=64")
    if is_file(value):
        return name, load_array(f"--arg {text}", Path(value))
    try:
        return name, parse_number(value)
    except OverflowError as error:
        raise UsageError(f"--arg {shortened(text)}: {error} is more than any parameter holds") from None
    except ValueError:
        raise UsageError(
            f"--arg {shortened(text)}: expected a file that ends in .npy or a number, not {shortened(value)}"
        ) from None


def is_file(value: str) -> bool:
    """Whether the value of an argument names a file: it ends in .npy, or is an open file or a pipe."""
    return value.endswith(".npy") or value.startswith(("/dev/", "/proc/")) or is_pipe(Path(value))


def input_files(arguments: Iterable[str]) -> list[Path]:
    """The files that arguments of the command line name."""
    values = (value for text in arguments for value in (text, text.partition("=")[2]))
    return [Path(value) for value in values if value and is_file(value)]


def parse_number(text: str) -> int | float:
    """An integer in any base of Python's, or a floating-point number.

    Raises
    ------
    ValueError
        For anything else.
    OverflowError
        For a finite number that float64 does not have, and an integer of thousands of digits.
    """
    integer = parsed_integer(text)
    if integer is not None:
        return integer
    number = float(text)
    if math.isinf(number) and "inf" not in text.lower():
        raise OverflowError(shortened(text))
    return number


def load_array(what: str, path: Path) -> NDArray[Any]:
    """Read an .npy file of numbers; `what` begins the message of an error.

    Raises
    ------
    UsageError
        For a file that is missing, is no .npy file, or holds something else than numbers.
    """
    if not is_readable(path):
        raise UsageError(f"{what}: expected an .npy file, but there is no file {path}")
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
    if array.dtype.kind == "V" and array.dtype.str[1:] in _RAW:
        return array.view(_RAW[array.dtype.str[1:]])
    if array.dtype.kind not in "iuf":
        found = f"dtype {shortened(str(array.dtype))}"
        raise UsageError(f"{what}: expected an array of integers or floating point, not {found}")
    return little_endian(array)


def parse_output(text: str) -> tuple[Output, Path]:
    """Parse ``NAME=FILE.npy:TYPE:SHAPE``, as in ``D=d.npy:f32:64x64``: an output and its file.

    Raises
    ------
    UsageError
    """
    match = re.fullmatch(
        r"(?P<name>[^=]+)=(?P<path>.+\.npy|/(?:dev|proc)/[^:]+):(?P<type>[^:]+):(?P<shape>[^:]+)", text
    )
    if match is None:
        raise UsageError(f"--out {text}: expected NAME=FILE.npy:TYPE:SHAPE, as in D=d.npy:f32:64x64")
    if match["type"] not in OUTPUT_TYPES:
        raise UsageError(
            f"--out {text}: expected one of the types {', '.join(OUTPUT_TYPES)}, not {match['type']}"
        )
    if not re.fullmatch(r"[1-9][0-9]{0,18}(x[1-9][0-9]{0,18}){0,31}", match["shape"]):
        raise UsageError(
            f"--out {shortened(text)}: expected a shape such as 64x64, not {shortened(match['shape'])}"
        )
    shape = tuple(int(extent) for extent in match["shape"].split("x"))
    try:
        return Output(match["name"], match["type"], shape), Path(match["path"])
    except InvalidArgument as error:
        raise UsageError(f"--out {shortened(text)}: expected {error.allowed}, not {error.given}") from None
