"""Skewed banks, with which both crossbars transpose: where a segment or a register word finds its bytes.

A fragment is written into sixteen byte-wide banks in the order in which it comes and read in the order in
which it is wanted. Both a segment (consecutive bytes of a line) and a quad word (elements of up to sixteen
different lines) must touch every bank once; so byte e of a segment goes to bank ``e ^ skew`` and byte q of a
word comes from bank ``q ^ skew``, with the skews of the table below. An exclusive or takes one multiplexer
for each of its bits on either side, where a full crossbar would take a multiplexer of sixteen inputs. It also
keeps the bits of a bank's number apart, so that a bank's own address, which tells the line and segment of its
byte, is one of a few functions that the banks share. Banks are as wide as the smallest element that is ever
transposed: where no 8-bit format is built there are eight of two bytes.

Where several segments come and several quads leave in a cycle, there are as many planes of such banks. The
plane of a byte follows from its address, as `_PLANES` says: so that neither the segments of a group share a
plane nor, in any one bank, the quads of a group.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from hdl.config import CoreConfig
from hdl.memory.fragment_geometry import (
    SEGMENT_BYTES,
    Pattern,
    block_indices,
    fragment_geometry,
    legal_fragments,
    log2_exact,
    matrix_geometry,
)
from hdl.registers.register_ports import LANE_BITS
from hdl.stream.pipeline import delay, register

BUFFERS = 4
"""Fragments the banks hold at once: one is filled and one drained; two more hide the cycles between the end
of the one and the beginning of the other, which are as many as the segments of the smallest fragment. Block
RAM has the room."""

BUFFER_BITS = log2_exact(BUFFERS)

ADDRESS_BITS = 6
"""Of a segment within a fragment: the largest fragment has 64."""

PLACE_BITS = BUFFER_BITS + ADDRESS_BITS
"""Of a byte within a bank."""

SELECT_BITS = 5
"""Of a permutation: two exchange bytes of a word, one neighbouring words, and two words of either half."""

_SEGMENT_ADDRESS: Final = "l0 l1 l2 l3|s2 l4|s1 s0"
"""Without a shift: lines fill an address from below, segments from above; they never meet."""


_PLANES: Final[Mapping[int, tuple[tuple[int, ...], ...]]] = {
    1: (),
    2: ((0, 1, 2, 5),),
    4: ((0, 2, 4, 5), (1, 5)),
}
"""By the number of planes: for each bit of a plane's number, the bits of an address whose sum it is.

