"""From gangs to tiles, and from what the tile multiplier reports to the warps."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import WARPS_OF_A_GROUP, CoreConfig
from hdl.dot_product.operands import Result
from hdl.multiply.tile.fetch import request_shape
from hdl.multiply.tile.request import TileRequest
from hdl.stream.distributed_memory import distributed_memory
from hdl.stream.queue import Queue
from hdl.stream.stream_buffer import StreamBuffer
from hdl.warpgroup.operand_storage import STORED_B
from hdl.warpgroup.request import BLOCKS, Gang

_TILES = 64
"""More tiles than may be between their request and their last result."""

_WARP_BITS = 4


class TileExpander(Component):
    """Asks for the tiles of one gang after another, between the tiles of `mma`.

    Of each 8 columns every member has a tile, so that a block of B is read for all of them. A tile adds to
    the D of the same tile of the share before: it is asked for only when fewer tiles of its warp are in
    flight than a share has. So shares with the same D follow each other without a gap if they have many
    columns; shares whose D overlap in another way are kept apart by the scoreboard.

    Throughput: a tile per cycle. Latency: 2 cycles. Expected critical path: the choice of a member and the
    count of its tiles.
    Testbench: cocotb_tests/warpgroup/test_warpgroup.py, through `WarpgroupMultiplier`.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    gangs : In(stream.Signature(Gang))
    b_loaded : In(1)
        One more block of B is in the operand storage.
    request : In(stream.Signature(TileRequest))
        The tiles of `mma`.
    tile : Out(stream.Signature(request_shape(config)))
        To the tile multiplier.
    tile_fetched, tile_done : In(1)
        From it.
    fetched, done : Out(1)
        The same of the tiles of `mma`.
    share_fetched, share_done : Out(warps)
        The last tile of a share has been read; has ended.
    a_freed, b_freed : Out(1)
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "gangs": In(stream.Signature(Gang)),
                "b_loaded": In(1),
                "request": In(stream.Signature(TileRequest)),
                "tile": Out(stream.Signature(request_shape(config))),
                **{name: In(1) for name in ("tile_fetched", "tile_done")},
                **{name: Out(1) for name in ("fetched", "done", "a_freed", "b_freed")},
                "share_fetched": Out(config.warps),
                "share_done": Out(config.warps),
            }
        )

    def _logic(self, m: Module) -> None:
        order = data.StructLayout(
            {"is_share": 1, "warp": _WARP_BITS, "is_last": 1, "frees_a": 1, "frees_b": 1}
        )
        asked_layout = data.StructLayout({"request": request_shape(self._config), "order": order})
        m.submodules.shares = shares = Queue(asked_layout, 2)
        m.submodules.multiplies = multiplies = StreamBuffer(TileRequest)
        connect(m, flipped(self.request), multiplies.input)
        done = Signal(self._config.warps)
        self._expand(m, shares.input, done)

        newest, unread, oldest = (Signal(range(_TILES), name=name) for name in ("newest", "unread", "oldest"))
        write, (read, ended) = distributed_memory(m, "order", order, write=newest, reads=[unread, oldest])
        after_share = Signal()
        takes_share = shares.output.valid & ~(after_share & multiplies.output.valid)
        sent = Signal()
        request = self.tile.payload
        m.d.comb += [
            self.tile.valid.eq(shares.output.valid | multiplies.output.valid),
            sent.eq(self.tile.valid & self.tile.ready),
            shares.output.ready.eq(takes_share & self.tile.ready),
            multiplies.output.ready.eq(~takes_share & self.tile.ready),
            write.en.eq(sent),
        ]
        with m.If(takes_share):
            m.d.comb += [
                request.eq(shares.output.payload.request),
                write.data.eq(shares.output.payload.order),
            ]
        with m.Else():
            m.d.comb += request.tile.eq(multiplies.output.payload)
        with m.If(sent):
            m.d.sync += [after_share.eq(takes_share), newest.eq(newest + 1)]
        m.d.sync += [unread.eq(unread + self.tile_fetched), oldest.eq(oldest + self.tile_done)]
        shared_read = self.tile_fetched & read.data.is_share
        m.d.comb += [
            self.fetched.eq(self.tile_fetched & ~read.data.is_share),
            self.done.eq(self.tile_done & ~ended.data.is_share),
            self.a_freed.eq(shared_read & read.data.frees_a),
            self.b_freed.eq(shared_read & read.data.frees_b),
        ]
        for warp in range(self._config.warps):
            ends = self.tile_done & ended.data.is_share & (ended.data.warp == warp)
            m.d.comb += [
                done[warp].eq(ends),
                self.share_done[warp].eq(ends & ended.data.is_last),
                self.share_fetched[warp].eq(shared_read & read.data.is_last & (read.data.warp == warp)),
            ]

    def _expand(self, m: Module, shares: stream.Interface, done: Signal) -> None:
        """Offer the tiles of the gang at hand."""
        gang = self.gangs.payload
        tile, member = Signal(5), Signal(2)
        started, left = Signal(), Signal(WARPS_OF_A_GROUP)
        candidates = Signal(WARPS_OF_A_GROUP)
        loaded = Signal(range(BLOCKS + 1))
        block = Signal(range(BLOCKS))
        warp = Signal(_WARP_BITS)
        in_flight = [Signal(range(_TILES), name=f"in_flight_{each}") for each in range(self._config.warps)]
        m.d.comb += [candidates.eq(Mux(started, left, gang.members)), warp.eq(Cat(member, gang.group))]
        for each in reversed(range(WARPS_OF_A_GROUP)):
            with m.If(candidates[each]):
                m.d.comb += member.eq(each)
        others = candidates & (candidates - 1)[:WARPS_OF_A_GROUP]
        asked, order = shares.payload.request, shares.payload.order
        request = asked.tile
        is_f16 = gang.tile.operation.result == Result.F16
        d = gang.d[member] + Mux(is_f16, tile << 1, tile << 2)
        last_of_tile = Signal()
        ends_block, ends_gang = Signal(), Signal()
        taken = Signal()
        m.d.comb += [
            shares.valid.eq(
                self.gangs.valid & (loaded != 0) & (Array(in_flight)[warp] <= gang.tiles_less_one)
            ),
            taken.eq(shares.valid & shares.ready),
            last_of_tile.eq(others == 0),
            ends_gang.eq(last_of_tile & (tile == gang.tiles_less_one)),
            ends_block.eq(last_of_tile & (tile[0] | ends_gang)),
            request.eq(gang.tile),
            request.x.eq(Mux(gang.a_in_registers, gang.a[member], Cat(Const(0, 2), member, gang.a_buffer))),
            request.y.eq(STORED_B | Cat(Const(0, 1), tile[0], block)),
            request.c.eq(d),
            request.d.eq(d),
            asked.x_stored.eq(~gang.a_in_registers),
            asked.y_stored.eq(1),
            asked.zero_c.eq(~gang.scale_d),
            asked.negated.eq(gang.negated),
            order.is_share.eq(1),
            order.warp.eq(warp),
            order.is_last.eq(tile == gang.tiles_less_one),
            order.frees_a.eq(ends_gang),
            order.frees_b.eq(ends_block),
            self.gangs.ready.eq(taken & ends_gang),
        ]
        frees = taken & ends_block
        m.d.sync += [loaded.eq(loaded + self.b_loaded - frees), block.eq(block + frees)]
        with m.If(taken):
            m.d.sync += [started.eq(~last_of_tile), left.eq(others)]
            with m.If(last_of_tile):
                m.d.sync += tile.eq(Mux(ends_gang, 0, tile + 1))
        for each, count in enumerate(in_flight):
            m.d.sync += count.eq(count + (taken & (warp == each)) - done[each])
