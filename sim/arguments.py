"""What the command line hands to a program: arrays, numbers and the arrays that come back."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["OUTPUT_TYPES", "Output", "UsageError", "load_array", "parse_argument", "parse_output"]

OUTPUT_TYPES = {
    "f16": "<f2",
    "f32": "<f4",
    "f64": "<f8",
    "bf16": "<u2",
    "tf32": "<u4",
    "s32": "<i4",
    "s8": "<i1",
    "u8": "<u1",
}
"""The dtype in which each type of an output is written; bf16 and tf32 have none in numpy and stay raw."""


class UsageError(ValueError):
    """What came on the command line, and what was expected, in one line."""


@dataclass(frozen=True)
class Output:
    """An array that is written when the program has ended.

    Parameters
    ----------
    name : str
        The parameter that points to it.
    path : Path
        The .npy file.
    type : str
        Key of `OUTPUT_TYPES`.
    shape : tuple of int
    """

    name: str
    path: Path
    type: str
    shape: tuple[int, ...]

    @property
    def dtype(self) -> np.dtype[Any]:
        """What is written."""
        return np.dtype(OUTPUT_TYPES[self.type])

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return int(np.prod(self.shape)) * self.dtype.itemsize


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
        return name, int(value, 0)
    except ValueError:
        pass
    try:
        return name, float(value)
    except ValueError:
        raise UsageError(
            f"--arg {text}: expected a file that ends in .npy or a number, not {value}"
        ) from None


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
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf":
        found = f"dtype {array.dtype}" if isinstance(array, np.ndarray) else "an archive"
        raise UsageError(f"{what}: expected an array of integers or floating point, not {found}")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def parse_output(text: str) -> Output:
    """Parse ``NAME=FILE.npy:TYPE:SHAPE``, as in ``D=d.npy:f32:64x64``.

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
    if not path.parent.is_dir():
        raise UsageError(f"--out {text}: expected a file in a folder that exists, not in {path.parent}")
    return Output(match["name"], path, match["type"], shape)
