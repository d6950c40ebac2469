"""The memory port: one place to read and write, whichever memory an address means."""

from typing import Any

from amaranth.hdl import Module, Mux, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.config import CoreConfig
from hdl.memory.axi import Axi4Signature
from hdl.memory.axi_port import AxiPort
from hdl.memory.beats import ReadBeat, WriteBeat, space_burst_layout
from hdl.memory.burst_router import BurstRouter
from hdl.memory.shared_memory import SharedMemory, shared_word_signature
from hdl.stream.queue import Queue

__all__ = ["MemoryPort"]

_BEATS = 2
"""Read beats that wait for their taker, so that neither memory sees whether it is ready."""


class MemoryPort(wiring.Component):
    """Bursts of 16-byte beats to global memory on the AXI4 bus or to the on-chip memory.

    Global memory has every address, the on-chip memory those below `shared_bytes`; of generic addresses those
    in the window from `shared_base` on mean the on-chip memory, all others global memory. Beats and responses
    come in the order of their bursts, the two directions are independent of each other.

    A configuration without on-chip memory has neither it nor the choice: every burst goes to the bus.

    Throughput: a burst and a beat of 16 bytes per cycle each way (on a bus of 8 bytes a beat every other),
    while the memory stays the same. Latency, from a read burst to its first beat: 3 cycles and the bus's own
    (2 without on-chip memory), 4 in on-chip memory.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    read_bursts, write_bursts : In(stream.Signature(space_burst_layout(config)))
        At most 128 beats each.
    read_beats : Out(stream.Signature(ReadBeat))
    write_beats : In(stream.Signature(WriteBeat))
        Taken once their burst has been; what is not to be written is masked.
    write_responses : Out(stream.Signature(2))
        A `hdl.memory.axi.Response` for each write burst.
    axi : Out(Axi4Signature(config))
    words : In(shared_word_signature())
        The host's way to the on-chip memory, served while that has nothing else to do; without on-chip memory
        never ready.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        burst = stream.Signature(space_burst_layout(config))
        super().__init__(
            {
                "read_bursts": In(burst),
                "read_beats": Out(stream.Signature(ReadBeat)),
                "write_bursts": In(burst),
                "write_beats": In(stream.Signature(WriteBeat)),
                "write_responses": Out(stream.Signature(unsigned(2))),
                "axi": Out(Axi4Signature(config)),
                "words": In(shared_word_signature()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        m.submodules.bus = bus = AxiPort(self._config)
        m.submodules.beats = beats = Queue(ReadBeat, _BEATS)
        connect(m, bus.axi, flipped(self.axi))
        connect(m, beats.output, flipped(self.read_beats))
        if self._config.shared_bytes:
            self._two_memories(m, bus, beats)
            return m
        for burst, target in ((self.read_bursts, bus.read_bursts), (self.write_bursts, bus.write_bursts)):
            m.d.comb += [
                target.payload.address.eq(burst.payload.address),
                target.payload.length.eq(burst.payload.length),
                target.valid.eq(burst.valid),
                burst.ready.eq(target.ready),
            ]
        connect(m, bus.read_beats, beats.input)
        connect(m, flipped(self.write_beats), bus.write_beats)
        connect(m, bus.write_responses, flipped(self.write_responses))
        return m

    def _two_memories(self, m: Module, bus: AxiPort, arrived: Queue) -> None:
        m.submodules.shared = shared = SharedMemory(self._config)
        m.submodules.reads = reads = BurstRouter(self._config)
        m.submodules.writes = writes = BurstRouter(self._config)
        connect(m, flipped(self.words), shared.words)
        connect(m, flipped(self.read_bursts), reads.bursts)
        connect(m, reads.to_bus, bus.read_bursts)
        connect(m, reads.to_shared, shared.read_bursts)
        connect(m, flipped(self.write_bursts), writes.bursts)
        connect(m, writes.to_bus, bus.write_bursts)
        connect(m, writes.to_shared, shared.write_bursts)
        _choose(m, reads.is_shared, shared.read_beats, bus.read_beats, arrived.input)
        _choose(m, writes.is_shared, shared.write_responses, bus.write_responses, self.write_responses)

        beats: Any = self.write_beats
        m.d.comb += [
            reads.answered.eq(arrived.input.valid & arrived.input.ready & arrived.input.payload.last),
            writes.answered.eq(self.write_responses.valid & self.write_responses.ready),
            shared.write_beats.payload.eq(beats.payload),
            shared.write_beats.valid.eq(beats.valid & writes.is_shared),
            bus.write_beats.payload.eq(beats.payload),
            bus.write_beats.valid.eq(beats.valid & ~writes.is_shared),
            beats.ready.eq(Mux(writes.is_shared, shared.write_beats.ready, bus.write_beats.ready)),
        ]


def _choose(m: Module, choice: Any, first: Any, other: Any, output: Any) -> None:
    """Let `first` through while `choice`, and else `other`."""
    m.d.comb += [
        output.payload.eq(Mux(choice, first.payload, other.payload)),
        output.valid.eq(Mux(choice, first.valid, other.valid)),
        first.ready.eq(choice & output.ready),
        other.ready.eq(~choice & output.ready),
    ]
