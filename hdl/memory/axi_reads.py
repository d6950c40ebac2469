"""Reads of the AXI4 port: from bursts of the core's beats to the data bus, whatever its width."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.memory.axi import Axi4Signature, Response, beat_bytes, burst_layout
from hdl.memory.beats import read_beat_layout
from hdl.memory.fragment_geometry import SEGMENT_BYTES, log2_exact
from hdl.stream.queue import Queue


def bus_burst(config: CoreConfig, burst: Any) -> dict[str, Any]:
    """The burst that the bus sees for one of the core's beats, by the fields of `burst_layout`.

    On a bus of 8 bytes it has twice the beats. AXI4 allows 256 of them, so such a burst may have 128 beats of
    16 bytes; the largest fragment, 1 KiB that may begin within a beat, has 65.
    """
    length = burst.length
    if beat_bytes(config) < SEGMENT_BYTES:
        length = Cat(Const(1, 1), burst.length[:7])
    return {"address": burst.address, "length": length}


class AxiReads(Component):
    """Asks the bus for bursts and hands back their beats, in order.

    A bus of 8 bytes takes two beats for one of 16; the first error of the two is the answer to both. A bus
    wider than a beat carries each on the byte lanes of its address, for which the lane of the first beat of
    each burst in flight is kept.

    Throughput: a burst and a bus beat per cycle. Latency: 1 cycle from a burst to the bus, none from the bus
    to its beat. No output to the bus depends on an input within a cycle but `r.ready`, on `beats.ready`.
    Testbench: cocotb_tests/memory/test_memory_port.py, through `MemoryPort`.

    Members
    -------
    bursts : In(stream.Signature(burst_layout(config)))
        Of beats of `beat_quads` quads; a multiple of their size as address, at most 128 beats.
    beats : Out(stream.Signature(read_beat_layout(config)))
    ar, r
        The read channels of `hdl.memory.axi.Axi4Signature`.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        channels = Axi4Signature(config).members
        members = {
            "bursts": In(stream.Signature(burst_layout(config))),
            "beats": Out(stream.Signature(read_beat_layout(config))),
            "ar": channels["ar"],
            "r": channels["r"],
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        config = self._config
        m.submodules.asking = asking = Queue(burst_layout(config), 2)
        connect(m, asking.output, flipped(self.ar))

        # Counted from the moment in which it is certain to be asked for, so the bus sees no more.
        under_way = Signal(range(config.outstanding_reads + 1))
        room = Signal()
        asked = Signal()
        beat = Signal()
        ended = Signal()
        m.d.comb += [
            room.eq(under_way != config.outstanding_reads),
            asking.input.valid.eq(self.bursts.valid & room),
            self.bursts.ready.eq(asking.input.ready & room),
            asked.eq(self.bursts.valid & self.bursts.ready),
            beat.eq(self.r.valid & self.r.ready),
            ended.eq(beat & self.r.payload.last),
        ]
        for name, value in bus_burst(config, self.bursts.payload).items():
            m.d.comb += getattr(asking.input.payload, name).eq(value)
        with m.If(asked & ~ended):
            m.d.sync += under_way.eq(under_way + 1)
        with m.Elif(ended & ~asked):
            m.d.sync += under_way.eq(under_way - 1)

        payload = self.beats.payload
        expected = under_way != 0
        m.d.comb += [payload.response.eq(self.r.payload.resp), payload.last.eq(self.r.payload.last)]
        beat_bits = len(payload.data)
        if config.data_bits < beat_bits:
            self._join(m, beat, expected)
            return
        m.d.comb += [
            self.beats.valid.eq(self.r.valid & expected),
            self.r.ready.eq(self.beats.ready & expected),
        ]
        if config.data_bits == beat_bits:
            m.d.comb += payload.data.eq(self.r.payload.data)
            return
        lane_bits = log2_exact(config.data_bits // beat_bits)
        m.submodules.lanes = lanes = Queue(unsigned(lane_bits), config.outstanding_reads)
        passed = Signal(lane_bits)
        lane = Signal(lane_bits)
        m.d.comb += [
            lanes.input.payload.eq(self.bursts.payload.address[log2_exact(beat_bits // 8) :]),
            lanes.input.valid.eq(asked),
            lanes.output.ready.eq(ended),
            lane.eq(lanes.output.payload + passed),
            payload.data.eq(self.r.payload.data.word_select(lane, beat_bits)),
        ]
        with m.If(beat):
            m.d.sync += passed.eq(Mux(ended, 0, passed + 1))

    def _join(self, m: Module, beat: Signal, expected: Any) -> None:
        """Make one beat of every two of the bus."""
        bits = self._config.data_bits
        upper = Signal()
        low = Signal(bits)
        low_response = Signal(Response)
        payload = self.beats.payload
        m.d.comb += [
            self.beats.valid.eq(self.r.valid & upper & expected),
            self.r.ready.eq((self.beats.ready | ~upper) & expected),
            payload.data.eq(Cat(low, self.r.payload.data)),
        ]
        with m.If(low_response.as_value()[1]):
            m.d.comb += payload.response.eq(low_response)
        with m.If(beat):
            m.d.sync += upper.eq(~upper)
            with m.If(~upper):
                m.d.sync += [low.eq(self.r.payload.data), low_response.eq(self.r.payload.resp)]
