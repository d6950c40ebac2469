"""Floating-point numbers taken apart, as plain data."""

import struct
from dataclasses import dataclass
from typing import Literal

from golden.arithmetic import round_pack
from golden.arithmetic.decode import FINITE, decode
from golden.tables.formats import FloatFormat, float_format

Class = Literal["zero", "subnormal", "normal", "infinity", "nan"]

F64 = float_format("f64")


@dataclass(frozen=True, kw_only=True)
class Number:
    """A decoded floating-point number: ``significand * 2**(exponent - fraction_bits)``, with its sign."""

    name: str
    """Where it comes from: ``"a[3]"``, ``"b[3]"`` or ``"c"``."""
    format: str
    """PTX type."""
    bits: int
    """The bit pattern."""
    kind: Class
    negative: bool
    """The sign bit."""
    exponent: int
    """Unbiased; the minimum exponent for zeros and subnormals."""
    significand: int
    """Hidden bit included; of a NaN its payload."""
    fraction_bits: int
    """Places of the significand behind the point."""


def decoded(name: str, bits: int, format: FloatFormat) -> Number:
    """Take one bit pattern apart; bits that the format ignores do not matter."""
    negative, significand, exponent, kind = decode(bits, format)
    names: tuple[Class, ...] = ("zero", "normal", "infinity", "nan")
    subnormal = kind == FINITE and significand >> format.fraction_bits == 0
    return Number(
        name=name,
        format=format.name,
        bits=bits,
        kind="subnormal" if subnormal else names[kind],
        negative=negative == 1,
        exponent=exponent,
        significand=significand,
        fraction_bits=format.fraction_bits,
    )


def float_value(bits: int, format: FloatFormat) -> float:
    """The value of a bit pattern; every NaN is the same."""
    (value,) = struct.unpack("<d", round_pack.convert(bits, format, F64).to_bytes(8, "little"))
    return float(value)
