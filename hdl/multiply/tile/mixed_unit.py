"""A dot-product unit and a unit for sums of groups behind the ports of one unit."""

from typing import Any, Final

from amaranth.hdl import Module, Mux
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.dot_product.operands import DotProductResult, operand_layout
from hdl.multiply.tile.scales import SCALES, unit_operands
from hdl.omma.unit import GROUP_SUM_SIGNATURE, GroupSumUnit
from hdl.shared_module import SharedModule
from hdl.stream.queue import Queue

GROUP_SUM_MODULE: Final = "openwmma_group_sum_unit"
"""Name of the module, which stands once in the Verilog."""


class MixedUnit(Component):
    """Hands operands to a dot-product unit or to a unit for sums of groups, by their operation.

    Results leave in the order of the operands, whichever unit they come from: a queue has a bit for each.

    Throughput: of the unit in question, one result per cycle or in two. Latency: of that unit, `depth` of
    the dot-product unit for both, but no more than `GroupSumUnit` has. Expected critical path: the
    choice of a result.
    Testbench: cocotb_tests/multiply/test_mixed_unit.py.

    Parameters
    ----------
    config : CoreConfig
    dot_product : component with the ports of a dot-product unit

    Members
    -------
    operands : In(stream.Signature(unit_operands(config)))
    result : Out(stream.Signature(DotProductResult))
    """

    def __init__(self, config: CoreConfig, dot_product: Any) -> None:
        self._config = config
        self._dot_product = dot_product
        super().__init__(
            {
                "operands": In(stream.Signature(unit_operands(config))),
                "result": Out(stream.Signature(DotProductResult)),
            }
        )

    def _logic(self, m: Module) -> None:
        config = self._config
        depth = min(config.dot_product.depth, GroupSumUnit.depths[-1])
        m.submodules.dot_product = dot_product = self._dot_product
        m.submodules.group_sum = group_sum = SharedModule(
            GROUP_SUM_MODULE, GROUP_SUM_SIGNATURE, lambda: GroupSumUnit(depth)
        )
        # As many places as both units have; its bit is in a register when a result comes.
        places = 1 << (2 * config.dot_product.depth).bit_length()
        m.submodules.order = order = Queue(1, places, buffered=True, style="distributed")
        given = self.operands.payload
        is_group = given.is_group
        units = (dot_product, group_sum)
        for number, unit in enumerate(units):
            m.d.comb += [
                unit.operands.valid.eq(self.operands.valid & order.input.ready & (is_group == number)),
                unit.result.ready.eq(
                    self.result.ready & order.output.valid & (order.output.payload == number)
                ),
            ]
        m.d.comb += [
            *(
                dot_product.operands.payload[name].eq(given[name])
                for name in _names(operand_layout(config.dot_product))
            ),
            *(group_sum.operands.payload[name].eq(given[name]) for name in ("a", "b", "c", *SCALES)),
            group_sum.operands.payload.ue4m3.eq(given.operation.a_e5m2),
            self.operands.ready.eq(
                order.input.ready & Mux(is_group, group_sum.operands.ready, dot_product.operands.ready)
            ),
            order.input.valid.eq(self.operands.valid & self.operands.ready),
            order.input.payload.eq(is_group),
            self.result.valid.eq(
                order.output.valid
                & Mux(order.output.payload, group_sum.result.valid, dot_product.result.valid)
            ),
            self.result.payload.d.eq(
                Mux(order.output.payload, group_sum.result.payload.d, dot_product.result.payload.d)
            ),
            order.output.ready.eq(self.result.valid & self.result.ready),
        ]


def _names(layout: Any) -> list[str]:
    return [name for name, _ in data.Layout.cast(layout)]
