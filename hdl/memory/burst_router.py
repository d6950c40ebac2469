"""Which memory a burst is for, and when it may go there."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from golden.tables.instruction_set import SPACES
from hdl.component import Component
from hdl.config import PAGE_BYTES, CoreConfig
from hdl.memory.axi import burst_layout
from hdl.memory.beats import space_burst_layout
from hdl.stream.queue import Queue

_PAGE_BITS = PAGE_BYTES.bit_length() - 1
_MAX_UNANSWERED = 255


class BurstRouter(Component):
    """Sends each burst to the bus or to the on-chip memory, so that answers come in the order of the bursts.

    A burst for one memory waits until all those for the other have been answered. A generic address within
    the window of the on-chip memory means that memory; as the window is made of whole pages and no burst
    leaves its page, no burst lies in both.

    At most 64 bursts wait on the bus and two more in buffers, 16 and as many on the way to be written, so
    their count fits 8 bits.

    Throughput: a burst per cycle. Latency: 1 cycle, and the wait for the other memory. Critical path
    expected: the ready of a memory, and whether its turn has come.

    Parameters
    ----------
    config : CoreConfig
        With `shared_bytes` above zero.

    Members
    -------
    bursts : In(stream.Signature(space_burst_layout(config)))
    to_bus, to_shared : Out(stream.Signature(burst_layout(config)))
        Addresses for the on-chip memory count from its first byte.
    answered : In(1)
        In this cycle the last answer to the oldest burst is taken.
    is_shared : Out(1)
        The answers to come, if any, come from the on-chip memory.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        burst = stream.Signature(burst_layout(config))
        members = {
            "bursts": In(stream.Signature(space_burst_layout(config))),
            "to_bus": Out(burst),
            "to_shared": Out(burst),
            "answered": In(1),
            "is_shared": Out(1),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        config = self._config
        routed_layout = data.StructLayout({"is_shared": unsigned(1), "burst": burst_layout(config)})
        m.submodules.routed = routed = Queue(routed_layout, 2)

        burst: Any = self.bursts.payload
        first, pages = config.shared_base >> _PAGE_BITS, config.shared_bytes >> _PAGE_BITS
        page = burst.address[_PAGE_BITS:]
        window_page = Signal((pages - 1).bit_length())
        in_window = Signal()
        target = routed.input.payload
        m.d.comb += [
            in_window.eq((burst.space == SPACES.index("generic")) & within(page, first, pages)),
            target.is_shared.eq(in_window | (burst.space == SPACES.index("shared"))),
            target.burst.length.eq(burst.length),
            window_page.eq(page - first),
            target.burst.address.eq(
                Mux(in_window, Cat(burst.address[:_PAGE_BITS], window_page), burst.address)
            ),
            routed.input.valid.eq(self.bursts.valid),
            self.bursts.ready.eq(routed.input.ready),
        ]

        # One less than the number of bursts that are to be answered: the sign says that none is.
        unanswered = Signal(range(-1, _MAX_UNANSWERED), init=-1)
        may_go = Signal()
        sent = Signal()
        source: Any = routed.output
        m.d.comb += [
            may_go.eq((source.payload.is_shared == self.is_shared) | unanswered[-1]),
            self.to_bus.payload.eq(source.payload.burst),
            self.to_bus.valid.eq(source.valid & ~source.payload.is_shared & may_go),
            self.to_shared.payload.eq(source.payload.burst),
            self.to_shared.valid.eq(source.valid & source.payload.is_shared & may_go),
            source.ready.eq(may_go & Mux(source.payload.is_shared, self.to_shared.ready, self.to_bus.ready)),
            sent.eq(source.valid & source.ready),
        ]
        with m.If(sent):
            m.d.sync += self.is_shared.eq(source.payload.is_shared)
        with m.If(sent & ~self.answered):
            m.d.sync += unanswered.eq(unanswered + 1)
        with m.Elif(self.answered & ~sent):
            m.d.sync += unanswered.eq(unanswered - 1)


def within(page: Value, first: int, pages: int) -> Value:
    """Whether a page number is one of so many from `first` on: by the bits they share, and the rest."""
    bits = (first ^ (first + pages - 1)).bit_length()
    return (page[bits:] == first >> bits) & ((page - first)[:bits] < pages)
