"""Sends answers as bytes."""

from amaranth.hdl import Array, Const, Module, Signal, unsigned
from amaranth.lib import enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from boards.gateware.frames import ANSWER_START, CHECKSUM, MOST_WORDS, WORD_BITS, WORDS_BITS, Answer

__all__ = ["FrameSender"]


class _State(enum.Enum, shape=3):
    IDLE = 0
    HEADER = 1
    FETCH = 2
    PAYLOAD = 3
    CHECKSUM = 4


class FrameSender(wiring.Component):
    """Bytes out of answers, with their checksum.

    The payload is kept when it has been sent, so that an answer can be sent again.

    Throughput: a byte in each cycle, but one cycle for each word of payload and one for the checksum.
    Latency: the first byte is offered in the cycle after the answer is taken. Critical path expected: as in
    `boards.gateware.frame_receiver`.

    Members
    -------
    answer : In(stream of Answer)
        Ready when nothing is being sent.
    write : In(1)
        Set the payload's word at `address` to `word`; only while `answer` is ready.
    address : In(6)
    word : In(32)
    bytes : Out(stream of 8 bits)
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "answer": In(stream.Signature(Answer)),
                "write": In(1),
                "address": In(range(MOST_WORDS)),
                "word": In(WORD_BITS),
                "bytes": Out(stream.Signature(8)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        state = Signal(_State)
        answer = Signal(Answer)
        count = Signal(2)
        index = Signal(range(MOST_WORDS))
        left = Signal(WORDS_BITS)
        word = Signal(WORD_BITS)

        m.submodules.checksum = checksum = CHECKSUM(data_width=8).create()
        m.submodules.payload = payload = Memory(shape=unsigned(WORD_BITS), depth=MOST_WORDS, init=[])
        write, read = payload.write_port(), payload.read_port()
        sent = Signal()
        m.d.comb += [
            self.answer.ready.eq(state == _State.IDLE),
            write.en.eq(self.write),
            write.addr.eq(self.address),
            write.data.eq(self.word),
            read.addr.eq(index),
            sent.eq(self.bytes.valid & self.bytes.ready),
            self.bytes.valid.eq((state != _State.IDLE) & (state != _State.FETCH)),
            checksum.data.eq(self.bytes.payload),
            checksum.start.eq(state == _State.IDLE),
        ]
        with m.If(sent):
            m.d.sync += count.eq(count + 1)

        with m.Switch(state):
            with m.Case(_State.IDLE):
                m.d.sync += [answer.eq(self.answer.payload), count.eq(0), index.eq(0)]
                m.d.sync += left.eq(self.answer.payload.words)
                with m.If(self.answer.valid):
                    m.d.sync += state.eq(_State.HEADER)
            with m.Case(_State.HEADER):
                header = Array(
                    [Const(ANSWER_START, 8), answer.sequence, answer.status.as_value(), answer.words]
                )
                m.d.comb += [
                    self.bytes.payload.eq(header[count]),
                    checksum.valid.eq(sent & (count != 0)),
                ]
                with m.If(sent & (count == 3)):
                    m.d.sync += state.eq(_State.FETCH)
            with m.Case(_State.FETCH):
                m.d.sync += [word.eq(read.data), index.eq(index + 1), left.eq(left - 1)]
                m.d.sync += state.eq(_State.PAYLOAD)
                with m.If(left == 0):
                    m.d.sync += state.eq(_State.CHECKSUM)
            with m.Case(_State.PAYLOAD):
                m.d.comb += [self.bytes.payload.eq(word[:8]), checksum.valid.eq(sent)]
                with m.If(sent):
                    m.d.sync += word.eq(word >> 8)
                    with m.If(count == 3):
                        m.d.sync += state.eq(_State.FETCH)
            with m.Case(_State.CHECKSUM):
                m.d.comb += self.bytes.payload.eq(checksum.crc.word_select(~count[0], 8))
                with m.If(sent & count[0]):
                    m.d.sync += state.eq(_State.IDLE)
        return m
