"""What both crossbars share: skewed banks, and where a segment or a register word finds its bytes in them.

A fragment is written into sixteen byte-wide banks in the order in which it comes and read in the order in
which it is wanted. Both a segment (consecutive bytes of a line) and a quad word (elements of up to sixteen
different lines) must touch every bank once; so byte e of a segment goes to bank ``(e + skew) % 16`` and byte
q of a word to bank ``(q + rotation) % 16``, with the skews and rotations of `hdl.memory.bank_places`. A
bank's own index then tells which line and segment its byte of the word lies in. This takes one rotator on
either side where a full crossbar would take a multiplexer for every bit. Banks are as wide as the smallest
element that is ever transposed: where no 8-bit format is built there are eight of two bytes.
"""

from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib.memory import ReadPort, WritePort

from hdl.config import CoreConfig
from hdl.memory.bank_places import bank_places
from hdl.memory.fragment_geometry import (
    SEGMENT_BYTES,
    Pattern,
    block_indices,
    fragment_geometry,
    legal_fragments,
    log2_exact,
    matrix_geometry,
)
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.registers.register_ports import QUAD_BITS
from hdl.stream.pipeline import register

__all__ = [
    "ADDRESS_BITS",
    "BUFFERS",
    "BUFFER_BITS",
    "BankMapping",
    "Banks",
    "WordPlace",
    "last_line",
    "last_segment_of_line",
    "segment_count_less_one",
    "swap_lanes",
]

Banks = list[tuple[WritePort, ReadPort]]

BUFFERS = 4
"""Fragments the banks hold at once: one is filled and one drained; two more hide the cycles between the end
of the one and the beginning of the other, which are as many as the segments of the smallest fragment. Block
RAM has the room."""

BUFFER_BITS = log2_exact(BUFFERS)

ADDRESS_BITS = 6
"""Of a segment within a fragment: the largest fragment has 64."""


def segment_count_less_one(lines_log2: Value, line_log2: Value) -> Value:
    """Segments of a fragment, which are as many as its different quad words, less one: 7 to 63."""
    return ((1 << (lines_log2 + line_log2)) - 1)[log2_exact(SEGMENT_BYTES) :][:ADDRESS_BITS]


def last_segment_of_line(line_log2: Value) -> Value:
    """Index of the last segment of a line: 0 to 7."""
    return ((1 << line_log2) - 1)[log2_exact(SEGMENT_BYTES) :][:3]


def last_line(lines_log2: Value) -> Value:
    """Index of the last line: 7 to 31."""
    return ((1 << lines_log2) - 1)[:5]


class WordPlace(NamedTuple):
    """Where a quad word lies in the banks.

    Parameters
    ----------
    rotation : Signal(4)
        In bytes; known one cycle after the word's number.
    swap : Signal(1)
        Exchange lanes 1 and 2; with `rotation`.
    addresses : list of Signal(ADDRESS_BITS)
        For each bank; one cycle later still.
    """

    rotation: Signal
    swap: Signal
    addresses: list[Signal]


