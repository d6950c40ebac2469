"""What the template parameters of a fragment may be, by CUDA's names, and values as bit patterns."""

import math
import numbers
from dataclasses import dataclass
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.integers import integer_of, shortened
from golden.ptx.scalar_types import TYPES, float_bits
from golden.scalar import operation
from golden.tables.formats import FORMATS, FloatFormat
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


class Misuse(ValueError):
    """A use of the API that CUDA's compiler or documentation rules out.

    Parameters
    ----------
    what : str
        The function or fragment, and the offending value.
    rule : str
        What CUDA, PTX or the machine asks for.
    """

    def __init__(self, what: str, rule: str) -> None:
        self.what = what
        self.rule = rule
        super().__init__(f"{what}; {rule}")


def pattern_of(function: str, value: object, element: ElementType) -> int:
    """The bit pattern of a value, rounded once to nearest, ties to even; too large a number gives Inf.

    A tf32 is stored as it is, as a float. Misuse for what is no number, and an integer type that does not
    have the value.
    """
    format_ = FORMATS[element.table]
    if isinstance(format_, FloatFormat):
        is_bfloat16 = isinstance(value, np.generic) and value.dtype.name == "bfloat16"
        is_time = isinstance(value, np.timedelta64)  # a real number for numpy
        if is_time or not (isinstance(value, numbers.Real) or is_bfloat16):
            raise Misuse(f"{function}: got {shortened(repr(value))}", f"a value of {element} is a number")
        real: Any = value
        try:
            number = float(real)
        except OverflowError:
            number = math.inf if real > 0 else -math.inf
        if element.table == "bf16":
            return TYPES["bf16"].float_bits(number)
        return float_bits(number, format_.bits)
    integer = integer_of(int(value) if isinstance(value, bool) else value)
    if integer is None:
        raise Misuse(f"{function}: got {shortened(value)}", f"a value of {element} is an integer")
    if not format_.minimum <= integer <= format_.maximum:
        raise Misuse(
            f"{function}: got {shortened(integer)}",
            f"{element} has values from {format_.minimum} to {format_.maximum}",
        )
    return integer & ((1 << format_.bits) - 1)


def float_to_tf32(value: NDArray[np.float32] | np.float32 | float) -> NDArray[np.float32]:
    """Round to tf32: to nearest, ties away from zero, as `cvt.rna.tf32.f32` does (`__float_to_tf32`).

    Parameters
    ----------
    value : array_like of float32

    Returns
    -------
    ndarray of float32
        With the 13 low bits of the fraction zero; NaN becomes the pattern 0x7fffffff.
    """
    bits = np.atleast_1d(np.asarray(value, dtype=np.float32)).view(np.uint32)
    rounded = operation("cvt.rna.tf32.f32").evaluate(bits)
    is_nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    result = np.where(is_nan, np.uint32(0x7FFFFFFF), rounded).astype(np.uint32).view(np.float32)
    return result.reshape(np.shape(value))
