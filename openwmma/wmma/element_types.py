"""What the template parameters of a fragment may be: uses, element types and layouts, by CUDA's names."""

from dataclasses import dataclass
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from golden.tables.instruction_set import Layout as TableLayout
from golden.tables.instruction_set import Use


class _Named(Enum):
    """Shown by CUDA's name."""

    def __repr__(self) -> str:
        return str(self.value)


class FragmentUse(_Named):
    """The part that a fragment has in a multiply (`Use` of the template)."""

    MATRIX_A = "matrix_a"
    MATRIX_B = "matrix_b"
    ACCUMULATOR = "accumulator"

    @property
    def table(self) -> Use:
        """The role in the instruction tables: a, b or, for accumulators, c."""
        return "a" if self is FragmentUse.MATRIX_A else "b" if self is FragmentUse.MATRIX_B else "c"


class _Order(_Named):
    """The order of a matrix in memory."""

    @property
    def table(self) -> TableLayout:
        """The name in the instruction tables."""
        return "row" if "row" in self.value else "col"


class Layout(_Order):
    """The order of a multiplicand in memory (`Layout` of the template)."""

    ROW_MAJOR = "row_major"
    COL_MAJOR = "col_major"


class MemoryLayout(_Order):
    """The order of an accumulator in memory (`layout_t`)."""

    MEM_ROW_MAJOR = "mem_row_major"
    MEM_COL_MAJOR = "mem_col_major"


class BitOperation(IntEnum):
    """The logical operation of `bmma_sync` (`experimental::bmmaBitOp`)."""

    bmmaBitOpXOR = 1  # noqa: N815
    bmmaBitOpAND = 2  # noqa: N815


class BitAccumulateOperation(IntEnum):
    """How `bmma_sync` sums up (`experimental::bmmaAccumulateOp`)."""

    bmmaAccumulateOpPOPC = 1  # noqa: N815


@dataclass(frozen=True, kw_only=True, repr=False)
class ElementType:
    """An element type of fragments."""

    cuda: str
    """Its name in CUDA C++."""
    table: str
    """Key of `golden.tables.formats.FORMATS`."""
    storage: np.dtype[Any]
    """Of an element of `x`. Sub-byte types have several elements in each."""
    arrays: tuple[str, ...]
    """The dtypes, by name, of the arrays that hold such elements in memory."""

    def __repr__(self) -> str:
        return self.cuda


def _type(cuda: str, table: str, storage: str, *arrays: str) -> ElementType:
    return ElementType(cuda=cuda, table=table, storage=np.dtype(storage), arrays=arrays)


_PACKED: Final = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")

ELEMENT_TYPES: Final = MappingProxyType(
    {
        item.table: item
        for item in (
            _type("__half", "f16", "<f2", "float16", "uint16"),
            _type("__nv_bfloat16", "bf16", "<u2", "bfloat16", "uint16"),
            _type("float", "f32", "<f4", "float32", "uint32"),
            _type("double", "f64", "<f8", "float64", "uint64"),
            _type("int", "s32", "<i4", "int32"),
            _type("signed char", "s8", "i1", "int8"),
            _type("unsigned char", "u8", "u1", "uint8"),
            _type("precision::tf32", "tf32", "<f4", "float32", "uint32"),
            _type("experimental::precision::s4", "s4", "<i4", *_PACKED),
            _type("experimental::precision::u4", "u4", "<u4", *_PACKED),
            _type("experimental::precision::b1", "b1", "<u4", *_PACKED),
        )
    }
)
"""Every element type by its PTX qualifier."""

_BUILTIN: Final = MappingProxyType[object, ElementType](
    {float: ELEMENT_TYPES["f32"], int: ELEMENT_TYPES["s32"]}
)
"""CUDA's `float` and `int` as Python spells them."""


def checked_element_type(given: object) -> ElementType | None:
    """The element type that the template parameter `T` means; None where it is none."""
    if isinstance(given, ElementType):
        return given
    return _BUILTIN.get(given) if isinstance(given, type) else None


class precision:  # noqa: N801
    """`nvcuda::wmma::precision`."""

    tf32: Final = ELEMENT_TYPES["tf32"]


class experimental:  # noqa: N801
    """`nvcuda::wmma::experimental`."""

    bmmaBitOp: Final = BitOperation  # noqa: N815
    bmmaBitOpXOR: Final = BitOperation.bmmaBitOpXOR  # noqa: N815
    bmmaBitOpAND: Final = BitOperation.bmmaBitOpAND  # noqa: N815
    bmmaAccumulateOp: Final = BitAccumulateOperation  # noqa: N815
    bmmaAccumulateOpPOPC: Final = BitAccumulateOperation.bmmaAccumulateOpPOPC  # noqa: N815

    class precision:  # noqa: N801
        """`nvcuda::wmma::experimental::precision`."""

        s4: Final = ELEMENT_TYPES["s4"]
        u4: Final = ELEMENT_TYPES["u4"]
        b1: Final = ELEMENT_TYPES["b1"]
