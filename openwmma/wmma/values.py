"""Values of the host as bit patterns of an element type."""

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.integers import integer_of, shortened
from golden.ptx.scalar_types import TYPES, float_bits
from golden.scalar import operation
from golden.tables.formats import FORMATS, FloatFormat
from openwmma.wmma.element_types import ElementType
from openwmma.wmma.misuse import Misuse


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
