"""First stage of the tile multiplier: copies the fragments of the next tile out of the register file."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.dot_product.operands import Operation, Result
from hdl.memory.fragment_geometry import block_indices
from hdl.multiply.tile.request import TileRequest, TileShape
from hdl.multiply.tile.rows import row_write_layout
from hdl.multiply.tile.tile_steps import Steps
from hdl.registers.register_ports import (
    READ_LATENCY,
    address_bits,
    word_address,
    word_bits,
    word_read_signature,
)
from hdl.stream.pipeline import delay

__all__ = ["FetchedTile", "ResultTile", "TileFetch"]


class FetchedTile(data.Struct):
    """A tile whose rows are in the row memories.

    Members
    -------
    operation : Operation
        With X for A and Y for B.
    tile_shape : TileShape
    chained : unsigned(1)
    buffer : unsigned(1)
        Of the row memories.
    """

    operation: Operation
    tile_shape: TileShape
    chained: unsigned(1)
    buffer: unsigned(1)


class ResultTile(data.Struct):
    """What becomes of a tile's results.

    Members
    -------
    tile_shape : TileShape
    chained : unsigned(1)
    d_is_f16 : unsigned(1)
    d : unsigned(8)
        First register.
    """

    tile_shape: TileShape
    chained: unsigned(1)
    d_is_f16: unsigned(1)
    d: unsigned(8)


class _Phase(enum.Enum, shape=2):
    IDLE = 0
    X = 1
    Y = 2
    C = 3


class TileFetch(wiring.Component):
    """Reads X, Y and C, in this order, one register word per cycle.

    The words of a fragment follow each other in the register file, so the address only counts up. Where a
    word goes in the row memories is known when it is read and kept until the data is there.

    Multiplication commutes to the bit, so X always takes the place of A and Y that of B, and only the signs
    of integers have to know which is which; no unit needs multiplexers for it.

    The port is nobody else's, so once begun a tile arrives without a pause, and need not be complete when it
    is offered: the elements of C come before the steps that need them.

    Throughput: a tile in as many cycles as it has words, if a buffer is free.
    Latency: 2 cycles from a request to the first read.
    Critical path expected: a fragment's last word to the address of the next fragment.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(TileRequest))
        One may wait here while another one is under way. Ready comes from a register.
    fetched : Out(1)
        High for one cycle when the last word of a request has been read; it arrives later.
    read : Out(word_read_signature(config))
    write : Out(row_write_layout(config))
    write_data : Out(word_bits(config))
    tile : Out(stream.Signature(FetchedTile))
        Offered when, at a step per cycle, no step comes before its operands; taken when no row of it is
        needed any more.
    result_tile : Out(stream.Signature(ResultTile))
        A tile is on its way.

    Testbench
    ---------
    cocotb_tests/multiply/test_tile.py, through `TileMultiplier`.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "request": In(stream.Signature(TileRequest)),
                "fetched": Out(1),
                "read": Out(word_read_signature(config)),
                "write": Out(row_write_layout(config)),
                "write_data": Out(word_bits(config)),
                "tile": Out(stream.Signature(FetchedTile)),
                "result_tile": Out(stream.Signature(ResultTile)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        waiting = Signal(TileRequest, reset_less=True)
        is_waiting = Signal()
        begin = Signal()
        may_begin = Signal()
        finish = Signal()
        m.d.sync += self.fetched.eq(finish)
        m.d.comb += [
            self.request.ready.eq(~is_waiting),
            self.result_tile.valid.eq(is_waiting & may_begin),
            self.result_tile.payload.tile_shape.eq(waiting.tile_shape),
            self.result_tile.payload.chained.eq(waiting.chained),
            self.result_tile.payload.d_is_f16.eq(waiting.operation.result != Result.F32),
            self.result_tile.payload.d.eq(waiting.d),
            begin.eq(self.result_tile.valid & self.result_tile.ready),
        ]
        with m.If(begin):
            m.d.sync += is_waiting.eq(0)
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += [waiting.eq(self.request.payload), is_waiting.eq(1)]

        buffer = Signal(init=1)  # the one being filled, or filled last
        arrived = Signal()
        full = self._offer(m, begin, waiting, buffer, arrived)
        idle = self._read(m, begin, waiting, finish, buffer, arrived)
        m.d.comb += may_begin.eq((idle | finish) & ~Mux(buffer, full[0], full[1]))
        with m.If(begin):
            m.d.sync += buffer.eq(~buffer)
        return m

    def _offer(self, m: Module, begin: Signal, waiting: data.View, buffer: Signal, arrived: Signal) -> Signal:
        """Keep what the issue stage must know of each buffer; returns which buffers are full."""
        full = Signal(2)
        oldest = Signal()
        taken = Signal()
        tiles = [Signal(FetchedTile, name=f"tile_{number}", reset_less=True) for number in range(2)]
        operation = Signal(Operation)
        m.d.comb += [
            operation.eq(waiting.operation),
            self.tile.valid.eq(Mux(oldest, full[1], full[0])),
            self.tile.payload.eq(Mux(oldest, tiles[1], tiles[0])),
            self.tile.payload.buffer.eq(oldest),
            taken.eq(self.tile.valid & self.tile.ready),
        ]
        with m.If(waiting.x_is_b):
            m.d.comb += [
                operation.a_signed.eq(waiting.operation.b_signed),
                operation.b_signed.eq(waiting.operation.a_signed),
            ]
        with m.If(taken):
            m.d.sync += oldest.eq(~oldest)
        for number, tile in enumerate(tiles):
            with m.If(arrived & (self.write.buffer == number)):
                m.d.sync += full[number].eq(1)
            with m.If(taken & (oldest == number)):
                m.d.sync += full[number].eq(0)
            with m.If(begin & (buffer != number)):
                m.d.sync += [
                    tile.operation.eq(operation),
                    tile.tile_shape.eq(waiting.tile_shape),
                    tile.chained.eq(waiting.chained),
                ]
        return full

    def _read(
        self,
        m: Module,
        begin: Signal,
        waiting: data.View,
        finish: Signal,
        buffer: Signal,
        arrived: Signal,
    ) -> Value:
        """Walk the fragments; returns whether there is none to walk."""
        config = self._config
        steps = Steps(config)
        group_bits = steps.group_bits
        first = Const(0, group_bits)
        request = Signal(TileRequest, reset_less=True)
        phase = Signal(_Phase)
        word = Signal(group_bits + 3)
        last = Signal(3)
        reading = Signal()
        at_end = Signal()
        enough = Signal()
        address = Signal(address_bits(config), reset_less=True)
        m.d.comb += [
            reading.eq(phase != _Phase.IDLE),
            self.read.enable.eq(reading),
            self.read.address.eq(address),
            last.eq(_last_register(request, phase)),
            at_end.eq(word == Cat(Const((1 << group_bits) - 1, group_bits), last)),
            finish.eq(at_end & (phase == _Phase.C)),
            enough.eq((word == _lead(steps, request)) & (phase == _Phase.C)),
        ]
        with m.If(reading):
            m.d.sync += [word.eq(word + 1), address.eq(address + 1)]
            with m.If(at_end):
                m.d.sync += word.eq(0)
                with m.Switch(phase):
                    with m.Case(_Phase.X):
                        m.d.sync += [phase.eq(_Phase.Y), address.eq(word_address(config, request.y, first))]
                    with m.Case(_Phase.Y):
                        m.d.sync += [phase.eq(_Phase.C), address.eq(word_address(config, request.c, first))]
                    with m.Default():
                        m.d.sync += phase.eq(_Phase.IDLE)
        with m.If(begin):
            m.d.sync += [
                request.eq(waiting),
                phase.eq(_Phase.X),
                address.eq(word_address(config, waiting.x, first)),
            ]

        register = Signal(3)
        group = word[:group_bits]
        m.d.comb += register.eq(word[group_bits:])
        x_block, x_second = block_indices(m, request.x_order, register)
        y_block, y_second = block_indices(m, request.y_order, register)
        arriving = Signal.like(self.write)
        m.d.comb += arriving.buffer.eq(buffer)
        with m.Switch(phase):
            with m.Case(_Phase.X):
                m.d.comb += [
                    arriving.x.eq(reading),
                    arriving.group_block.eq(Cat(group, x_block)),
                    arriving.second.eq(x_second),
                ]
            with m.Case(_Phase.Y):
                m.d.comb += [
                    arriving.y.eq(reading),
                    arriving.group_block.eq(Cat(group, y_block)),
                    arriving.second.eq(y_second),
                ]
            with m.Case(_Phase.C):
                with m.If(request.operation.c_is_f16):
                    m.d.comb += [
                        arriving.c.eq(reading.replicate(2)),
                        arriving.group_block.eq(Cat(group, register[:2])),
                    ]
                with m.Else():
                    m.d.comb += [
                        arriving.c.eq(Cat(reading & ~register[0], reading & register[0])),
                        arriving.group_block.eq(Cat(group, register[1:])),
                    ]
        m.d.comb += [
            self.write.eq(delay(m, arriving.as_value(), READ_LATENCY, "arriving", reset_less=False)),
            arrived.eq(delay(m, enough, READ_LATENCY, "enough", reset_less=False)),
            self.write_data.eq(self.read.data),
        ]
        return phase == _Phase.IDLE


def _lead(steps: Steps, request: data.View) -> Value:
    """The word of C that must be there for the first step."""
    of_packed, of_others = (
        Mux(
            request.tile_shape == TileShape.SQUARE_8,
            steps.c_lead(packed=packed, small=True),
            steps.c_lead(packed=packed, small=False),
        )
        for packed in (True, False)
    )
    return Mux(request.operation.c_is_f16, of_packed, of_others)


def _last_register(request: data.View, phase: Signal) -> Value:
    """The last register of the fragment at hand, counted from its first."""
    is_x = phase == _Phase.X
    is_wide = request.tile_shape == TileShape.WIDE_32
    is_small = request.tile_shape == TileShape.SQUARE_8
    # One block, two or four, less one.
    rows = Mux(is_x, Cat(~is_small, is_wide), Cat(~is_small & ~is_wide, 0))
    blocks = Cat(~is_small, ~is_small)
    of_rows = Mux(request.halves, Cat(1, rows), rows)
    of_results = Mux(request.operation.c_is_f16, blocks, Cat(1, blocks))
    return Mux(phase == _Phase.C, of_results, of_rows)