Segments of a group differ in bits (1, 0), (0, 5) or (4, 5) of their addresses, shorter lines first;
in a bank, quads of a group differ in (1, 0), (2, 1), (5, 1) or (5, 2).
"""


class _Skew(NamedTuple):
    """Bits, lowest first, of what one pattern does.

    A bit is 0 or a letter and a number: line l, segment s in it; row x (quad and x block), y block y and
    pair j of a word, and p for the position of a byte in the word. ``|`` joins bits of which one is 0.

    Parameters
    ----------
    segment, word : str
        Skew of a segment and of a word.
    address : str
        In a bank, of its byte of a word: what `_SEGMENT_ADDRESS` makes of the byte's line and segment.
    """

    segment: str
    word: str
    address: str


_SKEWS: Final[Mapping[Pattern, _Skew]] = {
    Pattern.PACKED: _Skew("0 0 0 0", "0 0 0 0", "x0 x1 x2 x3 x4|y1 y0"),
    Pattern.TRANSPOSED_8: _Skew("l0 l1 l2 l3", "x0 x1 x2 x3", "p0 p1 p2 p3 0 x4"),
    Pattern.TRANSPOSED_16: _Skew("0 l0 l1 l2", "0 x0 x1 x2", "p1 p2 p3 y0 y1|x4 x3"),
    Pattern.TRANSPOSED_32: _Skew("0 0 l0 l1", "0 0 x0 x1", "p2 p3 y0 y1|x4 x3 x2"),
    Pattern.SPLIT: _Skew("0 0 s0 0", "0 0 j0 0", "x0 x1 x2 x3|y1 x4|y0 p2"),
    Pattern.SPLIT_TRANSPOSED: _Skew("0 0 l1 l2", "0 0 x0 x1", "j0 p2 p3 y0|x4 y1|x3 x2"),
    Pattern.F64_TRANSPOSED: _Skew("0 0 l0 l1", "0 0 j0 x0", "p2 p3 0 0 x2 x1"),
    Pattern.WIDE: _Skew("0 0 s0 s1", "0 0 j0 j1", "x0 x1 x2 0 p3 p2"),
    Pattern.WIDE_TRANSPOSED: _Skew("0 0 l1 l2", "0 0 j0 x0", "j1 p2 p3 0 x2 x1"),
}
"""In `Pattern.SPLIT` lanes 1 and 2 of a word are exchanged as well."""


class WordPlace(NamedTuple):
    """Where a quad word lies in the banks.

    Parameters
    ----------
    skew : Signal(4)
        Known one cycle after the word's number.
    swap : Signal(1)
        Exchange lanes 1 and 2; with `skew`.
    addresses : list of Signal(ADDRESS_BITS)
        For each bank; one cycle later still.
    """

    skew: Signal
    swap: Signal
    addresses: list[Signal]


class BankMapping:
    """The banks of one configuration.

    Attributes
    ----------
    patterns : set of Pattern
        Those that occur.
    bank_bytes : int
        Width of a bank: 1, 2 or 4.
    banks : int
        In a plane.
    planes : int
        As many as quads in a beat.
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
        self.planes = config.beat_quads

    def located(self, address: Value, buffer: Value) -> Value:
        """Where a byte with an address is: `PLACE_BITS` within a bank, and above them the bank's plane."""
        plane = [Cat(address[bit] for bit in bits).xor() for bits in _PLANES[self.planes]]
        return Cat(address, buffer, *plane)

    def segment_place(self, m: Module, pattern: Value, line: Value, segment: Value) -> tuple[Signal, Value]:
        """The skew of a segment, and its address, which is the same in all banks; both combinational.

        Parameters
        ----------
        m : Module
        pattern : Pattern
        line : unsigned(5)
        segment : unsigned(3)
        """
        sources = {"l": line, "s": segment}
        skew = Signal(4)
        self._choose(m, pattern, [(skew, lambda row: _bits(row.segment, sources))])
        return skew, _bits(_SEGMENT_ADDRESS, sources)

    def address_segments(
        self, m: Module, port: Any, pattern: Value, part: Any, buffer: Value, turned: Callable[..., Value]
    ) -> list[Signal]:
        """Address the segments of a part by a fill or drain of `hdl.memory.banks`; returns their skews.

        `turned` is `skewed_from` or `skewed_to`: where beats are of one quad, the banks rotate segments.
        """
        skews, selects = [], []
        for quad in range(self.planes):
            skew, address = self.segment_place(m, pattern, part.lines[quad], part.segments[quad])
            skews.append(skew)
            selects.append(turned(skew, part.offset) if self.planes == 1 else skewed(skew))
            place = delay(m, self.located(address, buffer), 2, "part_address")
            m.d.comb += [port.addresses[quad * self.banks + bank].eq(place) for bank in range(self.banks)]
        m.d.comb += port.select.eq(register(m, Cat(selects), "part_select"))
        return skews

    def address_quads(
        self, m: Module, port: Any, pattern: Value, order: Value, first: Value, buffer: Value
    ) -> list[Signal]:
        """Address `beat_quads` quad words, from `first` on, a multiple of as many, by a fill or drain.

        `buffer` is known two cycles later. Returns `WordPlace.swap` of each.
        """
        bits = log2_exact(self.planes)
        places = [
            self.word_place(m, pattern, order, Cat(Const(number, bits), first[bits:]))
            for number in range(self.planes)
        ]
        addresses = [address for place in places for address in place.addresses]
        m.d.comb += port.select.eq(Cat(skewed(place.skew) for place in places))
        for at, address in zip(port.addresses, addresses, strict=True):
            m.d.comb += at.eq(self.located(address, buffer))
        return [place.swap for place in places]

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
        sources = {"x": Cat(quad, x_block), "y": y_block, "j": pairs}
        skew_now = Signal(4)
        self._choose(m, pattern, [(skew_now, lambda row: _bits(row.word, sources))])

        skew = register(m, skew_now, "word_skew")
        swap = register(m, pattern == Pattern.SPLIT.value, "word_swap")
        pattern = register(m, pattern, "word_pattern")
        # A byte of bank b is at position b ^ skew: what all banks share, and the bits of b that change it.
        common = Signal(ADDRESS_BITS)
        steered = Signal(4 * ADDRESS_BITS)
        late = {name: register(m, value, f"word_{name}") for name, value in sources.items()}
        self._choose(
            m,
            pattern,
            [
                (common, lambda row: _bits(row.address, {**late, "p": skew})),
                (steered, lambda row: Cat(Const(_position_bits(name), 4) for name in row.address.split())),
            ],
        )
        addresses = []
        for bank in range(self.banks):
            own = Const(bank * self.bank_bytes, 4)
            address = Cat(
                common[bit] ^ (steered.word_select(bit, 4) & own).any() for bit in range(ADDRESS_BITS)
            )
            addresses.append(register(m, address, f"word_address_{bank}"))
        return WordPlace(skew, swap, addresses)

    def _choose(
        self, m: Module, pattern: Value, outputs: Sequence[tuple[Signal, Callable[[_Skew], Value]]]
    ) -> None:
        """Assign to each output what its function makes of the pattern's row of the table."""
        with m.Switch(pattern):
            for choice, skews in _SKEWS.items():
                if choice in self.patterns:
                    with m.Case(choice):
                        m.d.comb += [output.eq(function(skews)) for output, function in outputs]

    def permuted(self, m: Module, data: Value, select: Value) -> Value:
        """Exchange the bytes of a segment or word as one of the three functions below says."""
        for bit in range(log2_exact(self.bank_bytes), 3):
            data = _named(m, Mux(select[bit], _exchanged(data, 8 << bit), data))
        pair = (data, _exchanged(data, 2 * LANE_BITS))
        words = [[side.word_select(word, LANE_BITS) for side in pair] for word in range(4)]
        return Cat(Mux(select[3 + number % 2], far, near) for number, (near, far) in enumerate(words))


