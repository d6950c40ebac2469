"""The types of PTX registers and of scalar instructions, and how values wrap in them."""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from golden.arithmetic.round_pack import convert
from golden.tables.formats import float_format


@dataclass(frozen=True)
class ScalarType:
    """A fundamental PTX type."""

    name: str
    """The qualifier without its dot."""
    bits: int
    """Width; 1 for a predicate."""
    kind: Literal["bits", "unsigned", "signed", "float", "predicate"]

    def __str__(self) -> str:
        return f".{self.name}"

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return max(1, self.bits // 8)

    @property
    def range(self) -> tuple[int, int]:
        """Least and greatest integer that may be given for it; bits take signed and unsigned ones."""
        least = -(1 << (self.bits - 1)) if self.kind in ("signed", "bits") else 0
        greatest = (1 << (self.bits - (self.kind == "signed"))) - 1
        return least, greatest

    def agrees_with(self, needed: str) -> bool:
        """Whether a register of this type may stand where a type is needed, whatever the widths.

        Bits agree with everything, integers with integers, other types with themselves. The assembler also
        takes ``.f16x2`` for an integer type, but not for a count or a mask, which is an ``integer``.
        """
        if self.name == needed or "pred" in (self.name, needed):
            return True
        if self.name[1:].isdecimal() and self.kind == "bits":
            return True
        if needed == "integer" or needed[0] in "us":
            integer = self.kind in ("unsigned", "signed") and "x2" not in needed
            return integer or (self.name == "f16x2" and needed != "integer")
        return needed[0] == "b" and needed[1:].isdecimal()

    def wrap(self, value: int) -> int:
        """The low bits of `value`, as an unsigned integer."""
        return value & ((1 << self.bits) - 1)

    def interpret(self, pattern: int) -> int:
        """The number that a bit pattern stands for; for floats and bits the pattern itself."""
        pattern = self.wrap(pattern)
        if self.kind == "signed" and pattern >> (self.bits - 1):
            return pattern - (1 << self.bits)
        return pattern

    def float_bits(self, value: float) -> int:
        """The bits of `value`, rounded to nearest even, in an element of this type; too large gives Inf."""
        if self.name != "bf16":
            return float_bits(value, self.bits)
        bits = float_bits(value, 64)
        return _BFLOAT16.canonical_nan if math.isnan(value) else convert(bits, _F64, _BFLOAT16)


TYPES: Final[Mapping[str, ScalarType]] = {
    item.name: item
    for item in (
        ScalarType("pred", 1, "predicate"),
        *(ScalarType(f"b{bits}", bits, "bits") for bits in (8, 16, 32, 64, 128)),
        *(ScalarType(f"u{bits}", bits, "unsigned") for bits in (8, 16, 32, 64)),
        *(ScalarType(f"s{bits}", bits, "signed") for bits in (8, 16, 32, 64)),
        ScalarType("f16", 16, "float"),
        ScalarType("bf16", 16, "float"),
        ScalarType("f16x2", 32, "bits"),
        ScalarType("bf16x2", 32, "bits"),
        ScalarType("f32", 32, "float"),
        ScalarType("f64", 64, "float"),
    )
}
"""Every type that a register may have, by its qualifier."""

_F64: Final = float_format("f64")
_BFLOAT16: Final = float_format("bf16")
_PACKINGS: Final = {16: "<e", 32: "<f", 64: "<d"}


def float_bits(value: float, bits: int) -> int:
    """The IEEE pattern of `value` in 16, 32 or 64 bits, rounded to nearest even; too large gives Inf."""
    try:
        packed = struct.pack(_PACKINGS[bits], value)
    except OverflowError:
        packed = struct.pack(_PACKINGS[bits], math.copysign(math.inf, value))
    return int.from_bytes(packed, "little")


def float_value(pattern: int, bits: int) -> float:
    """The value of an IEEE pattern of 16, 32 or 64 bits."""
    (value,) = struct.unpack(_PACKINGS[bits], pattern.to_bytes(bits // 8, "little"))
    return float(value)
