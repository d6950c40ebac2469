"""The unit for sums of groups: one result in two cycles."""

from typing import ClassVar, Final

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.omma.add import Add, Normalize, Pack
from hdl.omma.align import Align, AlignAddend, Maximum, Multiply
from hdl.omma.fields import FIELDS
from hdl.omma.operands import GroupSumOperands, GroupSumResult
from hdl.omma.products import GroupSums, Products
from hdl.omma.scales import DecodeC, Scales, TakingPart
from hdl.stream.elastic import CreditQueue
from hdl.stream.pipeline import Pipeline, delay

GROUP_SUM_SIGNATURE = wiring.Signature(
    {
        "operands": In(stream.Signature(GroupSumOperands)),
        "result": Out(stream.Signature(GroupSumResult)),
    }
)
"""The ports of a unit for sums of groups."""

_OPERANDS: Final = tuple(name for name, _ in data.Layout.cast(GroupSumOperands))


class Arithmetic(Pipeline):
    """All stages; operands are there for two cycles, and the result comes of the second one.

    Parameters
    ----------
    registers : int or None
        As of `Pipeline`.

    Members
    -------
    input.a, input.b, input.c, input.scale_a, input.scale_b, input.ue4m3
        As in `hdl.omma.operands.GroupSumOperands`.
    input.second : 1
        Whether it is the second cycle.
    output.d : 32
    """

    def __init__(self, registers: int | None = None) -> None:
        super().__init__(
            {name: FIELDS[name] for name in (*_OPERANDS, "second")},
            {"d": FIELDS["d"]},
            [
                (Products(), Scales(), DecodeC()),
                TakingPart(),
                Maximum(),
                GroupSums(),
                Multiply(),
                AlignAddend(),
                Align(),
                Add(),
                Normalize(),
                Pack(),
            ],
            registers=registers,
        )


class GroupSumUnit(Component):
    """Sums of groups with flow control: 64 products of e2m1 with block scales, and C.

    The four groups of 16 products are added exactly, scaled, and aligned by the exponents of their scales
    alone, whatever their elements. Each of two cycles takes two groups, so the unit has multipliers for 32
    products, and a result takes as many cycles as two dot products of 16 products of s8.

    Latency: `latency` cycles from the acceptance of operands to their result's valid, the depth; operands
    are accepted in the second cycle in which they are offered. Throughput: one result in two cycles as long
    as the receiver takes one. Results leave in the order of their operands.

    Parameters
    ----------
    depth : int
        Cycles from operands to result: 1 to 20.

    Attributes
    ----------
    latency : int

    Members
    -------
    operands : In(stream.Signature(GroupSumOperands))
    result : Out(stream.Signature(GroupSumResult))
    """

    depths: ClassVar[range] = range(1, 21)
    """One cycle in the queue behind the arithmetic, and one for each of its 19 cuts that holds registers."""

    def __init__(self, depth: int = depths[-1]) -> None:
        self.latency = depth
        super().__init__(GROUP_SUM_SIGNATURE)

    def _logic(self, m: Module) -> None:
        m.submodules.arithmetic = pipeline = Arithmetic(self.latency - 1)
        # A place is taken for three cycles more than the pipeline has, and by every second of them.
        places = 1 << ((self.latency + 3) // 2 - 1).bit_length()
        m.submodules.queue = queue = CreditQueue(GroupSumResult, depth=max(places, 2))
        second = Signal()
        enter = Signal()
        m.d.comb += [
            enter.eq(self.operands.valid & queue.ready & ~second),
            *(getattr(pipeline.input, name).eq(self.operands.payload[name]) for name in _OPERANDS),
            pipeline.input.second.eq(second),
            self.operands.ready.eq(second),
            queue.enter.eq(enter),
            queue.push.eq(delay(m, second, pipeline.latency, "occupied", reset_less=False)),
            queue.payload.d.eq(pipeline.output.d),
        ]
        m.d.sync += second.eq(enter)
        connect(m, queue.output, flipped(self.result))
