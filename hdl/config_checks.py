"""What the fields of a configuration may be: errors name the value and the rule."""

import operator
from typing import Any, Final

_MAX_BITS: Final = 64
"""Of an integer in a configuration."""


def require_range(name: str, value: int, least: int, most: int) -> None:
    """ValueError for a value out of its range."""
    if not least <= value <= most:
        raise ValueError(f"{name} must be from {least} to {most}, not {value}")


def require_class(name: str, value: object, kind: Any, allowed: str) -> None:
    """TypeError for a value of another class."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {allowed}, not of type {type(value).__name__}")


def checked_integer(name: str, value: Any) -> int:
    """An integer, also numpy's; ValueError for another type, and for what no field could ever take."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise ValueError(f"{name} must be an integer, not of type {type(value).__name__}")
    if number.bit_length() > _MAX_BITS:
        raise ValueError(f"{name} must have at most {_MAX_BITS} bits, not {number.bit_length()}")
    return number


def require_power_of_two(name: str, value: int, least: int, most: int) -> None:
    """ValueError for a value that is no power of two in its range."""
    if value & (value - 1) or not least <= value <= most:
        raise ValueError(f"{name} must be a power of two from {least} to {most}, not {value}")
