"""A place to rest between two units, so that neither waits for the other within a cycle."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.component import Component


class StreamBuffer(Component):
    """Cut a stream in two: no combinational path leads through it in either direction.

    Two places: one for the payload that is offered, one for that which comes in the cycle in which the taker
    stops taking.

    Throughput: one per cycle. Latency: 1 cycle. Critical path expected: `output.ready`, the choice between
    the two sources of a place.
    Testbench: cocotb_tests/memory/test_row_addresses.py, through `RowAddresses`.

    Parameters
    ----------
    shape : shape-like
        Of the payload.

    Members
    -------
    input : In(stream.Signature(shape))
    output : Out(stream.Signature(shape))
    """

    def __init__(self, shape: ShapeLike) -> None:
        self._shape = shape
        super().__init__(
            {"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))},
        )

    def _logic(self, m: Module) -> None:
        offered, spare = (Signal(self._shape, name=name, reset_less=True) for name in ("offered", "spare"))
        spare_valid = Signal()
        m.d.comb += [self.input.ready.eq(~spare_valid), self.output.payload.eq(offered)]
        with m.If(self.output.ready | ~self.output.valid):
            m.d.sync += [
                self.output.valid.eq(self.input.valid | spare_valid),
                offered.eq(Mux(spare_valid, spare, self.input.payload)),
                spare_valid.eq(0),
            ]
        with m.Elif(self.input.valid & self.input.ready):
            m.d.sync += spare_valid.eq(1)
        with m.If(self.input.ready):
            m.d.sync += spare.eq(self.input.payload)
