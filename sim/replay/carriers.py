"""Any contents of registers, loaded from memory as an accumulator of 16 x 16."""

from collections.abc import Callable, Iterator
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from golden.tables.commands import Load
from golden.tables.instruction_set import Shape
from golden.tables.layouts import LANES, fragment
from golden.tables.matrix_instructions import LoadInstruction

_SHAPE: Final = Shape(16, 16, 16)
_WORD_BYTES: Final = 4


class Carrier:
    """An accumulator that carries contents: elements of 32 bits take eight registers, of 16 bits four."""

    def __init__(self, element: Literal["f32", "s32", "f16"]) -> None:
        layout = fragment("d", element, _SHAPE)
        each = layout.elements // layout.registers
        self.registers = layout.registers
        self.bytes = _WORD_BYTES * layout.registers * LANES
        """Of the matrix in memory."""
        self.load = LoadInstruction(use="c", layout="row", shape=_SHAPE, type=element, space="global")
        rows, columns = np.array(layout.positions)[:, ::each].T  # each of shape (registers, lanes)
        self._places: NDArray[np.int64] = ((_SHAPE.n * rows + columns) // each).reshape(-1)

    def in_memory(self, words: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """The bytes from which a load fills the registers; `words` has shape (registers, 32)."""
        spread = np.empty(self._places.size, dtype=np.uint32)
        spread[self._places] = words.reshape(-1)
        return spread.view(np.uint8)


def carriers(accepts: Callable[[Load], bool]) -> list[Carrier]:
    """The carriers of a machine, the largest first."""
    elements: tuple[Literal["f32", "s32", "f16"], ...] = ("f32", "s32", "f16")
    able = [carrier for carrier in map(Carrier, elements) if accepts(Load(carrier.load, 0, 0))]
    return list({carrier.registers: carrier for carrier in able}.values())


def parts(able: list[Carrier], first: int, count: int) -> Iterator[tuple[int, int, Carrier | None]]:
    """Registers that are loaded together: first, number, and what carries them if anything can."""
    for carrier in able:
        while count >= carrier.registers:
            yield first, carrier.registers, carrier
            first, count = first + carrier.registers, count - carrier.registers
    if count:
        yield first, count, None
