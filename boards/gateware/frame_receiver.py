"""Finds the requests among the bytes of the serial line."""

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from boards.gateware.frames import CHECKSUM, MOST_WORDS, REQUEST_START, WORD_BITS, WORDS_BITS, Request

__all__ = ["FrameReceiver"]


class _State(enum.Enum, shape=3):
    START = 0
    HEADER = 1
    WORDS = 2
    PAYLOAD = 3
    CHECKSUM = 4
    CHECK = 5
    HOLD = 6


class FrameReceiver(wiring.Component):
    """Requests out of bytes.

    Everything until a start byte is skipped. A frame that announces more than 64 words, whose checksum is
    wrong, in which a byte was lost, or which is followed by silence before its end, is given up, and the next
    start byte is looked for. So whatever the line brought, a silence makes sure that the next frame is
    understood.

    One request at a time: bytes that come while one is offered are skipped.

    Throughput: a byte in each cycle but the one in which the checksum is looked at. Latency: a request is
    offered two cycles after its last byte. Critical path expected: the checksum, 8 inputs of bytes and 8 of
    the register to a bit, 2 to 3 tables.

    Parameters
    ----------
    gap_cycles : int
        Cycles without a byte after which a frame is given up, at least 1. The counter holds 0 to gap_cycles.

    Members
    -------
    bytes : In(stream of 8 bits)
    broken : In(1)
        Pulses when a byte was lost.
    request : Out(stream of Request)
    address : In(6)
    word : Out(32)
        The payload's word at `address`, one cycle later, while the request is offered.
    dropped : Out(1)
        Pulses when a frame is given up.
    """

    def __init__(self, gap_cycles: int) -> None:
        self._gap_cycles = gap_cycles
        super().__init__(
            {
                "bytes": In(stream.Signature(8)),
                "broken": In(1),
                "request": Out(stream.Signature(Request)),
                "address": In(range(MOST_WORDS)),
                "word": Out(WORD_BITS),
                "dropped": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        state = Signal(_State)
        silence = Signal(range(self._gap_cycles + 1))
        header = Signal(48)
        words = Signal(WORDS_BITS)
        count = Signal(3)
        index = Signal(range(MOST_WORDS))
        left = Signal(WORDS_BITS)
        gathered = Signal(WORD_BITS - 8)

        m.submodules.checksum = checksum = CHECKSUM(data_width=8).create()
        m.submodules.payload = payload = Memory(shape=unsigned(WORD_BITS), depth=MOST_WORDS, init=[])
        write, read = payload.write_port(), payload.read_port()
        byte, taken = self.bytes.payload, Signal()
        m.d.comb += [
            self.bytes.ready.eq(state != _State.CHECK),
            taken.eq(self.bytes.valid & self.bytes.ready),
            checksum.data.eq(byte),
            checksum.start.eq(state == _State.START),
            checksum.valid.eq(taken & (state != _State.START)),
            write.addr.eq(index),
            write.data.eq(Cat(gathered, byte)),
            read.addr.eq(self.address),
            self.word.eq(read.data),
            Cat(self.request.payload.sequence, self.request.payload.kind, self.request.payload.address).eq(
                header
            ),
            self.request.payload.words.eq(words),
            self.request.valid.eq(state == _State.HOLD),
        ]

        with m.Switch(state):
            with m.Case(_State.START):
                m.d.sync += count.eq(5)
                with m.If(taken & (byte == REQUEST_START)):
                    m.d.sync += state.eq(_State.HEADER)
            with m.Case(_State.HEADER):
                with m.If(taken):
                    m.d.sync += [header.eq(Cat(header[8:], byte)), count.eq(count - 1)]
                    with m.If(count == 0):
                        m.d.sync += state.eq(_State.WORDS)
            with m.Case(_State.WORDS):
                m.d.sync += index.eq(0)
                with m.If(taken):
                    m.d.sync += [words.eq(byte), left.eq(byte), count.eq(1), state.eq(_State.CHECKSUM)]
                    with m.If(byte > MOST_WORDS):
                        self._give_up(m, state)
                    with m.Elif(header[8] & (byte != 0)):
                        m.d.sync += [count.eq(3), state.eq(_State.PAYLOAD)]
            with m.Case(_State.PAYLOAD):
                with m.If(taken):
                    m.d.sync += [gathered.eq(Cat(gathered[8:], byte)), count.eq(count - 1)]
                    with m.If(count == 0):
                        m.d.comb += write.en.eq(1)
                        m.d.sync += [count.eq(3), index.eq(index + 1), left.eq(left - 1)]
                        with m.If(left == 1):
                            m.d.sync += [count.eq(1), state.eq(_State.CHECKSUM)]
            with m.Case(_State.CHECKSUM):
                with m.If(taken):
                    m.d.sync += count.eq(count - 1)
                    with m.If(count == 0):
                        m.d.sync += state.eq(_State.CHECK)
            with m.Case(_State.CHECK):
                with m.If(checksum.match_detected):
                    m.d.sync += state.eq(_State.HOLD)
                with m.Else():
                    self._give_up(m, state)
            with m.Case(_State.HOLD):
                with m.If(self.request.ready):
                    m.d.sync += state.eq(_State.START)

        in_frame = Signal()
        m.d.comb += in_frame.eq(
            (state == _State.HEADER)
            | (state == _State.WORDS)
            | (state == _State.PAYLOAD)
            | (state == _State.CHECKSUM)
        )
        # Cleared and not loaded: a load would part the carry chain of an iCE40.
        with m.If(taken | ~in_frame):
            m.d.sync += silence.eq(0)
        with m.Else():
            m.d.sync += silence.eq(silence + 1)
        with m.If(in_frame & (self.broken | (silence == self._gap_cycles))):
            self._give_up(m, state)
        return m

    def _give_up(self, m: Module, state: Signal) -> None:
        m.d.comb += self.dropped.eq(1)
        m.d.sync += state.eq(_State.START)
