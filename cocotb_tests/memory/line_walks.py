"""Random fragments at random places in memory, in beats and in words of the register file."""

import random
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cocotb_tests.memory.accesses import BEAT, Access
from cocotb_tests.memory.fragments import random_fragment
from golden.tables.layouts import fragment

__all__ = ["Placed", "random_walk"]


def random_walk(rng: random.Random, row: tuple[Any, ...], beat: int = BEAT) -> Access:
    """An access at any legal offset and stride, a run in half of the cases where its lines may be one."""
    use, name, shape, layout = row
    size = fragment(use, name, shape).size
    length = Access(row=row, register=0, address=0).lines[0][1]
    elements = shape.default_stride(use, layout)
    step = size * elements // length
    stride = rng.choice([elements, elements + step * rng.randrange(1, 9)])
    if stride * length // elements % size:
        stride = -(-elements // step) * step
    return Access(row=row, register=0, address=size * rng.randrange(512), stride=stride, beat=beat)


@dataclass(frozen=True)
class Placed:
    """A fragment of random content.

    Parameters
    ----------
    access : Access
    segments : list of list of int
        Of each line, as `random_fragment` returns them.
    quads : list of int
        Of each register.
    """

    access: Access
    segments: list[list[int]]
    quads: list[int]

    @classmethod
    def random(cls, rng: random.Random, row: tuple[Any, ...], beat: int = BEAT) -> "Placed":
        """Content and place at random."""
        return cls(random_walk(rng, row, beat), *random_fragment(rng, row))

    @cached_property
    def memory(self) -> dict[int, int]:
        """The bytes that the fragment has, by address."""
        return {
            first + at: byte
            for (first, length), line in zip(self.access.lines, self.segments, strict=True)
            for at, byte in enumerate(
                b"".join(part.to_bytes(BEAT, "little") for part in line)[:length],
            )
        }

    @cached_property
    def parts(self) -> int:
        """Pairs of a group and a beat that have bytes in common; a line of eight bytes is a group."""
        beat, lines = self.access.beat, self.access.lines
        return sum(
            (at + min(beat, first + length - at) - 1) // beat - at // beat + 1
            for first, length in (lines if lines[0][1] < BEAT else self.access.pieces)
            for at in range(first, first + length, beat)
        )

    @cached_property
    def beats(self) -> list[list[int | None]]:
        """The bytes of each beat in the order of memory; None for what the fragment does not have there."""
        owned: list[list[int | None]] = []
        beat = self.access.beat
        for first, length in self.access.pieces:
            for place in range(first // beat * beat, first + length, beat):
                inside = range(max(first, place), min(first + length, place + beat))
                owned.append(
                    [self.memory[byte] if byte in inside else None for byte in range(place, place + beat)]
                )
        return owned
