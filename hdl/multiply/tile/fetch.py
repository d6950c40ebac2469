"""First stage of the tile multiplier: copies the fragments of the next tile out of the register file."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import REGISTER_BITS, CoreConfig
from hdl.dot_product.operands import Operation, Result
from hdl.memory.fragment_geometry import block_indices
from hdl.multiply.tile.request import TileRequest, TileShape, last_block
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

__all__ = ["ADDED_PASSES", "FetchedTile", "ResultTile", "TileFetch"]

ADDED_PASSES = 2
"""What `ResultTile.passes` is for tiles of fp8 that becomes f16; none has three passes."""


class FetchedTile(data.Struct):
    """A tile whose operands are in the row memories.

    Members
    -------
    operation : Operation
        With X for A and Y for B.
    tile_shape : TileShape
    whole_rows : unsigned(1)
        Both words of a row take part in a dot product; otherwise one.
    passes : unsigned(2)
    converted : unsigned(1)
        As in `TileRequest`.
    buffer : unsigned(1)
        Of the row memories.
    """

    operation: Operation
    tile_shape: TileShape
    whole_rows: unsigned(1)
    passes: unsigned(2)
    converted: unsigned(1)
    buffer: unsigned(1)


class ResultTile(data.Struct):
    """What becomes of a tile's results.

    Members
    -------
    tile_shape : TileShape
    passes : unsigned(2)
        As in `TileRequest`; or `ADDED_PASSES` for two, after which C is added. (A bit of its own would widen
        the queue of every core.)
    d_is_f16 : unsigned(1)
    d : unsigned(REGISTER_BITS)
        First register.
    """

    tile_shape: TileShape
    passes: unsigned(2)
    d_is_f16: unsigned(1)
    d: unsigned(REGISTER_BITS)


class _Phase(enum.Enum, shape=2):
    IDLE = 0
    X = 1
    Y = 2


class TileFetch(wiring.Component):
    """Reads X and then Y from one port and C from another at the same time, a register word of each a cycle.

    A multiply of m16n8k16 has 24 words of X and Y, 16 of C and 32 steps where words have two quads and units
    are four: one port for all of them would leave the units idle in a fifth of the cycles.

    The words of a fragment follow each other in the register file, so the addresses only count up. Where a
    word goes in the row memories is known when it is read and kept until the data is there.

    Multiplication commutes to the bit, so X always takes the place of A and Y that of B, and only the signs
    of integers and the types of fp8 have to know which is which; no unit needs multiplexers for it.

    Nobody else can make a read wait, so once begun a tile arrives without a pause.

    Throughput: a tile in as many cycles as it has words of X and Y, or of C if these are more, if a buffer is
    free. Latency: 2 cycles from a request to the first read.
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
    read, c_read : Out(word_read_signature(config))
        Of X and Y, and of C.
    write : Out(row_write_layout(config))
    write_data, write_c_data : Out(word_bits(config))
    tile : Out(stream.Signature(FetchedTile))
        Offered when all of it is in the row memories; taken when none of it is needed any more.
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
                "c_read": Out(word_read_signature(config)),
                "write": Out(row_write_layout(config)),
                "write_data": Out(word_bits(config)),
                "write_c_data": Out(word_bits(config)),
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
        idle = Signal()
        finish = Signal()
        m.d.sync += self.fetched.eq(finish)
        m.d.comb += [
            self.request.ready.eq(~is_waiting),
            self.result_tile.valid.eq(is_waiting & may_begin),
            self.result_tile.payload.tile_shape.eq(waiting.tile_shape),
            self.result_tile.payload.passes.eq(Mux(waiting.converted, ADDED_PASSES, waiting.passes)),
            self.result_tile.payload.d_is_f16.eq(waiting.operation.result != Result.F32),
            self.result_tile.payload.d.eq(waiting.d),
            begin.eq(self.result_tile.valid & self.result_tile.ready),
        ]
        with m.If(begin):
            m.d.sync += is_waiting.eq(0)
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += [waiting.eq(self.request.payload), is_waiting.eq(1)]

        buffer = Signal(init=1)  # the one being filled, or filled last
        given_back = self._offer(m, begin, waiting, buffer, finish)
        # From the begin on: two tiles of two words each are read before the first word has arrived.
        in_use = Signal(2)
        for number in range(2):
            with m.If(begin & (buffer != number)):
                m.d.sync += in_use[number].eq(1)
            with m.If(given_back[number]):
                m.d.sync += in_use[number].eq(0)
        request = Signal(TileRequest, reset_less=True)
        with m.If(begin):
            m.d.sync += [request.eq(waiting), buffer.eq(~buffer)]
        arriving = Signal.like(self.write)
        rows_idle, rows_end = self._read_rows(m, begin, waiting, request, arriving)
        c_idle, c_end = self._read_c(m, begin, waiting, request, arriving)
        m.d.comb += [
            idle.eq(rows_idle & c_idle),
            finish.eq((rows_idle | rows_end) & (c_idle | c_end) & ~idle),
            may_begin.eq((idle | finish) & ~Mux(buffer, in_use[0], in_use[1])),
            arriving.buffer.eq(buffer),
            self.write.eq(delay(m, arriving.as_value(), READ_LATENCY, "arriving", reset_less=False)),
            self.write_data.eq(self.read.data),
            self.write_c_data.eq(self.c_read.data),
        ]
        return m

    def _offer(self, m: Module, begin: Signal, waiting: data.View, buffer: Signal, finish: Signal) -> Signal:
        """Offer the tiles in the order of their begin; returns which buffer is given back."""
        full = Signal(2)
        oldest = Signal()
        taken = Signal()
        given_back = Signal(2)
        tiles = [Signal(FetchedTile, name=f"tile_{number}", reset_less=True) for number in range(2)]
        operation = Signal(Operation)
        arrived = delay(m, finish, READ_LATENCY, "finish", reset_less=False)
        m.d.comb += [
            operation.eq(waiting.operation),
            self.tile.valid.eq(Mux(oldest, full[1], full[0])),
            self.tile.payload.eq(Mux(oldest, tiles[1], tiles[0])),
            self.tile.payload.buffer.eq(oldest),
            taken.eq(self.tile.valid & self.tile.ready),
            given_back.eq(Cat(taken & ~oldest, taken & oldest)),
        ]
        with m.If(waiting.x_is_b):
            m.d.comb += [
                operation.a_signed.eq(waiting.operation.b_signed),
                operation.b_signed.eq(waiting.operation.a_signed),
                operation.a_e5m2.eq(waiting.operation.b_e5m2),
                operation.b_e5m2.eq(waiting.operation.a_e5m2),
            ]
        with m.If(taken):
            m.d.sync += oldest.eq(~oldest)
        for number, tile in enumerate(tiles):
            with m.If(arrived & (self.write.buffer == number)):
                m.d.sync += full[number].eq(1)
            with m.If(given_back[number]):
                m.d.sync += full[number].eq(0)
            with m.If(begin & (buffer != number)):
                m.d.sync += [
                    tile.operation.eq(operation),
                    tile.tile_shape.eq(waiting.tile_shape),
                    tile.whole_rows.eq(waiting.halves & ((waiting.passes == 0) | waiting.converted)),
                    tile.passes.eq(waiting.passes),
                    tile.converted.eq(waiting.converted),
                ]
        return given_back

    def _read_rows(
        self, m: Module, begin: Signal, waiting: data.View, request: data.View, arriving: data.View
    ) -> tuple[Value, Signal]:
        """Walk X and Y; returns whether there is none to walk, and whether their last word is read."""
        config = self._config
        number_bits = Steps(config).word_number_bits
        first = Const(0, number_bits)
        phase = Signal(_Phase)
        word = Signal(number_bits + 3)
        last = Signal(3)
        at_end = Signal()
        address = Signal(address_bits(config), reset_less=True)
        is_x, is_y = phase == _Phase.X, phase == _Phase.Y
        m.d.comb += [
            self.read.enable.eq(phase != _Phase.IDLE),
            self.read.address.eq(address),
            last.eq(_last_of_rows(request, is_x)),
            at_end.eq(word == Cat(Const((1 << number_bits) - 1, number_bits), last)),
        ]
        with m.If(self.read.enable):
            m.d.sync += [word.eq(word + 1), address.eq(address + 1)]
            with m.If(at_end):
                m.d.sync += [
                    word.eq(0),
                    phase.eq(Mux(is_x, _Phase.Y, _Phase.IDLE)),
                    address.eq(word_address(config, request.y, first)),
                ]
        with m.If(begin):
            m.d.sync += [phase.eq(_Phase.X), address.eq(word_address(config, waiting.x, first))]

        register = Signal(3)
        number = word[:number_bits]
        m.d.comb += [register.eq(word[number_bits:]), arriving.x.eq(is_x), arriving.y.eq(is_y)]
        block, second = block_indices(m, Mux(is_x, request.x_order, request.y_order), register)
        m.d.comb += [arriving.word_block.eq(Cat(number, block)), arriving.second.eq(second)]
        return ~self.read.enable, at_end & is_y

    def _read_c(
        self, m: Module, begin: Signal, waiting: data.View, request: data.View, arriving: data.View
    ) -> tuple[Value, Signal]:
        """Walk C; returns as `_read_rows`."""
        config = self._config
        number_bits = Steps(config).word_number_bits
        reading = Signal()
        at_end = Signal()
        word = Signal(number_bits + 3)
        last = Signal(3)
        address = Signal(address_bits(config), reset_less=True)
        is_packed = request.operation.c_is_f16
        blocks = last_block(request.tile_shape)
        m.d.comb += [
            self.c_read.enable.eq(reading),
            self.c_read.address.eq(address),
            last.eq(Mux(is_packed, blocks, Cat(1, blocks))),
            at_end.eq(word == Cat(Const((1 << number_bits) - 1, number_bits), last)),
        ]
        with m.If(reading):
            m.d.sync += [word.eq(word + 1), address.eq(address + 1)]
            with m.If(at_end):
                m.d.sync += [word.eq(0), reading.eq(0)]
        with m.If(begin):
            m.d.sync += [reading.eq(1), address.eq(word_address(config, waiting.c, Const(0, number_bits)))]

        number, register = word[:number_bits], word[number_bits:]
        both = Cat(reading & ~register[0], reading & register[0])
        m.d.comb += [
            arriving.c.eq(Mux(is_packed, reading.replicate(2), both)),
            arriving.c_word_block.eq(Cat(number, Mux(is_packed, register[:2], register[1:]))),
        ]
        return ~reading, at_end


def _last_of_rows(request: data.View, is_x: Value) -> Value:
    """The last register of X or Y, counted from its first."""
    last = last_block(request.tile_shape)
    is_square = request.tile_shape == TileShape.SQUARE_16
    # One block of rows, two or four, less one.
    of_x = Cat(last[0], last[1] & ~is_square)
    rows = Mux(is_x, of_x, Cat(is_square, 0))
    return Mux(request.halves, Cat(1, rows), rows)
