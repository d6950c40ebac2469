"""Fill, move and transpose: the commands that stay within the register file."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import QUADS, REGISTER_BITS, CoreConfig
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.registers.register_ports import (
    LANE_BITS,
    QUAD_BITS,
    READ_LATENCY,
    quad_read_signature,
    register_write_signature,
    word_address,
)
from hdl.stream.pipeline import delay

_ELEMENT_BITS = 16


class MoveRequest(data.Struct):
    """A fill, move or transposition; the register ranges have been checked."""

    is_move: unsigned(1)
    """Copy from `source`; otherwise write `value` to every lane."""
    destination: unsigned(REGISTER_BITS)
    source: unsigned(REGISTER_BITS)
    """First registers."""
    count: unsigned(9)
    """Registers; may be zero."""
    value: unsigned(32)
    transposes: unsigned(1)
    """`destination` becomes the transpose of the matrix in `source`; `is_move` is zero."""


class RegisterMover(Component):
    """Fills word after word, moves register after register, and transposes a register.

    The quads of a register are read into a memory of eight rows. A register is read when the one before it
    has been written, so an overlapping move copies what the registers before it have become: register by
    register, as the golden machine does. Within a register reads and writes overlap, and are of different
    words: a move of registers to themselves has nothing to do.

    A matrix of 8 x 8 elements of 16 bits has a row in each quad. Its transpose is written lane by lane when
    all rows are in the memory, so a register may become its own transpose: the two elements of a lane come
    from the same place of two rows, one in each cycle, and replace the value of a fill.

    A word of the host passes as if it were a fill's, in a cycle in which nothing else is written, so that
    the write port has one source less.

    Throughput: a fill one word per cycle, a move one register in 13 cycles, a transposition in 77, while the
    ports are free. Latency: one cycle more.
    Expected critical path: the rows' memory to the write port.

    Members
    -------
    request : In(stream.Signature(MoveRequest))
        Taken when idle.
    done : Out(1)
        High for one cycle when the last word has been written.
    host : In(register_write_signature(config))
        The same value in all lanes.
    write : Out(register_write_signature(config))
        It may change from a word of the host that waits to the mover's own.
    read : Out(quad_read_signature(config))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        members = {
            "request": In(stream.Signature(MoveRequest)),
            "done": Out(1),
            "host": In(register_write_signature(config)),
            "write": Out(register_write_signature(config)),
            "read": Out(quad_read_signature(config)),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        config = self._config
        inner = config.word_quads.bit_length() - 1
        offered = self.request.payload
        request = Signal(MoveRequest, reset_less=True)
        reading = Signal()
        to_read = Signal(range(QUADS))
        arrived = Signal(range(QUADS + 1))  # rows
        available, gathered = Signal(), Signal()
        quad, row = Signal(range(QUADS)), Signal(range(QUADS))
        m.submodules.rows = rows = collision_free_memory(QUAD_BITS, QUADS, style=config.memory_style)
        into, out = rows.write_port(), rows.read_port()
        lane, written_quad = Signal(2), Signal(range(QUADS))
        accepted = Signal()
        arrives = Signal()
        written = Signal()
        writes = Signal()
        lanes = Signal(4 * config.word_quads)
        value = Signal(LANE_BITS)
        # The newest element of a transposing move: what block RAM gives late has this register for itself.
        newest = Signal(_ELEMENT_BITS, reset_less=True)
        low, high = request.value[:_ELEMENT_BITS], request.value[_ELEMENT_BITS:]
        own = Cat(low, Mux(request.transposes, newest, high))
        m.d.comb += [
            self.read.enable.eq(reading),
            self.read.address.eq(Cat(to_read, request.source)),
            accepted.eq(reading & self.read.ready),
            arrives.eq(delay(m, accepted, READ_LATENCY, "accepted", reset_less=False)),
            into.en.eq(arrives),
            into.addr.eq(arrived[:-1]),
            into.data.eq(self.read.data),
            written_quad.eq(quad),
            value.eq(Mux(writes, own, self.host.data[:LANE_BITS])),
            self.write.enable.eq(writes | self.host.enable),
            self.write.address.eq(
                Mux(
                    writes,
                    word_address(config, request.destination, written_quad[inner:]),
                    self.host.address,
                )
            ),
            self.write.lanes.eq(Mux(writes, lanes, self.host.lanes)),
            self.write.data.eq(
                Mux(writes & request.is_move, out.data, value.replicate(QUAD_BITS // LANE_BITS)).replicate(
                    config.word_quads
                )
            ),
            self.host.ready.eq(self.write.ready & ~writes),
            written.eq(writes & self.write.ready),
        ]
        m.d.sync += [
            self.done.eq(0),
            arrived.eq(arrived + arrives),
            available.eq(arrived != quad + written),
            gathered.eq(arrived[-1]),
        ]
        # The row of the next cycle, made for both answers of the write port, which is late.
        current = Signal(range(QUADS))
        if_waiting, if_written = Signal(), Signal()
        rows_after = [(current + is_next)[: len(current)] for is_next in (if_waiting, if_written)]
        m.d.comb += [
            current.eq(quad),
            if_written.eq(writes & request.is_move),
            out.addr.eq(Mux(self.write.ready, rows_after[1], rows_after[0])),
        ]
        with m.If(accepted):
            m.d.sync += [to_read.eq(to_read + 1), reading.eq(~to_read.all())]
        with m.FSM(name="mover"):
            with m.State("IDLE"):
                m.d.comb += self.request.ready.eq(1)
                m.d.sync += request.eq(offered)
                with m.If(self.request.valid):
                    with m.If(offered.transposes):
                        m.d.sync += reading.eq(1)
                        m.next = "GATHER"
                    with m.Elif(
                        (offered.count == 0) | (offered.is_move & (offered.source == offered.destination))
                    ):
                        m.d.sync += self.done.eq(1)
                    with m.Else():
                        m.d.sync += reading.eq(offered.is_move)
                        m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += [
                    writes.eq(~request.is_move | available),
                    lanes.eq(Mux(request.is_move, 0b1111 << Cat(0, 0, quad[:inner]), ~0)),
                ]
                with m.If(written):
                    m.d.sync += quad.eq(quad + Mux(request.is_move, 1, config.word_quads))
                    with m.If((quad | Mux(request.is_move, 0, config.word_quads - 1)).all()):
                        m.d.sync += [
                            arrived.eq(0),
                            request.source.eq(request.source + 1),
                            request.destination.eq(request.destination + 1),
                            request.count.eq(request.count - 1),
                        ]
                        with m.If(request.count[1:] == 0):
                            m.d.sync += self.done.eq(1)
                            m.next = "IDLE"
                        with m.Else():
                            m.d.sync += reading.eq(request.is_move)
            with m.State("GATHER"):
                writing, shift = Signal(), Signal()
                of_quad = Signal(range(QUADS))
                element = out.data.word_select(quad, _ELEMENT_BITS)
                m.d.comb += [
                    writes.eq(writing),
                    lanes.eq(1 << Cat(lane, of_quad[:inner])),
                    written_quad.eq(of_quad),
                    shift.eq(gathered & (~writing | self.write.ready)),
                    current.eq(row),
                    if_waiting.eq(gathered & ~writing),
                    if_written.eq(gathered),
                ]
                with m.If(written):
                    m.d.sync += writing.eq(0)
                    with m.If(Cat(lane, of_quad).all()):
                        m.d.sync += self.done.eq(1)
                        m.next = "IDLE"
                with m.If(shift):
                    m.d.sync += [
                        row.eq(row + 1),
                        newest.eq(element),
                        request.value[:_ELEMENT_BITS].eq(newest),
                    ]
                    with m.If(row[0]):
                        m.d.sync += [writing.eq(1), lane.eq(row[1:]), of_quad.eq(quad)]
                    with m.If(row.all()):
                        m.d.sync += quad.eq(quad + 1)
                        with m.If(quad.all()):
                            m.d.sync += [arrived.eq(0), gathered.eq(0)]
