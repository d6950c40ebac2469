"""Random fragments at random places in memory, in beats and in words of the register file."""

import random
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cocotb_tests.memory.accesses import BEAT, Access, alignment_of, random_stride
from cocotb_tests.memory.fragments import random_fragment

__all__ = ["Placed", "random_access"]


def random_access(rng: random.Random, row: tuple[Any, ...], beat: int = BEAT) -> Access:
    """An access at any legal offset and stride."""
    address = alignment_of(row) * rng.randrange(512)
    return Access(row=row, register=0, address=address, stride=random_stride(rng, row), beat=beat)


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
        return cls(random_access(rng, row, beat), *random_fragment(rng, row))

    @cached_property
    def contents(self) -> list[bytes]:
        """The bytes of each piece."""
        _, length = self.access.lines[0]
        lines = [b"".join(part.to_bytes(BEAT, "little") for part in line)[:length] for line in self.segments]
        return [b"".join(lines)] if self.access.contiguous else lines

    @cached_property
    def load_steps(self) -> int:
        """A step for each beat; in a run of lines of eight bytes, for each line, and one more if it wraps."""
        lines, beat = self.access.lines, self.access.beat
        if not self.access.contiguous or lines[0][1] >= BEAT:
            return len(self.beats)
        return sum((first + length - 1) // beat - first // beat + 1 for first, length in lines)

    @cached_property
    def store_steps(self) -> int:
        """The same, but only the last of such lines takes a step more."""
        lines, beat = self.access.lines, self.access.beat
        if not self.access.contiguous or lines[0][1] >= BEAT:
            return len(self.beats)
        first, length = lines[-1]
        return len(lines) + (first + length - 1) // beat - first // beat

    @cached_property
    def beats(self) -> list[list[int | None]]:
        """The bytes of each beat in the order of memory; None for what the fragment does not have there."""
        owned: list[list[int | None]] = []
        beat = self.access.beat
        for (first, length), content in zip(self.access.pieces, self.contents, strict=True):
            for place in range(first // beat * beat, first + length, beat):
                inside = (at - first for at in range(place, place + beat))
                owned.append([content[at] if 0 <= at < length else None for at in inside])
        return owned
