"""Dispatch: the warps' requests to one unit in turns, and what the unit reports back to the right warp."""

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.stream.distributed_memory import distributed_memory
from hdl.stream.turns import take_turns


class Dispatch(Component):
    """Gives each warp its turn at a unit, and tells it when its commands have been read and have ended.

    A unit works on its requests in order, so the numbers of the warps are kept in that order; two pointers
    follow what the unit reports. A core of one warp has wires here.

    Throughput: a request each 2 cycles. Latency: none for the holder of the turn, 1 cycle for another warp
    while nobody holds it; none from `fetched` and `done` to the warp. A warp's ready depends on a register
    and on its unit. Expected critical path: the unit's ready and the turn; the payload's choice of a warp.
    Testbench: cocotb_tests/control/test_sequencer.py, through `Warps`.

    Parameters
    ----------
    shape : shape-like
        Of a request.
    warps : int
    in_flight : int
        Requests of all warps that may be in the unit at once.

    Members
    -------
    wants : In(warps)
        The warp has a request, until it sees ready or drops it; not in the cycle in which it offers one.
    requests : In(stream.Signature(shape)).array(warps)
        A warp that wants and sees ready offers its request in the next cycle, for that cycle; the payload is
        there as long as it wants.
    request : Out(stream.Signature(shape))
        Offered only when the unit is ready; a unit that is ready stays so until it is given a request.
    fetched, done : In(1)
        The unit's oldest request has read its registers; is at its end.
    warp_fetched, warp_done : Out(warps)
        The same to the warp of that request.
    """

    def __init__(self, shape: ShapeLike, *, warps: int, in_flight: int) -> None:
        self._warps = warps
        self._in_flight = in_flight
        members = {
            "wants": In(warps),
            "requests": In(stream.Signature(shape)).array(warps),
            "request": Out(stream.Signature(shape)),
            "fetched": In(1),
            "done": In(1),
            "warp_fetched": Out(warps),
            "warp_done": Out(warps),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        if self._warps == 1:
            connect(m, flipped(self.requests[0]), flipped(self.request))
            m.d.comb += [self.warp_fetched.eq(self.fetched), self.warp_done.eq(self.done)]
            return
        turn = take_turns(m, "turn", self.wants)
        given = self.request.valid
        with m.Switch(turn):
            for warp, request in enumerate(self.requests):
                with m.Case(warp):
                    m.d.comb += [
                        self.request.payload.eq(request.payload),
                        given.eq(request.valid),
                        request.ready.eq(self.request.ready),
                    ]
        newest = Signal(range(self._in_flight))
        unread = Signal.like(newest)
        oldest = Signal.like(newest)
        write, reads = distributed_memory(
            m, "order", range(self._warps), write=newest, reads=[unread, oldest]
        )
        m.d.comb += [write.en.eq(given), write.data.eq(turn)]
        m.d.sync += [newest.eq(newest + given), unread.eq(unread + self.fetched)]
        m.d.sync += oldest.eq(oldest + self.done)
        warps = (self.warp_fetched, self.fetched), (self.warp_done, self.done)
        for read, (of_warp, event) in zip(reads, warps, strict=True):
            m.d.comb += of_warp.bit_select(read.data, 1).eq(event)
