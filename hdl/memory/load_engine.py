"""The load engine: fragments from the memories to the registers, several in flight at once."""

from amaranth.hdl import Module, unsigned
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.memory.banks import banks_signature
from hdl.memory.beats import CAUSE_BITS, EARLY_BITS, access_layout, read_beat_layout, space_burst_layout
from hdl.memory.burst_generator import BurstGenerator
from hdl.memory.fragment_writer import FragmentWriter
from hdl.memory.line_address_generator import finds_rows
from hdl.memory.load_crossbar import LoadCrossbar
from hdl.registers.register_ports import register_write_signature
from hdl.stream.queue import Queue

LOADS_IN_FLIGHT = 16
"""Loads that have been taken and have not written their last register: with the smallest fragments, of eight
beats, enough for a memory with a latency of a hundred cycles."""


class LoadEngine(Component):
    """Asks for the bytes of its loads one after the other, and moves them to the registers as they come.

    A request goes into three queues: to the burst generator, which runs ahead of the data; to the crossbar,
    which takes the beats; and to the unit that writes the registers. The crossbar holds whole fragments, so a
    load whose memory reports an error writes no register. All work in order.

    Throughput: the slowest of a burst per cycle, a part of a beat per cycle
    (`hdl.memory.line_address_generator`), a quad per cycle, and a register word written per cycle. Loads
    follow each other without a gap: an f16 multiplicand of 16x16 takes 32 cycles (64 where the register file
    has one quad in a word, since its registers repeat). At most `LOADS_IN_FLIGHT` are in flight. Latency: 3
    cycles from the request to the first burst; 8 from the last beat to the first quad of the registers, the
    quads of the fragment, then 2 to `done`. `request.ready` and `beats.ready` do not depend on another ready.

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
    beats : In(stream.Signature(read_beat_layout(config)))
        The answers, in the order of the bursts.
    write : Out(register_write_signature(config, registers=config.word_registers))
    banks : Out(banks_signature(config))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        members = {
            "request": In(stream.Signature(access_layout(config))),
            "done": Out(1),
            "cause": Out(CAUSE_BITS),
            "bursts": Out(stream.Signature(space_burst_layout(config))),
            "beats": In(stream.Signature(read_beat_layout(config))),
            "write": Out(register_write_signature(config, registers=config.word_registers)),
            "banks": Out(banks_signature(config)),
        }
        if config.shared_bytes:
            members["rows"] = In(stream.Signature(unsigned(config.address_bits)))
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        config = self._config
        m.submodules.bursts = bursts = BurstGenerator(config)
        m.submodules.crossbar = crossbar = LoadCrossbar(config)
        connect(m, crossbar.banks, flipped(self.banks))
        m.submodules.writer = writer = FragmentWriter(config, LOADS_IN_FLIGHT)
        # A load leaves the writer last, so that it alone says whether there is room in all queues.
        takers = [writer.access]
        # A word of block RAM comes too late in its cycle for the steps of a crossbar.
        queues = (
            ("bursts", bursts, config.memory_style, EARLY_BITS),
            ("crossbar", crossbar, "distributed", 0),
        )
        for name, taker, style, early in queues:
            shape = access_layout(config)
            queue = Queue(shape, LOADS_IN_FLIGHT, buffered=True, style=style, early=early)
            m.submodules[f"{name}_queue"] = queue
            connect(m, queue.output, taker.access)
            takers.append(queue.input)
        for taken in takers:
            m.d.comb += [
                taken.payload.eq(self.request.payload),
                taken.valid.eq(self.request.valid & self.request.ready),
            ]
        m.d.comb += self.request.ready.eq(writer.access.ready)

        connect(m, bursts.bursts, flipped(self.bursts))
        if config.shared_bytes:
            connect(m, flipped(self.rows), bursts.rows)
        if finds_rows(config):
            connect(m, bursts.row_quads, crossbar.row_quads)
        connect(m, flipped(self.beats), crossbar.beats)
        connect(m, crossbar.words, writer.words)
        connect(m, writer.write, flipped(self.write))
        m.d.comb += [self.done.eq(writer.done), self.cause.eq(writer.cause)]
