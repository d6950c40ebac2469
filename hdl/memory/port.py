"""The memory port: one place to read and write, whichever memory an address means."""

from typing import Any

from amaranth.hdl import Module, Mux, unsigned
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.memory.axi import Axi4Signature
from hdl.memory.axi_reads import AxiReads
from hdl.memory.axi_writes import AxiWrites
from hdl.memory.beats import read_beat_layout, space_burst_layout, write_beat_layout
from hdl.memory.burst_router import BurstRouter
from hdl.memory.chunks import chunk_layout, chunk_request_layout
from hdl.memory.shared_memory import SharedMemory, shared_word_signature
from hdl.stream.queue import Queue

_BEATS = 2
"""Read beats that wait for their taker, so that neither memory sees whether it is ready."""


class MemoryPort(Component):
    """Bursts of beats of `beat_quads` quads to global memory on the AXI4 bus or to the on-chip memory.

    On a bus of more bytes than a beat, a beat is on the byte lanes of its address, and nothing is fetched
    twice; a bus of 8 bytes carries two beats for one of 16. Global memory has every address, the on-chip
    memory those below `shared_bytes`; of generic addresses those in the window from `shared_base` on mean the
    on-chip memory, all others global memory. Beats and responses come in the order of their bursts, the two
    directions are independent of each other.

    A configuration without on-chip memory has neither it nor the choice: every burst goes to the bus.

    Throughput: a burst and a beat per cycle each way (on a bus of 8 bytes a beat every other), while the
    memory stays the same. Latency, from a read burst to its first beat: 3 cycles and the bus's own
    (2 without on-chip memory), 4 in on-chip memory.

    Members
    -------
    read_bursts, write_bursts : In(stream.Signature(space_burst_layout(config)))
        At most 128 beats each.
    read_beats : Out(stream.Signature(read_beat_layout(config)))
    write_beats : In(stream.Signature(write_beat_layout(config)))
        Those of bursts yet to be taken wait, the first two of them within; what is not to be written is
        masked.
    write_responses : Out(stream.Signature(2))
        A `hdl.memory.axi.Response` for each write burst.
    axi : Out(Axi4Signature(config))
    words : In(shared_word_signature())
        The host's way to the on-chip memory, served while that has nothing else to do; without on-chip memory
        never ready.
    chunk_requests, chunks, conflict
        As of `hdl.memory.shared_memory.SharedMemory`. Only where there is `wgmma`.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        burst = stream.Signature(space_burst_layout(config))
        members = {
            "read_bursts": In(burst),
            "read_beats": Out(stream.Signature(read_beat_layout(config))),
            "write_bursts": In(burst),
            "write_beats": In(stream.Signature(write_beat_layout(config))),
            "write_responses": Out(stream.Signature(unsigned(2))),
            "axi": Out(Axi4Signature(config)),
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
        config = self._config
        m.submodules.bus_reads = reads = AxiReads(config)
        m.submodules.bus_writes = writes = AxiWrites(config)
        m.submodules.beats = beats = Queue(read_beat_layout(config), _BEATS)
        # Whether a memory takes a beat is known near it alone.
        m.submodules.write_beats = write_beats = Queue(write_beat_layout(config), 2)
        connect(m, flipped(self.write_beats), write_beats.input)
        for unit, channels in ((reads, ("ar", "r")), (writes, ("aw", "w", "b"))):
            for channel in channels:
                connect(m, getattr(unit, channel), flipped(getattr(self.axi, channel)))
        connect(m, beats.output, flipped(self.read_beats))
        if config.shared_bytes:
            self._two_memories(m, reads, writes, beats, write_beats.output)
            return
        for burst, target in ((self.read_bursts, reads.bursts), (self.write_bursts, writes.bursts)):
            m.d.comb += [
                target.payload.address.eq(burst.payload.address),
                target.payload.length.eq(burst.payload.length),
                target.valid.eq(burst.valid),
                burst.ready.eq(target.ready),
            ]
        connect(m, reads.beats, beats.input)
        connect(m, write_beats.output, writes.beats)
        connect(m, writes.responses, flipped(self.write_responses))

    def _two_memories(
        self, m: Module, bus_reads: AxiReads, bus_writes: AxiWrites, arrived: Queue, beats: Any
    ) -> None:
        m.submodules.shared = shared = SharedMemory(self._config)
        m.submodules.reads = reads = BurstRouter(self._config)
        m.submodules.writes = writes = BurstRouter(self._config)
        connect(m, flipped(self.words), shared.words)
        if self._config.wgmma:
            connect(m, flipped(self.chunk_requests), shared.chunk_requests)
            m.d.comb += [self.chunks.eq(shared.chunks), self.conflict.eq(shared.conflict)]
        connect(m, flipped(self.read_bursts), reads.bursts)
        connect(m, reads.to_bus, bus_reads.bursts)
        connect(m, reads.to_shared, shared.read_bursts)
        connect(m, flipped(self.write_bursts), writes.bursts)
        connect(m, writes.to_bus, bus_writes.bursts)
        connect(m, writes.to_shared, shared.write_bursts)
        _choose(m, reads.is_shared, shared.read_beats, bus_reads.beats, arrived.input)
        _choose(m, writes.is_shared, shared.write_responses, bus_writes.responses, self.write_responses)

        m.d.comb += [
            reads.answered.eq(arrived.input.valid & arrived.input.ready & arrived.input.payload.last),
            writes.answered.eq(self.write_responses.valid & self.write_responses.ready),
            # A memory takes beats of its bursts alone, and only one of the two has bursts in flight.
            *(target.payload.eq(beats.payload) for target in (shared.write_beats, bus_writes.beats)),
            *(target.valid.eq(beats.valid) for target in (shared.write_beats, bus_writes.beats)),
            beats.ready.eq(shared.write_beats.ready | bus_writes.beats.ready),
        ]


def _choose(m: Module, choice: Any, first: Any, other: Any, output: Any) -> None:
    """Let `first` through while `choice`, and else `other`; the one that is not chosen offers nothing."""
    m.d.comb += [
        output.payload.eq(Mux(choice, first.payload, other.payload)),
        output.valid.eq(Mux(choice, first.valid, other.valid)),
        first.ready.eq(output.ready),
        other.ready.eq(output.ready),
    ]