class BankMapping:
    """The banks of one configuration.

    Parameters
    ----------
    config : CoreConfig

    Attributes
    ----------
    patterns : set of Pattern
        Those that occur.
    bank_bytes : int
        Width of a bank: 1, 2 or 4.
    banks : int
    """

    def __init__(self, config: CoreConfig) -> None:
        self.patterns = {fragment_geometry(*row)["pattern"] for row in legal_fragments(config)}
        if config.shared_bytes:
            self.patterns |= {matrix_geometry(1, transposed=value)["pattern"] for value in (False, True)}
        self.bank_bytes = 4
        for pattern, step in ((Pattern.TRANSPOSED_16, 2), (Pattern.TRANSPOSED_8, 1)):
            if pattern in self.patterns:
                self.bank_bytes = step
        self.banks = SEGMENT_BYTES // self.bank_bytes

    def memories(self, m: Module) -> Banks:
        """Add the banks to a module; return the ports of each."""
        ports = []
        for bank in range(self.banks):
            memory = collision_free_memory(unsigned(8 * self.bank_bytes), BUFFERS << ADDRESS_BITS)
            m.submodules[f"bank_{bank}"] = memory
            ports.append((memory.write_port(), memory.read_port()))
        return ports

    def segment_place(self, m: Module, pattern: Value, line: Value, segment: Value) -> tuple[Signal, Value]:
        """The skew of a segment, and its address, which is the same in all banks; both combinational.

        Parameters
        ----------
        m : Module
        pattern : Pattern
        line : unsigned(5)
        segment : unsigned(3)
        """
        none = Const(0, 3)
        skew = Signal(4)
        places = bank_places(line, segment, none, none[:2], none[:2], none[:2])
        with m.Switch(pattern):
            for choice, place in places.items():
                if choice in self.patterns:
                    with m.Case(choice):
                        m.d.comb += skew.eq(place.skew)
        return skew, _address(line, segment)

    def word_place(self, m: Module, pattern: Value, order: Value, word: Value) -> WordPlace:
        """Two pipeline stages from the number of a quad word to its place.

        Parameters
        ----------
        m : Module
        pattern : Pattern
        order : BlockOrder
        word : unsigned(ADDRESS_BITS)
            Register and quad, the quad in the low three bits.
        """
        quad, index = word[:3], word[3:]
        pattern = Value.cast(pattern)  # an enumeration's view compares with nothing else
        pairs = Signal(2)
        block = Signal(3)
        with m.Switch(pattern):
            with m.Case(Pattern.SPLIT, Pattern.SPLIT_TRANSPOSED, Pattern.F64_TRANSPOSED):
                m.d.comb += [pairs.eq(index[0]), block.eq(index >> 1)]
            with m.Case(Pattern.WIDE, Pattern.WIDE_TRANSPOSED):
                m.d.comb += [pairs.eq(index), block.eq(index >> 2)]
            with m.Default():
                m.d.comb += block.eq(index)
        x_block, y_block = block_indices(m, order, block)

        none = Const(0, 5)
        rotation = Signal(4)
        places: Any = bank_places(none, none[:3], quad, x_block, y_block, pairs)
        with m.Switch(pattern):
            for choice, place in places.items():
                if choice in self.patterns:
                    with m.Case(choice):
                        m.d.comb += rotation.eq(place.rotation)

        rotation = register(m, rotation, "word_rotation")
        swap = register(m, pattern == Pattern.SPLIT.value, "word_swap")
        pattern = register(m, pattern, "word_pattern")
        places = bank_places(
            none,
            none[:3],
            register(m, quad, "word_quad"),
            register(m, x_block, "word_x_block"),
            register(m, y_block, "word_y_block"),
            register(m, pairs, "word_pairs"),
        )
        addresses = []
        for bank in range(self.banks):
            position = Signal(4, name=f"position_{bank}")
            line = Signal(5, name=f"line_{bank}")
            segment = Signal(3, name=f"segment_{bank}")
            m.d.comb += position.eq(bank * self.bank_bytes - rotation)
            with m.Switch(pattern):
                for choice, place in places.items():
                    if choice in self.patterns:
                        with m.Case(choice):
                            m.d.comb += [
                                line.eq(place.line(position)),
                                segment.eq(place.segment(position)),
                            ]
            addresses.append(register(m, _address(line, segment), f"word_address_{bank}"))
        return WordPlace(rotation, swap, addresses)

    def to_banks(self, data: Value, amount: Value) -> Value:
        """Rotate by `amount` bytes: bank ``q + amount`` gets what was at q."""
        for bit in range(log2_exact(self.bank_bytes), 4):
            data = Mux(amount[bit], data.rotate_left(8 << bit), data)
        return data

    def from_banks(self, data: Value, amount: Value) -> Value:
        """Undo `to_banks`."""
        for bit in range(log2_exact(self.bank_bytes), 4):
            data = Mux(amount[bit], data.rotate_right(8 << bit), data)
        return data


def swap_lanes(word: Value, swap: Value) -> Value:
    """Exchange lanes 1 and 2 of a quad word, if asked."""
    lanes = [word.word_select(lane, QUAD_BITS // 4) for lane in range(4)]
    return Cat(lanes[0], Mux(swap, lanes[2], lanes[1]), Mux(swap, lanes[1], lanes[2]), lanes[3])


def _address(line: Value, segment: Value) -> Value:
    """A bank address without a shift: lines fill it from below, segments from above; they never meet."""
    return Cat(line, Const(0, 1)) | Cat(Const(0, 3), segment[2], segment[1], segment[0])
