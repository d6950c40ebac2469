"""For the checker: which fragment the values of a register were made for, and what arrays are loaded as.

Values are known by the identity of their array: blocks never change an array in place, and a copy of a
register shares it. Values that a kernel computes, or merges after threads diverged, fit every fragment.
"""

import weakref
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from golden.arguments import VALUES
from golden.simt.arrays import Values
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import Layout, Shape, Use
from golden.tables.matrix_instructions import Instruction, MmaInstruction


class _Held(NamedTuple):
    """What a register of a fragment holds."""

    matrix: str
    """In words; c and d are both an accumulator, and interchangeable."""
    type: str
    shape: Shape
    layout: Layout | None
    """None for accumulators, whose registers are the same for both."""
    element: int
    """Which register of the fragment it is."""


_DIFFERENCES: Final = (
    "is of {}, not of {}",
    *("has .{}, not .{}",) * 3,
    "is register {} of its fragment, not {}",
)
"""What is wrong, by the field of `_Held` that differs."""


_CONTAINED: Final = ("f8f6f4", "mxf8f6f4")
"""Kinds whose elements have containers of 8 bits."""

_SPARE: Final = {"e3m2": 0xC0C0C0C0, "e2m3": 0xC0C0C0C0, "e2m1": 0xC3C3C3C3}
"""Bits of a register that its elements do not use."""


class FragmentOrigins:
    """The fragments that the values of registers belong to."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[weakref.ref[Any], _Held, int]] = {}

    def note(self, instruction: Instruction, use: Use, values: Values, number: int) -> None:
        """Note what an instruction, by its number in the kernel, has made."""
        for element, value in enumerate(values):
            held = _held(instruction, use, element)
            if held is not None:
                key = id(value)
                reference = weakref.ref(value, partial(self._held.pop, key))
                self._held[key] = reference, held, number

    def difference(
        self, instruction: Instruction, fragments: Mapping[Use, Values]
    ) -> tuple[Use, int, int, str] | None:
        """The first register that was made for another fragment than the one it is used for.

        Operand, place of the register, number of the instruction that made it, and what differs.
        """
        for use, values in fragments.items():
            for element, value in enumerate(values):
                reference, held, number = self._held.get(id(value), (None, None, 0))
                wanted = _held(instruction, use, element)
                if reference is None or reference() is not value or held is None or wanted is None:
                    continue
                for text, have, want in zip(_DIFFERENCES, held, wanted, strict=True):
                    if have != want:
                        return use, element, number, text.format(have, want)
        return None


def _held(instruction: Instruction, use: Use, element: int) -> _Held | None:
    """What an instruction says of a register; None for ``mma.sync``, whose registers are documented."""
    if not isinstance(instruction, MmaInstruction):
        type_, layout = instruction.type, instruction.layout
    elif instruction.mnemonic == "wmma":
        type_, layout = instruction.types[use], instruction.layout(use)
    else:
        return None
    if use in "cd":
        return _Held("an accumulator", type_, instruction.shape, None, element)
    return _Held(f"matrix {use}", type_, instruction.shape, layout, element)


def container_problem(instruction: MmaInstruction, fragments: Mapping[Use, Values]) -> str | None:
    """What is wrong with the first register whose containers of 8 bits have a bit that no element uses.

    A chip takes it for more bits of the element; here it is ignored.
    """
    if instruction.kind not in _CONTAINED:
        return None
    for use, values in fragments.items():
        spare = _SPARE.get(instruction.types[use], 0)
        for place, value in enumerate(values if spare else ()):
            dirty = value[(value & np.uint32(spare)) != 0]
            if dirty.size:
                return (
                    f"operand {use}: register {place} is {int(dirty[0]):#010x}; in containers of "
                    f"{instruction.types[use]} the bits {spare & 0xFF:#04x} must be zero"
                )
    return None


def type_problem(array: np.dtype[Any], type_: str) -> str | None:
    """What is wrong with values of a dtype that are loaded as a type; unsigned integers are raw bits."""
    bits = max(8, FORMATS[type_].bits)
    expected = VALUES.get(type_) if isinstance(FORMATS[type_], FloatFormat) else f"int{bits}"
    if array.name == expected or (array.kind not in "if" and array.name not in VALUES.values()):
        return None
    return f"an array of {array} is loaded as {type_}; expected {expected}, or raw bits in uint{bits}"
