"""The addresses of a fragment, one place after the other."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from boards.serial_core.serial_config import WORD_BYTES, SerialConfig
from boards.serial_core.walk_geometry import (
    BYTE_BITS,
    LANE_BITS,
    LINE_BITS,
    PLACE_BITS,
    REGISTER_BITS,
    WALK_ORDERS,
    WalkGeometry,
)
from golden.tables.faults import Cause
from golden.tables.formats import FORMATS
from hdl.memory.beats import CAUSE_BITS
from hdl.memory.fragment_geometry import legal_fragments, log2_exact

__all__ = ["FragmentWalk", "Step"]

_WORD_BITS = 8 * WORD_BYTES
_FRACTION_BITS = 3


class Step(enum.Enum, shape=3):
    """What a walk does in a cycle.

    STAY
        Nothing moves.
    ADDRESS
        Take the low half of the address from `word`.
    ADDRESS_HIGH
        Take its high half.
    STRIDE
        Take the stride, and go to the first place.
    LINE_END
        Go to the last place of the line.
    NEXT_LINE
        Go to the same place of the next line.
    NEXT
        Go to the next place, in the next line if need be.
    REWIND
        Go to the first place.
    """

    STAY = 0
    ADDRESS = 1
    ADDRESS_HIGH = 2
    STRIDE = 3
    LINE_END = 4
    NEXT_LINE = 5
    NEXT = 6
    REWIND = 7


class FragmentWalk(wiring.Component):
    """Checks the address and stride of an access, and then goes through its places.

    The address of a line is that of the line before and the stride; so nothing is multiplied. Every address
    that is passed must be within the address width; one that is not sets `beyond`. It is enough to pass the
    last place of every line, as the last byte of an access is there.

    Throughput: a step per cycle. Latency: `address` and what comes with it change in the cycle after a step.
    Critical path expected: the sum of line and place, and from it the memory, a carry chain of
    `address_bits`. About 200 look-up tables with 18 address bits.

    Parameters
    ----------
    config : SerialConfig

    Members
    -------
    geometry : In(WalkGeometry)
        Of the fragment, during the whole walk.
    step : In(Step)
    word : In(32)
        Of the command, for the steps that take one.
    has_stride : In(1)
        Whether the word of `STRIDE` counts; otherwise the default stride is taken.
    cause : Out(4)
        In the cycle after such a step: zero, or why the word is refused.
    beyond : Out(1)
        An address since `ADDRESS` was not within the address width.
    address : Out(address_bits)
        Of the place's byte, or of its word's first.
    byte, lane, register_offset : Out(2), Out(5), Out(3)
        What it is in the fragment: a byte of, or all of, the word of a lane of a register, counted from the
        fragment's first.
    is_last : Out(1)
        The place is the last one.
    """

    def __init__(self, config: SerialConfig) -> None:
        self._config = config
        super().__init__(
            {
                "geometry": In(WalkGeometry),
                "step": In(Step),
                "word": In(_WORD_BITS),
                "has_stride": In(1),
                "cause": Out(CAUSE_BITS),
                "beyond": Out(1),
                "address": Out(config.address_bits),
                "byte": Out(BYTE_BITS),
                "lane": Out(LANE_BITS),
                "register_offset": Out(REGISTER_BITS),
                "is_last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        width = self._config.address_bits
        geometry = self.geometry
        first, stride, line_address = Signal(width), Signal(width), Signal(width)
        line, place = Signal(LINE_BITS), Signal(PLACE_BITS)
        following = Signal(width + 1)
        sum_ = Signal(width + 1)
        in_line = Mux(geometry.bytewise, place, place << BYTE_BITS)
        ends_line = place == geometry.last_place
        found = WALK_ORDERS.arrange(m, geometry.order, Cat(line, place), "found")
        m.d.comb += [
            following.eq(line_address + stride),
            sum_.eq(line_address + in_line),
            self.address.eq(sum_),
            Cat(self.byte, self.lane, self.register_offset).eq(found),
            self.is_last.eq((line == geometry.last_line) & ends_line),
        ]
        bytes_, short, misaligned = self._stride(m)
        with m.If(sum_[width]):
            m.d.sync += self.beyond.eq(1)
        m.d.sync += self.cause.eq(0)
        with m.Switch(self.step):
            with m.Case(Step.ADDRESS):
                m.d.sync += [first.eq(self.word), self.beyond.eq(self.word[width:].any())]
                with m.If((self.word & geometry.size_mask).any()):
                    m.d.sync += self.cause.eq(Cause.MISALIGNED_ADDRESS)
                # The place is of the walk before: it shall not count.
                m.d.sync += [line_address.eq(0), line.eq(0), place.eq(0)]
            with m.Case(Step.ADDRESS_HIGH):
                with m.If(self.word.any()):
                    m.d.sync += self.beyond.eq(1)
            with m.Case(Step.STRIDE):
                m.d.sync += [stride.eq(bytes_), line_address.eq(first)]
                with m.If(bytes_[width:].any()):
                    m.d.sync += self.beyond.eq(1)
                with m.If(short):
                    m.d.sync += self.cause.eq(Cause.SHORT_STRIDE)
                with m.Elif(misaligned):
                    m.d.sync += self.cause.eq(Cause.MISALIGNED_STRIDE)
            with m.Case(Step.LINE_END):
                m.d.sync += place.eq(geometry.last_place)
            with m.Case(Step.NEXT_LINE):
                self._go_to_next_line(m, line, line_address, following)
            with m.Case(Step.NEXT):
                m.d.sync += place.eq(place + 1)
                with m.If(ends_line):
                    m.d.sync += place.eq(0)
                    self._go_to_next_line(m, line, line_address, following)
            with m.Case(Step.REWIND):
                m.d.sync += [line_address.eq(first), line.eq(0), place.eq(0)]
        return m

    def _stride(self, m: Module) -> tuple[Signal, Signal, Signal]:
        """The stride in bytes, whether it is too short, and whether it is misaligned."""
        geometry, default = self.geometry, self.geometry.stride
        elements = Signal(_WORD_BITS)
        sizes = sorted({FORMATS[name].bits for _, name, _, _ in legal_fragments(self._config)})
        bits = Signal(_WORD_BITS + log2_exact(max(sizes)))
        short, misaligned = Signal(), Signal()
        m.d.comb += [
            elements.eq(Mux(self.has_stride, self.word, default)),
            short.eq((elements[len(default) :] == 0) & (elements[: len(default)] < default)),
            misaligned.eq((bits & Cat(Const(-1, _FRACTION_BITS), geometry.size_mask)).any()),
        ]
        with m.Switch(geometry.element_log2):
            for size in sizes:
                with m.Case(log2_exact(size)):
                    m.d.comb += bits.eq(elements << log2_exact(size))
        bytes_ = Signal(len(bits) - _FRACTION_BITS)
        m.d.comb += bytes_.eq(bits[_FRACTION_BITS:])
        return bytes_, short, misaligned

    def _go_to_next_line(self, m: Module, line: Signal, line_address: Signal, following: Signal) -> None:
        m.d.sync += [line.eq(line + 1), line_address.eq(following)]
        with m.If(following[-1]):
            m.d.sync += self.beyond.eq(1)
