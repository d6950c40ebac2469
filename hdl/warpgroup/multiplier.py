"""The warpgroup multiplier: shares of `wgmma` from the warps to the tile multiplier."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.memory.chunks import chunk_layout, chunk_request_layout
from hdl.multiply.tile.fetch import request_shape
from hdl.multiply.tile.request import TileRequest
from hdl.registers.register_ports import word_read_signature
from hdl.warpgroup.chunk_fetch import ChunkFetch, ChunkTag
from hdl.warpgroup.gather import Gather
from hdl.warpgroup.operand_storage import OperandStorage
from hdl.warpgroup.request import WgmmaRequest
from hdl.warpgroup.tile_expander import TileExpander


class WarpgroupMultiplier(Component):
    """Executes `wgmma` by the tile multiplier, with operands that it fetches from the on-chip memory.

    Throughput: the slower of two: fetching, 32 chunks for each 16 rows of A or B, as many chunks per cycle as
    a beat has quads; and multiplying. Of m64nNk16 on 64 units that is ``32 + N / 2`` and ``N`` cycles.
    Latency: about 50 cycles from the last share of a gang to the first tile. Expected critical path: of the
    parts.
    Testbench: cocotb_tests/warpgroup/test_warpgroup.py.

    Parameters
    ----------
    config : CoreConfig
        With `wgmma`.

    Members
    -------
    requests : In(stream.Signature(WgmmaRequest)).array(warps)
    share_fetched, share_done : Out(warps)
        All registers of the oldest share of the warp have been read; it has ended.
    chunk_requests : Out(stream.Signature(chunk_request_layout(config)))
    chunks : In(chunk_layout(config))
    request : In(stream.Signature(TileRequest))
    tile : Out(stream.Signature(request_shape(config)))
    tile_fetched, tile_done, fetched, done : In(1), Out(1)
        As of `TileExpander`.
    read : In(word_read_signature(config)).array(word_registers)
        Of the operand storage.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "requests": In(stream.Signature(WgmmaRequest)).array(config.warps),
                "share_fetched": Out(config.warps),
                "share_done": Out(config.warps),
                "chunk_requests": Out(stream.Signature(chunk_request_layout(config))),
                "chunks": In(chunk_layout(config)),
                "request": In(stream.Signature(TileRequest)),
                "tile": Out(stream.Signature(request_shape(config))),
                **{name: In(1) for name in ("tile_fetched", "tile_done")},
                **{name: Out(1) for name in ("fetched", "done")},
                "read": In(word_read_signature(config)).array(config.word_registers),
            }
        )

    def _logic(self, m: Module) -> None:
        m.submodules.gather = gather = Gather(self._config)
        m.submodules.fetch = fetch = ChunkFetch(self._config)
        m.submodules.storage = storage = OperandStorage(self._config)
        m.submodules.expander = expander = TileExpander(self._config)
        for outer, inner in zip(self.requests, gather.requests, strict=True):
            connect(m, flipped(outer), inner)
        for outer, inner in zip(self.read, storage.read, strict=True):
            connect(m, flipped(outer), inner)
        connect(m, gather.jobs, fetch.jobs)
        connect(m, gather.gangs, expander.gangs)
        connect(m, fetch.requests, flipped(self.chunk_requests))
        connect(m, flipped(self.request), expander.request)
        connect(m, expander.tile, flipped(self.tile))
        ended = self.chunks.valid & self.chunks.last
        is_b = ChunkTag(self.chunks.tag[: ChunkTag.as_shape().size]).is_b
        m.d.comb += [
            storage.chunks.eq(self.chunks),
            gather.a_freed.eq(expander.a_freed),
            gather.b_freed.eq(expander.b_freed),
            expander.b_loaded.eq(ended & is_b),
            expander.tile_fetched.eq(self.tile_fetched),
            expander.tile_done.eq(self.tile_done),
            self.fetched.eq(expander.fetched),
            self.done.eq(expander.done),
            self.share_fetched.eq(expander.share_fetched),
            self.share_done.eq(expander.share_done),
        ]
