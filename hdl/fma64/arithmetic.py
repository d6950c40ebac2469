"""The arithmetic pipeline of the f64 fused multiply-add, without flow control."""

from amaranth.lib.wiring import Out

from hdl.fma64.add import Add, PlaceProduct
from hdl.fma64.align import Align, Place
from hdl.fma64.decode import Decode
from hdl.fma64.multiply import Multiply
from hdl.fma64.normalize import Normalize
from hdl.fma64.round import Round
from hdl.stream.pipeline import Pipeline

__all__ = ["Arithmetic"]


class Arithmetic(Pipeline):
    """All stages of the fused multiply-add, one after the other; the addend is aligned beside the product.

    The operation is that of IEEE 754-2019, 5.4.1; the order of its steps that of the classic fused
    multiply-add (J.-M. Muller et al., Handbook of Floating-Point Arithmetic, 2nd edition, 2018, chapter 8).

    Throughput: an operation per cycle. Latency: `latency` cycles, the input register included.

    Members
    -------
    input.a, input.b, input.c, input.rounding
        As in `hdl.fma64.fma64_operands.FusedMultiplyAdd64Operands`.
    output.d : 64

    Testbench
    ---------
    cocotb_tests/fma64/test_fma64_unit.py, through `FusedMultiplyAdd64`.
    """

    latency = (
        Decode.latency
        + Multiply.latency
        + PlaceProduct.latency
        + Add.latency
        + Normalize.latency
        + Round.latency
    )

    def __init__(self) -> None:
        super().__init__(
            {"a": Out(64), "b": Out(64), "c": Out(64), "rounding": Out(2)},
            {"d": Out(64)},
            [Decode(), Multiply(), Place(), Align(), PlaceProduct(), Add(), Normalize(), Round()],
        )
