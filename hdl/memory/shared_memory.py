"""The on-chip memory, the state space ``.shared``."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import PAGE_BYTES, CoreConfig
from hdl.memory.axi import Response, burst_layout
from hdl.memory.beats import is_last_beat, read_beat_layout, write_beat_layout
from hdl.memory.burst_router import within
from hdl.memory.chunk_banks import ChunkBanks
from hdl.memory.chunks import chunk_layout, chunk_request_layout
from hdl.memory.fragment_geometry import log2_exact
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.stream.pipeline import register
from hdl.stream.stream_buffer import StreamBuffer

WORD_ADDRESS_BITS = 16
"""Bits of the address of a 32-bit word of the on-chip memory, of at most 256 KiB."""

WORD_READ_LATENCY = 3
"""Cycles from the read of a word to the word: to read its beat, for the late block RAM, and to choose it."""

_WORD_BITS = 32


def shared_word_signature() -> wiring.Signature:
    """A port to single words of the on-chip memory, as its user drives it.

    Members
    -------
    enable : Out(1)
        Held, with all else, until `ready`.
    is_write : Out(1)
    address : Out(WORD_ADDRESS_BITS)
        Of the 32-bit word: the byte address divided by four, within the memory.
    write_data : Out(32)
    ready : In(1)
        The access takes place in this cycle.
    read_data : In(32)
        The word `WORD_READ_LATENCY` cycles later, and only then.
    """
    return wiring.Signature(
        {
            "enable": Out(1),
            "is_write": Out(1),
            "address": Out(WORD_ADDRESS_BITS),
            "write_data": Out(_WORD_BITS),
            "ready": In(1),
            "read_data": In(_WORD_BITS),
        }
    )


class SharedMemory(Component):
    """Block RAM in words of a beat, which serves bursts as a memory on the bus does.

    The memory is whole pages of 4 KiB and no burst leaves a page, so a burst lies within the memory or
    outside of it with all its beats; outside, each is answered with DECERR, and none is written.

    Throughput: a beat per cycle each way, also from one burst to the next. Latency: 2 cycles from a read
    burst to its first beat, 1 from the last beat written to the response; a read burst that begins after the
    response sees what was written. What is written passes a register, as its sources are not near, and a word
    is read when it has been written. Critical path expected: whether the word to be read is being written,
    and so the next burst.

    Parameters
    ----------
    config : CoreConfig
        With `shared_bytes` above zero.

    Members
    -------
    read_bursts, write_bursts : In(stream.Signature(burst_layout(config)))
        Addresses count from the first byte of the memory.
    read_beats : Out(stream.Signature(read_beat_layout(config)))
    write_beats : In(stream.Signature(write_beat_layout(config)))
        Taken once their burst has been.
    write_responses : Out(stream.Signature(2))
    words : In(shared_word_signature())
        Served while no beat wants the memory.
    chunk_requests : In(stream.Signature(chunk_request_layout(config)))
        Served while no beat of a burst wants the memory. Only where there is `wgmma`, as the two below.
    chunks : Out(chunk_layout(config))
    conflict : Out(1)
        In this cycle chunks had to wait because others that came with them lie in the same banks.

    Raises
    ------
    ValueError
        For a configuration without on-chip memory.
    """

    def __init__(self, config: CoreConfig) -> None:
        if not config.shared_bytes:
            raise ValueError(f"Shared bytes must be above 0 for an on-chip memory, not {config.shared_bytes}")
        self._config = config
        members = {
            "read_bursts": In(stream.Signature(burst_layout(config))),
            "read_beats": Out(stream.Signature(read_beat_layout(config))),
            "write_bursts": In(stream.Signature(burst_layout(config))),
            "write_beats": In(stream.Signature(write_beat_layout(config))),
            "write_responses": Out(stream.Signature(unsigned(2))),
            "words": In(shared_word_signature()),
        }
        if config.wgmma:
            members |= {
                "chunk_requests": In(stream.Signature(chunk_request_layout(config))),
                "chunks": Out(chunk_layout(config)),
                "conflict": Out(1),
            }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        lanes = len(self.write_beats.payload.strb) // 4
        lane_bits = log2_exact(lanes)
        depth = self._config.shared_bytes // (4 * lanes)
        if self._config.wgmma:
            m.submodules.memory = banks = ChunkBanks(self._config)
            write_port, read_port = banks.write, banks.read
            connect(m, flipped(self.chunk_requests), banks.requests)
            m.d.comb += [self.chunks.eq(banks.chunks), self.conflict.eq(banks.conflict)]
        else:
            m.submodules.memory = memory = collision_free_memory(unsigned(_WORD_BITS * lanes), depth)
            write_port = memory.write_port(granularity=8)
            read_port = memory.read_port()
        written = Signal()  # in this cycle
        word = self.words.address
        busy = self._write(m, write_port, written) | self._read(
            m, read_port, written, write_port.addr, word[lane_bits:]
        )
        if self._config.wgmma:
            m.d.comb += banks.enable.eq(~busy & ~written)
            busy = busy | banks.busy

        lane_read = Signal(lane_bits)
        beat_read = register(m, read_port.data, "beat_read")
        word_read = beat_read.word_select(register(m, lane_read, "lane_of_beat"), _WORD_BITS)
        m.d.comb += [
            self.words.ready.eq(self.words.enable & ~busy & (self.words.is_write | ~written)),
            self.words.read_data.eq(register(m, word_read, "word_read")),
        ]
        with m.If(self.words.ready):
            m.d.sync += lane_read.eq(word[:lane_bits])
            with m.If(self.words.is_write):
                m.d.sync += [
                    written.eq(1),
                    write_port.addr.eq(word[lane_bits:]),
                    write_port.data.eq(self.words.write_data.replicate(lanes)),
                    write_port.en.eq(0b1111 << (word[:lane_bits] << 2)),
                ]
            with m.Else():
                m.d.comb += read_port.en.eq(1)

    def _read(self, m: Module, port: Any, written: Signal, place: Signal, other: Value) -> Value:
        """Serve the read bursts, but for the word at `place` while it is `written`.

        While there is no burst, the address is `other`. Returns whether bursts need the read port, or what it
        read last.
        """
        burst: Any = self.read_bursts.payload
        active = Signal()
        outside = Signal()
        address = Signal.like(port.addr, reset_less=True)
        fetched = Signal()
        response = Signal(Response)
        last = Signal()
        step = Signal()
        fetch = Signal()
        at_last = is_last_beat(m, burst.length, begin=self.read_bursts.ready, step=fetch)
        m.d.comb += [
            port.addr.eq(Mux(active, address, other)),
            port.en.eq(fetch),  # nobody looks at a word from outside
            step.eq(self.read_beats.ready | ~fetched),
            fetch.eq(active & step & ~(written & (place == address))),
            self.read_bursts.ready.eq(~active | (fetch & at_last)),
            self.read_beats.valid.eq(fetched),
            self.read_beats.payload.data.eq(port.data),
            self.read_beats.payload.response.eq(response),
            self.read_beats.payload.last.eq(last),
        ]
        with m.If(step):
            m.d.sync += fetched.eq(fetch)
        with m.If(fetch):
            m.d.sync += [
                response.eq(Mux(outside, Response.DECERR, Response.OKAY)),
                last.eq(at_last),
                address.eq(address + 1),
            ]
        with m.If(self.read_bursts.ready):
            m.d.sync += [
                active.eq(self.read_bursts.valid),
                outside.eq(self._outside(burst)),
                address.eq(burst.address[log2_exact(len(self.write_beats.payload.strb)) :]),
            ]
        return active | fetched

    def _write(self, m: Module, port: Any, written: Signal) -> Value:
        """Serve the write bursts; returns whether one is not at its end."""
        m.submodules.responses = responses = StreamBuffer(unsigned(2))
        connect(m, responses.output, flipped(self.write_responses))
        burst: Any = self.write_bursts.payload
        beat: Any = self.write_beats.payload
        active = Signal()
        address = Signal.like(port.addr, reset_less=True)
        outside = Signal()
        taken = Signal()
        ended = Signal()
        at_last = is_last_beat(m, burst.length, begin=self.write_bursts.ready, step=taken)
        m.d.comb += [
            self.write_beats.ready.eq(active & responses.input.ready),
            taken.eq(self.write_beats.valid & self.write_beats.ready),
            ended.eq(taken & at_last),
            self.write_bursts.ready.eq(~active | ended),
            responses.input.valid.eq(ended),
            responses.input.payload.eq(Mux(outside, Response.DECERR, Response.OKAY)),
        ]
        m.d.sync += [
            written.eq(taken),
            port.addr.eq(address),
            port.data.eq(beat.data),
            port.en.eq(Mux(taken & ~outside, beat.strb, 0)),
        ]
        with m.If(taken):
            m.d.sync += address.eq(address + 1)
        with m.If(self.write_bursts.ready):
            m.d.sync += [
                active.eq(self.write_bursts.valid),
                outside.eq(self._outside(burst)),
                address.eq(burst.address[log2_exact(len(self.write_beats.payload.strb)) :]),
            ]
        return active

    def _outside(self, burst: Any) -> Value:
        pages = self._config.shared_bytes // PAGE_BYTES
        return ~within(burst.address[PAGE_BYTES.bit_length() - 1 :], 0, pages)
