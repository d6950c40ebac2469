"""The dot-product unit: one result per cycle."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import DotProductConfig
from hdl.dot_product.arithmetic import Arithmetic
from hdl.dot_product.operands import DotProductOperands, DotProductResult
from hdl.stream.elastic import with_flow_control

DOT_PRODUCT_SIGNATURE = wiring.Signature(
    {
        "operands": In(stream.Signature(DotProductOperands)),
        "result": Out(stream.Signature(DotProductResult)),
    }
)
"""The ports of a dot-product unit of any configuration."""


class DotProductUnit(Component):
    """Dot products with flow control: ``d = sum(a[k] * b[k]) + c``.

    Latency: `latency` cycles from the acceptance of operands to their result's valid, the depth. Throughput:
    one result per cycle as long as the receiver takes one per cycle. Results leave in the order of their
    operands. Flow control: `hdl.stream.elastic.with_flow_control`.

    Attributes
    ----------
    latency : int

    Members
    -------
    operands : In(stream.Signature(DotProductOperands))
    result : Out(stream.Signature(DotProductResult))
    """

    def __init__(self, config: DotProductConfig) -> None:
        self.config = config
        self.latency = config.depth
        super().__init__(DOT_PRODUCT_SIGNATURE)

    def _logic(self, m: Module) -> None:
        with_flow_control(m, Arithmetic(self.config), self.operands, self.result)
