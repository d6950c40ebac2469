"""From quad words to the registers: gathers them to words of the register file, and writes these."""

from amaranth.hdl import Const, Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.memory.beats import CAUSE_BITS
from hdl.memory.fragment_geometry import FragmentGeometry, log2_exact
from hdl.memory.load_crossbar import LoadedWord
from hdl.registers.register_ports import (
    LANE_BITS,
    QUAD_BITS,
    register_write_signature,
    word_address,
    word_bits,
)

__all__ = ["FragmentWriter", "WriteTarget", "write_target"]

_REGISTER_BYTES_LOG2 = log2_exact(32 * LANE_BITS // 8)
_PLACES = 2


class WriteTarget(data.Struct):
    """Where a fragment is to be written.

    Members
    -------
    register : unsigned(8)
        Its first register.
    different_log2 : unsigned(2)
        Registers that differ; the ones behind them repeat these.
    copies : unsigned(2)
        How often they are repeated: 0 to 3 times.
    """

    register: unsigned(8)
    different_log2: unsigned(2)
    copies: unsigned(2)


def write_target(geometry: FragmentGeometry, register: Signal) -> dict[str, object]:
    """The fields of a `WriteTarget`: the bytes in memory tell how many registers differ."""
    different_log2 = (geometry.lines_log2 + geometry.line_log2 - _REGISTER_BYTES_LOG2)[:2]
    return {
        "register": register,
        "different_log2": different_log2,
        "copies": ((geometry.registers >> different_log2) - 1)[:2],
    }


class _Place(data.Struct):
    """A word of the register file on its way there."""

    register: unsigned(8)
    number: unsigned(3)
    step: unsigned(4)
    copies: unsigned(2)
    last: unsigned(1)
    cause: unsigned(CAUSE_BITS)


class FragmentWriter(wiring.Component):
    """Two places for words of the register file: one is filled, quad by quad, while the other is written.

    A word whose register is repeated is written to all of them, one after the other, from the same place.

    Throughput: a quad word per cycle, as long as the repeated words take no longer to be written than
    their quads to come: for f16 multiplicands of 16x16 with two quads in a word or more.
    Latency: one cycle from the last quad of a word to its write, one more to `done`.
    `words.ready` comes from registers. Expected critical path: choice of the place, register port.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    target : In(stream.Signature(WriteTarget))
        Of the fragment whose words come; taken with the last of them.
    words : In(stream.Signature(LoadedWord))
    write : Out(register_write_signature(config))
    done : Out(1)
        High for one cycle when the last word has been written, or in its place for a load that failed.
    cause : Out(4)
        With `done`: zero, or why nothing has been written.

    Testbench
    ---------
    cocotb_tests/memory/test_load_engine.py, through `LoadEngine`.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "target": In(stream.Signature(WriteTarget)),
                "words": In(stream.Signature(LoadedWord)),
                "write": Out(register_write_signature(config)),
                "done": Out(1),
                "cause": Out(CAUSE_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        valid = Signal(_PLACES)
        places = [Signal(_Place, name=f"place_{index}") for index in range(_PLACES)]
        words = [Signal(word_bits(config), name=f"word_{index}") for index in range(_PLACES)]
        into = Signal(range(_PLACES))
        out = Signal(range(_PLACES))

        word = self.words.payload
        target = self.target.payload
        taken = Signal()
        completes = Signal()
        quad_bits = log2_exact(config.word_quads)
        index = Signal(6)
        # Where a word is one quad, every quad completes one.
        quads_end = index[:quad_bits].all() if quad_bits else Const(1)
        m.d.comb += [
            self.words.ready.eq(self.target.valid & ~valid.bit_select(into, 1)),
            taken.eq(self.words.valid & self.words.ready),
            completes.eq(taken & (quads_end | word.last)),
            self.target.ready.eq(taken & word.last),
        ]
        with m.If(taken):
            m.d.sync += index.eq(index + 1)
            with m.If(word.last):
                m.d.sync += index.eq(0)
        m.d.sync += into.eq(into + completes)

        leaving = Signal()
        for number, (place, quads) in enumerate(zip(places, words, strict=True)):
            with m.If(taken & (into == number)):
                m.d.sync += [
                    quads.word_select(index[:quad_bits], QUAD_BITS).eq(word.data),
                    place.register.eq(target.register + index[3:]),
                    place.number.eq(index[quad_bits:3]),
                    place.step.eq(1 << target.different_log2),
                    place.copies.eq(target.copies),
                    place.last.eq(word.last),
                    place.cause.eq(word.cause),
                    valid[number].eq(completes),
                ]
            with m.If((out == number) & self.write.enable & self.write.ready):
                m.d.sync += [
                    place.register.eq(place.register + place.step),
                    place.copies.eq(place.copies - 1),
                ]
            with m.If((out == number) & leaving):
                m.d.sync += valid[number].eq(0)

        head = Signal(_Place)
        head_valid = Signal()
        m.d.comb += [
            head_valid.eq(valid.bit_select(out, 1)),
            self.write.enable.eq(head_valid & (head.cause == 0)),
            self.write.address.eq(word_address(config, head.register, head.number)),
            self.write.lanes.eq(~0),
            leaving.eq(head_valid & ((head.cause != 0) | (self.write.ready & (head.copies == 0)))),
        ]
        with m.Switch(out):
            for number in range(_PLACES):
                with m.Case(number):
                    m.d.comb += [head.eq(places[number]), self.write.data.eq(words[number])]
        m.d.sync += [
            out.eq(out + leaving),
            self.done.eq(leaving & head.last),
            self.cause.eq(head.cause),
        ]
        return m
