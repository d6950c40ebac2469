"""Does what the host's requests ask for."""

from typing import Final

from amaranth.hdl import Array, Const, Module, Mux, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from boards.gateware.board_config import BoardConfig
from boards.gateware.board_memory import WordAnswer, WordRequest
from boards.gateware.frames import IDENTITY, MOST_WORDS, PROTOCOL, WORD_BITS, Answer, Kind, Request, Status
from hdl.command import COMMAND_WORDS
from hdl.memory.axi import HOST_ADDRESS_BITS, Axi4LiteSignature, Response

__all__ = ["IDENTITY_WORDS", "Bridge"]

IDENTITY_WORDS: Final = 7
"""Words that IDENTIFY answers."""

_WORD_BYTES: Final = 4


class _State(enum.Enum, shape=4):
    IDLE = 0
    CHECK = 1
    IDENTIFY = 2
    LOOK = 3
    TAKE = 4
    ACCESS = 5
    NEXT = 6
    REFUSE = 7
    GIVE_UP = 8
    SEND = 9


class _Access(enum.Enum, shape=3):
    """The step of the access under way; it ends by itself, also when the request has been given up."""

    NONE = 0
    READ = 1
    READ_ANSWER = 2
    WRITE = 3
    WRITE_ANSWER = 4
    MEMORY = 5
    MEMORY_ANSWER = 6


