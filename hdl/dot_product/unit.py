"""The dot-product unit: one result per cycle."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import DotProductConfig
from hdl.dot_product.arithmetic import Arithmetic
from hdl.dot_product.operands import DotProductResult, operand_layout
from hdl.stream.elastic import with_flow_control


def dot_product_signature(config: DotProductConfig) -> wiring.Signature:
    """The ports of a dot-product unit."""
    return wiring.Signature(
        {
            "operands": In(stream.Signature(operand_layout(config))),
            "result": Out(stream.Signature(DotProductResult)),
        }
    )


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
    operands : In(stream.Signature(operand_layout(config)))
    result : Out(stream.Signature(DotProductResult))
    """

    def __init__(self, config: DotProductConfig) -> None:
        self.config = config
        self.latency = config.depth
        super().__init__(dot_product_signature(config))

    def _logic(self, m: Module) -> None:
        with_flow_control(m, Arithmetic(self.config), self.operands, self.result)
