"""The f64 tile multiplier: walks the elements of a tile through the fused multiply-add unit."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.fma64.interface import FusedMultiplyAdd64Operands, FusedMultiplyAdd64Result
from hdl.registers.register_file import QUADS, WORD_BITS, register_read_signature, register_write_signature

__all__ = ["DoubleMultiplier", "DoubleRequest"]

K = 4
"""Products of an element."""

ELEMENTS = 64
"""Elements of a tile."""

LANES = 4
"""Elements of a word: lanes of a quad."""


class DoubleRequest(data.Struct):
    """One tile of m8n8k4; register ranges have been checked.

    Members
    -------
    rounding : unsigned(2)
        Index into `golden.instruction_set.ROUNDINGS`.
    a, b, c, d : unsigned(8)
        First registers of the fragments.
    """

    rounding: unsigned(2)
    a: unsigned(8)
    b: unsigned(8)
    c: unsigned(8)
    d: unsigned(8)


class _Fetch(enum.Enum, shape=2):
    IDLE = 0
    A = 1
    B = 2
    C = 3


class _Element(data.Struct):
    """An element of the tile, in the order in which they are computed: pair of columns, quad, lane."""

    lane: unsigned(2)
    quad: unsigned(3)
    pair: unsigned(1)


class DoubleMultiplier(wiring.Component):
    """Multiplies one f64 tile.

    An element is a chain of four multiply-adds, each waiting for the one before. The tile has 64 elements, so
    the chains are walked side by side: k is the outer loop, and as long as the unit's latency is below 64
    cycles the accumulator of an element is back before its turn comes again: never more than 64 are under
    way.

    An f64 register is a pair of 32-bit registers, so a row of A is two register words, one of low halves
    and one of high halves; row memories put them together.

    Throughput: one tile in 64 + 256 cycles and the unit's latency. Latency: the same.
    Critical path expected: element counter to the address of a row memory.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(DoubleRequest))
        Taken when idle.
    done : Out(1)
        High for one cycle after the last result is in the register file.
    operands : Out(stream.Signature(FusedMultiplyAdd64Operands))
    result : In(stream.Signature(FusedMultiplyAdd64Result))
    write : Out(register_write_signature(config))
    read : Out(register_read_signature(config))
    """

    def __init__(self, config: CoreConfig) -> None:
        super().__init__(
            {
                "request": In(stream.Signature(DoubleRequest)),
                "done": Out(1),
                "operands": Out(stream.Signature(FusedMultiplyAdd64Operands)),
                "result": In(stream.Signature(FusedMultiplyAdd64Result)),
                "write": Out(register_write_signature(config)),
                "read": Out(register_read_signature(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        halves = data.ArrayLayout(unsigned(WORD_BITS), 2)
        m.submodules.a_memory = a_memory = Memory(shape=halves, depth=QUADS, init=[])
        m.submodules.b_memory = b_memory = Memory(shape=halves, depth=QUADS, init=[])
        m.submodules.c_memory = c_memory = Memory(shape=halves, depth=2 * QUADS, init=[])
        m.submodules.carry_memory = carry_memory = Memory(shape=unsigned(64), depth=ELEMENTS, init=[])
        request = Signal(DoubleRequest)
        active = Signal()
        fetched = Signal()
        returned = Signal(8)
        m.d.comb += self.request.ready.eq(~active)
        with m.If(self.request.valid & ~active):
            m.d.sync += [request.eq(self.request.payload), active.eq(1)]
        self._fetch(m, request, fetched, (a_memory, b_memory, c_memory))
        self._issue(m, active & fetched, request, returned, (a_memory, b_memory, c_memory), carry_memory)
        finished = self._collect(m, active, request, returned, carry_memory)
        m.d.sync += self.done.eq(finished)
        with m.If(finished):
            m.d.sync += active.eq(0)
        return m

    def _fetch(self, m: Module, request: Signal, fetched: Signal, memories: tuple[Memory, ...]) -> None:
        """Copy A, B and C from the register file to the row memories."""
        phase = Signal(_Fetch)
        word = Signal(5)
        last = Signal(5)
        base = Signal(8)
        with m.Switch(phase):
            with m.Case(_Fetch.A):
                m.d.comb += [base.eq(request.a), last.eq(2 * QUADS - 1)]
            with m.Case(_Fetch.B):
                m.d.comb += [base.eq(request.b), last.eq(2 * QUADS - 1)]
            with m.Case(_Fetch.C):
                m.d.comb += [base.eq(request.c), last.eq(4 * QUADS - 1)]
        m.d.comb += [
            self.read.enable.eq(phase != _Fetch.IDLE),
            self.read.address.eq(Cat(Const(0, 3), base) + word),
        ]
        with m.If(phase == _Fetch.IDLE):
            with m.If(self.request.valid & self.request.ready):
                m.d.sync += [phase.eq(_Fetch.A), word.eq(0), fetched.eq(0)]
        with m.Else():
            m.d.sync += word.eq(word + 1)
            with m.If(word == last):
                m.d.sync += [word.eq(0), phase.eq(Mux(phase == _Fetch.C, _Fetch.IDLE, phase.as_value() + 1))]

        arrived = Signal(_Fetch)
        arrived_word = Signal(5)
        m.d.sync += [arrived.eq(phase), arrived_word.eq(word)]
        with m.If((arrived == _Fetch.C) & (phase == _Fetch.IDLE)):
            m.d.sync += fetched.eq(1)
        quad, half, pair = arrived_word[:3], arrived_word[3], arrived_word[4]
        for choice, memory in zip((_Fetch.A, _Fetch.B, _Fetch.C), memories, strict=True):
            port = memory.write_port(granularity=1)
            m.d.comb += [
                port.addr.eq(Cat(quad, pair)),
                port.data.eq(Cat(self.read.data, self.read.data)),
                port.en.eq(Mux(arrived == choice, 1 << half, 0)),
            ]

    def _issue(
        self,
        m: Module,
        ready: Signal,
        request: Signal,
        returned: Signal,
        memories: tuple[Memory, ...],
        carry_memory: Memory,
    ) -> None:
        """Hand every element to the unit, once for each k."""
        issued = Signal(9)
        element = _Element(issued[:6])
        k = issued[6:8]
        pending = Signal()
        accepted = pending & self.operands.ready
        issue = Signal()
        m.d.comb += issue.eq(
            ready & ~issued[8] & ((issued - returned)[:7] != ELEMENTS) & (~pending | accepted)
        )
        with m.If(issue):
            m.d.sync += [pending.eq(1), issued.eq(issued + 1)]
        with m.Elif(accepted):
            m.d.sync += pending.eq(0)
        with m.If(~ready):
            m.d.sync += issued.eq(0)

        a_read, b_read, c_read = (memory.read_port() for memory in memories)
        carry_read = carry_memory.read_port()
        m.d.comb += [
            a_read.addr.eq(element.quad),
            b_read.addr.eq(Cat(element.pair, element.lane)),
            c_read.addr.eq(Cat(element.quad, element.pair)),
            carry_read.addr.eq(element),
            *(port.en.eq(issue) for port in (a_read, b_read, c_read, carry_read)),
        ]
        issued_k = Signal(range(K))
        issued_lane = Signal(2)
        with m.If(issue):
            m.d.sync += [issued_k.eq(k), issued_lane.eq(element.lane)]
        operands = self.operands.payload
        m.d.comb += [
            operands.a.eq(_element(a_read.data, issued_k)),
            operands.b.eq(_element(b_read.data, issued_k)),
            operands.c.eq(Mux(issued_k == 0, _element(c_read.data, issued_lane), carry_read.data)),
            operands.rounding.eq(request.rounding),
            self.operands.valid.eq(pending),
        ]

    def _collect(
        self, m: Module, active: Signal, request: Signal, returned: Signal, carry_memory: Memory
    ) -> Signal:
        """Keep what goes round again, write the rest; returns whether the last word is being written."""
        element = _Element(returned[:6])
        final = returned[6:] == K - 1
        arrived = self.result.valid
        carry_write = carry_memory.write_port()
        m.d.comb += [
            self.result.ready.eq(1),
            carry_write.en.eq(arrived),
            carry_write.addr.eq(element),
            carry_write.data.eq(self.result.payload.d),
        ]
        with m.If(arrived):
            m.d.sync += returned.eq(returned + 1)
        with m.If(~active):
            m.d.sync += returned.eq(0)

        # A complete word goes out in two writes; the high half waits aside while the next word begins.
        low = Signal(data.ArrayLayout(unsigned(32), LANES))
        high = Signal(data.ArrayLayout(unsigned(32), LANES))
        waiting = Signal(data.ArrayLayout(unsigned(32), LANES))
        write_low = Signal()
        write_high = Signal()
        last = Signal()
        address = Signal.like(self.write.address)
        with m.If(arrived):
            m.d.sync += [
                low[element.lane].eq(self.result.payload.d[:32]),
                high[element.lane].eq(self.result.payload.d[32:]),
            ]
        m.d.sync += [
            write_low.eq(arrived & final & element.lane.all()),
            write_high.eq(write_low),
            waiting.eq(high),
        ]
        with m.If(arrived):
            m.d.sync += [
                address.eq(Cat(Const(0, 3), request.d) + Cat(element.quad, Const(0, 1), element.pair)),
                last.eq(returned.all()),
            ]
        with m.If(write_low):
            m.d.sync += address.eq(address + QUADS)
        m.d.comb += [
            self.write.enable.eq(write_low | write_high),
            self.write.address.eq(address),
            self.write.data.eq(Mux(write_low, low, waiting)),
            self.write.lanes.eq(~0),
        ]
        return write_high & last


def _element(words: data.View, index: Signal) -> Signal:
    """Put element `index` of a row together from its low and high half."""
    low = Array(words[0].word_select(lane, 32) for lane in range(LANES))
    high = Array(words[1].word_select(lane, 32) for lane in range(LANES))
    return Cat(low[index], high[index])
