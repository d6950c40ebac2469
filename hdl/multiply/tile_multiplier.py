"""The tile multiplier: walks the fragments of one tile through the dot-product units."""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.dot_product.interface import DotProductOperands, DotProductResult, Result
from hdl.memory.geometry import block_indices
from hdl.multiply.tile_request import TileRequest, TileShape
from hdl.registers.register_file import WORD_BITS, register_read_signature, register_write_signature

__all__ = ["TileMultiplier"]

K_HALVES = 2
"""Register words of one row, at most."""

STEPS = 64
"""Words of four results in the largest tile."""


class _Fetch(enum.Enum, shape=2):
    IDLE = 0
    X = 1
    Y = 2
    C = 3


class _Step(data.Struct):
    """A register word of accumulators, in the order in which results are made: block, quad, pair."""

    pair: unsigned(1)
    quad: unsigned(3)
    block: unsigned(2)


class TileMultiplier(wiring.Component):
    """Multiplies one tile.

    Because a register word is a run of k of one row, operands need no reordering: the words of X and Y are
    copied to two small row memories, one register word per cycle, and a row is then read whole. Results
    are made in the order of the accumulator's words (block, quad, pair of columns, lane), so C and D are
    each one pass over the registers. C follows one word ahead of its use or more.

    With U units, unit u takes the rows ``y = 2 t + j + 8 yb`` of lanes with ``t % U == u``, all for the same
    row of X; so the row memory of Y is one bank a unit, and U results are neighbours in a word.

    Throughput: 256 / U cycles a tile of 256 results, and one in each cycle from each unit meanwhile.
    Latency: 64 cycles of fetching, 256 / U of issuing, the unit's own latency, and 4.
    Critical path expected: step counter to the address of a row memory.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(TileRequest))
        Taken when idle.
    done : Out(1)
        High for one cycle after the last result is in the register file.
    operands_0, ... : Out(stream.Signature(DotProductOperands))
        To each dot-product unit.
    result_0, ... : In(stream.Signature(DotProductResult))
        From each dot-product unit.
    busy_units : Out(range(U + 1))
        Units that accept operands in this cycle.
    write : Out(register_write_signature(config))
    read : Out(register_read_signature(config))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        units = config.dot_product_units
        members = {
            "request": In(stream.Signature(TileRequest)),
            "done": Out(1),
            "busy_units": Out(range(units + 1)),
            "write": Out(register_write_signature(config)),
            "read": Out(register_read_signature(config)),
        }
        for unit in range(units):
            members[f"operands_{unit}"] = Out(stream.Signature(DotProductOperands))
            members[f"result_{unit}"] = In(stream.Signature(DotProductResult))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        units = self._config.dot_product_units
        x_memory = Memory(shape=data.ArrayLayout(unsigned(WORD_BITS), K_HALVES), depth=32, init=[])
        m.submodules.x_memory = x_memory
        y_memories = []
        for unit in range(units):
            y_memory = Memory(
                shape=data.ArrayLayout(unsigned(WORD_BITS), K_HALVES), depth=16 // units, init=[]
            )
            m.submodules[f"y_memory_{unit}"] = y_memory
            y_memories.append(y_memory)
        m.submodules.c_memory = c_memory = Memory(shape=unsigned(WORD_BITS), depth=STEPS, init=[])
        m.submodules.carry_memory = carry_memory = Memory(shape=unsigned(WORD_BITS), depth=STEPS, init=[])

        request = Signal(TileRequest)
        active = Signal()
        steps = Signal(range(STEPS + 1))
        fetched_c = Signal(range(STEPS + 1))
        carried = Signal(range(STEPS + 1))
        m.d.comb += [
            self.request.ready.eq(~active),
            steps.eq(Mux(request.tile_shape == TileShape.SQUARE_8, STEPS // 4, STEPS)),
        ]
        with m.If(self.request.valid & ~active):
            m.d.sync += [request.eq(self.request.payload), active.eq(1)]

        self._fetch(m, request, steps, fetched_c, x_memory, y_memories, c_memory)
        c_memories = (c_memory, carry_memory)
        self._issue(m, active, request, steps, fetched_c, carried, x_memory, y_memories, c_memories)
        finished = self._collect(m, active, request, steps, carried, carry_memory)
        m.d.sync += self.done.eq(finished)
        with m.If(finished):
            m.d.sync += active.eq(0)
        return m

    def _fetch(
        self,
        m: Module,
        request: Signal,
        steps: Signal,
        fetched_c: Signal,
        x_memory: Memory,
        y_memories: list[Memory],
        c_memory: Memory,
    ) -> None:
        """Copy X, Y and C, in this order, from the register file to the row memories."""
        phase = Signal(_Fetch)
        word = Signal(6)
        block = Signal(3)
        m.d.comb += block.eq(word >> 3)
        x_row, x_half = block_indices(m, request.x_order, block)
        y_row, y_half = block_indices(m, request.y_order, block)
        x_rows = Signal(6)
        y_rows = Signal(5)
        with m.Switch(request.tile_shape):
            with m.Case(TileShape.SQUARE_16):
                m.d.comb += [x_rows.eq(16), y_rows.eq(16)]
            with m.Case(TileShape.WIDE_32):
                m.d.comb += [x_rows.eq(32), y_rows.eq(8)]
            with m.Case(TileShape.SQUARE_8):
                m.d.comb += [x_rows.eq(8), y_rows.eq(8)]
        step = Signal(_Step)
        c_address = Signal(6)
        last = Signal(6)
        base = Signal(8)
        offset = Signal(6)
        m.d.comb += [
            step.as_value().eq(word),
            c_address.eq(_accumulator_address(step, request.operation.c_is_f16)),
            self.read.enable.eq(phase != _Fetch.IDLE),
            self.read.address.eq(Cat(Const(0, 3), base) + offset),
        ]
        with m.Switch(phase):
            with m.Case(_Fetch.X):
                m.d.comb += [base.eq(request.x), offset.eq(word), last.eq((x_rows << request.halves) - 1)]
            with m.Case(_Fetch.Y):
                m.d.comb += [base.eq(request.y), offset.eq(word), last.eq((y_rows << request.halves) - 1)]
            with m.Case(_Fetch.C):
                m.d.comb += [base.eq(request.c), offset.eq(c_address), last.eq(steps - 1)]
        with m.If(phase == _Fetch.IDLE):
            with m.If(self.request.valid & self.request.ready):
                m.d.sync += [phase.eq(_Fetch.X), word.eq(0), fetched_c.eq(0)]
        with m.Else():
            m.d.sync += word.eq(word + 1)
            with m.If(word == last):
                m.d.sync += word.eq(0)
                with m.Switch(phase):
                    with m.Case(_Fetch.X):
                        m.d.sync += phase.eq(_Fetch.Y)
                    with m.Case(_Fetch.Y):
                        m.d.sync += phase.eq(_Fetch.C)
                    with m.Case(_Fetch.C):
                        m.d.sync += phase.eq(_Fetch.IDLE)

        # One cycle later the word is there, and is written where `word` pointed then.
        arrived = Signal(_Fetch)
        arrived_word = Signal(6)
        arrived_x = Signal(5)
        arrived_x_half = Signal()
        arrived_y = Signal(4)
        arrived_y_half = Signal()
        m.d.sync += [
            arrived.eq(phase),
            arrived_word.eq(word),
            arrived_x.eq(Cat(word[:3], x_row)),
            arrived_x_half.eq(x_half),
            arrived_y.eq(Cat(word[:3], y_row)),
            arrived_y_half.eq(y_half),
        ]
        x_write = x_memory.write_port(granularity=1)
        m.d.comb += [
            x_write.addr.eq(arrived_x),
            x_write.data.eq(Cat(self.read.data, self.read.data)),
            x_write.en.eq(Mux(arrived == _Fetch.X, 1 << arrived_x_half, 0)),
        ]
        pair, lane, y_block = arrived_y[0], arrived_y[1:3], arrived_y[3]
        bank_bits = len(y_memories).bit_length() - 1
        for unit, y_memory in enumerate(y_memories):
            y_write = y_memory.write_port(granularity=1)
            mine = lane[:bank_bits] == unit if bank_bits else Const(1)
            m.d.comb += [
                y_write.addr.eq(Cat(pair, lane[bank_bits:], y_block)),
                y_write.data.eq(Cat(self.read.data, self.read.data)),
                y_write.en.eq(Mux((arrived == _Fetch.Y) & mine, 1 << arrived_y_half, 0)),
            ]
        c_write = c_memory.write_port()
        m.d.comb += [
            c_write.addr.eq(arrived_word),
            c_write.data.eq(self.read.data),
            c_write.en.eq(arrived == _Fetch.C),
        ]
        with m.If(arrived == _Fetch.C):
            m.d.sync += fetched_c.eq(fetched_c + 1)

    def _issue(
        self,
        m: Module,
        active: Signal,
        request: Signal,
        steps: Signal,
        fetched_c: Signal,
        carried: Signal,
        x_memory: Memory,
        y_memories: list[Memory],
        c_memories: tuple[Memory, Memory],
    ) -> None:
        """Read a row of X, a row of Y for each unit and C, and hand them to the units together."""
        units = len(y_memories)
        rounds = 4 // units
        step = Signal(_Step)
        turn = Signal(range(max(rounds, 2)))
        exhausted = Signal()
        pending = Signal(units)
        accepted = Signal(units)
        issue = Signal()
        x_block = Signal(2)
        y_block = Signal()
        ports = [getattr(self, f"operands_{unit}") for unit in range(units)]
        second = Signal()
        available = Signal(range(STEPS + 1))
        enough = Signal()
        m.d.comb += [
            accepted.eq(pending & Cat(port.ready for port in ports)),
            available.eq(Mux(second, carried, fetched_c)),
            enough.eq(Mux(request.hazard & ~second, available == steps, available > step.as_value())),
            issue.eq(active & ~exhausted & enough & (pending == accepted)),
            x_block.eq(Mux(request.tile_shape == TileShape.WIDE_32, step.block, step.block[0])),
            y_block.eq((request.tile_shape != TileShape.WIDE_32) & step.block[1]),
            self.busy_units.eq(sum((accepted[unit] for unit in range(units)), Const(0, 1))),
        ]
        m.d.sync += pending.eq(Mux(issue, ~0, pending & ~accepted))
        with m.If(issue):
            m.d.sync += turn.eq(turn + 1)
            with m.If(turn == rounds - 1):
                m.d.sync += [turn.eq(0), step.as_value().eq(step.as_value() + 1)]
                with m.If(step.as_value() == steps - 1):
                    m.d.sync += [
                        step.eq(0),
                        second.eq(request.chained),
                        exhausted.eq(~request.chained | second),
                    ]
        with m.If(~active):
            m.d.sync += [exhausted.eq(0), second.eq(0), turn.eq(0), step.eq(0)]

        x_read = x_memory.read_port()
        c_read, carry_read = (memory.read_port() for memory in c_memories)
        issued_turn = Signal.like(turn)
        issued_pair = Signal()
        m.d.comb += [
            x_read.en.eq(issue),
            x_read.addr.eq(Cat(step.quad, x_block)),
            c_read.en.eq(issue),
            c_read.addr.eq(step.as_value()),
            carry_read.en.eq(issue),
            carry_read.addr.eq(step.as_value()),
        ]
        issued_second = Signal()
        c_word = Signal(WORD_BITS)
        m.d.comb += c_word.eq(Mux(issued_second, carry_read.data, c_read.data))
        with m.If(issue):
            m.d.sync += [issued_turn.eq(turn), issued_pair.eq(step.pair), issued_second.eq(second)]
        lanes = Array(c_word.word_select(lane, 32) for lane in range(4))
        x_row = _row(x_read.data, issued_second)
        for unit, (port, y_memory) in enumerate(zip(ports, y_memories, strict=True)):
            y_read = y_memory.read_port()
            y_row = _row(y_read.data, issued_second)
            lane = Signal(32, name=f"c_lane_{unit}")
            m.d.comb += [
                y_read.en.eq(issue),
                y_read.addr.eq(Cat(step.pair, turn[: rounds.bit_length() - 1], y_block)),
                lane.eq(lanes[issued_turn * units + unit]),
                port.payload.a.eq(Mux(request.x_is_b, y_row, x_row)),
                port.payload.b.eq(Mux(request.x_is_b, x_row, y_row)),
                port.payload.c.eq(lane),
                port.payload.operation.eq(request.operation),
                port.valid.eq(pending[unit]),
            ]
            with m.If(request.chained & ~issued_second):
                m.d.comb += port.payload.operation.saturate.eq(0)
            with m.If(request.operation.c_is_f16):
                m.d.comb += port.payload.c.eq(lane.word_select(issued_pair, 16))

    def _collect(
        self, m: Module, active: Signal, request: Signal, steps: Signal, carried: Signal, carry_memory: Memory
    ) -> Signal:
        """Gather results to words and write them; returns whether the last one is being written."""
        units = self._config.dot_product_units
        rounds = 4 // units
        step = Signal(_Step)
        turn = Signal(range(max(rounds, 2)))
        ports = [getattr(self, f"result_{unit}") for unit in range(units)]
        arrived = Signal()
        half = Signal()
        m.d.comb += [
            arrived.eq(Cat(port.valid for port in ports).all()),
            half.eq(request.operation.result != Result.F32),
        ]
        second = Signal()
        complete = Signal()
        carry = Signal()
        carry_step = Signal(6)
        word = Signal(data.ArrayLayout(data.ArrayLayout(unsigned(16), 2), 4))
        address = Signal.like(self.write.address)
        last = Signal()
        m.d.sync += [complete.eq(0), carry.eq(0)]
        for unit, port in enumerate(ports):
            m.d.comb += port.ready.eq(arrived)
            lane = word[turn * units + unit]
            with m.If(arrived):
                with m.If(~half):
                    m.d.sync += lane.eq(port.payload.d)
                with m.Else():
                    m.d.sync += lane[step.pair].eq(port.payload.d)
        with m.If(arrived):
            m.d.sync += turn.eq(turn + 1)
            with m.If(turn == rounds - 1):
                m.d.sync += [
                    turn.eq(0),
                    step.as_value().eq(step.as_value() + 1),
                    complete.eq((~half | step.pair) & (second | ~request.chained)),
                    carry.eq(request.chained & ~second),
                    carry_step.eq(step),
                    address.eq(Cat(Const(0, 3), request.d) + _accumulator_address(step, half)),
                ]
                with m.If(step.as_value() == steps - 1):
                    m.d.sync += [step.eq(0), second.eq(1), last.eq(second | ~request.chained)]
        with m.If(~active):
            m.d.sync += [last.eq(0), second.eq(0), carried.eq(0)]
        with m.If(carry):
            m.d.sync += carried.eq(carried + 1)
        carry_write = carry_memory.write_port()
        m.d.comb += [
            carry_write.en.eq(carry),
            carry_write.addr.eq(carry_step),
            carry_write.data.eq(word),
            self.write.enable.eq(complete),
            self.write.address.eq(address),
            self.write.data.eq(word),
            self.write.lanes.eq(0b1111),
        ]
        return complete & last


def _row(words: Any, second: Signal) -> Any:
    """What a unit takes of a row: all of it, or of a chained row the second word in its turn."""
    return Cat(Mux(second, words[1], words[0]), words[1])


def _accumulator_address(step: _Step, half: Signal) -> Signal:
    """The word of a step within its fragment: an f16 accumulator holds a pair of columns in one word."""
    return Mux(half, Cat(step.quad, step.block), Cat(step.quad, step.pair, step.block))
