"""What a warp has executed, as a PTX program."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class _Access:
    instruction: LoadInstruction | StoreInstruction
    fragment: int
    parameter: str
    offset: int
    stride: int


@dataclass(frozen=True)
class _Fill:
    fragment: int
    pattern: int


@dataclass(frozen=True)
class _Multiply:
    instruction: MmaInstruction
    fragments: tuple[int, int, int, int]
    """d, a, b, c."""

    @property
    def clamps(self) -> bool:
        """Whether it saturates floating point."""
        return self.instruction.saturate and self.instruction.family.saturate == "float"


class Program:
    """A straight-line program that grows as a warp executes.

    What the host makes (elements written through `x`, arrays changed between two calls) is no instruction
    of PTX; the program loads it from a parameter of its own, whose bytes `tiles` has.

    Attributes
    ----------
    tiles : dict of str to ndarray of uint8
        The parameters that hold what the host made.
    """

    def __init__(self) -> None:
        self.tiles: dict[str, NDArray[np.uint8]] = {}
        self._layouts: list[FragmentLayout] = []
        self._steps: list[_Access | _Fill | _Multiply] = []

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
        self._steps.append(_Access(instruction, fragment, parameter, offset, stride))

    def fill(self, fragment: int, pattern: int) -> None:
        """Add a fill; the pattern is of one register, of 64 bits for f64."""
        self._steps.append(_Fill(fragment, pattern))

    def multiply(self, instruction: MmaInstruction, fragments: tuple[int, int, int, int]) -> None:
        """Add a multiply of the fragments d, a, b and c."""
        self._steps.append(_Multiply(instruction, fragments))

    def set_matrix(self, fragment: int, matrix: NDArray[Any], layout: str | None) -> None:
        """Add a load of a matrix that the host made.

        Parameters
        ----------
        fragment : int
        matrix : ndarray
            As for `golden.fragments.distribute`.
        layout : {"row", "col"} or None
            Of a multiplicand.
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
        """The program in PTX.

        Parameters
        ----------
        arrays : sequence of str
            The parameters that hold the arrays of the host; the program may lack some of them.

        Returns
        -------
        str
            One entry, `warp`. Saturation of floating point, which the WMMA API has and PTX has not, is a
            sequence of scalar instructions.
        """
        registers = _Registers(self._layouts)
        parameters = (*arrays, *self.tiles)
        lines = [".version 8.0", *_HEADER, ".visible .entry warp("]
        lines += [",\n".join(f"    .param .u64 {name}" for name in parameters)] if parameters else []
        lines += [")", "{"]
        pointers = {name: f"%p{index}" for index, name in enumerate(parameters)}
        if pointers:
            lines.append(f"    .reg .u64 %p<{len(pointers)}>;")
        lines += [f"    {declaration}" for declaration in registers.declarations()]
        for name, pointer in pointers.items():
            lines.append(f"    ld.param.u64 {pointer}, [{name}];")
            lines.append(f"    cvta.to.global.u64 {pointer}, {pointer};")
        if any(isinstance(step, _Multiply) and step.clamps for step in self._steps):
            lines += [f"    {line}" for line in _CLAMP_REGISTERS]
        for step in self._steps:
            lines += [f"    {line}" for line in _statements(step, registers, pointers)]
        return "\n".join([*lines, "    ret;", "}", ""])


class _Registers:
    """Names of the registers of all fragments."""

    def __init__(self, layouts: Sequence[FragmentLayout]) -> None:
        self._layouts = layouts

    def declarations(self) -> list[str]:
        return [
            f".reg .b{self._bits(layout)} %f{index}_<{self._count(layout)}>;"
            for index, layout in enumerate(self._layouts)
        ]

    def names(self, index: int) -> list[str]:
        return [f"%f{index}_{number}" for number in range(self._count(self._layouts[index]))]

    def fills(self, index: int, pattern: int) -> list[str]:
        """Statements that set every register of a fragment."""
        bits = self._bits(self._layouts[index])
        return [f"mov.b{bits} {name}, {pattern:#x};" for name in self.names(index)]

    @staticmethod
    def _bits(layout: FragmentLayout) -> int:
        return max(32, FORMATS[layout.type].bits)

    def _count(self, layout: FragmentLayout) -> int:
        return layout.registers * 32 // self._bits(layout)


def _statements(
    step: _Access | _Fill | _Multiply, registers: _Registers, pointers: dict[str, str]
) -> list[str]:
    def vector(index: int) -> str:
        return "{" + ", ".join(registers.names(index)) + "}"

    match step:
        case _Fill(index, pattern):
            return registers.fills(index, pattern)
        case _Multiply(instruction, fragments):
            written = replace(instruction, saturate=False) if step.clamps else instruction
            lines = [f"{written} {', '.join(vector(index) for index in fragments)};"]
            if step.clamps:
                for name in registers.names(fragments[0]):
                    lines += _saturated(name, instruction.d_type)
            return lines
        case _Access(instruction, index, parameter, offset, stride):
            address = f"[{pointers[parameter]}+{offset}]" if offset else f"[{pointers[parameter]}]"
            operands = (
                (vector(index), address)
                if isinstance(instruction, LoadInstruction)
                else (address, vector(index))
            )
            return [f"{instruction} {', '.join((*operands, str(stride)))};"]


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
