"""Integers, texts and objects that callers hand in, and how messages show what came."""

import operator
import re
from collections.abc import Callable, Collection
from typing import Any, Final

from golden.invalid_argument import InvalidArgument

_SHOWN: Final = 60
"""Most characters of a value in a message."""

_SHOWN_BITS: Final = 128
"""Most bits of an integer that is shown in decimal: Python refuses to write thousands of digits."""

_MAX_ITEMS: Final = 1000
"""Of a sequence of integers: extents, axes."""

_INTEGER: Final = re.compile(r"[+-]?(?P<prefix>0[xob])?[0-9a-f_]+", re.IGNORECASE)


def shortened(value: object, most: int = _SHOWN) -> str:
    """A value for a message: one line of at most `most` characters."""
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        text = f"{value:#x}"
        return f"{text[: most // 2]}... ({value.bit_length()} bits)"
    try:
        text = value if isinstance(value, str) else repr(value)
    except ValueError:  # thousands of digits in a list
        text = f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


def quoted(value: object, most: int = _SHOWN) -> str:
    """As `shortened`, with quotes around a text."""
    return shortened(repr(value), most) if isinstance(value, str) else shortened(value, most)


def checked_text(
    name: str, value: object, *, refuse: Callable[[str, str, str], Exception] = InvalidArgument
) -> str:
    """The text that a caller handed in; the error that `refuse` makes for anything else."""
    return str(checked_object(name, value, str, "a text", refuse=refuse))


def checked_choice(name: str, value: object, choices: Collection[str]) -> str:
    """The text that a caller handed in, which is one of some; InvalidArgument for anything else."""
    if isinstance(value, str) and value in choices:
        return value
    raise InvalidArgument(name, quoted(value), ", ".join(choices))


def checked_object(
    name: str,
    value: Any,
    kind: type[Any] | tuple[type[Any], ...],
    allowed: str,
    *,
    refuse: Callable[[str, str, str], Exception] = InvalidArgument,
) -> Any:
    """What a caller handed in if it is of a class; otherwise the error that `refuse` makes."""
    if isinstance(value, kind):
        return value
    raise refuse(name, f"{shortened(value)} of type {type(value).__name__}", allowed)


def checked_objects(name: str, values: Any, kind: type[Any], allowed: str) -> tuple[Any, ...]:
    """The items that a caller handed in; InvalidArgument for one of another class, and for no iterable."""
    try:
        found = tuple(values)
    except TypeError:
        found = (checked_object(name, values, (), f"several, each {allowed}"),)
    return tuple(checked_object(name, value, kind, allowed) for value in found)


def integer_of(value: object) -> int | None:
    """The integer that a value is; None for a truth value, and for all that is no integer.

    Integers are Python's, numpy's, arrays of one of them without axes, and what has ``__index__``.
    """
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def listed(value: object) -> list[object] | None:
    """The items of a sequence or of an array, or a single value as the only item; None for text and sets."""
    if integer_of(value) is not None or not hasattr(value, "__len__") or not hasattr(value, "__getitem__"):
        return [value]
    if isinstance(value, str | bytes | bytearray | dict):
        return None
    try:
        return list(value) if len(value) <= _MAX_ITEMS else None  # type: ignore[call-overload]
    except TypeError:  # an array without axes
        return [value]
    except OverflowError:  # of the length of a range
        return None


def checked_integer(
    name: str,
    value: object,
    least: int,
    greatest: int | None = None,
    *,
    unit: str = "",
    refuse: Callable[[str, str, str], Exception] = InvalidArgument,
) -> int:
    """The integer that a caller handed in: see `integer_of`. The range has no end where `greatest` is None.

    `unit` is the unit of the range, for the message. `refuse` makes the error of a name, what came and what
    is allowed; without it, that is an InvalidArgument.
    """
    number = integer_of(value)
    if number is not None and number >= least and (greatest is None or number <= greatest):
        return number
    allowed = f"{least} to {greatest}" if greatest is not None else f"at least {least}"
    allowed = f"{allowed} {unit}" if unit else allowed
    if number is None:
        raise refuse(name, f"{shortened(value)} of type {type(value).__name__}", f"an integer, {allowed}")
    raise refuse(name, shortened(number), allowed)


def parsed_integer(text: str) -> int | None:
    """The integer that a text spells in Python's syntax; None for any other text.

    OverflowError for more decimal digits than Python converts.
    """
    match = _INTEGER.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return int(text, 0)
    except ValueError:
        digits = sum(character.isdecimal() for character in text)
        if match["prefix"] or digits <= 1000 or not text.strip("+-_ ").replace("_", "").isdecimal():
            return None
        raise OverflowError(f"a number of {digits} digits") from None
