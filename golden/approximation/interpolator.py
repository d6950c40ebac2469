"""The interpolator: a second-degree polynomial per interval, in integers, with a truncated squarer.

The leading bits of a 23-bit argument select a row of three coefficients, the others are the offset in it::

    P = c0 + c1 * offset + c2 * square(offset)          in units of 2**-fraction_bits

Source: S. F. Oberman and M. Y. Siu, "A High-Performance Area-Efficient Multifunction Interpolator", 17th IEEE
Symposium on Computer Arithmetic, 2005.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ARGUMENT_BITS",
    "SQUARER_BITS",
    "Table",
    "TanhTable",
    "evaluate",
    "interpolate",
    "squares",
    "table",
    "tanh_table",
]

ARGUMENT_BITS = 23
"""Width of the argument, and of the stored significand of f32."""

SQUARER_BITS = 15
"""Leading bits of the offset that are squared; also the first column of the square that is summed."""

TANH_OFFSET_BITS = 17
TANH_LEAST_EXPONENT = -8
_TANH_INDEX_BITS = 4
_TANH_EXPONENTS = 11


@dataclass(frozen=True, kw_only=True)
class Table:
    """Coefficients of a function on equal intervals.

    Parameters
    ----------
    fraction_bits : int
        Places of the polynomial behind the point.
    offset_bits : int
        Bits of the argument below the row's number.
    c0, c1, c2 : ndarray of int64, shape (rows,)
    """

    fraction_bits: int
    offset_bits: int
    c0: NDArray[np.int64]
    c1: NDArray[np.int64]
    c2: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class TanhTable(Table):
    """Coefficients of tanh, on intervals of unequal width.

    Parameters
    ----------
    start : ndarray of float64, shape (rows,)
        Least magnitude of the interval.
    width : ndarray of float64, shape (rows,)
    row : ndarray of intp, shape (176,)
        The row of each sixteenth of the binades from ``2**-8`` to ``2**2``.
    """

    start: NDArray[np.float64]
    width: NDArray[np.float64]
    row: NDArray[np.intp]

    def row_of(self, magnitude: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Row of a magnitude from ``2**-8`` to below 8, given as an f32 bit pattern."""
        first = (127 + TANH_LEAST_EXPONENT) << _TANH_INDEX_BITS
        cell = (magnitude >> np.uint32(ARGUMENT_BITS - _TANH_INDEX_BITS)).astype(np.intp) - first
        return self.row.take(cell)


@cache
def _data() -> dict[str, dict[str, Any]]:
    text = files("golden.approximation").joinpath("tables.json").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, Any]] = json.loads(text)
    return loaded


@cache
def table(name: str) -> Table:
    """Coefficients of a function of equal intervals, by its name in ``tables.json``."""
    found = _data()[name]
    c0, c1, c2 = np.array(found["rows"], np.int64).T.copy()
    return Table(
        fraction_bits=found["fraction_bits"],
        offset_bits=ARGUMENT_BITS - (len(c0).bit_length() - 1),
        c0=c0,
        c1=c1,
        c2=c2,
    )


@cache
def tanh_table() -> TanhTable:
    """Coefficients of tanh."""
    found = _data()["tanh"]
    start, width = np.array([row[:2] for row in found["rows"]], np.float64).T.copy()
    c0, c1, c2 = np.array([row[2:] for row in found["rows"]], np.int64).T.copy()
    exponent, index = np.divmod(np.arange(_TANH_EXPONENTS << _TANH_INDEX_BITS), 1 << _TANH_INDEX_BITS)
    least = np.ldexp(1 + index / (1 << _TANH_INDEX_BITS), exponent + TANH_LEAST_EXPONENT)
    return TanhTable(
        fraction_bits=found["fraction_bits"],
        offset_bits=TANH_OFFSET_BITS,
        c0=c0,
        c1=c1,
        c2=c2,
        start=start,
        width=width,
        row=np.searchsorted(start, least, side="right") - 1,
    )


@cache
def squares() -> NDArray[np.int64]:
    """The truncated square of each 15-bit number.

    Bit ``a[i]`` of the number stands in column ``2 * i``, each product ``a[i] * a[j]`` with i < j in column
    ``i + j + 1``. Columns below 15 are left out; the unit is ``2**15``.
    """
    a = np.arange(1 << SQUARER_BITS, dtype=np.int64)
    total = np.zeros_like(a)
    for i in range(SQUARER_BITS):
        bit = a >> i & 1
        if 2 * i >= SQUARER_BITS:
            total += bit << 2 * i
        for j in range(i + 1, SQUARER_BITS):
            if i + j + 1 >= SQUARER_BITS:
                total += (bit & a >> j) << (i + j + 1)
    return total >> SQUARER_BITS


def interpolate(coefficients: Table, argument: NDArray[np.int64]) -> NDArray[np.int64]:
    """The polynomial of each 23-bit argument.

    Parameters
    ----------
    coefficients : Table
    argument : ndarray of int64
        From 0 to ``2**23 - 1``.

    Returns
    -------
    ndarray of int64
        In units of ``2**-fraction_bits``.
    """
    offset = argument & ((1 << coefficients.offset_bits) - 1)
    return evaluate(coefficients, argument >> coefficients.offset_bits, offset)


def evaluate(
    coefficients: Table, row: NDArray[np.int64] | NDArray[np.intp], offset: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The polynomial of one row at an offset of `coefficients.offset_bits` bits."""
    # Every index is in range; mode="clip" spares the check of each.
    total = coefficients.c1.take(row, mode="clip")
    total *= offset
    total += coefficients.c0.take(row, mode="clip")
    square = squares().take(offset >> (coefficients.offset_bits - SQUARER_BITS), mode="clip")
    square *= coefficients.c2.take(row, mode="clip")
    total += square
    return total