def skewed(skew: Value) -> Value:
    """For `BankMapping.permuted`: byte q goes to ``q ^ skew``, or the other way, which is the same."""
    return Cat(skew, skew[3])


def skewed_from(skew: Value, offset: Value) -> Value:
    """For `BankMapping.permuted`: from a beat, where a segment begins at word `offset`, to the banks.

    Bit 0 of a word's number is inverted by bit 0 of skew and of offset; bit 1 also where the sum has a carry.
    """
    low, high = skew[2] ^ offset[0], skew[3] ^ offset[1]
    return Cat(skew[:2], low, high ^ (skew[2] & offset[0]), high ^ (~skew[2] & offset[0]))


def skewed_to(skew: Value, offset: Value) -> Value:
    """For `BankMapping.permuted`: from the banks to a beat, where a segment begins at word `offset`."""
    low, high = skew[2] ^ offset[0], skew[3] ^ offset[1]
    return Cat(skew[:2], low, high ^ offset[0], high)


def rotated(m: Module, data: Value, count: Value, width: int) -> Value:
    """Of a power of two of parts of so many bits, part p is part ``p + count`` of `data`, counted round."""
    for bit in range(len(count)):
        data = _named(m, Mux(count[bit], data.rotate_right(width << bit), data))
    return data


def swap_lanes(word: Value, swap: Value) -> Value:
    """Exchange lanes 1 and 2 of a quad word, if asked."""
    lanes = [word.word_select(lane, LANE_BITS) for lane in range(4)]
    return Cat(lanes[0], Mux(swap, lanes[2], lanes[1]), Mux(swap, lanes[1], lanes[2]), lanes[3])


def _named(m: Module, value: Value) -> Signal:
    """As a signal: what uses a value twice would otherwise be written with two copies of it."""
    level = Signal.like(value, name="exchanged")
    m.d.comb += level.eq(value)
    return level


def _exchanged(data: Value, width: int) -> Value:
    """Every two neighbouring parts of so many bits exchanged."""
    return Cat(data.word_select(part ^ 1, width) for part in range(len(data) // width))


def _bits(names: str, sources: Mapping[str, Value]) -> Value:
    """The bits that a row of the table names."""
    return Cat(
        Cat(sources[name[0]][int(name[1])] if name != "0" else Const(0, 1) for name in bit.split("|")).any()
        for bit in names.split()
    )


def _position_bits(name: str) -> int:
    """Which bits of a bank's number change this bit of its address."""
    return 1 << int(name[1]) if name[0] == "p" else 0
