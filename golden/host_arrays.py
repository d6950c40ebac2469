"""What callers hand in as arrays: numpy's own, and what offers its memory through ``__array__`` or DLPack."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def little_endian(array: NDArray[Any]) -> NDArray[Any]:
    """The array with its values in the byte order of the device; `array` itself where they are."""
    dtype = array.dtype.newbyteorder("<")
    if dtype == array.dtype:
        return array
    swapped = np.zeros(array.shape, dtype)  # zeros between the fields of a structure, too
    swapped[...] = array
    return swapped


def raw_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of an array on the device: little-endian, in C order; no copy where it is like that."""
    flat = np.ascontiguousarray(little_endian(array)).reshape(-1)
    return flat.view(np.uint8) if flat.nbytes else np.zeros(0, np.uint8)


def host_array(given: Any) -> NDArray[Any]:
    """Make an array of anything in host memory that stands for one: a copy only where there is no other way.

    ValueError for a ragged sequence; TypeError, BufferError or RuntimeError from the object, where its type
    or its memory is out of numpy's reach.
    """
    if isinstance(given, np.ndarray):
        return _plain(given)
    if hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
        return np.asarray(np.from_dlpack(given))
    try:
        return np.asarray(given)
    except MemoryError:
        raise BufferError("it needs more memory than the host has") from None


def shared_array(given: Any) -> NDArray[Any] | None:
    """The array over the memory of an object, so that writing changes the object; None for what is no array.

    Where an object offers copies alone, the array is read-only. It raises the errors of `host_array`.
    """
    if isinstance(given, np.ndarray):
        return _plain(given)
    if isinstance(given, np.generic | int | float | bool):
        return None
    if hasattr(given, "__array__"):
        array = np.asarray(given)
        if not np.may_share_memory(array, np.asarray(given)):
            array.flags.writeable = False
        return array
    if hasattr(given, "__dlpack__"):
        return np.from_dlpack(given)
    return None


def _plain(given: NDArray[Any]) -> NDArray[Any]:
    """The array over the memory of a subclass, such as np.matrix; TypeError for elements that are masked."""
    if type(given) is np.ndarray:
        return given
    if np.ma.is_masked(given):
        raise TypeError("elements are masked; fill them")
    return np.asarray(given)
