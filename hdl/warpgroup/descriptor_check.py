"""Whether the operands of a `wgmma` lie in the on-chip memory."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.command import Descriptor
from hdl.component import Component
from hdl.config import CoreConfig
from hdl.warpgroup.request import WgmmaRequest, span_log2

_A_GROUPS = 8
"""Groups of eight rows of A, which has 64."""

_CHUNK = 16


class DescriptorCheck(Component):
    """Finds where what the descriptors may read ends, as `golden.matrix_descriptors` does.

    The swizzle moves bytes within blocks of 128 bytes, and the memory is whole blocks, so it does not count.

    Throughput: a request in five cycles. Latency: 5 cycles. Expected critical path: a product of 5 and 14
    bits.
    Testbench: cocotb_tests/warpgroup/test_descriptor_check.py.

    Members
    -------
    request : In(WgmmaRequest)
        Stable from `start` on.
    start : In(1)
    done : Out(1)
        From the end of the check to the next `start`.
    legal : Out(1)
        With `done`.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__({"request": In(WgmmaRequest), "start": In(1), "done": Out(1), "legal": Out(1)})

    def _logic(self, m: Module) -> None:
        step = Signal(3, init=4)
        is_b = step[1]
        found = Signal(Descriptor)
        transposed = Signal()
        groups_less_one = Signal(5)
        m.d.comb += [
            found.eq(Mux(is_b, self.request.b.as_value(), self.request.a.as_value())),
            transposed.eq(Mux(is_b, self.request.transposed[1], self.request.transposed[0])),
            groups_less_one.eq(Mux(is_b, self.request.tiles_less_one, _A_GROUPS - 1)),
        ]
        span = span_log2(found.swizzle)
        plain = found.swizzle == 0
        by_span = transposed & ~plain
        times = Mux(by_span, groups_less_one >> span, groups_less_one)
        within_span = Mux(times != 0, (Const(1, 4) << span)[:4] - 1, groups_less_one[:3])
        offset = Mux(by_span, found.stride + within_span, Mux(plain, found.leading, Const(1, 14)))
        product, rest = Signal(20, reset_less=True), Signal(16, reset_less=True)
        end = (product + rest)[:20]
        m.d.comb += self.done.eq(step[2])
        with m.If(~self.done):
            m.d.sync += step.eq(step + 1)
        with m.If(~step[0]):
            m.d.sync += [
                product.eq(times * Mux(by_span, found.leading, found.stride)),
                rest.eq(found.start + offset + (Const(7, 6) << span)),
            ]
        with m.Elif(is_b | ~self.request.a_in_registers):
            with m.If(end >= self._config.shared_bytes // _CHUNK):
                m.d.sync += self.legal.eq(0)
        with m.If(self.start):
            m.d.sync += [step.eq(0), self.legal.eq(1)]
