"""First stage of the f64 tile multiplier: the fragments of the next tile, from registers to row memories."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.collision_free_memory import collision_free_memory
from hdl.config import QUADS, CoreConfig
from hdl.multiply.double.request import DoubleRequest
from hdl.multiply.double.steps import BUFFERS, PAIRS, Steps
from hdl.registers.ports import QUAD_BITS, register_read_signature, word_address, word_bits

__all__ = ["ROW_BITS", "DoubleFetch"]

ROW_BITS = 2 * QUAD_BITS
"""Four elements: the low halves of all of them, then the high halves."""


class DoubleFetch(wiring.Component):
    """Reads A, B and C, in this order, a register word with each read that is granted, and keeps two tiles.

    A 64-bit register is a pair of 32-bit ones, so a row is in two words, one of low halves and one of high
    halves; a row memory puts them together. A row of B here is a column of the matrix. The words of a
    fragment follow each other, so within it the address only counts up.

    Throughput: a tile in ``64 / word_quads`` cycles and 2, if all reads are granted and a buffer is free.
    Latency: 1 cycle from a request to the first read, 1 from the last read to `fetched`.
    Critical path expected: the grant to the enable of the address register.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(DoubleRequest))
        Ready comes from registers.
    hold : In(1)
        No request may be taken.
    fetched : Out(1)
        High for one cycle when the last word of a request has arrived.
    read : Out(register_read_signature(config))
    tiles : Out(range(3))
        Complete tiles in the row memories.
    rounding : Out(2)
        Of the oldest one.
    release : In(1)
        The oldest one is needed no more.
    enable : In(1), step : In(Steps.bits)
        Read the rows of a step of the oldest tile.
    a_row, c_row : Out(256)
        In the cycle after `enable` and until the next one.
    b_row_0, ... : Out(256)
        For each unit.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self._steps = steps = Steps(config)
        super().__init__(
            {
                "request": In(stream.Signature(DoubleRequest)),
                "hold": In(1),
                "fetched": Out(1),
                "read": Out(register_read_signature(config)),
                "tiles": Out(range(BUFFERS + 1)),
                "rounding": Out(2),
                "release": In(1),
                "enable": In(1),
                "step": In(steps.bits),
                "a_row": Out(ROW_BITS),
                "c_row": Out(ROW_BITS),
                **{f"b_row_{unit}": Out(ROW_BITS) for unit in range(steps.units)},
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config, groups = self._config, QUADS // self._config.word_quads
        request = Signal(DoubleRequest, reset_less=True)
        reading = Signal()
        occupied = Signal(range(BUFFERS + 1))
        filled, used = Signal(), Signal(init=1)  # the buffer being filled, or filled last; the oldest tile's
        begin = Signal()
        m.d.comb += [
            self.request.ready.eq(~reading & (occupied != BUFFERS) & ~self.hold),
            begin.eq(self.request.valid & self.request.ready),
        ]
        index = Signal(range(8 * groups))
        first = Const(0, self._steps.group_bits)
        accepted = Signal()
        last = index == 8 * groups - 1
        m.d.comb += [self.read.enable.eq(reading), accepted.eq(reading & self.read.ready)]
        with m.If(accepted):
            m.d.sync += [index.eq(index + 1), self.read.address.eq(self.read.address + 1)]
            with m.If(index == 2 * groups - 1):
                m.d.sync += self.read.address.eq(word_address(config, request.b, first))
            with m.If(index == 4 * groups - 1):
                m.d.sync += self.read.address.eq(word_address(config, request.c, first))
            with m.If(last):
                m.d.sync += reading.eq(0)
        roundings = Signal(data.ArrayLayout(2, BUFFERS), reset_less=True)
        with m.If(begin):
            m.d.sync += [
                request.eq(self.request.payload),
                roundings[~filled].eq(self.request.payload.rounding),
                self.read.address.eq(word_address(config, self.request.payload.a, first)),
                index.eq(0),
                reading.eq(1),
                filled.eq(~filled),
            ]
        arrived = Signal()
        arrived_index = Signal.like(index)
        m.d.sync += [arrived.eq(accepted), arrived_index.eq(index)]
        complete = Signal()
        m.d.comb += complete.eq(arrived & (arrived_index == 8 * groups - 1))
        m.d.sync += self.fetched.eq(complete)
        for count, more in ((occupied, begin), (self.tiles, complete)):
            with m.If(more != self.release):
                m.d.sync += count.eq(Mux(more, count + 1, count - 1))
        with m.If(self.release):
            m.d.sync += used.eq(~used)
        m.d.comb += self.rounding.eq(roundings[used])
        self._memories(m, arrived, arrived_index, filled, used)
        return m

    def _memories(self, m: Module, arrived: Value, index: Value, filled: Value, used: Value) -> None:
        steps, config = self._steps, self._config
        group_bits = steps.group_bits
        group = index[:group_bits]
        half, pair, is_c = index[group_bits : group_bits + 3]
        halves = data.ArrayLayout(unsigned(word_bits(config)), 2)
        rows = BUFFERS << group_bits
        m.submodules.a_memory = a_memory = collision_free_memory(halves, rows)
        m.submodules.b_memory = b_memory = collision_free_memory(halves, rows)
        m.submodules.c_memory = c_memory = collision_free_memory(halves, PAIRS * rows)
        for memory, chosen, place in (
            (a_memory, ~is_c & ~pair, Cat(group, filled)),
            (b_memory, ~is_c & pair, Cat(group, filled)),
            (c_memory, is_c, Cat(group, pair, filled)),
        ):
            port = memory.write_port(granularity=1)
            m.d.comb += [
                port.addr.eq(place),
                port.data.eq(Cat(self.read.data, self.read.data)),
                port.en.eq(Mux(arrived & chosen, 1 << half, 0)),
            ]
        quad = steps.quad(self.step)
        columns = [Cat(steps.pair(self.step), steps.lane(self.step, unit)) for unit in range(steps.units)]
        self._row(m, a_memory, quad, Cat(used), self.a_row)
        self._row(m, c_memory, quad, Cat(steps.pair(self.step), used), self.c_row)
        for unit, column in enumerate(columns):
            self._row(m, b_memory, column, Cat(used), getattr(self, f"b_row_{unit}"))

    def _row(self, m: Module, memory: Memory, quad: Value, above: Value, row: Signal) -> None:
        """Read one quad's row; above its word's group the address has `above`."""
        inner = 3 - self._steps.group_bits
        port = memory.read_port()
        which: Value = Const(0, 0)
        if inner:
            which = Signal(inner)
            with m.If(self.enable):
                m.d.sync += which.eq(quad[:inner])
        m.d.comb += [
            port.addr.eq(Cat(quad[inner:], above)),
            port.en.eq(self.enable),
            row.eq(Cat(port.data[half].word_select(which, QUAD_BITS) for half in range(2))),
        ]
