"""The f64 fused multiply-add unit: one result per cycle."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.fma64.add import Add, PlaceProduct
from hdl.fma64.align import Align, Place
from hdl.fma64.decode import Decode
from hdl.fma64.fields import FIELDS
from hdl.fma64.fma64_operands import FusedMultiplyAdd64Operands, FusedMultiplyAdd64Result
from hdl.fma64.multiply import Multiply
from hdl.fma64.normalize import Normalize
from hdl.fma64.round import Round
from hdl.stream.elastic import with_flow_control
from hdl.stream.pipeline import Pipeline

FMA64_SIGNATURE = wiring.Signature(
    {
        "operands": In(stream.Signature(FusedMultiplyAdd64Operands)),
        "result": Out(stream.Signature(FusedMultiplyAdd64Result)),
    }
)
"""The ports of a fused multiply-add unit."""


class Arithmetic(Pipeline):
    """All stages of the fused multiply-add, one after the other; the addend is aligned beside the product.

    The steps follow the classic fused multiply-add (J.-M. Muller et al., Handbook of
    Floating-Point Arithmetic, 2nd edition, 2018, chapter 8).

    Parameters
    ----------
    registers : int or None
        As of `Pipeline`.

    Members
    -------
    input.a, input.b, input.c, input.rounding
        As in `hdl.fma64.fma64_operands.FusedMultiplyAdd64Operands`.
    output.d : 64
    """

    def __init__(self, registers: int | None = None) -> None:
        super().__init__(
            {name: FIELDS[name] for name in ("a", "b", "c", "rounding")},
            {"d": FIELDS["d"]},
            [Decode(), Multiply(), Place(), Align(), PlaceProduct(), Add(), Normalize(), Round()],
            registers=registers,
        )


class FusedMultiplyAdd64(Component):
    """IEEE 754 fused multiply-adds with flow control: ``d = a * b + c``, rounded once.

    Subnormals, signed zeros and overflow in each rounding mode are as in IEEE 754.
    A NaN among the operands comes back made quiet, with its sign and payload, looked for in the order b, c,
    a; an invalid operation gives the canonical NaN.

    Latency: `latency` cycles from the acceptance of operands to their result's valid, the depth. Throughput:
    one result per cycle as long as the receiver takes one per cycle. Results leave in the order of their
    operands. Flow control: `hdl.stream.elastic.with_flow_control`.

    Parameters
    ----------
    depth : int
        As `hdl.config.CoreConfig.f64_depth`.

    Attributes
    ----------
    latency : int

    Members
    -------
    operands : In(stream.Signature(FusedMultiplyAdd64Operands))
    result : Out(stream.Signature(FusedMultiplyAdd64Result))
    """

    def __init__(self, depth: int = CoreConfig.f64_depth) -> None:
        self.latency = depth
        super().__init__(FMA64_SIGNATURE)

    def _logic(self, m: Module) -> None:
        with_flow_control(m, Arithmetic(self.latency - 1), self.operands, self.result)
