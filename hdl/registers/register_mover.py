"""Fill and move: the commands that stay within the register file."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.registers.register_file import register_read_signature, register_write_signature

__all__ = ["MoveRequest", "RegisterMover"]


class MoveRequest(data.Struct):
    """A fill or move; the register ranges have been checked.

    Members
    -------
    is_move : unsigned(1)
        Copy from `source`; otherwise write `value` to every lane.
    destination, source : unsigned(8)
        First registers.
    count : unsigned(9)
        Registers; may be zero.
    value : unsigned(32)
    """

    is_move: unsigned(1)
    destination: unsigned(8)
    source: unsigned(8)
    count: unsigned(9)
    value: unsigned(32)


class RegisterMover(wiring.Component):
    """Writes one register word per cycle, register after register.

    A word is written one cycle after it is read and read eight cycles before the same quad of the
    next register, so an overlapping move copies what the registers before it have become: register
    by register, as the golden machine does.

    Throughput: 8 cycles a register. Latency: 2 cycles more.

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
    read : Out(register_read_signature(config))
    """

    def __init__(self, config: CoreConfig) -> None:
        super().__init__(
            {
                "request": In(stream.Signature(MoveRequest)),
                "done": Out(1),
                "write": Out(register_write_signature(config)),
                "read": Out(register_read_signature(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        active = Signal()
        request = Signal(MoveRequest)
        word = Signal(12)
        reading = Signal()
        writing = Signal()
        target = Signal.like(self.write.address)
        m.d.comb += [
            self.request.ready.eq(~active),
            reading.eq(active & (word != request.count << 3)),
            self.read.enable.eq(reading),
            self.read.address.eq(Cat(Const(0, 3), request.source) + word),
            self.write.enable.eq(writing),
            self.write.address.eq(target),
            self.write.data.eq(Mux(request.is_move, self.read.data, request.value.replicate(4))),
            self.write.lanes.eq(0b1111),
            self.done.eq(active & ~reading),
        ]
        m.d.sync += [writing.eq(reading), target.eq(Cat(Const(0, 3), request.destination) + word)]
        with m.If(~active):
            m.d.sync += word.eq(0)
            with m.If(self.request.valid):
                m.d.sync += [request.eq(self.request.payload), active.eq(1)]
        with m.Elif(reading):
            m.d.sync += word.eq(word + 1)
        with m.Else():
            m.d.sync += active.eq(0)
        return m
