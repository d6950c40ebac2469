"""Writes of the AXI4 port: from the core's beats to the data bus, whatever its width."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.memory.axi import Axi4Signature, burst_layout
from hdl.memory.axi_reads import bus_burst
from hdl.memory.beats import is_last_beat, write_beat_layout
from hdl.memory.fragment_geometry import log2_exact
from hdl.stream.elastic import CreditQueue
from hdl.stream.queue import Queue
from hdl.stream.stream_buffer import StreamBuffer

OUTSTANDING_WRITES = 16
"""Write bursts that may wait for their response at once: the lines of a fragment. A power of two."""


class AxiWrites(Component):
    """Gives bursts and their beats to the bus, and hands back its responses, in order.

    A beat is offered to the bus at the earliest in the cycle after its burst was offered, but does not wait
    for the burst to be taken: a memory may want to see both before it takes either.

    On a bus of 8 bytes each beat goes in two halves, on a wider one on the byte lanes of its address.

    Throughput: a burst and a bus beat per cycle. Latency: 1 cycle to the bus, 1 for the response. Expected
    critical path: whether a beat is taken, and so the next burst.
    Testbench: cocotb_tests/memory/test_memory_port.py, through `MemoryPort`.

    Members
    -------
    bursts : In(stream.Signature(burst_layout(config)))
        Of beats of `beat_quads` quads; a multiple of their size as address, at most 128 beats.
    beats : In(stream.Signature(write_beat_layout(config)))
        Taken once their burst has been offered to the bus.
    responses : Out(stream.Signature(2))
        A `hdl.memory.axi.Response` for each burst.
    aw, w, b
        The write channels of `hdl.memory.axi.Axi4Signature`.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        channels = Axi4Signature(config).members
        members = {
            "bursts": In(stream.Signature(burst_layout(config))),
            "beats": In(stream.Signature(write_beat_layout(config))),
            "responses": Out(stream.Signature(unsigned(2))),
            **{name: channels[name] for name in ("aw", "w", "b")},
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        m.submodules.asking = asking = Queue(burst_layout(self._config), 2)
        m.submodules.answers = answers = StreamBuffer(unsigned(2))
        connect(m, answers.output, flipped(self.responses))

        unanswered = Signal(range(OUTSTANDING_WRITES + 1))
        room = Signal()
        asked = Signal()
        answered = Signal()
        m.d.comb += [
            asking.input.valid.eq(self.bursts.valid),
            self.bursts.ready.eq(asking.input.ready),
            room.eq(~unanswered[-1]),
            self.aw.payload.eq(asking.output.payload),
            self.aw.valid.eq(asking.output.valid & room),
            asking.output.ready.eq(self.aw.ready & room),
            asked.eq(self.aw.valid & self.aw.ready),
            answers.input.payload.eq(self.b.payload),
            answers.input.valid.eq(self.b.valid & (unanswered != 0)),
            self.b.ready.eq(answers.input.ready & (unanswered != 0)),
            answered.eq(self.b.valid & self.b.ready),
        ]
        with m.If(asked != answered):
            m.d.sync += unanswered.eq(unanswered + Mux(answered, -1, 1))
        for name, value in bus_burst(self._config, self.bursts.payload).items():
            m.d.comb += getattr(asking.input.payload, name).eq(value)

        seen = Signal()
        offered = Signal()
        m.d.comb += offered.eq(self.aw.valid & ~seen)
        m.d.sync += seen.eq(self.aw.valid & ~self.aw.ready)
        self._beats(m, offered)

    def _beats(self, m: Module, offered: Signal) -> None:
        """Bring the beats of the bursts that were offered onto the bus."""
        config = self._config
        beat_bits = len(self.beats.payload.data)
        lanes = max(config.data_bits // beat_bits, 1)
        lane_bits = log2_exact(lanes)
        burst_fields: dict[str, Any] = {"length": unsigned(8)}
        beat_fields: dict[str, Any] = {"beat": write_beat_layout(config), "last": 1}
        if lanes > 1:
            burst_fields["lane"] = beat_fields["lane"] = unsigned(lane_bits)
        # Whether there is a burst is the sign of a counter: in a `Queue` it would be the longest path.
        m.submodules.expected = expected = CreditQueue(
            data.StructLayout(burst_fields), depth=OUTSTANDING_WRITES
        )
        m.submodules.giving = giving = Queue(data.StructLayout(beat_fields), 2)

        burst: Any = expected.output.payload
        # The same in two registers: one near what counts the beats, one near the queue that takes them.
        active = Signal()
        closed = Signal(init=1)
        begins = Signal()
        taken = Signal()
        is_last = is_last_beat(m, burst.length, begin=begins, step=taken)
        m.d.comb += [
            expected.payload.length.eq(self.aw.payload.length[int(config.data_bits < beat_bits) :]),
            expected.enter.eq(offered),
            expected.push.eq(offered),
            begins.eq(~active | (taken & is_last)),
            expected.output.ready.eq(begins),
            giving.input.payload.beat.eq(self.beats.payload),
            giving.input.payload.last.eq(is_last),
            giving.input.valid.eq(self.beats.valid & ~closed),
            self.beats.ready.eq(giving.input.ready & ~closed),
            taken.eq(self.beats.valid & giving.input.ready & active),
        ]
        with m.If(begins):
            m.d.sync += [active.eq(expected.output.valid), closed.eq(~expected.output.valid)]
        if lanes > 1:
            lane = Signal(lane_bits)
            m.d.comb += [
                expected.payload.lane.eq(self.aw.payload.address[log2_exact(beat_bits // 8) :]),
                giving.input.payload.lane.eq(lane),
            ]
            with m.If(taken):
                m.d.sync += lane.eq(lane + 1)
            with m.If(begins):
                m.d.sync += lane.eq(burst.lane)

        source: Any = giving.output
        beat = source.payload.beat
        m.d.comb += self.w.valid.eq(source.valid)
        if config.data_bits < beat_bits:
            upper = Signal()
            m.d.comb += [
                self.w.payload.data.eq(beat.data.word_select(upper, config.data_bits)),
                self.w.payload.strb.eq(beat.strb.word_select(upper, config.data_bits // 8)),
                self.w.payload.last.eq(source.payload.last & upper),
                source.ready.eq(self.w.ready & upper),
            ]
            with m.If(self.w.valid & self.w.ready):
                m.d.sync += upper.eq(~upper)
            return
        m.d.comb += [
            self.w.payload.data.eq(beat.data.replicate(lanes)),
            self.w.payload.strb.eq(
                beat.strb << (source.payload.lane << log2_exact(beat_bits // 8)) if lanes > 1 else beat.strb
            ),
            self.w.payload.last.eq(source.payload.last),
            source.ready.eq(self.w.ready),
        ]
