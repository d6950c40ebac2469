"""Block RAM as the core's global memory, and a second way into it for the host."""

from typing import Final

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from boards.gateware.board_config import BUS_BYTES, BoardConfig
from hdl.config import PAGE_BYTES
from hdl.memory.axi import Axi4Signature, Response, burst_layout
from hdl.stream.stream_buffer import StreamBuffer

__all__ = ["BoardMemory", "WordAnswer", "WordRequest"]

_ROW_SHIFT: Final = BUS_BYTES.bit_length() - 1
_PAGE_SHIFT: Final = PAGE_BYTES.bit_length() - 1


class WordRequest(data.Struct):
    """An access to the word at a byte address, a multiple of 4."""

    address: unsigned(32)
    write: unsigned(1)
    data: unsigned(32)


class WordAnswer(data.Struct):
    """The word read, or nothing of a write; `missing` where nothing has the address."""

    data: unsigned(32)
    missing: unsigned(1)


class _State(enum.Enum, shape=2):
    IDLE = 0
    ACCESS = 1
    RESULT = 2
    ANSWER = 3


class BoardMemory(wiring.Component):
    """Rows of 16 bytes behind an AXI4 port, and a word of them at a time behind another.

    Serves INCR bursts of whole rows, as the core sends them, a read and a write side by side; where
    nothing has a burst's address it answers every beat with DECERR, and writes nothing. As no burst leaves a
    page, and memory begins and ends with one, a burst is inside or outside as a whole. The size is a power
    of two, so that the low bits of an address are the row, wherever the base is.

    The words come last: they are read while no read burst is under way, and written while no write
    burst is.

    Throughput: one beat per cycle in each direction, also from burst to burst. Latency: the first beat 4
    cycles after its burst's address, the response to a write 1 cycle after the last beat; a word 3 cycles.
    Critical path expected: block RAM to a register, and the comparison of an address with two constants, a
    carry chain of 20.

    Parameters
    ----------
    config : BoardConfig

    Members
    -------
    axi : In(Axi4Signature(config.core))
    request : In(stream of WordRequest)
    answer : Out(stream of WordAnswer)
        One for each request.
    """

    def __init__(self, config: BoardConfig) -> None:
        self._config = config
        super().__init__(
            {
                "axi": In(Axi4Signature(config.core)),
                "request": In(stream.Signature(WordRequest)),
                "answer": Out(stream.Signature(WordAnswer)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        rows = self._config.memory_bytes // BUS_BYTES
        m.submodules.memory = memory = Memory(shape=unsigned(8 * BUS_BYTES), depth=rows, init=[])
        read_port, write_port = memory.read_port(), memory.write_port(granularity=8)

        row_bits = range(rows)
        read_row, write_row = Signal(row_bits), Signal(row_bits)
        read_active, write_active = Signal(), Signal()
        word = Signal(WordRequest)
        word_row = self._row(word.address)
        state = Signal(_State)
        word_missing = Signal()
        looking, putting = Signal(), Signal()
        m.d.comb += [
            looking.eq((state == _State.ACCESS) & ~word.write & ~word_missing),
            putting.eq((state == _State.ACCESS) & word.write & ~word_missing),
            read_port.addr.eq(Mux(read_active, read_row, word_row)),
            write_port.addr.eq(Mux(write_active, write_row, word_row)),
            write_port.data.eq(
                Mux(write_active, self.axi.w.payload.data, word.data.replicate(BUS_BYTES // 4))
            ),
        ]
        free = self._read_bursts(m, read_port, read_row, read_active, looking)
        self._write_bursts(m, write_port, write_row, write_active)
        with m.If(putting & ~write_active):
            m.d.comb += write_port.en.eq(0b1111 << (word.address[2:_ROW_SHIFT] << 2))

        answer = self.answer.payload
        with m.Switch(state):
            with m.Case(_State.IDLE):
                m.d.comb += self.request.ready.eq(1)
                m.d.sync += [
                    word.eq(self.request.payload),
                    word_missing.eq(~self._contains(self.request.payload.address)),
                ]
                with m.If(self.request.valid):
                    m.d.sync += state.eq(_State.ACCESS)
            with m.Case(_State.ACCESS):
                m.d.sync += answer.missing.eq(word_missing)
                with m.If(word_missing | (putting & ~write_active)):
                    m.d.sync += state.eq(_State.ANSWER)
                with m.Elif(looking & free):
                    m.d.sync += state.eq(_State.RESULT)
            with m.Case(_State.RESULT):
                m.d.sync += [
                    answer.data.eq(read_port.data.word_select(word.address[2:_ROW_SHIFT], 32)),
                    state.eq(_State.ANSWER),
                ]
            with m.Case(_State.ANSWER):
                m.d.comb += self.answer.valid.eq(1)
                with m.If(self.answer.ready):
                    m.d.sync += state.eq(_State.IDLE)
        return m

    def _read_bursts(
        self, m: Module, port: wiring.Component, row: Signal, active: Signal, looking: Signal
    ) -> Signal:
        """Serve reads; returns whether the port is free for a word that is looked for."""
        m.submodules.read_addresses = addresses = StreamBuffer(burst_layout(self._config.core))
        m.submodules.read_beats = beats = StreamBuffer(self.axi.r.payload.shape())
        wiring.connect(m, wiring.flipped(self.axi.ar), addresses.input)
        wiring.connect(m, beats.output, wiring.flipped(self.axi.r))
        left = Signal(8)
        missing = Signal()
        # A beat waits in the output register of the block RAM until the buffer has room.
        fetched, fetched_last, fetched_missing = Signal(), Signal(), Signal()
        move, issue, last, free = Signal(), Signal(), Signal(), Signal()
        burst = addresses.output.payload
        m.d.comb += [
            move.eq(~fetched | beats.input.ready),
            issue.eq(active & move),
            last.eq(left == 0),
            free.eq(~active & move),
            port.en.eq(issue | (looking & free)),
            addresses.output.ready.eq(~active | (issue & last)),
            beats.input.valid.eq(fetched),
            beats.input.payload.data.eq(port.data),
            beats.input.payload.resp.eq(Mux(fetched_missing, Response.DECERR.value, Response.OKAY.value)),
            beats.input.payload.last.eq(fetched_last),
        ]
        with m.If(move):
            m.d.sync += [fetched.eq(active), fetched_last.eq(last), fetched_missing.eq(missing)]
        with m.If(issue):
            m.d.sync += [row.eq(row + 1), left.eq(left - 1), active.eq(~last)]
        with m.If(addresses.output.valid & addresses.output.ready):
            m.d.sync += [
                active.eq(1),
                row.eq(self._row(burst.address)),
                left.eq(burst.length),
                missing.eq(~self._contains(burst.address)),
            ]
        return free

    def _write_bursts(self, m: Module, port: wiring.Component, row: Signal, active: Signal) -> None:
        m.submodules.write_addresses = addresses = StreamBuffer(burst_layout(self._config.core))
        m.submodules.write_responses = responses = StreamBuffer(unsigned(2))
        wiring.connect(m, wiring.flipped(self.axi.aw), addresses.input)
        wiring.connect(m, responses.output, wiring.flipped(self.axi.b))
        left = Signal(8)
        missing = Signal()
        taken, last = Signal(), Signal()
        burst, beat = addresses.output.payload, self.axi.w
        m.d.comb += [
            beat.ready.eq(active & responses.input.ready),
            taken.eq(beat.valid & beat.ready),
            last.eq(left == 0),
            port.en.eq(beat.payload.strb & (taken & ~missing).replicate(BUS_BYTES)),
            addresses.output.ready.eq(~active | (taken & last)),
            responses.input.valid.eq(taken & last),
            responses.input.payload.eq(Mux(missing, Response.DECERR.value, Response.OKAY.value)),
        ]
        with m.If(taken):
            m.d.sync += [row.eq(row + 1), left.eq(left - 1), active.eq(~last)]
        with m.If(addresses.output.valid & addresses.output.ready):
            m.d.sync += [
                active.eq(1),
                row.eq(self._row(burst.address)),
                left.eq(burst.length),
                missing.eq(~self._contains(burst.address)),
            ]

    def _row(self, address: Signal) -> Signal:
        """The row that holds a byte address."""
        return address[_ROW_SHIFT : self._config.memory_bytes.bit_length() - 1]

    def _contains(self, address: Signal) -> Signal:
        """Whether the page of a byte address exists."""
        first = self._config.memory_base // PAGE_BYTES
        page = address[_PAGE_SHIFT:]
        return (page >= first) & (page < first + self._config.memory_bytes // PAGE_BYTES)
