"""Where the crossbar's banks keep the bytes of a fragment: one row for each pattern.

Byte e of a segment goes to bank ``(e + skew) % 16``, byte q of a word comes from bank
``(q + rotation) % 16``:

================== =========================== =====================================================
pattern            skew of segment c of line l   rotation of the word of row x, quad g, pair j, half h
================== =========================== =====================================================
PACKED             0                           0
TRANSPOSED_8       l                           x
TRANSPOSED_16      2 l                         2 g
TRANSPOSED_32      4 l                         4 g
SPLIT              4 (c % 2)                   4 j, lanes 1 and 2 swapped
SPLIT_TRANSPOSED   4 (l // 2)                  4 g
F64_TRANSPOSED     4 l                         8 g + 4 h
WIDE               4 c                         8 j + 4 h
WIDE_TRANSPOSED    4 (l // 2)                  8 g + 4 h
================== =========================== =====================================================

so that neither meets a bank twice. Lanes 1 and 2 are exchanged where the table says so.
"""

from collections.abc import Callable
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Signal, ValueLike

from hdl.memory.fragment_geometry import Pattern

__all__ = ["Places", "bank_places"]


class Places(NamedTuple):
    """Where one pattern puts things, in bytes.

    Parameters
    ----------
    skew : value
        Of the current segment.
    rotation : value
        Of the current word.
    line, segment : callable
        Line and segment that hold the byte at a position of the current word.
    """

    skew: ValueLike
    rotation: ValueLike
    line: Callable[[Signal], ValueLike]
    segment: Callable[[Signal], ValueLike]


def bank_places(
    line: Signal, segment: Signal, quad: Signal, x_block: Signal, y_block: Signal, pairs: Signal
) -> dict[Pattern, Places]:
    """The table as hardware.

    Parameters
    ----------
    line, segment : Signal(5), Signal(3)
        The current segment.
    quad, x_block, y_block : Signal
        The current word: its quad, and the blocks of its register.
    pairs : Signal(2)
        Of the register, the bits that tell pairs of columns and halves of f64 apart.

    Returns
    -------
    dict of Pattern to Places
    """
    x = Cat(quad, x_block)
    zero = Const(0, 2)
    return {
        Pattern.PACKED: Places(
            0,
            0,
            lambda position: x,
            lambda position: y_block,
        ),
        Pattern.TRANSPOSED_8: Places(
            line[:4],
            x[:4],
            lambda position: position,
            lambda position: x[4:],
        ),
        Pattern.TRANSPOSED_16: Places(
            Cat(zero[:1], line[:3]),
            Cat(zero[:1], quad),
            lambda position: Cat(position[1:], y_block),
            lambda position: x_block,
        ),
        Pattern.TRANSPOSED_32: Places(
            Cat(zero, line[:2]),
            Cat(zero, quad[:2]),
            lambda position: Cat(position[2:], y_block),
            lambda position: x[2:],
        ),
        Pattern.SPLIT: Places(
            Cat(zero, segment[0]),
            Cat(zero, pairs[0]),
            lambda position: x,
            lambda position: Cat(position[2], y_block),
        ),
        Pattern.SPLIT_TRANSPOSED: Places(
            Cat(zero, line[1:3]),
            Cat(zero, quad[:2]),
            lambda position: Cat(pairs[0], position[2:], y_block),
            lambda position: x[2:],
        ),
        Pattern.F64_TRANSPOSED: Places(
            Cat(zero, line[:2]),
            Cat(zero, pairs[0], quad[0]),
            lambda position: position[2:],
            lambda position: quad[1:],
        ),
        Pattern.WIDE: Places(
            Cat(zero, segment[:2]),
            Cat(zero, pairs),
            lambda position: quad,
            lambda position: position[2:],
        ),
        Pattern.WIDE_TRANSPOSED: Places(
            Cat(zero, line[1:3]),
            Cat(zero, pairs[0], quad[0]),
            lambda position: Cat(pairs[1], position[2:]),
            lambda position: quad[1:],
        ),
    }
