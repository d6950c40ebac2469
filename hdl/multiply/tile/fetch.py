"""First stage of the tile multiplier: copies the fragments of the next tile out of the register file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import REGISTER_BITS, CoreConfig
from hdl.dot_product.operands import Multiplicand, Operation, Result
from hdl.memory.fragment_geometry import block_indices
from hdl.multiply.tile.request import TileRequest, TileShape, last_block, sparse_y
from hdl.multiply.tile.rows import row_buffers, row_write_layout
from hdl.multiply.tile.tile_steps import Steps
from hdl.registers.register_ports import (
    LANE_BITS,
    READ_LATENCY,
    address_bits,
    tile_word_bits,
    word_address,
    word_read_signature,
)
from hdl.stream.elastic import CreditQueue
from hdl.stream.pipeline import delay
from hdl.stream.stream_buffer import StreamBuffer

ADDED_PASSES = 2
"""What `ResultTile.passes` is for tiles of fp8 that becomes f16; none has three passes."""


def request_shape(config: CoreConfig) -> ShapeLike:
    """A `TileRequest`; with `wgmma` as `tile`, and what becomes of its operands.

    Members
    -------
    tile : TileRequest
    x_stored, y_stored : unsigned(1)
        X, Y is in the operand storage of the warpgroup multiplier, at the register's number there.
    zero_c : unsigned(1)
        C is zero, whatever the registers hold.
    negated : unsigned(2)
        The sign bits of X, of Y are inverted.
    """
    if not config.wgmma:
        return TileRequest
    flags = {"x_stored": 1, "y_stored": 1, "zero_c": 1, "negated": 2}
    return data.StructLayout({"tile": TileRequest, **flags})


class FetchedTile(data.Struct):
    """A tile whose operands are in the row memories."""

    operation: Operation
    """With X for A and Y for B."""
    tile_shape: TileShape
    whole_rows: unsigned(1)
    """Both words of a row take part in a dot product; otherwise one."""
    passes: unsigned(2)
    converted: unsigned(1)
    """As in `TileRequest`."""
    buffer: unsigned(3)
    """Of the row memories."""


def fetched_tile(config: CoreConfig) -> ShapeLike:
    """A `FetchedTile`, and whether it is sparse if multiplies may be."""
    if not config.sparse:
        return FetchedTile
    return data.StructLayout(
        {**{name: field.shape for name, field in data.Layout.cast(FetchedTile)}, "sparse": 1}
    )


class ResultTile(data.Struct):
    """What becomes of a tile's results."""

    tile_shape: TileShape
    passes: unsigned(2)
    """As in `TileRequest`; or `ADDED_PASSES` for two, after which C is added. (A bit of its own would widen
    the queue of every core.)"""
    d_is_f16: unsigned(1)
    d: unsigned(REGISTER_BITS)
    """First register."""


