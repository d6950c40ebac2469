"""Loads and stores as their engines are asked for them, and what must come of each."""

import random
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cocotb_tests.packing import Packing
from golden.fragments import collect, distribute
from golden.lines import gather_lines, matrix_of_lines, matrix_to_lines
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Layout, Shape, Use
from golden.tables.layouts import fragment
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from hdl.config import CoreConfig
from hdl.memory.beats import access_layout
from hdl.memory.fragment_geometry import fragment_geometry

__all__ = [
    "BEAT",
    "PAGE",
    "Access",
    "alignment_of",
    "beat_of",
    "far_access",
    "random_access",
    "random_stride",
    "split_at_pages",
]

BEAT: Final = 16
PAGE: Final = 4096


@cache
def _packing(config: CoreConfig) -> Packing:
    return Packing(access_layout(config))


@dataclass(frozen=True, kw_only=True)
class Access:
    """One load or store.

    Parameters
    ----------
    row : tuple
        Use, type, shape and layout; use ``d`` is a store.
    register : int
    address : int
        In bytes.
    stride : int or None
        In elements; None for the default.
    space : int
    beat : int
        Bytes of a beat.
    """

    row: tuple[Use, str, Shape, Layout]
    register: int
    address: int
    stride: int | None = None
    space: int = 0
    beat: int = BEAT

    @cached_property
    def instruction(self) -> LoadInstruction | StoreInstruction:
        """As the golden model knows it."""
        use, name, shape, layout = self.row
        if use == "d":
            return StoreInstruction(layout=layout, shape=shape, type=name)
        return LoadInstruction(use=use, layout=layout, shape=shape, type=name)

    @cached_property
    def lines(self) -> list[tuple[int, int]]:
        """Address and bytes of each line."""
        return gather_lines(self.instruction, self.address, self.stride)

    @property
    def contiguous(self) -> bool:
        """Whether the lines are one run of bytes."""
        return self.lines[1][0] == self.lines[0][0] + self.lines[0][1]

    @property
    def registers(self) -> int:
        """Registers it loads or stores."""
        use, name, shape, _ = self.row
        return fragment(use, name, shape).registers

    @property
    def pieces(self) -> list[tuple[int, int]]:
        """First byte and number of bytes of each piece that is asked for in one go."""
        if self.contiguous:
            return [(self.address, sum(length for _, length in self.lines))]
        return self.lines

    @property
    def bursts(self) -> list[tuple[int, int]]:
        """Address and beats of each burst."""
        return [burst for first, length in self.pieces for burst in split_at_pages(first, length, self.beat)]

    @property
    def beats(self) -> list[int]:
        """Address of each beat."""
        return [first + self.beat * beat for first, beats in self.bursts for beat in range(beats)]

    def payload(self, config: CoreConfig) -> int:
        """What the engine is asked for."""
        fields = {
            "geometry": fragment_geometry(*self.row),
            "register": self.register,
            "space": self.space,
            "address": self.address,
            "stride": self.lines[1][0] - self.lines[0][0],
            "contiguous": self.contiguous,
        }
        return _packing(config).pack(fields)

    def load(self, memory: NDArray[np.uint8], base: int, registers: NDArray[np.uint32]) -> None:
        """Do it: from memory, whose first byte is at `base` and which repeats, to the registers."""
        use, name, shape, _ = self.row
        lines = memory[self._places(memory, base)]
        loaded = distribute(matrix_of_lines(lines, self.instruction), use, name, shape)
        registers[self.register : self.register + self.registers] = loaded

    def store(self, memory: NDArray[np.uint8], base: int, registers: NDArray[np.uint32]) -> None:
        """Do it: from the registers to memory, which repeats."""
        use, name, shape, _ = self.row
        held = registers[self.register : self.register + self.registers]
        lines = matrix_to_lines(collect(held, use, name, shape), self.instruction)
        for places, line in zip(self._places(memory, base), lines, strict=True):
            memory[places] = line

    def _places(self, memory: NDArray[np.uint8], base: int) -> NDArray[np.int64]:
        """Where in memory the bytes of each line are."""
        firsts = np.array([(first - base) % len(memory) for first, _ in self.lines])
        return (firsts[:, None] + np.arange(self.lines[0][1])) % len(memory)


def beat_of(config: CoreConfig) -> int:
    """Bytes of a beat."""
    return BEAT * config.beat_quads


def split_at_pages(first: int, length: int, beat: int = BEAT) -> list[tuple[int, int]]:
    """Address and beats of the fewest bursts that hold the bytes and stay within their pages."""
    bursts = []
    at, end = first // beat * beat, -(-(first + length) // beat) * beat
    while at < end:
        stop = min(end, (at // PAGE + 1) * PAGE)
        bursts.append((at, (stop - at) // beat))
        at = stop
    return bursts


def alignment_of(row: tuple[Any, ...]) -> int:
    """Bytes that address and stride of the fragment are multiples of."""
    use, name, shape, layout = row
    return fragment(use, name, shape).core_alignment(layout, "global")


def random_stride(rng: random.Random, row: tuple[Any, ...]) -> int:
    """The default stride, a longer one, one of less than a line, or 0."""
    use, name, shape, layout = row
    step = alignment_of(row) * 8 // FORMATS[name].bits
    least = shape.default_stride(use, layout)
    some = [least, least + step * rng.randrange(1, 9), step * rng.randrange(1, least // step + 1), 0]
    return rng.choices(some, [4, 3, 2, 1])[0]


def random_access(
    rng: random.Random, row: tuple[Any, ...], base: int, size: int, config: CoreConfig
) -> Access:
    """A legal access within memory: odd registers, strides of every kind, often over a page's end."""
    use, name, shape, layout = row
    form, unit = fragment(use, name, shape), alignment_of(row)
    stride = random_stride(rng, row)
    least = shape.default_stride(use, layout)
    span = max(shape.extent(use)) * max(stride, least) * FORMATS[name].bits // 8
    address = base + unit * rng.randrange((size - span) // unit)
    if rng.random() < 0.5:
        address = base + PAGE - unit * rng.randrange(1, 9)
    return Access(
        row=row,
        register=rng.randrange(config.all_registers - form.registers + 1),
        address=address,
        stride=None if stride == least and rng.random() < 0.5 else stride,
        space=rng.randrange(3),
        beat=beat_of(config),
    )


def far_access(rng: random.Random, row: tuple[Any, ...], config: CoreConfig) -> Access:
    """A legal access anywhere in the address space, its lines as far apart as they may be."""
    use, name, shape, layout = row
    form, unit = fragment(use, name, shape), alignment_of(row)
    bits = FORMATS[name].bits
    least = shape.default_stride(use, layout)
    lines = len(Access(row=row, register=0, address=0).lines)
    space = 1 << config.address_bits
    widest = min(8 * space // bits // lines, 1 << 32)
    stride = rng.randrange(least, widest + 1 - least, unit * 8 // bits)
    return Access(
        row=row,
        register=rng.randrange(config.all_registers - form.registers + 1),
        address=unit * rng.randrange((space - lines * stride * bits // 8) // unit + 1),
        stride=stride,
        space=rng.randrange(3),
        beat=beat_of(config),
    )
