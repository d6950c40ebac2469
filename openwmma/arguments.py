"""The command line's arrays and numbers: `--arg` and `--out`."""

import re
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.programs.outputs import OUTPUT_TYPES, Output
from openwmma.usage import UsageError, require_folder

__all__ = ["load_array", "parse_argument", "parse_number", "parse_output"]


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
    if value.endswith(".npy"):
        return name, load_array(f"--arg {text}", Path(value))
    try:
        return name, parse_number(value)
    except ValueError:
        raise UsageError(
            f"--arg {text}: expected a file that ends in .npy or a number, not {value}"
        ) from None


def parse_number(text: str) -> int | float:
    """An integer in any base of Python's, or a floating-point number; ValueError for anything else."""
    try:
        return int(text, 0)
    except ValueError:
        return float(text)


def load_array(what: str, path: Path) -> NDArray[Any]:
    """Read an .npy file of numbers; `what` begins the message of an error.

    Raises
    ------
    UsageError
        For a file that is missing, is no .npy file, or holds something else than numbers.
    """
    if not path.is_file():
        raise UsageError(f"{what}: expected an .npy file, but there is no file {path}")
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError):
        raise UsageError(f"{what}: expected an .npy file of numbers, which {path} is not") from None
    if isinstance(array, np.ndarray) and array.dtype.kind == "V" and array.dtype.str[1:] in _RAW:
        return array.view(_RAW[array.dtype.str[1:]])
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf":
        found = f"dtype {array.dtype}" if isinstance(array, np.ndarray) else "an archive"
        raise UsageError(f"{what}: expected an array of integers or floating point, not {found}")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def parse_output(text: str) -> tuple[Output, Path]:
    """Parse ``NAME=FILE.npy:TYPE:SHAPE``, as in ``D=d.npy:f32:64x64``: an output and its file.

    Raises
    ------
    UsageError
    """
    match = re.fullmatch(r"(?P<name>[^=]+)=(?P<path>.+\.npy):(?P<type>[^:]+):(?P<shape>[^:]+)", text)
    if match is None:
        raise UsageError(f"--out {text}: expected NAME=FILE.npy:TYPE:SHAPE, as in D=d.npy:f32:64x64")
    if match["type"] not in OUTPUT_TYPES:
        raise UsageError(
            f"--out {text}: expected one of the types {', '.join(OUTPUT_TYPES)}, not {match['type']}"
        )
    if not re.fullmatch(r"[1-9][0-9]*(x[1-9][0-9]*)*", match["shape"]):
        raise UsageError(f"--out {text}: expected a shape such as 64x64, not {match['shape']}")
    shape = tuple(int(extent) for extent in match["shape"].split("x"))
    path = Path(match["path"])
    require_folder(f"--out {text}", path)
    return Output(match["name"], match["type"], shape), path