class TileFetch(Component):
    """Reads X and then Y from one port and C from another at the same time, a register word of each a cycle.

    With two registers in a word, X, Y and C have a port each.

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
    Testbench: cocotb_tests/multiply/test_tile.py, through `TileMultiplier`.

    Members
    -------
    request : In(stream.Signature(request_shape(config)))
        Two may wait here while another one is in flight. Ready comes from a register.
    fetched : Out(1)
        High for one cycle when the last word of a request has been read; it arrives later.
    read : Out(word_read_signature(config)).array(word_registers)
        Of X and Y.
    c_read : Out(word_read_signature(config))
    stored_read : Out(word_read_signature(config)).array(word_registers)
        As `read`, of the operand storage. Only where there is `wgmma`.
    write : Out(row_write_layout(config))
    x_data, y_data, c_data : Out(tile_word_bits(config))
    tile : Out(stream.Signature(fetched_tile(config)))
        Offered when all of it is in the row memories; taken when none of it is needed any more.
    result_tile : Out(stream.Signature(ResultTile))
        A tile is on its way.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        members = {
            "request": In(stream.Signature(request_shape(config))),
            "fetched": Out(1),
            "read": Out(word_read_signature(config)).array(config.word_registers),
            "c_read": Out(word_read_signature(config)),
            "write": Out(row_write_layout(config)),
            **{f"{name}_data": Out(tile_word_bits(config)) for name in "xyc"},
            "tile": Out(stream.Signature(fetched_tile(config))),
            "result_tile": Out(stream.Signature(ResultTile)),
        }
        if config.wgmma:
            members["stored_read"] = Out(word_read_signature(config)).array(config.word_registers)
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        buffers = row_buffers(self._config)
        m.submodules.requests = requests = StreamBuffer(request_shape(self._config))
        m.submodules.tiles = tiles = CreditQueue(fetched_tile(self._config), depth=buffers)
        connect(m, flipped(self.request), requests.input)
        connect(m, tiles.output, flipped(self.tile))
        waiting = _tile_of(self._config, requests.output)
        begin = Signal()
        may_begin = Signal()
        idle = Signal()
        finish = Signal()
        request = Signal(TileRequest, reset_less=True)
        buffer = Signal(range(buffers))
        m.d.comb += [
            self.result_tile.valid.eq(requests.output.valid & may_begin),
            self.result_tile.payload.tile_shape.eq(waiting.tile_shape),
            self.result_tile.payload.passes.eq(
                waiting.passes
                if self._config.scales
                else Mux(waiting.converted, ADDED_PASSES, waiting.passes)
            ),
            self.result_tile.payload.d_is_f16.eq(waiting.operation.result != Result.F32),
            self.result_tile.payload.d.eq(waiting.d),
            begin.eq(self.result_tile.valid & self.result_tile.ready),
            requests.output.ready.eq(begin),
            may_begin.eq((idle | finish) & tiles.ready),
        ]
        m.d.sync += self.fetched.eq(finish)
        with m.If(begin):
            m.d.sync += [request.eq(waiting), buffer.eq(buffer + 1)]

        arriving = Signal.like(self.write)
        walks = self._read(m, begin, waiting, request, arriving)
        # Where X and Y share a port, X is followed by Y.
        apart = self._config.word_registers > 1
        ended = [~walk.reading | (walk.at_end & (apart | (name != "x"))) for name, walk in walks.items()]
        m.d.comb += [
            idle.eq(~Cat(walk.reading for walk in walks.values()).any()),
            finish.eq(Cat(ended).all() & ~idle),
            arriving.buffer.eq(buffer),
            self.write.eq(delay(m, arriving.as_value(), READ_LATENCY, "arriving")),
            _enables(self.write).eq(delay(m, _enables(arriving), READ_LATENCY, "enables", reset_less=False)),
            *self._words(m, begin, requests.output.payload, walks),
            tiles.enter.eq(begin),
            tiles.push.eq(delay(m, finish, READ_LATENCY, "finish", reset_less=False)),
            tiles.payload.eq(delay(m, self._tile(m, request, buffer).as_value(), READ_LATENCY, "tile")),
        ]

    def _words(self, m: Module, begin: Signal, waiting: data.View, walks: Mapping[str, "_Walk"]) -> list[Any]:
        """Take words of X and Y from the registers or the operand storage, and their signs and C as asked."""
        if not self._config.wgmma:
            data_of_ports = self.read[0].data, self.read[-1].data, self.c_read.data
            return [
                given.eq(found)
                for given, found in zip((self.x_data, self.y_data, self.c_data), data_of_ports, strict=True)
            ]
        flags = Signal(request_shape(self._config), reset_less=True)
        with m.If(begin):
            m.d.sync += flags.eq(waiting)
        multiplicand = flags.tile.operation.multiplicand
        is_fp8 = multiplicand == Multiplicand.FP8
        is_tf32 = multiplicand == Multiplicand.TF32
        # Of two operands that share a port, Y is read after X.
        x, y = walks["x"].reading, walks["y"].reading
        stored = [(x, flags.x_stored), (y, flags.y_stored)]
        if len(self.read) == 1:
            stored = [(x | y, Mux(x, flags.x_stored, flags.y_stored))]
        words = []
        for number, (port, kept) in enumerate(zip(self.read, self.stored_read, strict=True)):
            reading, is_stored = stored[number]
            late = delay(m, is_stored, READ_LATENCY, f"stored_{number}")
            m.d.comb += [
                kept.enable.eq(reading & is_stored),
                port.enable.eq(reading & ~is_stored),
                kept.address.eq(port.address),
            ]
            words.append(Mux(late, kept.data, port.data))
        for number, (name, word) in enumerate(zip("xy", (words[0], words[-1]), strict=True)):
            negated = flags.negated[number]
            bits = delay(m, Cat(negated & is_fp8, negated & ~is_tf32, negated), READ_LATENCY, f"{name}_signs")
            seven, fifteen, last = bits
            of_lane = [seven if bit in (7, 23) else fifteen if bit == 15 else last for bit in (7, 15, 23, 31)]
            signs = Cat(*(Cat(Const(0, 7), sign) for sign in of_lane))
            m.d.comb += getattr(self, f"{name}_data").eq(word ^ signs.replicate(len(word) // LANE_BITS))
        zero_c = delay(m, flags.zero_c, READ_LATENCY, "zero_c")
        return [self.c_data.eq(Mux(zero_c, 0, self.c_read.data))]

    def _tile(self, m: Module, request: data.View, buffer: Signal) -> Signal:
        """What is to be issued, when it has arrived."""
        tile = Signal(fetched_tile(self._config))
        if self._config.sparse:
            m.d.comb += tile.sparse.eq(sparse_y(request))
        operation = request.operation
        m.d.comb += [
            *(tile[name].eq(request[name]) for name in ("operation", "tile_shape", "passes", "converted")),
            tile.whole_rows.eq(request.halves & ((request.passes == 0) | request.converted)),
            tile.buffer.eq(buffer),
        ]
        with m.If(request.x_is_b):
            m.d.comb += [
                tile.operation.a_signed.eq(operation.b_signed),
                tile.operation.b_signed.eq(operation.a_signed),
                tile.operation.a_e5m2.eq(operation.b_e5m2),
                tile.operation.b_e5m2.eq(operation.a_e5m2),
            ]
        return tile

    def _read(
        self, m: Module, begin: Signal, waiting: data.View, request: data.View, arriving: data.View
    ) -> dict[str, "_Walk"]:
        """Walk the registers of X, Y and C."""
        paired = Const(self._config.word_registers - 1, 1)
        is_packed = request.operation.c_is_f16
        blocks = last_block(request.tile_shape)
        last_of_c = Mux(is_packed, blocks, Cat(1, blocks))
        x = self._walk(m, "x", begin, waiting.x, _last_of_rows(request, Const(1, 1)), paired)
        after_x = begin if self._config.word_registers > 1 else x.reading & x.at_end
        first_of_y = waiting.y if self._config.word_registers > 1 else request.y
        last_of_y = _last_of_rows(request, Const(0, 1))
        is_sparse = sparse_y(request) if self._config.sparse else Const(0, 1)
        if self._config.sparse:
            last_of_y = Mux(is_sparse, Cat(1, request.halves), last_of_y)
        y = self._walk(m, "y", after_x, first_of_y, last_of_y, paired)
        c = self._walk(m, "c", begin, waiting.c, last_of_c, paired & ~is_packed)
        m.d.comb += [self.c_read.enable.eq(c.reading), self.c_read.address.eq(c.address)]
        if self._config.word_registers > 1:
            asked = [(walk.reading, walk.address) for walk in (x, y)]
        else:
            asked = [(x.reading | y.reading, Mux(x.reading, x.address, y.address))]
        for port, (enable, address) in zip(self.read, asked, strict=True):
            m.d.comb += [port.enable.eq(enable), port.address.eq(address)]
        for name, walk, order in (("x", x, request.x_order), ("y", y, request.y_order)):
            for lane, place in enumerate(arriving[name]):
                register = Signal(3, name=f"{name}_register_{lane}")
                m.d.comb += register.eq(walk.register | lane)
                block, second = block_indices(m, order, register)
                valid = walk.reading & ((lane == 0) | walk.last.any())
                if name == "y" and self._config.sparse:
                    # Of each two words of a sparse row the first one's place is for both.
                    valid = valid if lane == 0 else valid & ~is_sparse
                    if lane == 0:
                        m.d.comb += [arriving.y_sparse.eq(is_sparse), arriving.y_odd.eq(second[0])]
                    second = Mux(is_sparse, second[1], second[0])
                m.d.comb += [
                    place.valid.eq(valid),
                    place.word_block.eq(Cat(walk.number, block)),
                    place.second.eq(second),
                ]
        both = is_packed | paired
        m.d.comb += [
            arriving.c.eq(Cat(both | ~c.register[0], both | c.register[0]) & c.reading.replicate(2)),
            arriving.c_apart.eq(paired & ~is_packed),
            arriving.c_word_block.eq(Cat(c.number, Mux(is_packed, c.register[:2], c.register[1:]))),
        ]
        return {"x": x, "y": y, "c": c}

    def _walk(self, m: Module, name: str, begin: Value, first: Value, last: Value, paired: Value) -> "_Walk":
        """Count the words of a fragment, from its first register to its last, in pairs if `paired`."""
        number_bits = Steps(self._config).word_number_bits
        reading = Signal(name=f"{name}_reading")
        word = Signal(number_bits + 3, name=f"{name}_word")
        address = Signal(address_bits(self._config), name=f"{name}_address", reset_less=True)
        number, register = word[:number_bits], word[number_bits:]
        at_end = Signal(name=f"{name}_at_end")
        last_word = Cat(Const((1 << number_bits) - 1, number_bits), last[0] | paired, last[1:])
        m.d.comb += at_end.eq(Cat(number, register[0] | paired, register[1:]) == last_word)
        with m.If(reading):
            m.d.sync += [word.eq(word + 1 + paired), address.eq(address + 1 + paired)]
            with m.If(at_end):
                m.d.sync += [word.eq(0), reading.eq(0)]
        with m.If(begin):
            m.d.sync += [reading.eq(1), address.eq(word_address(self._config, first, Const(0, number_bits)))]
        return _Walk(reading, at_end, address, number, register, last)


@dataclass(frozen=True)
class _Walk:
    """The state of a walk over a fragment: the word that is read now."""

    reading: Signal
    at_end: Signal
    address: Signal
    number: Value
    register: Value
    last: Value


def _tile_of(config: CoreConfig, requests: Any) -> data.View:
    """The `TileRequest` of a stream of requests."""
    found: data.View = requests.payload.tile if config.wgmma else requests.payload
    return found


def _enables(write: data.View) -> Value:
    """The bits without which nothing is written."""
    return Cat(write.c, *(place.valid for rows in (write.x, write.y) for place in rows))


def _last_of_rows(request: data.View, is_x: Value) -> Value:
    """The last register of X or Y, counted from its first: three bits."""
    last = last_block(request.tile_shape)
    is_square = request.tile_shape == TileShape.SQUARE_16
    # One block of rows, two or four, less one.
    of_x = Cat(last[0], last[1] & ~is_square)
    rows = Mux(is_x, of_x, Cat(is_square, 0))
    return Mux(request.halves, Cat(1, rows), rows)[:3]
