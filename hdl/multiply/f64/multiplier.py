"""The f64 tile multiplier: fetches one tile, multiplies a second and writes a third at the same time."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.fma64.fma64_operands import FusedMultiplyAdd64Operands, FusedMultiplyAdd64Result
from hdl.multiply.f64.collect import F64Collect, F64Destination
from hdl.multiply.f64.fetch import F64Fetch
from hdl.multiply.f64.issue import F64Issue
from hdl.multiply.f64.request import F64Request, F64Tile
from hdl.multiply.f64.rows import F64Rows
from hdl.registers.register_ports import quad_read_signature, register_write_signature
from hdl.stream.queue import Queue

_TILES = 8
"""Tiles between their first read and their last write: two in the row memories, the others in flight."""


class F64Multiplier(Component):
    """Multiplies f64 tiles of 8 x 8 elements with 4 products each, and of 16 x 8 with 4, 8 or 16.

    Throughput: a tile of m8n8k4 in 256 cycles with one unit and in 128 with two, of 28 cycles' latency or
    less, if reads and writes are granted in time: 64 and 32 for each tile. With four units a round is 16
    steps, less than the latency, and a tile takes three latencies and 19 cycles. The larger tiles take 128
    cycles for each k with one unit, 64 with two, and 32 with four.
    Latency: fetching, issuing, the units' own, and 9 cycles; with four units 15 more, for writes left over.
    Critical path expected: of the stages.

    Members
    -------
    request : In(stream.Signature(F64Request))
    fetched : Out(1)
        High for one cycle for each request, in order, when all its registers have been read.
    done : Out(1)
        High for one cycle for each request, in order, after its last result is in the register file.
    operands : Out(stream.Signature(FusedMultiplyAdd64Operands)).array(f64_units)
        To each fused multiply-add unit.
    result : In(stream.Signature(FusedMultiplyAdd64Result)).array(f64_units)
        From each of them.
    busy_units : Out(range(units + 1))
        Units that accepted operands in the cycle before.
    write : Out(register_write_signature(config))
    read : Out(quad_read_signature(config))

    Raises
    ------
    ValueError
        For a configuration without f64 units.
    """

    def __init__(self, config: CoreConfig) -> None:
        if not config.f64_units:
            raise ValueError("The f64 tile multiplier needs 1, 2 or 4 f64 units, not 0")
        self._config = config
        units = config.f64_units
        members = {
            "request": In(stream.Signature(F64Request)),
            "fetched": Out(1),
            "done": Out(1),
            "busy_units": Out(range(units + 1)),
            "write": Out(register_write_signature(config)),
            "read": Out(quad_read_signature(config)),
            "operands": Out(stream.Signature(FusedMultiplyAdd64Operands)).array(units),
            "result": In(stream.Signature(FusedMultiplyAdd64Result)).array(units),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        config = self._config
        m.submodules.fetch = fetch = F64Fetch(config)
        m.submodules.rows = rows = F64Rows(config)
        m.submodules.issue = issue = F64Issue(config)
        m.submodules.collect = collect = F64Collect(config)
        m.submodules.destinations = destinations = Queue(F64Destination, _TILES, buffered=True)
        m.submodules.tiles = tiles = Queue(F64Tile, _TILES, buffered=True)
        taken = self.request.valid & self.request.ready
        connect(m, flipped(self.request), fetch.request)
        connect(m, fetch.read, flipped(self.read))
        connect(m, collect.write, flipped(self.write))
        connect(m, destinations.output, collect.destination)
        connect(m, tiles.output, collect.tile)
        m.d.comb += [
            fetch.hold.eq(~destinations.input.ready),
            destinations.input.valid.eq(taken),
            destinations.input.payload.d.eq(self.request.payload.d),
            destinations.input.payload.two_blocks.eq(self.request.payload.tile.two_blocks),
            # A tile leaves this queue before the other one, so it has room as well.
            tiles.input.valid.eq(taken),
            tiles.input.payload.eq(self.request.payload.tile),
            issue.tiles.eq(fetch.tiles),
            issue.oldest.eq(fetch.oldest),
            fetch.release.eq(issue.release),
            rows.write.eq(fetch.write),
            rows.buffer.eq(fetch.buffer),
            rows.enable.eq(issue.enable),
            rows.step.eq(issue.step),
            rows.k.eq(issue.k),
            issue.a.eq(rows.a),
            issue.returned.eq(collect.returned),
            issue.returned_step.eq(collect.returned_step),
            self.fetched.eq(fetch.fetched),
            self.done.eq(collect.done),
            self.busy_units.eq(issue.busy_units),
        ]
        for unit in range(config.f64_units):
            m.d.comb += [
                issue.b[unit].eq(rows.b[unit]),
                issue.c[unit].eq(rows.c[unit]),
                issue.sums[unit].eq(collect.sums[unit]),
            ]
            connect(m, issue.operands[unit], flipped(self.operands[unit]))
            connect(m, flipped(self.result[unit]), collect.result[unit])
