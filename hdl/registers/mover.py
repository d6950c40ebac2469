"""Fill and move: the commands that stay within the register file."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import QUADS, REGISTER_BITS, CoreConfig
from hdl.registers.register_ports import (
    LANE_BITS,
    QUAD_BITS,
    READ_LATENCY,
    quad_read_signature,
    register_write_signature,
    word_address,
)
from hdl.stream.elastic import CreditQueue
from hdl.stream.pipeline import delay

__all__ = ["MoveRequest", "RegisterMover"]

_PLACES = 8
"""For quads on their way: what one per cycle takes."""

_COUNT_BITS = 12
"""Of the number of a quad, from the first one of the first register on."""


class MoveRequest(data.Struct):
    """A fill or move; the register ranges have been checked.

    Members
    -------
    is_move : unsigned(1)
        Copy from `source`; otherwise write `value` to every lane.
    destination, source : unsigned(REGISTER_BITS)
        First registers.
    count : unsigned(9)
        Registers; may be zero.
    value : unsigned(32)
    transposes : unsigned(1)
        Not of the mover: `source` transposed to `destination`, see `hdl.registers.transposer`.
    """

    is_move: unsigned(1)
    destination: unsigned(REGISTER_BITS)
    source: unsigned(REGISTER_BITS)
    count: unsigned(9)
    value: unsigned(32)
    transposes: unsigned(1)


class RegisterMover(wiring.Component):
    """Fills word after word, and moves quad after quad.

    A register is read when the one before it has been written, so an overlapping move copies what the
    registers before it have become: register by register, as the golden machine does. Within a register reads
    and writes overlap, and are of different words: a move of registers to themselves has nothing to do.

    Throughput: a fill one word per cycle, a move one register in 12 cycles, while the ports are free.
    Latency: one cycle more.
    Critical path expected: the queue's quad to the write port.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(MoveRequest))
        Taken when idle.
    done : Out(1)
        High for one cycle when the last word has been written.
    write : Out(register_write_signature(config))
    read : Out(quad_read_signature(config))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "request": In(stream.Signature(MoveRequest)),
                "done": Out(1),
                "write": Out(register_write_signature(config)),
                "read": Out(quad_read_signature(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        inner = config.word_quads.bit_length() - 1
        m.submodules.places = places = CreditQueue(unsigned(QUAD_BITS), depth=_PLACES)
        request = Signal(MoveRequest)
        busy = Signal()
        to_read, to_write = Signal(_COUNT_BITS), Signal(_COUNT_BITS)
        after = Signal(_COUNT_BITS)
        read, written = Signal(), Signal()
        value = request.value.replicate(QUAD_BITS // LANE_BITS)
        m.d.comb += [
            self.request.ready.eq(~busy),
            self.read.enable.eq(
                busy & ~self.done & request.is_move & (to_read[3:] == to_write[3:]) & places.ready
            ),
            self.read.address.eq(request.source * QUADS + to_read),
            read.eq(self.read.enable & self.read.ready),
            places.enter.eq(read),
            places.push.eq(delay(m, read, READ_LATENCY, "read_arrives", reset_less=False)),
            places.payload.eq(self.read.data),
            places.output.ready.eq(self.write.ready),
            self.write.enable.eq(Mux(request.is_move, places.output.valid, busy & ~self.done)),
            self.write.address.eq(
                word_address(config, request.destination + to_write[3:], to_write[inner:3])
            ),
            self.write.data.eq(
                Mux(request.is_move, places.output.payload, value).replicate(config.word_quads)
            ),
            self.write.lanes.eq(Mux(request.is_move, 0b1111 << Cat(0, 0, to_write[:inner]), ~0)),
            written.eq(self.write.enable & self.write.ready),
            after.eq(to_write + Mux(request.is_move, 1, config.word_quads)),
        ]
        with m.If(read):
            m.d.sync += to_read.eq(to_read + 1)
        with m.If(written):
            m.d.sync += [to_write.eq(after), self.done.eq(after[3:] == request.count)]
        with m.If(self.done):
            m.d.sync += [busy.eq(0), self.done.eq(0)]
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += [
                request.eq(self.request.payload),
                to_read.eq(0),
                to_write.eq(0),
                self.done.eq(
                    (self.request.payload.count == 0)
                    | (
                        self.request.payload.is_move
                        & (self.request.payload.source == self.request.payload.destination)
                    )
                ),
                busy.eq(1),
            ]
        return m
