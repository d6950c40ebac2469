"""The load engine: fragments from the memories to the registers, several under way at once."""

from amaranth.hdl import Module, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.config import CoreConfig
from hdl.memory.beats import CAUSE_BITS, ReadBeat, access_layout, space_burst_layout
from hdl.memory.burst_generator import BurstGenerator, lines_layout
from hdl.memory.fragment_writer import FragmentWriter, WriteTarget, write_target
from hdl.memory.line_request import LineRequest, line_request
from hdl.memory.line_unpack import LineUnpack
from hdl.memory.load_crossbar import LoadCrossbar
from hdl.registers.register_ports import register_write_signature
from hdl.stream.queue import Queue

__all__ = ["LOADS_UNDER_WAY", "LoadEngine"]

LOADS_UNDER_WAY = 16
"""Loads that have been taken and have not written their last register: with the smallest fragments, of eight
beats, enough for a memory with a latency of a hundred cycles."""


class LoadEngine(wiring.Component):
    """Asks for the bytes of its loads one after the other, and moves them to the registers as they come.

    A request goes into three queues: to the burst generator, which runs ahead of the data; to the unit that
    cuts lines out of the beats; and to the one that writes the registers. Between those two the crossbar
    holds whole fragments, so a load whose memory reports an error writes no register. All work in order.

    Throughput: the longest of a beat per cycle, a segment per cycle, and a register word written per cycle,
    from one load to the next without a gap: an f16 multiplicand of 16x16 takes 32 cycles (64 where the
    register file has one quad in a word, since its registers repeat). At most `LOADS_UNDER_WAY` are under
    way. Latency: 2 cycles from the request to the first burst; 8 from the last beat to the first quad word
    for the registers, then those of the fragment, then 2 to `done`. `request.ready`, `beats.ready` and
    `write.ready` do not depend on one another nor on `bursts.ready`.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(access_layout(config)))
    rows : In(stream.Signature(address_bits))
        Addresses of the lines of those that are listed. Only where there is on-chip memory.
    done : Out(1)
        High for one cycle at the end of each load, in order.
    cause : Out(4)
        With `done`: zero, or the `Cause` of the first bad beat; then no register has been written.
    bursts : Out(stream.Signature(space_burst_layout(config)))
    beats : In(stream.Signature(ReadBeat))
        The answers, in the order of the bursts.
    write : Out(register_write_signature(config))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        members = {
            "request": In(stream.Signature(access_layout(config))),
            "done": Out(1),
            "cause": Out(CAUSE_BITS),
            "bursts": Out(stream.Signature(space_burst_layout(config))),
            "beats": In(stream.Signature(ReadBeat)),
            "write": Out(register_write_signature(config)),
        }
        if config.shared_bytes:
            members["rows"] = In(stream.Signature(unsigned(config.address_bits)))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        access = self.request.payload
        m.submodules.bursts = bursts = BurstGenerator(config)
        m.submodules.unpack = unpack = LineUnpack(config)
        m.submodules.crossbar = crossbar = LoadCrossbar(config)
        m.submodules.writer = writer = FragmentWriter(config)

        m.submodules.burst_queue = burst_queue = Queue(lines_layout(config), LOADS_UNDER_WAY)
        m.submodules.line_queue = line_queue = Queue(LineRequest, LOADS_UNDER_WAY)
        m.submodules.target_queue = target_queue = Queue(WriteTarget, LOADS_UNDER_WAY)
        lines, walk, target = (queue.input.payload for queue in (burst_queue, line_queue, target_queue))
        m.d.comb += [
            lines.space.eq(access.space),
            lines.address.eq(access.address),
            lines.stride.eq(access.stride),
            lines.lines_log2.eq(access.geometry.lines_log2),
            lines.line_log2.eq(access.geometry.line_log2),
            lines.contiguous.eq(access.contiguous),
            lines.listed.eq(access.listed),
            *(walk[name].eq(value) for name, value in line_request(access).items()),
            *(
                target[name].eq(value)
                for name, value in write_target(access.geometry, access.register).items()
            ),
        ]
        taken = self.request.valid & self.request.ready
        m.d.comb += [queue.input.valid.eq(taken) for queue in (burst_queue, line_queue, target_queue)]
        # A load leaves this queue last, so that it alone says whether there is room in all.
        m.d.comb += self.request.ready.eq(target_queue.input.ready)

        connect(m, burst_queue.output, bursts.lines)
        connect(m, line_queue.output, unpack.request)
        connect(m, target_queue.output, writer.target)
        connect(m, bursts.bursts, flipped(self.bursts))
        if config.shared_bytes:
            connect(m, flipped(self.rows), bursts.rows)
        connect(m, flipped(self.beats), unpack.beats)
        connect(m, unpack.segments, crossbar.segments)
        connect(m, crossbar.words, writer.words)
        connect(m, writer.write, flipped(self.write))
        m.d.comb += [self.done.eq(writer.done), self.cause.eq(writer.cause)]
        return m
