"""Fill and move: the commands that stay within the register file."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import QUADS, CoreConfig
from hdl.registers.ports import (
    register_read_signature,
    register_write_signature,
    word_address,
    word_bits,
)

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


class _State(enum.Enum, shape=2):
    IDLE = 0
    READ = 1
    WRITE = 2


class RegisterMover(wiring.Component):
    """Writes register after register, word after word.

    A word is written before the next one is read, so an overlapping move copies what the registers before it
    have become: register by register, as the golden machine does.

    Throughput: a fill one word per cycle, a move one word in two, while the ports are free. Latency: one
    cycle more.

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
        self._config = config
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
        config = self._config
        group_bits = (QUADS // config.word_quads).bit_length() - 1
        state = Signal(_State)
        request = Signal(MoveRequest)
        index = Signal(group_bits + 9)
        group, register = index[:group_bits], index[group_bits:]
        fresh = Signal()
        held = Signal(word_bits(config))
        word = Signal(word_bits(config))
        ended = Signal()
        m.d.comb += [
            self.request.ready.eq(state == _State.IDLE),
            self.read.enable.eq((state == _State.READ) & ~ended),
            self.read.address.eq(word_address(config, request.source + register, group)),
            word.eq(Mux(fresh, self.read.data, held)),
            self.write.enable.eq((state == _State.WRITE) & ~ended),
            self.write.address.eq(word_address(config, request.destination + register, group)),
            self.write.data.eq(Mux(request.is_move, word, request.value.replicate(4 * config.word_quads))),
            self.write.lanes.eq(~0),
            self.done.eq(ended),
        ]
        m.d.sync += fresh.eq(0)
        with m.If(fresh):
            m.d.sync += held.eq(self.read.data)
        with m.If(self.read.enable & self.read.ready):
            m.d.sync += [fresh.eq(1), state.eq(_State.WRITE)]
        with m.If(self.write.enable & self.write.ready):
            m.d.sync += index.eq(index + 1)
            with m.If(request.is_move):
                m.d.sync += state.eq(_State.READ)
            m.d.sync += ended.eq((index + 1)[group_bits:] == request.count)
        with m.If(ended):
            m.d.sync += [state.eq(_State.IDLE), ended.eq(0)]
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += [
                request.eq(self.request.payload),
                index.eq(0),
                ended.eq(self.request.payload.count == 0),
                state.eq(Mux(self.request.payload.is_move, _State.READ, _State.WRITE)),
            ]
        return m
