"""A queue whose entries are put together from parts: words of the register file, beats of a memory."""

from amaranth.hdl import Module, ShapeLike, Signal, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.stream.elastic import CreditQueue

ASSEMBLED = 8
"""Entries: as many as a pipeline of six cycles needs to deliver one per cycle."""


def assembled_layout(width: int, tag: ShapeLike) -> data.StructLayout:
    """An entry.

    Members
    -------
    data : unsigned(width)
    tag : tag
        As it was with the last part.
    """
    return data.StructLayout({"data": unsigned(width), "tag": tag})


class AssemblyQueue(Component):
    """A credit queue (`hdl.stream.elastic`) in which parts of the newest entry are written one by one.

    A free-running pipeline asks for a place with the part that completes an entry; the parts before go to the
    same place, for which there must be room. The oldest entry's tag stands in a register, and its place is
    free already; so there is one place more for data. With the last part of an entry, parts of the next one
    may come.

    Throughput: a part per cycle. Latency: 2 cycles from the last part to `output.valid`. `ready`,
    `output.valid` and `output.payload.tag` come from registers. Expected critical path: from the memory.
    Testbench: cocotb_tests/memory/test_load_crossbar.py, through `LoadCrossbar`.

    Parameters
    ----------
    width, part : int
        Bits of an entry and of a part of it.
    tag : shape-like
        What else is kept with an entry.
    style : str
        Of the memories for the data, as `CoreConfig.memory_style`.

    Members
    -------
    ready : Out(1)
        There is room for one more entry.
    enter : In(1)
        The last part of an entry enters the pipeline in this cycle; only while `ready`, as any part.
    write : In(width // part)
        The parts of `data` that leave the pipeline in this cycle.
    beyond : In(width // part)
        Those of them that belong to the entry behind the newest; only with `push`.
    data : In(width)
    push : In(1)
        They complete the entry.
    tag : In(tag)
        With `push`.
    output : Out(stream.Signature(assembled_layout(width, tag)))
    """

    def __init__(self, width: int, part: int, tag: ShapeLike, *, style: str) -> None:
        self._part, self._tag, self._style = part, tag, style
        members = {
            "ready": Out(1),
            "enter": In(1),
            "write": In(width // part),
            "beyond": In(width // part),
            "data": In(width),
            "push": In(1),
            "tag": In(tag),
            "output": Out(stream.Signature(assembled_layout(width, tag))),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        m.submodules.tags = tags = CreditQueue(self._tag, depth=ASSEMBLED)
        newest = Signal(range(2 * ASSEMBLED))
        oldest = Signal.like(newest)  # of those that are not on offer
        tag = Signal(self._tag, reset_less=True)
        taken = tags.output.ready
        m.d.comb += [
            taken.eq(~self.output.valid | self.output.ready),
            self.ready.eq(tags.ready),
            tags.enter.eq(self.enter),
            tags.push.eq(self.push),
            tags.payload.eq(self.tag),
            self.output.payload.tag.eq(tag),
        ]
        for number, enable in enumerate(self.write):
            place = (newest + self.beyond[number])[: len(newest)]
            memory = collision_free_memory(self._part, 2 * ASSEMBLED, style=self._style)
            m.submodules[f"part_{number}"] = memory
            write, read = memory.write_port(), memory.read_port()
            m.d.comb += [
                write.en.eq(enable),
                write.addr.eq(place),
                write.data.eq(self.data.word_select(number, self._part)),
                read.en.eq(taken),
                read.addr.eq(oldest),
                self.output.payload.data.word_select(number, self._part).eq(read.data),
            ]
        with m.If(taken):
            m.d.sync += [self.output.valid.eq(tags.output.valid), tag.eq(tags.output.payload)]
        with m.If(self.push):
            m.d.sync += newest.eq(newest + 1)
        with m.If(taken & tags.output.valid):
            m.d.sync += oldest.eq(oldest + 1)
