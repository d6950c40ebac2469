"""Arithmetic of single elements as PTX names it: operations, types, and how many operands there are."""

from types import MappingProxyType
from typing import Final, Literal

ElementOperation = Literal["add", "sub", "mul", "fma", "min", "max"]
ElementType = Literal["f16", "f32", "f64", "s32", "u32"]

OPERAND_COUNTS: Final = MappingProxyType[ElementOperation, int](
    {"add": 2, "sub": 2, "mul": 2, "fma": 3, "min": 2, "max": 2}
)
"""Operands of each operation; fma multiplies the first two and adds the third."""

ELEMENT_BITS: Final = MappingProxyType[ElementType, int](
    {"f16": 16, "f32": 32, "f64": 64, "s32": 32, "u32": 32}
)
"""Width of each type."""