class Bridge(wiring.Component):
    """Executes requests, a word after the other, and answers each.

    A request with the sequence number of the one before is its repetition: it is answered as that was, and
    not executed again, so that a host that missed an answer may ask once more. IDENTIFY is always executed.

    Nothing is begun before the answer in front has been sent. A request whose access is not over after
    `BoardConfig.access_cycles` ends with the status TIMED_OUT. An AXI access cannot be withdrawn: it stays
    offered, and its late answer is taken and discarded. Until then every other request with an access ends
    with TIMED_OUT at once; IDENTIFY is executed.

    Throughput: a word in 4 to 7 cycles, and the time of the access. Latency: the answer to an
    empty request after 3 cycles. Critical path expected: the next state, 3 tables.

    Parameters
    ----------
    config : BoardConfig
    drops_from : int
        What the count of lost frames starts with after reset; a testbench starts it near its limit.

    Members
    -------
    request : In(stream of Request)
        Taken with the answer.
    fetch_address : Out(6)
    fetched : In(32)
        The word of the request's payload at `fetch_address`, one cycle later.
    dropped : In(1)
        Pulses when the line gave up a frame: counted for IDENTIFY, modulo 2**32.
    answer : Out(stream of Answer)
    store : Out(1)
        Set the word of the answer's payload at `store_address` to `stored`.
    store_address : Out(6)
    stored : Out(32)
    host : Out(Axi4LiteSignature())
    memory : Out(stream of WordRequest)
    memory_answer : In(stream of WordAnswer)

    Testbench
    ---------
    cocotb_tests/boards/test_bridge.py, through `UartBridge`.
    """

    def __init__(self, config: BoardConfig, *, drops_from: int = 0) -> None:
        self._config = config
        self._drops_from = drops_from
        super().__init__(
            {
                "request": In(stream.Signature(Request)),
                "fetch_address": Out(range(MOST_WORDS)),
                "fetched": In(WORD_BITS),
                "dropped": In(1),
                "answer": Out(stream.Signature(Answer)),
                "store": Out(1),
                "store_address": Out(range(MOST_WORDS)),
                "stored": Out(WORD_BITS),
                "host": Out(Axi4LiteSignature()),
                "memory": Out(stream.Signature(WordRequest)),
                "memory_answer": In(stream.Signature(WordAnswer)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        host, request, answer = self.host, self.request.payload, self.answer.payload
        state = Signal(_State)
        access = Signal(_Access)
        writes_access = Signal()
        waited = Signal(range(self._config.access_cycles))
        answered = Signal()
        address = Signal.like(request.address)
        index = Signal(range(MOST_WORDS))
        left = Signal.like(request.words)
        command_word = Signal(range(COMMAND_WORDS))
        value = Signal(WORD_BITS)
        drops = Signal(WORD_BITS, init=self._drops_from)
        address_sent, data_sent = Signal(), Signal()
        m.d.sync += drops.eq(drops + self.dropped)

        identifies = request.kind == Kind.IDENTIFY.value
        queues = request.kind == Kind.QUEUE_COMMANDS.value
        to_memory = (request.kind == Kind.READ_MEMORY.value) | (request.kind == Kind.WRITE_MEMORY.value)
        writes = request.kind[0]
        well_formed = Signal()
        with m.Switch(request.kind):
            with m.Case(*(kind.value for kind in Kind if kind is not Kind.IDENTIFY)):
                m.d.comb += well_formed.eq((request.address[:2] == 0) & (request.words != 0))
        m.d.comb += [
            self.fetch_address.eq(index),
            self.store_address.eq(index),
            self.stored.eq(value),
            host.aw.payload.eq(address),
            host.aw.valid.eq((access == _Access.WRITE) & ~address_sent),
            host.w.payload.data.eq(value),
            host.w.payload.strb.eq(0b1111),
            host.w.valid.eq((access == _Access.WRITE) & ~data_sent),
            host.b.ready.eq(access == _Access.WRITE_ANSWER),
            host.ar.payload.eq(address),
            host.ar.valid.eq(access == _Access.READ),
            host.r.ready.eq(access == _Access.READ_ANSWER),
            self.memory.payload.address.eq(address),
            self.memory.payload.write.eq(writes_access),
            self.memory.payload.data.eq(value),
            self.memory.valid.eq(access == _Access.MEMORY),
            self.memory_answer.ready.eq(access == _Access.MEMORY_ANSWER),
            self.answer.valid.eq(state == _State.SEND),
            self.request.ready.eq((state == _State.SEND) & self.answer.ready),
        ]

        over, accepted = self._finish(m, access, value, address_sent, data_sent)
        with m.Switch(state):
            with m.Case(_State.IDLE):
                with m.If(self.request.valid & self.answer.ready):
                    m.d.sync += state.eq(_State.CHECK)
            with m.Case(_State.CHECK):
                # The address of an access that has been given up stays as it is until that is over.
                with m.If(access == _Access.NONE):
                    m.d.sync += address.eq(request.address + Mux(queues, _WORD_BYTES, 0))
                m.d.sync += [
                    answered.eq(1),
                    left.eq(Mux(identifies, IDENTITY_WORDS, request.words)),
                    index.eq(0),
                    command_word.eq(0),
                ]
                with m.If(answered & ~identifies & (request.sequence == answer.sequence)):
                    m.d.sync += state.eq(_State.SEND)
                with m.Else():
                    m.d.sync += [
                        answer.sequence.eq(request.sequence),
                        answer.status.eq(Status.DONE),
                        answer.words.eq(Mux(writes, 0, request.words)),
                        state.eq(_State.LOOK),
                    ]
                    with m.If(identifies):
                        m.d.sync += [answer.words.eq(IDENTITY_WORDS), state.eq(_State.IDENTIFY)]
                    with m.Elif(~well_formed):
                        m.d.sync += [
                            answer.status.eq(Status.MALFORMED),
                            answer.words.eq(0),
                            state.eq(_State.SEND),
                        ]
                    with m.Elif(access != _Access.NONE):
                        m.d.sync += state.eq(_State.GIVE_UP)
            with m.Case(_State.IDENTIFY):
                m.d.comb += [self.store.eq(1), self.stored.eq(self._identity(drops)[index])]
                m.d.sync += state.eq(_State.NEXT)
            with m.Case(_State.LOOK):
                m.d.sync += state.eq(_State.TAKE)
            with m.Case(_State.TAKE):
                with m.If(~to_memory & (address[HOST_ADDRESS_BITS:] != 0)):
                    m.d.sync += state.eq(_State.REFUSE)
                with m.Else():
                    begun = Mux(to_memory, _Access.MEMORY, Mux(writes, _Access.WRITE, _Access.READ))
                    m.d.sync += [
                        access.eq(begun),
                        writes_access.eq(writes),
                        value.eq(self.fetched),
                        address_sent.eq(0),
                        data_sent.eq(0),
                        waited.eq(0),
                        state.eq(_State.ACCESS),
                    ]
            with m.Case(_State.ACCESS):
                m.d.sync += waited.eq(waited + 1)
                with m.If(over):
                    m.d.sync += state.eq(Mux(accepted, _State.NEXT, _State.REFUSE))
                with m.Elif(waited == self._config.access_cycles - 1):
                    m.d.sync += state.eq(_State.GIVE_UP)
            with m.Case(_State.NEXT):
                m.d.comb += self.store.eq(~writes & ~identifies)
                m.d.sync += [
                    index.eq(index + 1),
                    left.eq(left - 1),
                    command_word.eq(command_word + 1),
                    state.eq(Mux(identifies, _State.IDENTIFY, _State.LOOK)),
                ]
                with m.If(~identifies):
                    m.d.sync += address.eq(address + _WORD_BYTES)
                with m.If(queues & (command_word == COMMAND_WORDS - 2)):
                    m.d.sync += address.eq(address - _WORD_BYTES * (COMMAND_WORDS - 1))
                with m.If(command_word == COMMAND_WORDS - 1):
                    m.d.sync += command_word.eq(0)
                with m.If(left == 1):
                    m.d.sync += state.eq(_State.SEND)
            with m.Case(_State.REFUSE, _State.GIVE_UP):
                m.d.comb += [self.store.eq(1), self.store_address.eq(0), self.stored.eq(index)]
                m.d.sync += [
                    answer.status.eq(Mux(state == _State.REFUSE, Status.REFUSED, Status.TIMED_OUT)),
                    answer.words.eq(1),
                    state.eq(_State.SEND),
                ]
            with m.Case(_State.SEND):
                with m.If(self.answer.ready):
                    m.d.sync += state.eq(_State.IDLE)
        return m

    def _finish(
        self, m: Module, access: Signal, value: Signal, address_sent: Signal, data_sent: Signal
    ) -> tuple[Signal, Signal]:
        """Bring an access to its end; returns whether that is in this cycle, and with success."""
        host = self.host
        over, accepted = Signal(), Signal()
        with m.Switch(access):
            with m.Case(_Access.READ):
                with m.If(host.ar.ready):
                    m.d.sync += access.eq(_Access.READ_ANSWER)
            with m.Case(_Access.READ_ANSWER):
                m.d.sync += value.eq(host.r.payload.data)
                m.d.comb += [over.eq(host.r.valid), accepted.eq(host.r.payload.resp == Response.OKAY.value)]
            with m.Case(_Access.WRITE):
                m.d.sync += [
                    address_sent.eq(address_sent | host.aw.ready),
                    data_sent.eq(data_sent | host.w.ready),
                ]
                with m.If((address_sent | host.aw.ready) & (data_sent | host.w.ready)):
                    m.d.sync += access.eq(_Access.WRITE_ANSWER)
            with m.Case(_Access.WRITE_ANSWER):
                m.d.comb += [over.eq(host.b.valid), accepted.eq(host.b.payload == Response.OKAY.value)]
            with m.Case(_Access.MEMORY):
                with m.If(self.memory.ready):
                    m.d.sync += access.eq(_Access.MEMORY_ANSWER)
            with m.Case(_Access.MEMORY_ANSWER):
                m.d.sync += value.eq(self.memory_answer.payload.data)
                m.d.comb += [
                    over.eq(self.memory_answer.valid),
                    accepted.eq(~self.memory_answer.payload.missing),
                ]
        with m.If(over):
            m.d.sync += access.eq(_Access.NONE)
        return over, accepted

    def _identity(self, drops: Signal) -> Array:
        config = self._config
        constants = (IDENTITY, PROTOCOL, config.memory_base, config.memory_bytes, config.clock_hz)
        values = [Const(value, WORD_BITS) for value in constants]
        return Array([*values, drops, Const(config.access_cycles, WORD_BITS)])
