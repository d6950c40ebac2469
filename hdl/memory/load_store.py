"""The load/store unit: checks an access, walks its lines on the bus, and reorders them for the registers."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect

from golden.faults import Cause
from golden.layouts import fragment
from hdl.axi import Axi4Signature, Response
from hdl.config import CoreConfig
from hdl.memory.bursts import STRIDE_BITS, BurstGenerator
from hdl.memory.crossbar import FragmentCrossbar
from hdl.memory.geometry import CHUNK_BYTES, FragmentGeometry, legal_fragments
from hdl.memory.realign import BeatsToChunks, ChunksToBeats, MaskedBeat, RealignRequest
from hdl.registers.register_file import register_read_signature, register_write_signature

__all__ = ["CAUSE_BITS", "LoadStoreRequest", "LoadStoreUnit"]

CAUSE_BITS = 4
"""Bits of a `golden.faults.Cause`; zero stands for success."""

_STORES_UNDER_WAY = 4


class LoadStoreRequest(data.Struct):
    """One load or store; the register range has been checked.

    Members
    -------
    geometry : FragmentGeometry
    store : unsigned(1)
    register : unsigned(8)
        First register of the fragment.
    address : unsigned(64)
        Byte address of the first element.
    has_stride : unsigned(1)
        Whether `stride` counts; otherwise the default stride is taken.
    stride : unsigned(32)
        Elements from one line to the next.
    """

    geometry: FragmentGeometry
    store: unsigned(1)
    register: unsigned(8)
    address: unsigned(64)
    has_stride: unsigned(1)
    stride: unsigned(32)


class _State(enum.Enum, shape=3):
    IDLE = 0
    STRIDE = 1
    ALIGNMENT = 2
    RANGE = 3
    START = 4
    RUN = 5
    DONE = 6


class LoadStoreUnit(wiring.Component):
    """Moves one fragment between memory and registers.

    A load takes all its bytes from the bus before it writes the first register, so that a bus error leaves
    the registers as they were; a store has read all its registers before it asks for the bus.
    Checks come first and touch nothing. The address is checked for its whole span, in three short steps, so
    that no 64-bit addition is chained to another.

    Latency without waits, of n chunks and w words: n + w + 8 cycles, and the memory's own.
    Throughput: one fragment at a time.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(LoadStoreRequest))
    done : Out(1)
        High for one cycle at the end of each request.
    cause : Out(4)
        With `done`: zero, or the `Cause` of the failure.
    progress : Out(16)
        With `done`, after a failed store: bursts the memory acknowledged before the first that it refused.
    axi : Out(Axi4Signature(config))
    write : Out(register_write_signature(config))
    read : Out(register_read_signature(config))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        sizes = [fragment(use, name, shape).size for use, name, shape, _ in legal_fragments(config)]
        self._unaligned = min(sizes) < CHUNK_BYTES
        super().__init__(
            {
                "request": In(stream.Signature(LoadStoreRequest)),
                "done": Out(1),
                "cause": Out(CAUSE_BITS),
                "progress": Out(16),
                "axi": Out(Axi4Signature(config)),
                "write": Out(register_write_signature(config)),
                "read": Out(register_read_signature(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        m.submodules.crossbar = crossbar = FragmentCrossbar(self._config)
        m.submodules.bursts = bursts = BurstGenerator(self._config)

        state = Signal(_State)
        request = Signal(LoadStoreRequest)
        geometry = request.geometry
        stride_bytes = Signal(STRIDE_BITS)
        cause = Signal(CAUSE_BITS)
        finished = Signal()

        self._check(m, state, request, stride_bytes, cause)

        m.d.comb += [
            self.request.ready.eq(state == _State.IDLE),
            crossbar.request.payload.geometry.eq(geometry),
            crossbar.request.payload.store.eq(request.store),
            crossbar.request.valid.eq(state == _State.START),
            bursts.lines.payload.address.eq(request.address),
            bursts.lines.payload.stride.eq(stride_bytes),
            bursts.lines.payload.lines_log2.eq(geometry.lines_log2),
            bursts.lines.payload.line_log2.eq(geometry.line_log2),
            self.done.eq(state == _State.DONE),
            self.cause.eq(cause),
        ]
        with m.If((state == _State.IDLE) & self.request.valid):
            m.d.sync += [request.eq(self.request.payload), cause.eq(0), state.eq(_State.STRIDE)]
        with m.If((state == _State.START) & crossbar.request.ready):
            m.d.sync += state.eq(_State.RUN)
        with m.If((state == _State.RUN) & finished):
            m.d.sync += state.eq(_State.DONE)
        with m.If(state == _State.DONE):
            m.d.sync += state.eq(_State.IDLE)

        running = state == _State.RUN
        words = Signal(7)
        started = Signal()
        m.d.comb += words.eq(geometry.registers << 3)
        realign_request = Signal(RealignRequest)
        m.d.comb += [
            realign_request.offset.eq(request.address[2:]),
            realign_request.stride.eq(stride_bytes[2:]),
            realign_request.line_log2.eq(geometry.line_log2),
        ]
        quiet = started & bursts.lines.ready
        load_finished = self._load(
            m, running & ~request.store, request, words, cause, quiet, realign_request, crossbar, bursts
        )
        store_finished = self._store(
            m, running & request.store, request, words, cause, quiet, realign_request, crossbar, bursts
        )
        with m.If(state == _State.START):
            m.d.sync += started.eq(0)
        with m.If(bursts.lines.valid & bursts.lines.ready):
            m.d.sync += started.eq(1)
        gathered = Signal()
        m.d.comb += [
            bursts.lines.valid.eq(running & ~started & (~request.store | gathered)),
            finished.eq(Mux(request.store, store_finished, load_finished)),
        ]
        with m.If(state == _State.START):
            m.d.sync += gathered.eq(0)
        with m.If(crossbar.chunks_out.valid):
            m.d.sync += gathered.eq(1)
        return m

    def _check(self, m: Module, state: Signal, request: Signal, stride_bytes: Signal, cause: Signal) -> None:
        """Alignment, stride and span of the access, in the order of the causes."""
        geometry = request.geometry
        default_stride = Signal(32)
        stride_bits = Signal(STRIDE_BITS + 3)
        size_mask = Signal(6)
        short = Signal()
        span_less_one = Signal(STRIDE_BITS + 6)
        last = Signal(66)
        line_less_one = Signal(7)
        m.d.comb += [
            default_stride.eq(1 << geometry.stride_log2),
            size_mask.eq((1 << geometry.size_log2) - 1),
            line_less_one.eq((1 << geometry.line_log2) - 1),
            stride_bytes.eq(stride_bits >> 3),
            last.eq(request.address + span_less_one),
        ]
        with m.Switch(state):
            with m.Case(_State.STRIDE):
                with m.If(~request.has_stride):
                    m.d.sync += request.stride.eq(default_stride)
                m.d.sync += [
                    short.eq(request.has_stride & (request.stride < default_stride)),
                    stride_bits.eq(
                        Mux(request.has_stride, request.stride, default_stride) << geometry.element_log2
                    ),
                    state.eq(_State.ALIGNMENT),
                ]
            with m.Case(_State.ALIGNMENT):
                m.d.sync += [
                    span_less_one.eq((stride_bytes << geometry.lines_log2) - stride_bytes + line_less_one),
                    state.eq(_State.RANGE),
                ]
                with m.If((request.address & size_mask).any()):
                    m.d.sync += [cause.eq(Cause.MISALIGNED_ADDRESS), state.eq(_State.DONE)]
                with m.Elif(short):
                    m.d.sync += [cause.eq(Cause.SHORT_STRIDE), state.eq(_State.DONE)]
                with m.Elif((stride_bits & Cat(Const(0b111, 3), size_mask)).any()):
                    m.d.sync += [cause.eq(Cause.MISALIGNED_STRIDE), state.eq(_State.DONE)]
            with m.Case(_State.RANGE):
                m.d.sync += state.eq(_State.START)
                with m.If(last[self._config.address_bits :].any()):
                    m.d.sync += [cause.eq(Cause.ADDRESS_RANGE), state.eq(_State.DONE)]

    def _load(
        self,
        m: Module,
        running: Signal,
        request: Signal,
        words: Signal,
        cause: Signal,
        quiet: Signal,
        realign_request: RealignRequest,
        crossbar: FragmentCrossbar,
        bursts: BurstGenerator,
    ) -> Signal:
        """Memory to registers; returns whether the load has come to its end."""
        config = self._config
        under_way = Signal(range(config.outstanding_reads + 1))
        words_done = Signal(7)
        read_issued = self.axi.ar.valid & self.axi.ar.ready
        beat = self.axi.r.valid & self.axi.r.ready
        error = beat & (self.axi.r.payload.resp >= Response.SLVERR.value)
        word = crossbar.words_out.valid & crossbar.words_out.ready
        beats = crossbar.chunks_in
        if self._unaligned:
            m.submodules.beats_to_chunks = realign = BeatsToChunks()
            m.d.comb += [realign.request.eq(realign_request), realign.start.eq(~running)]
            connect(m, realign.chunks, crossbar.chunks_in)
            beats = realign.beats
        m.d.comb += [
            self.axi.ar.payload.eq(bursts.bursts.payload),
            self.axi.ar.valid.eq(bursts.bursts.valid & running & (under_way != config.outstanding_reads)),
            beats.payload.data.eq(self.axi.r.payload.data),
            beats.payload.error.eq(error),
            beats.valid.eq(self.axi.r.valid & running),
            self.axi.r.ready.eq(beats.ready & running),
            crossbar.words_out.ready.eq(1),
            self.write.enable.eq(word),
            self.write.address.eq(Cat(Const(0, 3), request.register) + words_done),
            self.write.data.eq(crossbar.words_out.payload),
            self.write.lanes.eq(0b1111),
        ]
        with m.If(running):
            m.d.comb += bursts.bursts.ready.eq(read_issued)
            m.d.sync += under_way.eq(under_way + read_issued - (beat & self.axi.r.payload.last))
            m.d.sync += words_done.eq(words_done + word)
            with m.If(error & (cause == 0)):
                with m.If(self.axi.r.payload.resp[0]):
                    m.d.sync += cause.eq(Cause.READ_DECODE_ERROR)
                with m.Else():
                    m.d.sync += cause.eq(Cause.READ_SLAVE_ERROR)
        with m.Else():
            m.d.sync += words_done.eq(0)
        return (words_done == words) | (quiet & (under_way == 0) & (cause != 0))

    def _store(
        self,
        m: Module,
        running: Signal,
        request: Signal,
        words: Signal,
        cause: Signal,
        quiet: Signal,
        realign_request: RealignRequest,
        crossbar: FragmentCrossbar,
        bursts: BurstGenerator,
    ) -> Signal:
        """Registers to memory; returns whether the store has come to its end."""
        m.submodules.lengths = lengths = SyncFIFO(width=8, depth=_STORES_UNDER_WAY)
        words_read = Signal(7)
        reading = Signal()
        read = Signal()
        m.d.comb += [
            read.eq(running & (words_read != words) & (~reading | crossbar.words_in.ready)),
            self.read.enable.eq(read),
            self.read.address.eq(Cat(Const(0, 3), request.register) + words_read),
            crossbar.words_in.payload.eq(self.read.data),
            crossbar.words_in.valid.eq(reading),
        ]
        with m.If(read):
            m.d.sync += [reading.eq(1), words_read.eq(words_read + 1)]
        with m.Elif(crossbar.words_in.ready):
            m.d.sync += reading.eq(0)

        beats = stream.Signature(MaskedBeat).create()
        if self._unaligned:
            m.submodules.chunks_to_beats = realign = ChunksToBeats()
            m.d.comb += [realign.request.eq(realign_request), realign.start.eq(~running)]
            connect(m, crossbar.chunks_out, realign.chunks)
            beats = realign.beats
        else:
            m.d.comb += [
                beats.payload.data.eq(crossbar.chunks_out.payload),
                beats.payload.strb.eq(~0),
                beats.valid.eq(crossbar.chunks_out.valid),
                crossbar.chunks_out.ready.eq(beats.ready),
            ]
        unanswered = Signal(7)
        beat = Signal(8)
        write_issued = self.axi.aw.valid & self.axi.aw.ready
        written = self.axi.w.valid & self.axi.w.ready
        answered = self.axi.b.valid & self.axi.b.ready
        m.d.comb += [
            self.axi.aw.payload.eq(bursts.bursts.payload),
            self.axi.aw.valid.eq(bursts.bursts.valid & running & lengths.w_rdy),
            lengths.w_data.eq(bursts.bursts.payload.length),
            lengths.w_en.eq(write_issued),
            self.axi.w.payload.data.eq(beats.payload.data),
            self.axi.w.payload.strb.eq(beats.payload.strb),
            self.axi.w.payload.last.eq(beat == lengths.r_data),
            self.axi.w.valid.eq(beats.valid & lengths.r_rdy & running),
            beats.ready.eq(written),
            lengths.r_en.eq(written & self.axi.w.payload.last),
            self.axi.b.ready.eq(running),
        ]
        with m.If(running):
            m.d.comb += bursts.bursts.ready.eq(write_issued)
            m.d.sync += unanswered.eq(unanswered + write_issued - answered)
            with m.If(written):
                m.d.sync += beat.eq(Mux(self.axi.w.payload.last, 0, beat + 1))
            with m.If(answered & (cause == 0)):
                with m.If(~self.axi.b.payload[1]):
                    m.d.sync += self.progress.eq(self.progress + 1)
                with m.Elif(self.axi.b.payload[0]):
                    m.d.sync += cause.eq(Cause.WRITE_DECODE_ERROR)
                with m.Else():
                    m.d.sync += cause.eq(Cause.WRITE_SLAVE_ERROR)
        with m.Else():
            m.d.sync += words_read.eq(0)
            with m.If(self.request.valid & self.request.ready):
                m.d.sync += self.progress.eq(0)
        return quiet & (unanswered == 0)
