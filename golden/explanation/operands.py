"""Operands of one result as a caller gives them: raw bits or values, in lists, tuples or arrays."""

import math
import struct
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Protocol

from golden.explanation.steps import F64, convert, decoded, float_value
from golden.integers import shortened
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FORMATS, FloatFormat, Format

_TIMES = ("m", "M")
"""Kinds of dtypes for dates and spans of time."""


class Array(Protocol):
    """What numpy's arrays and scalars have, and other arrays too."""

    def tolist(self) -> Any:
        """Nested lists of Python numbers, or one number."""


Elements = Sequence[Any] | Array


def checked_elements(
    argument: str, given: object, type: str, length: int | None
) -> tuple[list[int], list[str]]:
    """Raw bit patterns or integers of an operand of `golden.explain`, which says what is allowed.

    The elements have a type of `FORMATS`; the length of a single number is None. Returned are the elements,
    and a note for each value that the format does not hold exactly. What does not fit is an InvalidArgument.
    """
    format = FORMATS[type]
    given = _plain(given)
    extent = () if length is None else (length,)
    shape = _shape(given)
    if shape != extent:
        wanted = f"({length},)" if extent else "()"
        raise InvalidArgument(argument, f"shape {shape}", f"shape {wanted}")
    numbers: list[Any] = [_plain(item) for item in given] if isinstance(given, list | tuple) else [given]
    names = [argument] if length is None else [f"{argument}[{index}]" for index in range(len(numbers))]
    for name, number in zip(names, numbers, strict=True):
        _check(name, number, format)
    raw = [isinstance(number, Integral) for number in numbers]
    if isinstance(format, FloatFormat) and any(raw) and not all(raw):
        at = raw.index(True)
        mixed = f"the integer {shortened(numbers[at])} beside floating-point values"
        allowed = "only raw bit patterns (integers), or only values (floating-point numbers)"
        raise InvalidArgument(names[at], mixed, allowed)
    if not isinstance(format, FloatFormat) or any(raw):
        return [int(number) for number in numbers], []
    rounded = [_rounded(name, float(number), format) for name, number in zip(names, numbers, strict=True)]
    return [bits for bits, _ in rounded], [note for _, note in rounded if note is not None]


def _plain(given: object) -> Any:
    """Without numpy: the lists or the number that an array or one of its scalars stands for."""
    if getattr(getattr(given, "dtype", None), "kind", "") in _TIMES:  # integers for numpy, and for tolist
        return given.astype(str).tolist()  # type: ignore[attr-defined]
    if hasattr(given, "tolist"):
        return given.tolist()
    if hasattr(given, "__array__"):
        return given.__array__().tolist()
    if hasattr(given, "__dlpack__"):
        from golden.host_arrays import host_array  # noqa: PLC0415  needs numpy, as such an object does

        return host_array(given).tolist()
    return given


def _shape(given: object) -> tuple[int, ...]:
    """Lengths of nested lists, along their first elements."""
    given = _plain(given)
    if not isinstance(given, list | tuple):
        return ()
    return (len(given), *(_shape(given[0]) if given else ()))


def _check(name: str, number: object, format: Format) -> None:
    """Refuse what is no element of the format."""
    if isinstance(format, FloatFormat):
        least, greatest = 0, (1 << format.bits) - 1
        allowed = f"raw bit patterns of {format.name} from 0 to {greatest}, or floating-point values"
    else:
        least, greatest = format.minimum, format.maximum
        allowed = f"integers from {least} to {greatest} (values of {format.name})"
    if isinstance(number, bool):
        if format.name != "b1":
            raise InvalidArgument(name, f"the truth value {number}", allowed)
    elif isinstance(number, Integral):
        if not least <= int(number) <= greatest:
            raise InvalidArgument(name, f"the value {shortened(number)}", allowed)
    elif not isinstance(number, Real):
        raise InvalidArgument(name, f"{shortened(repr(number))} of type {number.__class__.__name__}", allowed)
    elif not isinstance(format, FloatFormat):
        raise InvalidArgument(name, f"the floating-point value {number}", allowed)
    elif not _is_f64(number):
        raise InvalidArgument(name, f"the value {number!r}, which f64 does not hold exactly", allowed)


def _is_f64(number: Real) -> bool:
    """Whether a value can be rounded to a format in one step, from f64."""
    try:
        value = float(number)
    except OverflowError:
        return False
    return math.isnan(value) or value == number


def _rounded(name: str, value: float, format: FloatFormat) -> tuple[int, str | None]:
    """The bit pattern nearest to a value, and what to say if it is another value."""
    number = decoded(name, int.from_bytes(struct.pack("<d", value), "little"), F64)
    if format == F64:
        return number.bits, None
    bits = convert(number, format).result
    held = float_value(bits, format)
    if math.isnan(value) or held == value:
        return bits, None
    return bits, f"{name}: {value!r} is rounded to {held!r}, {format.name} {bits:#x}"
