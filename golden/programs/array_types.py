"""Warns of arrays whose values are loaded as another type."""

import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.tables.commands import Load, Work
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.matrix_instructions import LoadInstruction


class ArrayTypeWarning(UserWarning):
    """An array of values is loaded as another type, as float64 by a load of f16."""


def checked_types(
    program: Iterable[tuple[Work, object]],
    arrays: Mapping[str, NDArray[Any]],
    addresses: Mapping[str, int],
) -> Iterator[tuple[Work, object]]:
    """Pass a program on, and warn of each load that reads an array of values of another type.

    Unsigned integers are raw bits, which may be loaded as any type. Arrays and their addresses go by the name
    of the parameter. There is one ArrayTypeWarning for each array and type of load, with the first such load.
    """
    checked = sorted((addresses[name], name) for name, array in arrays.items() if array.dtype.kind != "u")
    starts = [start for start, _ in checked]
    seen: set[tuple[str, str]] = set()
    for work, place in program:
        if isinstance(work, Load) and work.instruction.space != "shared":
            index = bisect_right(starts, work.address) - 1
            if index >= 0:
                start, name = checked[index]
                key = name, work.instruction.type
                if work.address < start + arrays[name].nbytes and key not in seen:
                    seen.add(key)
                    _check(name, arrays[name].dtype, work.instruction, place)
        yield work, place


def _check(name: str, found: np.dtype[Any], instruction: LoadInstruction, place: object) -> None:
    element = FORMATS[instruction.type]
    is_float = isinstance(element, FloatFormat)
    bits = element.bits
    if is_float == (found.kind == "f") and 8 * found.itemsize == max(8, bits) and instruction.type != "bf16":
        return
    expected = {"f16": "float16", "f32": "float32", "tf32": "float32", "f64": "float64"}.get(instruction.type)
    if expected is None and not is_float:
        expected = f"int{max(8, bits)}"
    unsigned = f"uint{max(8, bits)}"
    allowed = f"{expected}, or raw bits in {unsigned}" if expected else f"raw bits in {unsigned}"
    warnings.warn(
        f"argument {name}: an array of {found} is loaded as {instruction.type} ({place}); expected {allowed}",
        ArrayTypeWarning,
        stacklevel=2,
    )
