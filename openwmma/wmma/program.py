"""What a warp has executed, as a PTX program."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.lines import matrix_to_lines
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Use
from golden.tables.layouts import FragmentLayout
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction

_HEADER: Final = (".target sm_90", ".address_size 64", "")

_CLAMP_REGISTERS: Final = (
    ".reg .pred %nan;",
    ".reg .b16 %low, %high, %largest, %least;",
    "mov.b16 %largest, 0x7BFF;",
    "mov.b16 %least, 0xFBFF;",
)
"""What saturation needs; 16-bit floats have no constants."""


class Program:
    """A straight-line program that grows as a warp executes.

    What the host makes (elements written through `x`, arrays changed between two calls) is no instruction
    of PTX; the program loads it from a parameter of its own, whose bytes `tiles` has.
    """

    def __init__(self) -> None:
        self.tiles: dict[str, NDArray[np.uint8]] = {}
        """By the names of the parameters."""
        self._layouts: list[FragmentLayout] = []
        self._clamps = False
        self._statements: list[str] = []

    def add_fragment(self, layout: FragmentLayout) -> int:
        """Declare a fragment; its number."""
        self._layouts.append(layout)
        return len(self._layouts) - 1

    def access(
        self,
        instruction: LoadInstruction | StoreInstruction,
        fragment: int,
        parameter: str,
        offset: int,
        stride: int,
    ) -> None:
        """Add a load or store at `offset` bytes behind the address in a parameter."""
        address = f"[%{parameter}+{offset}]" if offset else f"[%{parameter}]"
        operands = [self._vector(fragment), address]
        if isinstance(instruction, StoreInstruction):
            operands.reverse()
        self._statements.append(f"{instruction} {', '.join(operands)}, {stride};")

    def fill(self, fragment: int, pattern: int) -> None:
        """Add a fill; the pattern is of one register, of 64 bits for f64."""
        bits = _bits(self._layouts[fragment])
        self._statements += [f"mov.b{bits} {name}, {pattern:#x};" for name in self._names(fragment)]

    def multiply(self, instruction: MmaInstruction, fragments: tuple[int, int, int, int]) -> None:
        """Add a multiply of the fragments d, a, b and c.

        Saturation of floating point, which the WMMA API has and PTX has not, is a sequence of scalar
        instructions.
        """
        clamps = instruction.saturate and instruction.family.saturate == "float"
        written = replace(instruction, saturate=False) if clamps else instruction
        self._statements.append(f"{written} {', '.join(map(self._vector, fragments))};")
        if clamps:
            self._clamps = True
            for name in self._names(fragments[0]):
                self._statements += _saturated(name, instruction.d_type)

    def set_matrix(self, fragment: int, matrix: NDArray[Any], layout: str | None) -> None:
        """Add a load of a matrix that the host made, as for `golden.fragments.distribute`.

        The layout is of a multiplicand, None for an accumulator.
        """
        held = self._layouts[fragment]
        use: Use = "c" if held.is_accumulator else held.use
        instruction = LoadInstruction(
            use=use,
            layout="col" if layout == "col" else "row",
            shape=held.shape,
            type=held.type,
            space="global",
        )
        lines = matrix_to_lines(matrix, instruction)
        step = -(-lines.shape[1] // held.size) * held.size
        padded = np.zeros((len(lines), step), np.uint8)
        padded[:, : lines.shape[1]] = lines
        name = f"tile{len(self.tiles)}"
        self.tiles[name] = padded.reshape(-1)
        self.access(instruction, fragment, name, 0, step * 8 // held.element_bits)

    def text(self, arrays: Sequence[str]) -> str:
        """The program in PTX: one entry, `warp`.

        `arrays` are the parameters that hold the arrays of the host; the program may lack some of
        them.
        """
        parameters = (*arrays, *self.tiles)
        lines = []
        for name in parameters:
            lines += [f".reg .u64 %{name};", f"ld.param.u64 %{name}, [{name}];"]
            lines.append(f"cvta.to.global.u64 %{name}, %{name};")
        for number, layout in enumerate(self._layouts):
            lines.append(f".reg .b{_bits(layout)} %f{number}_<{_count(layout)}>;")
        lines += [*(_CLAMP_REGISTERS if self._clamps else ()), *self._statements, "ret;"]
        declared = ",\n".join(f"    .param .u64 {name}" for name in parameters)
        head = [".version 8.0", *_HEADER, ".visible .entry warp(", *filter(None, [declared]), ")", "{"]
        return "\n".join([*head, *(f"    {line}" for line in lines), "}", ""])

    def _names(self, fragment: int) -> list[str]:
        """The registers of a fragment."""
        return [f"%f{fragment}_{number}" for number in range(_count(self._layouts[fragment]))]

    def _vector(self, fragment: int) -> str:
        return "{" + ", ".join(self._names(fragment)) + "}"


def _bits(layout: FragmentLayout) -> int:
    """Bits of a register of PTX that holds elements of a fragment."""
    return max(32, FORMATS[layout.type].bits)


def _count(layout: FragmentLayout) -> int:
    return layout.registers * 32 // _bits(layout)


def _saturated(register: str, type_: str) -> list[str]:
    """Statements that replace infinities by the largest number, and NaN by zero."""
    if type_ == "f32":
        return _clamped(register, "f32", "0f7F7FFFFF", "0fFF7FFFFF")
    halves = [line for half in ("%low", "%high") for line in _clamped(half, "f16", "%largest", "%least")]
    return [f"mov.b32 {{%low, %high}}, {register};", *halves, f"mov.b32 {register}, {{%low, %high}};"]


def _clamped(register: str, type_: str, largest: str, least: str) -> list[str]:
    bits = int(type_[1:])
    return [
        f"setp.nan.{type_} %nan, {register}, {register};",
        f"min.{type_} {register}, {register}, {largest};",
        f"max.{type_} {register}, {register}, {least};",
        f"@%nan mov.b{bits} {register}, 0;",
    ]
