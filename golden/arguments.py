"""Checks of the arrays that callers hand in: what must hold before any arithmetic."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FORMATS, FloatFormat, Format

__all__ = ["checked_array", "dtype_of"]


def dtype_of(element: Format) -> np.dtype[Any]:
    """The dtype in which results of this type are returned: raw bits of floats, values of integers."""
    if isinstance(element, FloatFormat):
        return np.dtype(f"u{element.bits // 8}")
    return np.dtype(f"{'i' if element.signed else 'u'}{max(1, element.bits // 8)}")


def checked_array(argument: str, array: ArrayLike, type: str, extent: tuple[int, ...]) -> NDArray[Any]:
    """Check dtype, trailing axes and range of an array of elements of `type`.

    Floating point comes as raw bit patterns in the unsigned integer of its width, s32 as int32, smaller
    integers and single bits as values in any integer dtype.

    Parameters
    ----------
    argument : str
        Name for messages.
    array : array_like
    type : str
        Key of `golden.tables.formats.FORMATS`.
    extent : tuple of int
        The trailing axes.

    Returns
    -------
    ndarray
        `array` itself, if it is one.

    Raises
    ------
    InvalidArgument
    """
    try:
        checked = np.asarray(array)
    except ValueError:
        raise InvalidArgument(argument, "a ragged sequence", f"an array of shape {_shape(extent)}") from None
    element = FORMATS[type]
    exact = isinstance(element, FloatFormat) or element.bits == 32
    if exact and checked.dtype != dtype_of(element):
        held = "raw bit patterns of" if isinstance(element, FloatFormat) else "values of"
        raise InvalidArgument(
            argument, f"dtype {checked.dtype}", f"{dtype_of(element)} ({held} {element.name})"
        )
    if not np.issubdtype(checked.dtype, np.integer):
        raise InvalidArgument(
            argument, f"dtype {checked.dtype}", f"any integer dtype (values of {element.name})"
        )
    if checked.shape[max(0, checked.ndim - len(extent)) :] != extent:
        raise InvalidArgument(argument, f"shape {checked.shape}", f"shape {_shape(extent)}")
    if not exact and not isinstance(element, FloatFormat) and checked.size:
        least, greatest = checked.min(), checked.max()
        if least < element.minimum or greatest > element.maximum:
            worst = least if least < element.minimum else greatest
            raise InvalidArgument(
                argument,
                f"the value {worst}",
                f"{element.name} from {element.minimum} to {element.maximum}",
            )
    return checked


def _shape(extent: tuple[int, ...]) -> str:
    return f"(..., {', '.join(map(str, extent))})"
