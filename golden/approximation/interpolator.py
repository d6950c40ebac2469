"""The interpolator: a second-degree polynomial per interval, in integers, with a truncated squarer.

The leading bits of a 23-bit argument select a row of three coefficients, the others are the offset in it::

    P = c0 + c1 * offset + c2 * square(offset)          in units of 2**-fraction_bits

Source: S. F. Oberman and M. Y. Siu, "A High-Performance Area-Efficient Multifunction Interpolator", 17th IEEE
Symposium on Computer Arithmetic, 2005.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.compiled import compiled

ARGUMENT_BITS: Final = 23
"""Width of the argument, and of the stored significand of f32."""

SQUARER_BITS: Final = 15
"""Leading bits of the offset that are squared; also the first column of the square that is summed."""

TANH_UNIT: Final = 31
"""Arguments of tanh have so many bits behind the point."""

_TANH_OFFSET_BITS: Final = 17
_TANH_CELLS: Final = 176
"""Sixteenths of the binades from ``2**-8`` to ``2**2``."""


class Table(NamedTuple):
    """Coefficients of a function on intervals."""

    fraction_bits: int
    """Places of the polynomial behind the point."""
    offset_bits: int
    """Bits of the argument below the row's number."""
    rows: Any
    """``c0, c1, c2`` of each interval."""
    squares: Any
    """See `squares`."""
    starts: Any
    """Of tanh, whose intervals are unequal: each row's least argument, and the logarithm of its width."""
    cells: Any
    """Of tanh: the row of each sixteenth of a binade."""


@cache
def table(name: str) -> Table:
    """Coefficients by name. A root has two tables, odd exponents first; each has a name too."""
    starts = np.zeros((1, 2), np.int64)
    cells = np.zeros(1, np.int64)
    if name in {"rsqrt", "sqrt"}:
        odd, even = table(f"{name}_odd"), table(f"{name}_even")
        return even._replace(rows=np.concatenate([odd.rows, even.rows]))
    text = files("golden.approximation").joinpath("tables.json").read_text(encoding="utf-8")
    found = json.loads(text)[name]
    rows = np.array([row[-3:] for row in found["rows"]], np.int64)
    offset_bits = ARGUMENT_BITS - (len(rows).bit_length() - 1)
    if name == "tanh":
        offset_bits = _TANH_OFFSET_BITS
        scaled = [(int(row[0] * 2**TANH_UNIT), int(row[1] * 2**TANH_UNIT)) for row in found["rows"]]
        starts = np.array([(start, width.bit_length() - 1) for start, width in scaled], np.int64)
        exponents, sixteenths = np.divmod(np.arange(_TANH_CELLS), 16)
        least = (16 + sixteenths) << (exponents + TANH_UNIT - 8 - 4)
        cells = np.searchsorted(starts[:, 0], least, side="right") - 1
    return Table(found["fraction_bits"], offset_bits, rows, squares(), starts, cells)


@cache
def squares() -> NDArray[np.uint16]:
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
    return (total >> SQUARER_BITS).astype(np.uint16)


@compiled
def polynomial(table: Table, row: int, offset: int) -> int:
    """The polynomial of a row at an offset of `Table.offset_bits` bits, in units of ``2**-fraction_bits``."""
    c0, c1, c2 = int(table.rows[row, 0]), int(table.rows[row, 1]), int(table.rows[row, 2])
    return c0 + c1 * offset + c2 * int(table.squares[offset >> (table.offset_bits - SQUARER_BITS)])
