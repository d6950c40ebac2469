"""Dot products out of the captures from an NVIDIA H200: a row, a column, c, and the chip's result."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from golden_captures import COMPACT, TABLES, Capture, instruction_of
from numpy.typing import NDArray

import golden
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.matrix_instructions import MmaInstruction

LEGACY = "float16_legacy"
"""Made by an old modifier, with the results of the instructions without it."""

SEED = 22


@dataclass(frozen=True)
class CapturedProduct:
    """One element of a captured tile."""

    instruction: MmaInstruction
    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[Any]
    d: NDArray[Any]
    i: int
    j: int

    def __str__(self) -> str:
        return str(self.instruction)

    @property
    def bits(self) -> str:
        """The chip's result as the page writes it."""
        return self.written(self.d)

    def written(self, d: NDArray[Any]) -> str:
        """The element of a result with all hexadecimal digits."""
        bits = FORMATS[self.instruction.d_type].bits
        return f"0x{int(d[self.i, self.j]) % (1 << bits):0{bits // 4}x}"

    def of_profile(self, profile: str) -> str:
        """The golden model's result under a profile."""
        return self.written(golden.mma(self.instruction, self.a, self.b, self.c, profile=profile))

    def operands(self) -> dict[str, str]:
        """Row, column and c as a reader types them."""
        a_type, b_type, c_type = self.instruction.a_type, self.instruction.b_type, self.instruction.c_type
        return {
            "a": ",".join(_typed(x, a_type) for x in self.a[self.i]),
            "b": ",".join(_typed(x, b_type) for x in self.b[:, self.j]),
            "c": _typed(self.c[self.i, self.j], c_type),
        }


def captured_products() -> list[CapturedProduct]:
    """One element of every capture, of a tile and at a place taken at random."""
    random = np.random.default_rng(SEED)
    return [_product(capture, random) for capture in _captures()]


def _captures() -> list[Capture]:
    found = []
    for file in sorted(COMPACT.glob("*.npz")):
        if file.stem in (*TABLES, LEGACY):
            continue
        with np.load(file) as loaded:
            prefixes = sorted({key.rsplit("/", 1)[0] for key in loaded.files})
        found += [Capture(file, prefix) for prefix in prefixes]
    return [capture for capture in found if _is_ptx(instruction_of(capture.name))]


def _is_ptx(instruction: MmaInstruction) -> bool:
    """Floating-point results are clamped by the WMMA API alone, for which there is no PTX."""
    return not (instruction.saturate and isinstance(FORMATS[instruction.d_type], FloatFormat))


def _product(capture: Capture, random: np.random.Generator) -> CapturedProduct:
    instruction = instruction_of(capture.name)
    arrays = capture.arrays()
    types = (instruction.a_type, instruction.b_type, instruction.c_type, instruction.d_type)
    tile = random.integers(len(arrays["d"]))
    matrices = [arrays[use][tile] for use in "abcd"]
    if capture.is_raw:
        matrices = [
            _matrix(registers, use, type, instruction)
            for registers, use, type in zip(matrices, "abcd", types, strict=True)
        ]
    rows, columns = matrices[3].shape
    return CapturedProduct(
        instruction, *matrices, i=int(random.integers(rows)), j=int(random.integers(columns))
    )


def _matrix(registers: NDArray[Any], use: str, type: str, instruction: MmaInstruction) -> NDArray[Any]:
    """Registers of mma.sync, (lanes, registers), as a matrix."""
    words = np.ascontiguousarray(registers).view("<u4") if registers.dtype == np.uint64 else registers
    return golden.collect(words.T.astype(np.uint32), use, type, instruction.shape)


def _typed(element: Any, type: str) -> str:
    format = FORMATS[type]
    value = int(element)
    return f"0x{value % (1 << format.bits):x}" if isinstance(format, FloatFormat) else str(value)
