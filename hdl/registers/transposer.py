"""The transposer: a matrix in a register to its transpose in another."""

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.config import QUADS, CoreConfig
from hdl.registers.mover import MoveRequest
from hdl.registers.register_ports import (
    QUAD_BITS,
    READ_LATENCY,
    quad_read_signature,
    register_write_signature,
    word_address,
)
from hdl.stream.pipeline import delay

__all__ = ["Transposer"]

_ELEMENT_BITS = 16


class Transposer(wiring.Component):
    """Transposes an 8 x 8 matrix of 16-bit elements, a row in each quad of a register.

    All eight rows are read before the first is written, so a register may become its own transpose. A row of
    the transpose is gathered element by element from the rows of the matrix: one choice of an element of
    eight, where a row in each cycle would take eight of them.

    Throughput: a matrix in 86 cycles, if the ports are free. Latency: the same.
    Critical path expected: the rows' memory and the choice of an element.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(MoveRequest))
        With `transposes`; taken when idle.
    done : Out(1)
        High for one cycle when the last row has been written.
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
        m.submodules.rows = rows = Memory(shape=unsigned(QUAD_BITS), depth=QUADS, init=[])
        into, out = rows.write_port(), rows.read_port(domain="comb")
        request = Signal(MoveRequest)
        busy, reading, gathering, writing = Signal(), Signal(), Signal(), Signal()
        to_read, row, column = (Signal(range(QUADS), name=name) for name in ("to_read", "row", "column"))
        gathered = Signal(QUAD_BITS, reset_less=True)
        accepted, arrived, written = Signal(), Signal(), Signal()
        m.d.comb += [
            self.request.ready.eq(~busy),
            self.read.enable.eq(reading),
            self.read.address.eq(Cat(to_read, request.source)),
            accepted.eq(reading & self.read.ready),
            arrived.eq(delay(m, accepted, READ_LATENCY, "accepted", reset_less=False)),
            into.en.eq(arrived),
            into.addr.eq(row),
            into.data.eq(self.read.data),
            out.addr.eq(row),
            self.write.enable.eq(writing),
            self.write.address.eq(word_address(config, request.destination, column[inner:])),
            self.write.data.eq(gathered.replicate(config.word_quads)),
            self.write.lanes.eq(0b1111 << Cat(0, 0, column[:inner])),
            written.eq(writing & self.write.ready),
        ]
        m.d.sync += self.done.eq(written & column.all())
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += [request.eq(self.request.payload), busy.eq(1), reading.eq(1)]
        with m.If(accepted):
            m.d.sync += [to_read.eq(to_read + 1), reading.eq(~to_read.all())]
        # The row counts the quads that arrive, and then the rows that give an element of the column.
        with m.If(arrived | gathering):
            m.d.sync += row.eq(row + 1)
        with m.If(arrived & row.all()):
            m.d.sync += gathering.eq(1)
        with m.If(gathering):
            m.d.sync += gathered.eq(
                Cat(gathered[_ELEMENT_BITS:], out.data.word_select(column, _ELEMENT_BITS))
            )
            with m.If(row.all()):
                m.d.sync += [gathering.eq(0), writing.eq(1)]
        with m.If(written):
            m.d.sync += [writing.eq(0), column.eq(column + 1), gathering.eq(~column.all())]
        with m.If(self.done):
            m.d.sync += busy.eq(0)
        return m
