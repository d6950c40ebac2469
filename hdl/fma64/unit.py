"""The f64 fused multiply-add unit: one result per cycle."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.fma64.arithmetic import Arithmetic
from hdl.fma64.fma64_operands import FusedMultiplyAdd64Operands, FusedMultiplyAdd64Result
from hdl.stream.elastic import CreditQueue

__all__ = ["FMA64_SIGNATURE", "FusedMultiplyAdd64"]

FMA64_SIGNATURE = wiring.Signature(
    {
        "operands": In(stream.Signature(FusedMultiplyAdd64Operands)),
        "result": Out(stream.Signature(FusedMultiplyAdd64Result)),
    }
)
"""The ports of a fused multiply-add unit."""


class FusedMultiplyAdd64(wiring.Component):
    """IEEE 754 fused multiply-adds with flow control: ``d = a * b + c``, rounded once.

    Subnormals and signed zeros are those of IEEE 754, in and out, and so is overflow in each rounding mode.
    A NaN among the operands comes back made quiet, with its sign and payload, looked for in the order b, c,
    a; an invalid operation gives the canonical NaN.

    The arithmetic never stops, so nothing in it waits for a receiver and no enable signal has to reach its
    registers; `hdl.stream.elastic.CreditQueue` admits only what it has a place for. Nothing passes
    combinationally from one port's ready to the other's.

    Latency: `latency` cycles from the acceptance of operands to their result's valid. Throughput: one
    result per cycle as long as the receiver takes one per cycle. Results leave in the order of their
    operands.

    Attributes
    ----------
    latency : int

    Members
    -------
    operands : In(stream.Signature(FusedMultiplyAdd64Operands))
    result : Out(stream.Signature(FusedMultiplyAdd64Result))
    """

    latency = Arithmetic.latency + 1

    def __init__(self) -> None:
        super().__init__(FMA64_SIGNATURE)

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        occupied = Signal(Arithmetic.latency)
        places = 1 << (Arithmetic.latency + 1).bit_length()
        queue = CreditQueue(FusedMultiplyAdd64Result, depth=places)
        m.submodules.arithmetic = arithmetic = Arithmetic()
        m.submodules.queue = queue
        m.d.sync += occupied.eq(Cat(queue.enter, occupied[:-1]))
        m.d.comb += [
            *(
                getattr(arithmetic.input, name).eq(self.operands.payload[name])
                for name in arithmetic.consumes
            ),
            self.operands.ready.eq(queue.ready),
            queue.enter.eq(self.operands.valid & self.operands.ready),
            queue.payload.d.eq(arithmetic.output.d),
            queue.push.eq(occupied[-1]),
        ]
        wiring.connect(m, queue.output, wiring.flipped(self.result))
        return m
