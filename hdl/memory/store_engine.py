"""The store engine: fragments from the registers to the memories, several under way at once."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.tables.faults import Cause
from hdl.config import CoreConfig
from hdl.memory.beats import CAUSE_BITS, WriteBeat, access_layout, space_burst_layout
from hdl.memory.burst_generator import BurstGenerator, lines_layout
from hdl.memory.fragment_reader import FragmentReader
from hdl.memory.line_pack import LinePack
from hdl.memory.line_request import LineRequest, line_request
from hdl.memory.store_crossbar import StoreCrossbar
from hdl.registers.register_ports import quad_read_signature
from hdl.stream.queue import Queue

__all__ = ["BURSTS_UNDER_WAY", "STORES_UNDER_WAY", "StoreEngine"]

STORES_UNDER_WAY = 4
"""Stores that have been taken and have not asked for their last burst."""

BURSTS_UNDER_WAY = 32
"""Bursts that have been asked for and not been answered; their stores have all been taken."""

_PROGRESS_BITS = 16


class StoreEngine(wiring.Component):
    """Reads the registers of its stores one after the other, and sends them to the memories.

    A store asks for the bus only when all its registers have been read, and every burst goes out before its
    first beat. A store whose bursts are in part refused writes the others all the same.

    Throughput: a beat per cycle, from one store to the next without a gap as long as the registers are read
    as fast; they are read while the stores before leave. At most `BURSTS_UNDER_WAY` bursts are unanswered.
    Latency: 3 cycles from the last register read to the first burst. None of `request.ready`, `read.ready`,
    `bursts.ready`, `beats.ready` depends on another.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(access_layout(config)))
    rows : In(stream.Signature(address_bits))
        Addresses of the lines of those that are listed. Only where there is on-chip memory.
    fetched : Out(1)
        High for one cycle when all registers of a store have been read, in order.
    done : Out(1)
        High for one cycle when the last burst of a store has been answered, in order.
    cause : Out(4)
        With `done`: zero, or the `Cause` of the first burst that was refused.
    progress : Out(16)
        With `done`, after a failure: bursts acknowledged before the first that was refused.
    bursts : Out(stream.Signature(space_burst_layout(config)))
    beats : Out(stream.Signature(WriteBeat))
        Those of each burst, in the order of the bursts.
    responses : In(stream.Signature(2))
        A `hdl.memory.axi.Response` for each burst, in order.
    read : Out(quad_read_signature(config))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        members = {
            "request": In(stream.Signature(access_layout(config))),
            "fetched": Out(1),
            "done": Out(1),
            "cause": Out(CAUSE_BITS),
            "progress": Out(_PROGRESS_BITS),
            "bursts": Out(stream.Signature(space_burst_layout(config))),
            "beats": Out(stream.Signature(WriteBeat)),
            "responses": In(stream.Signature(unsigned(2))),
            "read": Out(quad_read_signature(config)),
        }
        if config.shared_bytes:
            members["rows"] = In(stream.Signature(unsigned(config.address_bits)))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        access = self.request.payload
        m.submodules.reader = reader = FragmentReader(config)
        m.submodules.crossbar = crossbar = StoreCrossbar(config)
        m.submodules.pack = pack = LinePack(config)
        m.submodules.bursts = bursts = BurstGenerator(config)

        m.submodules.burst_queue = burst_queue = Queue(lines_layout(config), STORES_UNDER_WAY)
        m.submodules.line_queue = line_queue = Queue(LineRequest, 2 * STORES_UNDER_WAY)
        lines, walk = burst_queue.input.payload, line_queue.input.payload
        m.d.comb += [
            lines.space.eq(access.space),
            lines.address.eq(access.address),
            lines.stride.eq(access.stride),
            lines.lines_log2.eq(access.geometry.lines_log2),
            lines.line_log2.eq(access.geometry.line_log2),
            lines.contiguous.eq(access.contiguous),
            lines.listed.eq(access.listed),
            *(walk[name].eq(value) for name, value in line_request(access).items()),
        ]
        room = burst_queue.input.ready & line_queue.input.ready
        taken = self.request.valid & self.request.ready
        m.d.comb += [
            self.request.ready.eq(reader.request.ready & room),
            reader.request.valid.eq(self.request.valid & room),
            reader.request.payload.geometry.eq(access.geometry),
            reader.request.payload.register.eq(access.register),
            burst_queue.input.valid.eq(taken),
            line_queue.input.valid.eq(taken),
        ]
        connect(m, line_queue.output, pack.request)
        connect(m, reader.read, flipped(self.read))
        connect(m, reader.words, crossbar.words)
        connect(m, crossbar.segments, pack.segments)
        connect(m, pack.beats, flipped(self.beats))
        m.d.comb += self.fetched.eq(reader.fetched)

        # Stores whose registers have all been read and that have not asked for the bus.
        waiting = Signal(range(STORES_UNDER_WAY + 1))
        begins = bursts.lines.valid & bursts.lines.ready
        m.d.comb += [
            bursts.lines.payload.eq(burst_queue.output.payload),
            bursts.lines.valid.eq(waiting != 0),
            burst_queue.output.ready.eq(begins),
        ]
        m.d.sync += waiting.eq(waiting + reader.fetched - begins)
        if config.shared_bytes:
            connect(m, flipped(self.rows), bursts.rows)
        self._send(m, bursts, pack)
        return m

    def _send(self, m: Module, bursts: BurstGenerator, pack: LinePack) -> None:
        """Bursts out, their lengths to the beats, and their answers in."""
        m.submodules.lengths = lengths = Queue(unsigned(8), BURSTS_UNDER_WAY)
        m.submodules.finals = finals = Queue(unsigned(1), BURSTS_UNDER_WAY)
        issued = self.bursts.valid & self.bursts.ready
        m.d.comb += [
            self.bursts.payload.eq(bursts.bursts.payload),
            self.bursts.valid.eq(bursts.bursts.valid & finals.input.ready & lengths.input.ready),
            bursts.bursts.ready.eq(issued),
            lengths.input.payload.eq(bursts.bursts.payload.length),
            lengths.input.valid.eq(issued),
            finals.input.payload.eq(bursts.ends),
            finals.input.valid.eq(issued),
        ]
        connect(m, lengths.output, pack.lengths)

        cause = Signal(CAUSE_BITS)
        progress = Signal(_PROGRESS_BITS)
        answered = Signal()
        cause_now = Signal(CAUSE_BITS)
        progress_now = Signal(_PROGRESS_BITS)
        final = finals.output.payload
        response = self.responses.payload
        m.d.comb += [
            self.responses.ready.eq(finals.output.valid),
            answered.eq(self.responses.valid & self.responses.ready),
            finals.output.ready.eq(answered),
            cause_now.eq(cause),
            progress_now.eq(progress),
        ]
        with m.If(cause == 0):
            with m.If(~response[1]):
                m.d.comb += progress_now.eq(progress + 1)
            with m.Else():
                m.d.comb += cause_now.eq(
                    Mux(response[0], Cause.WRITE_DECODE_ERROR.value, Cause.WRITE_SLAVE_ERROR.value)
                )
        m.d.sync += self.done.eq(answered & final)
        with m.If(answered):
            m.d.sync += [
                *(cause.eq(Mux(final, 0, cause_now)), self.cause.eq(cause_now)),
                *(progress.eq(Mux(final, 0, progress_now)), self.progress.eq(progress_now)),
            ]
