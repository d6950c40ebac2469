"""f16 and bf16, alone and in pairs: the f32 result for the same value, truncated to the format.

A format has 65 536 numbers, so each function is a table, made on first use.
"""

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from golden.approximation import unit
from golden.approximation.interpolator import Table, table
from golden.arithmetic.arrays import elementwise
from golden.arithmetic.compiled import compiled
from golden.arithmetic.decode import FINITE, Format, decode, layout
from golden.arithmetic.round_pack import TOWARDS_ZERO, convert, round_pack
from golden.tables.formats import float_format

_F32: Final = float_format("f32")


@compiled
def truncate(bits: int, source: Format, target: Format) -> int:
    """Convert towards zero; beyond the largest number, infinity."""
    negative, significand, exponent, kind = decode(bits, source)
    if kind > FINITE:
        return convert(bits, source, target)
    unit = exponent - source.fraction_bits
    return round_pack(negative, significand, unit, target, TOWARDS_ZERO, True)


@compiled
def ex2(x: int, f32: Format, narrow: Format, table: Table) -> int:
    """Two to the power x; of bf16, with ``.ftz``."""
    return truncate(unit.ex2(convert(x, narrow, f32), table), f32, narrow)


@compiled
def tanh(x: int, f32: Format, narrow: Format, table: Table) -> int:
    """The hyperbolic tangent of x."""
    return truncate(unit.tanh(convert(x, narrow, f32), table), f32, narrow)


@cache
def results(function: str, element: str) -> NDArray[np.uint16]:
    """The result of ``"ex2"`` or ``"tanh"`` for every bit pattern of f16 or bf16; read-only."""
    scalar = {"ex2": ex2, "tanh": tanh}[function]
    constants = layout(_F32), layout(float_format(element))
    every = (np.arange(1 << 16),)
    narrow: NDArray[np.uint16] = elementwise(
        scalar, every, constants, np.uint16, arguments=(table(function),)
    )
    narrow.flags.writeable = False
    return narrow
