"""Lines of fragments in the beats of a bus, at random."""

import random
from typing import Any

from cocotb_tests.memory.accesses import BEAT, Access, split_at_pages
from cocotb_tests.packing import Packing
from golden.tables.layouts import fragment
from hdl.memory.fragment_geometry import fragment_geometry
from hdl.memory.line_request import LineRequest

__all__ = ["beats_within", "parts_of", "random_walk", "walk_payload"]

_REQUEST = Packing(LineRequest)


def random_walk(rng: random.Random, row: tuple[Any, ...]) -> Access:
    """An access at any legal offset and stride, a run in half of the cases where its lines may be one."""
    use, name, shape, layout = row
    size = fragment(use, name, shape).size
    length = Access(row=row, register=0, address=0).lines[0][1]
    elements = shape.default_stride(use, layout)
    step = size * elements // length
    stride = rng.choice([elements, elements + step * rng.randrange(1, 9)])
    if stride * length // elements % size:
        stride = -(-elements // step) * step
    return Access(row=row, register=0, address=size * rng.randrange(512), stride=stride)


def walk_payload(access: Access) -> int:
    """The access as a `LineRequest`."""
    stride = access.lines[1][0] - access.lines[0][0]
    fields = {
        "geometry": fragment_geometry(*access.row),
        "offset": access.address // 4 % 4,
        "stride": stride // 4 % 4,
        "contiguous": access.contiguous,
    }
    return _REQUEST.pack(fields)


def parts_of(access: Access) -> list[tuple[int, int, int, int]]:
    """Line, segment in it, first byte and number of bytes of each segment."""
    return [
        (line, index, first + at, min(BEAT, length - at))
        for line, (first, length) in enumerate(access.lines)
        for index, at in enumerate(range(0, length, BEAT))
    ]


def beats_within(access: Access) -> list[tuple[int, range]]:
    """Address of each beat, and the bytes of it that are the access's."""
    beats = []
    for first, length in access.pieces:
        for address, count in split_at_pages(first, length):
            for beat in range(address, address + BEAT * count, BEAT):
                beats.append((beat, range(max(beat, first), min(beat + BEAT, first + length))))
    return beats
