"""Metadata of sparse multiplies: what a register says of the rows of A."""

from typing import Any, Final

from amaranth.hdl import Cat, Module, Mux, Value, unsigned
from amaranth.lib import data

from hdl.config import REGISTER_BITS
from hdl.multiply.tile.sparse import CODE_BITS, is_undefined, lane_codes
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS
from hdl.stream.pipeline import register

_LANES: Final = QUAD_BITS // LANE_BITS
_HALF: Final = LANE_BITS // 2

CODES_OF_WORD: Final = _LANES * CODE_BITS
"""Bits of the codes for one register word of a row of A."""


class MetadataRequest(data.Struct):
    """Whose metadata is asked for; the register exists, and the instruction has the selector."""

    register: unsigned(REGISTER_BITS)
    selector: unsigned(2)
    halves: unsigned(1)
    """A row of A is two register words, and has metadata for both; otherwise one."""
    of_bytes: unsigned(1)
    """Integers, whose metadata lies otherwise."""
    is_tf32: unsigned(1)


def checked_codes(m: Module, name: str, request: Any, quad: Value) -> tuple[list[list[Value]], Value]:
    """The codes of a quad by the block of rows and the half of a row; and whether a nibble is undefined.

    Both a cycle later. Critical path expected: a nibble to a code, two levels; sixteen nibbles to a flag.

    Parameters
    ----------
    m : Module
    name : str
        Of the quad.
    request : View of MetadataRequest
    quad : Value
    """
    lanes = [quad.word_select(lane, LANE_BITS) for lane in range(_LANES)]
    # A selector counts lanes, or pairs of them.
    of_lanes = ~request.of_bytes & ~request.halves
    pair = Mux(of_lanes, request.selector[1], request.selector[0])
    even, odd = (Mux(pair, lanes[2 + lane], lanes[lane]) for lane in (0, 1))
    first = register(m, Mux(of_lanes & request.selector[0], odd, even), f"{name}_first")
    second = register(m, odd, f"{name}_second")
    more = [register(m, lane, f"{name}_{lane_number}") for lane_number, lane in enumerate(lanes[2:], 2)]
    codes: list[list[Value]] = []
    undefined = []
    for block in (0, 1):
        halves = ((first, (first, second)[block]), (second, more[block]))
        codes.append([])
        for half, (word, integers) in enumerate(halves):
            groups = word.word_select(block, _HALF)
            used = request.halves if half else 1
            found = []
            for lane in range(_LANES):
                nibble, nibbles = groups.word_select(lane, 4), integers.word_select(lane, 8)
                found.append(lane_codes(nibble, nibbles, request.of_bytes))
                both = Mux(request.of_bytes, nibbles, Cat(nibble, nibble))
                wrong = [is_undefined(both.word_select(each, 4), request.is_tf32) for each in (0, 1)]
                undefined.append(Cat(wrong).any() & used)
            codes[-1].append(Cat(found))
    return codes, Cat(undefined).any()
