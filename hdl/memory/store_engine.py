"""The store engine: fragments from the registers to the memories, several in flight at once."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.tables.faults import Cause
from golden.tables.layouts import WORD_BYTES
from hdl.component import Component
from hdl.config import CoreConfig
from hdl.memory.assembly_queue import ASSEMBLED
from hdl.memory.bank_mapping import BUFFERS
from hdl.memory.banks import banks_signature
from hdl.memory.beats import CAUSE_BITS, EARLY_BITS, access_layout, space_burst_layout, write_beat_layout
from hdl.memory.burst_generator import BurstGenerator
from hdl.memory.fragment_reader import FragmentReader
from hdl.memory.line_address_generator import finds_rows
from hdl.memory.store_crossbar import StoreCrossbar
from hdl.registers.register_ports import quad_read_signature
from hdl.stream.queue import Queue

STORES_IN_FLIGHT = 8
"""Stores that have been taken and have not left the crossbar."""

BURSTS_IN_FLIGHT = 32
"""Bursts that have been asked for and not been answered; their stores have all been taken."""

BURSTS_OF_STORE = 64
"""Bursts of a store at most: each of 32 lines may cross the end of a page."""

_FEWEST_BEATS = 4
"""Beats of a store."""

_UNASKED = BUFFERS + 1 + ASSEMBLED // _FEWEST_BEATS
"""Stores that have been read and have not asked for their last burst: some in the crossbar's buffers, the
others in its queue of `ASSEMBLED` + 1 beats, the oldest of them with one beat at least."""


class StoreEngine(Component):
    """Reads the registers of its stores one after the other, and sends them to the memories.

    A store asks for the bus only when all its registers have been read. If a burst is refused, the other
    bursts of that store are still written.

    Throughput: a beat per cycle, from one store to the next without a gap as long as the registers are read
    as fast; they are read while the stores before leave. At most `BURSTS_IN_FLIGHT` bursts are unanswered.
    Latency: 3 cycles from the last register read to the first burst. None of `request.ready`, `read.ready`,
    `bursts.ready`, `beats.ready` depends on another.

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
    progress : Out(range(BURSTS_OF_STORE))
        With `done`, after a failure: bursts acknowledged before the first that was refused.
    bursts : Out(stream.Signature(space_burst_layout(config)))
    beats : Out(stream.Signature(write_beat_layout(config)))
        In the order of the bursts. One may be offered before its burst is, and waits for it.
    responses : In(stream.Signature(2))
        A `hdl.memory.axi.Response` for each burst, in order.
    read : Out(quad_read_signature(config, quads=config.beat_quads))
    banks : Out(banks_signature(config))
        Its fills come before all others.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        members = {
            "request": In(stream.Signature(access_layout(config))),
            "fetched": Out(1),
            "done": Out(1),
            "cause": Out(CAUSE_BITS),
            "progress": Out(range(BURSTS_OF_STORE)),
            "bursts": Out(stream.Signature(space_burst_layout(config))),
            "beats": Out(stream.Signature(write_beat_layout(config))),
            "responses": In(stream.Signature(unsigned(2))),
            "read": Out(quad_read_signature(config, quads=config.beat_quads)),
            "banks": Out(banks_signature(config)),
        }
        if config.shared_bytes:
            members["rows"] = In(stream.Signature(unsigned(config.address_bits)))
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        config = self._config
        m.submodules.reader = reader = FragmentReader(config)
        m.submodules.crossbar = crossbar = StoreCrossbar(config)
        connect(m, crossbar.banks, flipped(self.banks))
        m.submodules.bursts = bursts = BurstGenerator(config)
        # A store leaves the reader before the crossbar, so its queue has room when the crossbar's has.
        room = Const(1)
        # A word of block RAM comes too late in its cycle for the steps of the crossbar.
        queues = (
            ("reader", reader, "", 0),
            ("crossbar", crossbar, "distributed", 0),
            ("bursts", bursts, config.memory_style, EARLY_BITS),
        )
        for name, taker, style, early in queues:
            buffered, shape = taker is not reader, access_layout(config)
            queue = Queue(shape, STORES_IN_FLIGHT, buffered=buffered, style=style, early=early)
            m.submodules[f"{name}_queue"] = queue
            m.d.comb += [
                queue.input.payload.eq(self.request.payload),
                queue.input.valid.eq(self.request.valid & self.request.ready),
            ]
            connect(m, queue.output, taker.access)
            if taker is not reader:
                room &= queue.input.ready
        m.d.comb += self.request.ready.eq(room)
        connect(m, reader.read, flipped(self.read))
        m.d.comb += [
            crossbar.quad.eq(reader.quad),
            crossbar.data.eq(reader.data),
            reader.freed.eq(crossbar.freed),
            reader.hold.eq(crossbar.hold),
            self.fetched.eq(reader.fetched),
        ]
        if config.shared_bytes:
            connect(m, flipped(self.rows), bursts.rows)
        if finds_rows(config):
            connect(m, bursts.row_quads, crossbar.row_quads)
        self._send(m, bursts, crossbar, reader.fetched)

    def _send(self, m: Module, bursts: BurstGenerator, crossbar: StoreCrossbar, fetched: Signal) -> None:
        """Bursts and beats out, and their answers in."""
        m.submodules.finals = finals = Queue(unsigned(1), BURSTS_IN_FLIGHT)
        # Stores whose registers have all been read and that have not asked for their last burst.
        unasked = Signal(range(_UNASKED + 1))
        room = finals.input.ready & (unasked != 0)
        issued = bursts.bursts.valid & bursts.bursts.ready
        m.d.comb += [
            self.bursts.payload.eq(bursts.bursts.payload),
            self.bursts.valid.eq(bursts.bursts.valid & room),
            bursts.bursts.ready.eq(self.bursts.ready & room),
            finals.input.payload.eq(bursts.ends),
            finals.input.valid.eq(issued),
            self.beats.payload.data.eq(crossbar.beats.payload.data),
            self.beats.payload.strb.eq(Cat(bit.replicate(WORD_BYTES) for bit in crossbar.beats.payload.tag)),
            self.beats.valid.eq(crossbar.beats.valid),
            crossbar.beats.ready.eq(self.beats.ready),
        ]
        m.d.sync += unasked.eq(unasked + fetched - (issued & bursts.ends))

        refused = Signal(2)  # the first response so far that is no success, or a success
        refused_now = Signal(2)
        progress = Signal.like(self.progress)
        progress_now = Signal.like(self.progress)
        answered = Signal()
        final = finals.output.payload
        m.d.comb += [
            # The burst of a response is in the queue since it was asked for.
            self.responses.ready.eq(1),
            answered.eq(self.responses.valid),
            finals.output.ready.eq(answered),
            refused_now.eq(Mux(refused[1], refused, self.responses.payload)),
            progress_now.eq(progress + ~refused_now[1]),
        ]
        cause = Mux(refused_now[0], Cause.WRITE_DECODE_ERROR.value, Cause.WRITE_SLAVE_ERROR.value)
        m.d.sync += [
            self.done.eq(answered & final),
            self.cause.eq(Mux(refused_now[1], cause, 0)),
            self.progress.eq(progress_now),
        ]
        with m.If(answered):
            m.d.sync += [
                refused.eq(Mux(final, 0, refused_now)),
                progress.eq(Mux(final, 0, progress_now)),
            ]
