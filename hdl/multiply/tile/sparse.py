"""2:4 sparsity: which element of B meets each element of A that is stored."""

from collections.abc import Iterable
from typing import Final

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib.wiring import In, Out

from golden.tables.instruction_set import CORE_NARROW_FAMILIES
from golden.tables.sparsity import NIBBLES, Sparsity
from hdl.component import Component
from hdl.config import CoreConfig
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS

_BYTE_BITS: Final = 8
_LANE_BYTES: Final = LANE_BITS // _BYTE_BITS
_LANES: Final = QUAD_BITS // LANE_BITS
_PLACES: Final = 4
"""Units of a group."""

PAIRS: Final = 2
SINGLES: Final = 1
"""Bytes of a unit: of formats with 16 bits and of tf32, whose units are halves; of integers."""

CODE_BITS: Final = 2 * _LANE_BYTES
"""Bits that choose the bytes of a lane."""


def spread(words: tuple[Value, Value]) -> tuple[Value, Value]:
    """Two quad words of a row of B as the even lanes of both, and the odd ones."""
    lanes = [word.word_select(lane, LANE_BITS) for word in words for lane in range(_LANES)]
    return Cat(lanes[::2]), Cat(lanes[1::2])


def lane_codes(nibble: Value, nibbles: Value, of_bytes: Value) -> Value:
    """What chooses the bytes that meet a lane of stored elements, two bits for each.

    Parameters
    ----------
    nibble : Value
        Metadata of the lane, if its units are `PAIRS`: one group.
    nibbles : Value
        Likewise of two groups, if they are `SINGLES`.
    of_bytes : Value
        Whether they are.
    """
    codes = []
    for byte in range(_LANE_BYTES):
        found = {}
        for unit, metadata in ((PAIRS, nibble), (SINGLES, nibbles)):
            group, index = _position(byte, unit)
            place = metadata.bit_select(4 * group + 2 * index, 2)
            choices = _choices(byte)
            by_place = {p: choices.index(_source(byte, unit, p)) for p in _places(index)}
            found[unit] = Cat(
                Cat((place == p) & (code >> bit & 1) for p, code in by_place.items()).any() for bit in (0, 1)
            )
        codes.append(Mux(of_bytes, found[SINGLES], found[PAIRS]))
    return Cat(codes)


def is_undefined(nibble: Value, is_tf32: Value) -> Value:
    """Whether a nibble of metadata is none that `golden.tables.sparsity` defines."""
    defined = Cat((nibble == each) & (~is_tf32 | (each in _OF_TF32)) for each in NIBBLES)
    return ~defined.any()


_OF_TF32: Final = Sparsity(32, 8).nibbles


def _position(byte: int, unit: int) -> tuple[int, int]:
    """The group of a byte in a lane of stored elements, and which unit of the group it belongs to."""
    group, within = divmod(byte, 2 * unit)
    return group, within // unit


def _places(index: int) -> tuple[int, ...]:
    """Where the first or second unit of a group may have been."""
    return tuple(sorted({nibble >> 2 * index & 3 for nibble in NIBBLES}))


def _source(byte: int, unit: int, place: int) -> int:
    """The byte, in two lanes of B, that meets a byte of stored elements whose unit has a place."""
    group, _ = _position(byte, unit)
    return (_PLACES * group + place) * unit + byte % unit


def _choices(byte: int, units: Iterable[int] = (PAIRS, SINGLES)) -> list[int]:
    """The bytes that may meet a byte, by their code; code 0 is the one of a dense A."""
    found = {_source(byte, unit, place) for unit in units for place in _places(_position(byte, unit)[1])}
    return [byte, *sorted(found - {byte})]


def selected_units(config: CoreConfig) -> tuple[int, ...]:
    """Units in the second word of a row: integers leave it empty, elements of 8 bits with one pass do not."""
    of_bytes = any(family.is_sparse and family in CORE_NARROW_FAMILIES for family in config.families)
    return (PAIRS, SINGLES) if of_bytes else (PAIRS,)


class SparseSelection(Component):
    """Chooses the elements of a row of B that meet the stored elements of a row of A.

    A lane of stored elements, 32 bits, is of 64 bits of B: one group of four units of two bytes, or two
    groups of four bytes. So a byte of it meets one of three bytes in the one case and of three in the other.
    These are no more than four different ones, and among them is the byte that it meets if A is dense. So
    every bit is a choice of four; in a word without integers, of three.

    Combinational. Expected depth: two levels of look-up tables of four inputs.
    Testbench: cocotb_tests/multiply/test_sparse_selection.py. Proof: formal/test_sparse_selection.py.

    Parameters
    ----------
    high_units : tuple of int
        Units in the second word of a row: the first one has `PAIRS` and `SINGLES`.

    Members
    -------
    even, odd : In(256)
        A row of B as `spread` gives it, both words; of a dense B the row is `even`.
    codes : In(64)
        Of `lane_codes`, lane after lane; zero for a dense A.
    chosen : Out(256)
    """

    even: In(2 * QUAD_BITS)
    odd: In(2 * QUAD_BITS)
    codes: In(2 * _LANES * CODE_BITS)
    chosen: Out(2 * QUAD_BITS)

    def __init__(self, high_units: tuple[int, ...] = (PAIRS,)) -> None:
        self._units = ((PAIRS, SINGLES), high_units)
        super().__init__()

    def _logic(self, m: Module) -> None:
        chosen = []
        for lane in range(2 * _LANES):
            group = Cat(part.word_select(lane, LANE_BITS) for part in (self.even, self.odd))
            possible = self._units[lane // _LANES]
            for byte in range(_LANE_BYTES):
                able = _choices(byte, possible)
                sources = [source if source in able else byte for source in _choices(byte)]
                low, high, *more = (group.word_select(source, _BYTE_BITS) for source in sources)
                code = self.codes.word_select(_LANE_BYTES * lane + byte, 2)
                chosen.append(Mux(code[1], Mux(code[0], more[1], more[0]), Mux(code[0], high, low)))
        m.d.comb += self.chosen.eq(Cat(chosen))
