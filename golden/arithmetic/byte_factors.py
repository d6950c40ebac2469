"""Factors of 8 bits and fewer, decoded 64 at once by tables, where the processor has such an instruction."""

from functools import cache
from typing import Any, Final

import numpy as np
from numba.core.registry import cpu_target
from numpy.typing import NDArray

from golden.arithmetic.compiled import load, store, which
from golden.arithmetic.engine import Compiled
from golden.arithmetic.fdpa import Operand, decode_factors
from golden.arithmetic.lanes import entries, has_instructions, permutation
from golden.tables.formats import FloatFormat

DEPTH: Final = 32
"""Factors of a row."""

_BYTES: Final = 64
_ENTRIES: Final = 128
_UPPER: Final = np.tile(np.array([0, 0, 255, 255], np.uint8), _BYTES // 4)

_words, _other_words = (
    permutation(*(x + half * _BYTES for x in range(start, start + 32) for half in range(2)))
    for start in (0, 32)
)
_first, _second, _third, _fourth = (
    permutation(*(x + half * _BYTES for x in range(start, start + 16) for half in (0, 1) * 2))
    for start in range(0, _BYTES, 16)
)


def have_tables(formats: tuple[FloatFormat, ...]) -> bool:
    """Whether factors of these formats can be decoded here."""
    small = all(format.bits <= 8 for format in formats)
    return small and has_instructions(cpu_target.target_context, "avx512vbmi")


@cache
def table(format: FloatFormat) -> NDArray[np.uint8]:
    """Exponents and upper halves of values by patterns without signs, lower bytes first; then unused bits."""
    exponents, values = np.zeros(_ENTRIES, np.int16), np.zeros(_ENTRIES, np.float32)
    decode_factors(range(_ENTRIES), format, values, exponents, (0,))
    words = exponents.view(np.uint16), values.view(np.uint32) >> 16
    unused = np.full(_BYTES, 255 << format.bits)
    found = np.concatenate([*(word >> shift for word in words for shift in (0, 8)), unused])
    return (found & 255).astype(np.uint8)


@cache
def decoder(is_rows: bool) -> Compiled:
    """Decodes rows, two of them in turns, or eight columns, each twice; whether a pattern has unused bits."""
    count = _BYTES if is_rows else _BYTES // 2
    places = np.arange(count).reshape(2, DEPTH).T if is_rows else np.repeat(np.arange(count), 2)
    ordered, some, bytes_ = permutation(*places.flat), (0,) * count, (0,) * _BYTES

    def decode(bits: Any, table: Any, operand: Operand) -> int:
        values, exponents = operand.values.reshape(-1), operand.exponents.reshape(-1)
        upper = load(_UPPER, 0, bytes_)
        seen = upper & 0
        for start in range(0, len(bits), count):
            x = load(bits, start, some)
            x = ordered(x, x)
            seen = seen | x
            low = entries(load(table, 0, bytes_), load(table, 64, bytes_), x)
            high = entries(load(table, 128, bytes_), load(table, 192, bytes_), x)
            below = entries(load(table, 256, bytes_), load(table, 320, bytes_), x)
            above = entries(load(table, 384, bytes_), load(table, 448, bytes_), x) | x & 128
            place = start * _BYTES // count
            store(exponents, place, _words(low, high))
            store(exponents, place + 32, _other_words(low, high))
            store(values, place, _first(below, above) & upper)
            store(values, place + 16, _second(below, above) & upper)
            store(values, place + 32, _third(below, above) & upper)
            store(values, place + 48, _fourth(below, above) & upper)
        return which((seen & load(table, 4 * _ENTRIES, bytes_)) != 0)

    return Compiled(decode)
