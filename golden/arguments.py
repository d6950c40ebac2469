"""Checks of the arrays that callers hand in: what must hold before any arithmetic."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.host_arrays import host_array, little_endian
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FORMATS, SCALE_FORMATS, FloatFormat, Format
from golden.tables.instruction_set import USES
from golden.tables.matrix_instructions import MmaInstruction

VALUES: Final = {
    "f16": "float16",
    "bf16": "bfloat16",
    "tf32": "float32",
    "f32": "float32",
    "f64": "float64",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e3m2": "float6_e3m2fn",
    "e2m3": "float6_e2m3fn",
    "e2m1": "float4_e2m1fn",
    "ue8m0": "float8_e8m0fnu",
    "ue4m3": "float8_e4m3fn",
}
"""The dtype, of numpy or of ml_dtypes, whose arrays hold values of a format."""


def dtype_of(element: Format) -> np.dtype[Any]:
    """The dtype in which results of this type are returned: raw bits of floats, values of integers."""
    if isinstance(element, FloatFormat):
        return np.dtype(f"u{max(1, element.bits // 8)}")
    return np.dtype(f"{'i' if element.signed else 'u'}{max(1, element.bits // 8)}")


def given_array(argument: str, given: ArrayLike, allowed: str, regular: str = "") -> NDArray[Any]:
    """As `host_array`; what is no array is an InvalidArgument that says what is allowed.

    `regular` says so of a ragged sequence, where that is something else.
    """
    try:
        return host_array(given)
    except (TypeError, BufferError, RuntimeError, OverflowError) as error:
        raise InvalidArgument(argument, f"{given.__class__.__name__} ({error})", allowed) from None
    except ValueError:
        raise InvalidArgument(argument, "a ragged sequence", regular or allowed) from None


def checked_array(
    argument: str, array: ArrayLike, type: str, extent: tuple[int, ...], in_range: bool = True
) -> NDArray[Any]:
    """Check dtype, trailing axes and range of an array whose elements have a type of `FORMATS`.

    Floating point comes as values in the dtype of the format (float16, float32, float64, ml_dtypes' bfloat16,
    float8_e4m3fn and float8_e5m2), or as raw bit patterns in the unsigned integer of its width; s32 as int32,
    smaller integers and single bits as values in any integer dtype. Values of tf32 are float32, of which an
    instruction ignores the low 13 bits. Any byte order will do. Nothing is rounded: another dtype is refused.

    The result is `array` itself, if it is one in native byte order; of values the bit patterns, in the same
    memory. What does not fit is an InvalidArgument with the name `argument`; if not `in_range`, patterns of
    floating point are not looked at.
    """
    checked = given_array(argument, array, "an array in host memory", f"an array of shape {_shape(extent)}")
    element = FORMATS.get(type) or SCALE_FORMATS[type]
    given, checked = checked.dtype, little_endian(checked)
    if _holds_values(checked, element):
        checked = checked.view(dtype_of(element))
    exact = isinstance(element, FloatFormat) or element.bits == 32
    if exact and checked.dtype != dtype_of(element):
        allowed = f"{dtype_of(element)} (values of {element.name})"
        if isinstance(element, FloatFormat):
            allowed = f"{dtype_of(element)} (raw bit patterns of {element.name}), or {VALUES[type]} (values)"
        raise InvalidArgument(argument, f"dtype {given}", allowed)
    if checked.dtype.kind not in "iu":  # a span of time is an integer for numpy
        raise InvalidArgument(
            argument, f"dtype {checked.dtype}", f"any integer dtype (values of {element.name})"
        )
    if checked.shape[max(0, checked.ndim - len(extent)) :] != extent:
        raise InvalidArgument(argument, f"shape {checked.shape}", f"shape {_shape(extent)}")
    if not exact or (in_range and element.bits < 8):
        check_range(argument, checked, element)
    return checked


def check_range(argument: str, array: NDArray[Any], element: Format) -> None:
    """InvalidArgument if an element is no pattern or value of the format."""
    possible, lowest, highest = np.iinfo(array.dtype), element.minimum, element.maximum
    least = array.min(initial=lowest) if possible.min < lowest else lowest
    greatest = array.max(initial=highest) if possible.max > highest else highest
    if least < lowest or greatest > highest:
        worst = least if least < lowest else greatest
        raise InvalidArgument(argument, f"the value {worst}", f"{element.name} from {lowest} to {highest}")


def checked_registers(registers: ArrayLike, extent: tuple[int, ...]) -> NDArray[np.uint32]:
    """Check registers of warps: uint32 with these trailing axes. What does not fit is an InvalidArgument."""
    words = little_endian(given_array("registers", registers, "an array of uint32"))
    if words.dtype != np.uint32:
        raise InvalidArgument("registers", f"dtype {words.dtype}", "uint32")
    if words.shape[-len(extent) :] != extent:
        raise InvalidArgument("registers", f"shape {words.shape}", f"shape {_shape(extent)}")
    return words


def checked_operands(
    instruction: MmaInstruction, operands: Sequence[ArrayLike], in_range: bool = True
) -> tuple[list[NDArray[Any]], tuple[int, ...]]:
    """Check a, b and c of a multiply: each with one leading axis, and the leading axes as they came.

    What does not fit is an InvalidArgument. Ranges are checked as by `checked_array`.
    """
    checked = [
        checked_array(use, matrix, instruction.types[use], instruction.extent(use), in_range)
        for use, matrix in zip(USES[:3], operands, strict=True)
    ]
    leading = checked[0].shape[:-2]
    for use, matrix in zip("bc", checked[1:], strict=True):
        if matrix.shape[:-2] != leading:
            raise InvalidArgument(use, f"leading axes {matrix.shape[:-2]}", f"{leading}, as a has")
    return [matrix.reshape(-1, *matrix.shape[-2:]) for matrix in checked], leading


def are_values(arrays: Sequence[ArrayLike], types: Sequence[str]) -> bool:
    """Whether all arrays of floating-point types hold values, not bit patterns."""
    return all(
        _holds_values(host_array(array), FORMATS[type_])
        for array, type_ in zip(arrays, types, strict=True)
        if isinstance(FORMATS[type_], FloatFormat)
    )


def as_values(bits: NDArray[Any], type: str) -> NDArray[Any]:
    """Bit patterns of f16, f32 or f64 as values, in the same memory; any other array as it is."""
    return bits.view(VALUES[type]) if type in ("f16", "f32", "f64") else bits


def _holds_values(array: NDArray[Any], element: Format) -> bool:
    return _name(array.dtype) == VALUES.get(element.name)


@cache
def _name(dtype: np.dtype[Any]) -> str:
    """Its name, which numpy composes anew each time."""
    return dtype.name


def _shape(extent: tuple[int, ...]) -> str:
    return f"(..., {', '.join(map(str, extent))})"
