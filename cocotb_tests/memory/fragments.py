"""Random fragments as memory has them and as the registers have them."""

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arguments import dtype_of
from golden.fragments import distribute
from golden.lines import matrix_to_lines
from golden.tables.formats import FORMATS, IntegerFormat
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from hdl.config import QUADS

__all__ = ["random_fragment"]

_SEGMENT = 16
_QUAD = 4


def random_fragment(rng: random.Random, row: tuple[Any, ...]) -> tuple[list[list[int]], list[int]]:
    """A random matrix.

    Parameters
    ----------
    rng : random.Random
    row : tuple
        Use, type, shape and layout.

    Returns
    -------
    lines : list of list of int
        The segments of each line in memory; of a line of eight bytes, the low half counts.
    words : list of int
        The quad words of each register.
    """
    use, name, shape, layout = row
    bits = np.random.default_rng(rng.getrandbits(64))
    form = FORMATS[name]
    least, most = (form.minimum, form.maximum) if isinstance(form, IntegerFormat) else (0, 2**form.bits - 1)
    width = np.int64 if isinstance(form, IntegerFormat) else np.uint64
    matrix: NDArray[Any] = bits.integers(least, most, shape.extent(use), dtype=width, endpoint=True).astype(
        dtype_of(form)
    )
    if use == "d":
        lines = matrix_to_lines(matrix, StoreInstruction(layout=layout, shape=shape, type=name))
    else:
        lines = matrix_to_lines(matrix, LoadInstruction(use=use, layout=layout, shape=shape, type=name))
    lines = np.pad(lines, ((0, 0), (0, -lines.shape[1] % _SEGMENT)), constant_values=0x5A)
    segments = [
        [int.from_bytes(segment.tobytes(), "little") for segment in line.reshape(-1, _SEGMENT)]
        for line in lines
    ]
    registers = distribute(matrix, use, name, shape)
    return segments, [word_of(register, quad) for register in registers for quad in range(QUADS)]


def word_of(register: NDArray[np.uint32], quad: int) -> int:
    """The 128-bit word of a quad of one register, the lowest lane in the low bits."""
    lanes = register[_QUAD * quad : _QUAD * (quad + 1)]
    return sum(int(value) << 32 * lane for lane, value in enumerate(lanes))
