"""The tile multiplier: fetches one tile, issues a second and collects a third at the same time.

Cycles of each stage for a tile of 256 results, and for m16n8k16 with 128, both with f16 multiplicands and f32
accumulators, no waits:

======= ========================= ======== ======= ========
stage   bound by                  1 unit   4 units 64 units
======= ========================= ======== ======= ========
fetch   words of X and Y, or of C 64, 48   32, 24  4, 2
issue   256 or 128 / units        256, 128 64, 32  4, 2
collect results, words of D       256, 128 64, 32  4, 2
======= ========================= ======== ======= ========

With more than 16 units, X, Y and C have a port each, and a word two registers.
"""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.dot_product.operands import DotProductResult
from hdl.multiply.tile.collect import TileCollect, tiles_in_flight
from hdl.multiply.tile.fetch import ResultTile, TileFetch, request_shape
from hdl.multiply.tile.issue import TileIssue
from hdl.multiply.tile.rows import RowMemories, row_read_layout, row_widths
from hdl.multiply.tile.scales import unit_operands
from hdl.multiply.tile.side_operands import side_members
from hdl.registers.register_ports import register_write_signature, word_read_signature
from hdl.stream.queue import Queue


class TileMultiplier(Component):
    """Multiplies tiles.

    Because a register word is a run of k of one row for each of its quads, operands need no reordering: words
    are copied to the row memories as they are (`RowMemories`), and the rows of all quads of a word are read
    at once. `Steps` tells which of them meet in which unit.

    The stages know of each other only which buffers of the row memories are full, which tiles' results are to
    come, and how many results of a chain are there to be carried on. Each of these is a stream or a pulse. No
    ready of a port depends on another one's without a register between.

    Throughput: the slowest stage's, see the module's table; that is issuing, which keeps the units busy in
    every cycle. A buffer of the row memories is filled again only when its tile is issued: this costs half a
    cycle for each tile of m16n8k16 on 16 units; 32 and 64 units have 4 and 8 buffers. A chained tile is
    issued once for each pass; 64 units wait for the one before. Tiles of fp8 that becomes f16 are chained
    (two passes), and results of another tile that follows wait for the end of their additions.
    Latency: fetching, issuing, the units' own, and 9 cycles; 10 more for the additions, and with them 1 more
    for issuing.
    Critical path expected: of the stages.

    Members
    -------
    request : In(stream.Signature(request_shape(config)))
    fetched : Out(1)
        High for one cycle for each request, in order, when all its registers have been read.
    done : Out(1)
        High for one cycle for each request, in order, after its last result is in the register file.
    operands : Out(stream.Signature(unit_operands(config))).array(units)
        To each dot-product unit.
    result : In(stream.Signature(DotProductResult)).array(units)
        From each dot-product unit.
    busy_units : Out(range(units + 1))
        Units that accepted operands two cycles ago.
    write : Out(register_write_signature(config, registers=word_registers))
    read : Out(word_read_signature(config)).array(word_registers)
        Of multiplicands.
    c_read : Out(word_read_signature(config))
    read_enable, asked, low_codes, high_codes, scale_a, scale_b, released
        If multiplies may have side operands, from and to `hdl.multiply.tile.side_operands.SideOperandReader`.
    stored_read : Out(word_read_signature(config)).array(word_registers)
        Of the operand storage. Only where there is `wgmma`.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        units = config.dot_product_units
        members = {
            "request": In(stream.Signature(request_shape(config))),
            "fetched": Out(1),
            "done": Out(1),
            "busy_units": Out(range(units + 1)),
            "write": Out(register_write_signature(config, registers=config.word_registers)),
            "read": Out(word_read_signature(config)).array(config.word_registers),
            "c_read": Out(word_read_signature(config)),
            "operands": Out(stream.Signature(unit_operands(config))).array(units),
            "result": In(stream.Signature(DotProductResult)).array(units),
        }
        if config.has_side_operands:
            members |= {
                **side_members(config),
                **{"released": Out(1), "read_enable": Out(1), "asked": Out(row_read_layout(config))},
            }
        if config.wgmma:
            members["stored_read"] = Out(word_read_signature(config)).array(config.word_registers)
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        config = self._config
        m.submodules.fetch = fetch = TileFetch(config)
        m.submodules.rows = rows = RowMemories(config)
        m.submodules.issue = issue = TileIssue(config)
        m.submodules.collect = collect = TileCollect(config)
        m.submodules.tiles = tiles = Queue(ResultTile, tiles_in_flight(config), buffered=True)

        connect(m, flipped(self.request), fetch.request)
        for inner, outer in zip(fetch.read, self.read, strict=True):
            connect(m, inner, flipped(outer))
        connect(m, fetch.c_read, flipped(self.c_read))
        if config.wgmma:
            for inner, outer in zip(fetch.stored_read, self.stored_read, strict=True):
                connect(m, inner, flipped(outer))
        connect(m, fetch.tile, issue.tile)
        connect(m, fetch.result_tile, tiles.input)
        connect(m, tiles.output, collect.tile)
        connect(m, collect.write, flipped(self.write))
        for inner, outer in zip(issue.operands, self.operands, strict=True):
            connect(m, inner, flipped(outer))
        for outer, inner in zip(self.result, collect.result, strict=True):
            connect(m, flipped(outer), inner)
        m.d.comb += [
            collect.fetched.eq(fetch.fetched),
            rows.write.eq(fetch.write),
            rows.x_data.eq(fetch.x_data),
            rows.y_data.eq(fetch.y_data),
            rows.c_data.eq(fetch.c_data),
            rows.read_enable.eq(issue.read_enable),
            rows.read.eq(issue.read),
            *(getattr(issue, name).eq(getattr(rows, name)) for name in (*row_widths(config), "carry")),
            rows.carry_enable.eq(collect.carry_enable),
            rows.carry_step.eq(collect.carry_step),
            rows.carry_data.eq(collect.carry_data),
            rows.addend_enable.eq(issue.addend_enable),
            rows.addend_step.eq(issue.addend_step),
            rows.addend_data.eq(issue.addend_data),
            rows.addend_read_step.eq(collect.addend_step),
            collect.addend.eq(rows.addend),
            issue.carried.eq(collect.carry_enable),
            self.fetched.eq(fetch.fetched),
            self.done.eq(collect.done),
            self.busy_units.eq(issue.busy_units),
        ]
        if config.has_side_operands:
            m.d.comb += [
                self.read_enable.eq(issue.read_enable),
                self.asked.eq(issue.read),
                *(getattr(issue, name).eq(getattr(self, name)) for name in side_members(config)),
                self.released.eq(issue.released),
            ]
