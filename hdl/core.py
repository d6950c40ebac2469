"""The core: all units, wired."""

from contextlib import nullcontext
from typing import Any, Final

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.control.host import HostInterface
from hdl.control.scoreboard import Unit
from hdl.control.warps import STALLS, Warps
from hdl.dot_product.unit import DotProductUnit, dot_product_signature
from hdl.fma64.unit import FMA64_SIGNATURE, FusedMultiplyAdd64
from hdl.memory.axi import Axi4LiteSignature, Axi4Signature
from hdl.memory.banks import Banks, banks_are_shared
from hdl.memory.load_engine import LoadEngine
from hdl.memory.port import MemoryPort
from hdl.memory.row_addresses import RowAddresses
from hdl.memory.store_engine import StoreEngine
from hdl.multiply.f64.multiplier import F64Multiplier
from hdl.multiply.tile.mixed_unit import MixedUnit
from hdl.multiply.tile.multiplier import TileMultiplier
from hdl.multiply.tile.side_operands import SideOperandReader, side_members
from hdl.registers.file import RegisterFile
from hdl.registers.mover import RegisterMover
from hdl.registers.register_ports import share_read_port, share_write_port
from hdl.shared_module import SharedModule
from hdl.warpgroup.multiplier import WarpgroupMultiplier

_TO_HOST: Final = ("busy", "cause", "executed", "progress", *STALLS)
"""What the host shows of the warps."""

DOT_PRODUCT_MODULE: Final = "openwmma_dot_product_unit"
FMA64_MODULE: Final = "openwmma_fma64"
"""Names of the modules that stand once in the Verilog, however many units there are."""


class Core(Component):
    """A tensor core.

    Commands from the host pass the queue of their warp to its sequencer. It dispatches them in order to the
    load engine, the store engine, the tile multipliers and the register mover, as soon as no hazard is left.
    The units work in parallel, for all warps. The tile multiplier has a read port of the register file for
    multiplicands. The other ports are shared, with fixed priority: results before loads at the write port;
    words of C before operands of f64, and these before stores, at the read port.

    Testbench: cocotb_tests/test_core.py, through `core_top`.

    Parameters
    ----------
    config : CoreConfig
    count_from : int
        What the host's counters count from after reset; a testbench starts them near their limit.

    Members
    -------
    host : In(Axi4LiteSignature())
    memory : Out(Axi4Signature(config))
    irq : Out(1)
    """

    def __init__(self, config: CoreConfig, *, count_from: int = 0) -> None:
        self._config = config
        self._count_from = count_from
        members = {
            "host": In(Axi4LiteSignature()),
            "memory": Out(Axi4Signature(config)),
            "irq": Out(1),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        config = self._config
        m.submodules.host = host = HostInterface(config, count_from=self._count_from)
        m.submodules.warps = warps = Warps(config, count_from=self._count_from)
        m.submodules.load = load = LoadEngine(config)
        m.submodules.store = store = StoreEngine(config)
        users: dict[str, tuple[Any, ...]] = {"banks": (store.banks, load.banks)}
        if not banks_are_shared(config):
            users = {"store_banks": (store.banks,), "load_banks": (load.banks,)}
        for name, several in users.items():
            m.submodules[name] = banks = Banks(config, len(several))
            for user, port in zip(several, banks.users, strict=True):
                connect(m, user, port)
        m.submodules.memory = memory = MemoryPort(config)
        m.submodules.tile = tile = TileMultiplier(config)
        m.submodules.mover = mover = RegisterMover(config)
        m.submodules.registers = registers = RegisterFile(config)
        for index in range(config.dot_product_units):
            dot_product: Any = SharedModule(
                DOT_PRODUCT_MODULE,
                dot_product_signature(config.dot_product),
                lambda: DotProductUnit(config.dot_product),
            )
            if config.mxf4:
                dot_product = MixedUnit(config, dot_product)
            m.submodules[f"dot_product_{index}"] = dot_product
            connect(m, tile.operands[index], dot_product.operands)
            connect(m, dot_product.result, tile.result[index])
        multipliers: list[Any] = [tile]
        units: dict[Unit, Any] = {}
        if config.f64_units:
            m.submodules.f64 = f64 = F64Multiplier(config)
            multipliers.append(f64)
            units[Unit.F64] = f64
            for index in range(config.f64_units):
                fma = SharedModule(
                    FMA64_MODULE, FMA64_SIGNATURE, lambda: FusedMultiplyAdd64(config.f64_depth)
                )
                m.submodules[f"fma_{index}"] = fma
                connect(m, f64.operands[index], fma.operands)
                connect(m, fma.result, f64.result[index])

        units |= {Unit.LOAD: load, Unit.STORE: store, Unit.TILE: tile, Unit.MOVE: mover}
        if config.wgmma:
            units[Unit.TILE] = self._wgmma(m, host, warps, tile, memory)
        for place, unit in units.items():
            connect(m, getattr(warps, place.name.lower()), unit.request)
            m.d.comb += warps.done[place.value].eq(unit.done)
            if place is not Unit.LOAD:
                fetched = mover.done if place is Unit.MOVE else unit.fetched
                m.d.comb += warps.fetched[place.value].eq(fetched)
        connect(m, flipped(self.host), host.axi)
        for queued, taken in zip(host.commands, warps.commands, strict=True):
            connect(m, queued, taken)
        connect(m, host.shared, memory.words)
        connect(m, memory.axi, flipped(self.memory))
        # Where words are of one register, C and results have no port of their own.
        own_reads, own_writes = registers.word_read, registers.write[:-1]
        for read, port in zip((*tile.read, tile.c_read), own_reads, strict=False):
            connect(m, read, port)
        for unit, port in zip((tile,), own_writes, strict=False):
            share_write_port(m, port, [unit.write])
        rows = self._readers(m, warps, load, store, tile, registers)
        connect(m, load.bursts, memory.read_bursts)
        connect(m, memory.read_beats, load.beats)
        connect(m, store.bursts, memory.write_bursts)
        connect(m, store.beats, memory.write_beats)
        connect(m, memory.write_responses, store.responses)
        connect(m, host.write, mover.host)
        writers = [*multipliers, load, mover]
        readers = [*multipliers[1:], store, mover, *rows, host]
        share_write_port(m, registers.write[-1], [unit.write for unit in writers[len(own_writes) :]])
        words = tile.c_read if len(own_reads) == len(tile.read) else None
        share_read_port(m, registers.shared_read, words, [unit.read for unit in readers])
        m.d.comb += [
            self.irq.eq(host.irq),
            *(getattr(host, name).eq(getattr(warps, name)) for name in _TO_HOST),
            host.read_beat.eq(self.memory.r.valid & self.memory.r.ready),
            host.write_beat.eq(self.memory.w.valid & self.memory.w.ready),
            host.busy_units.eq(tile.busy_units),
            warps.clear.eq(host.clear),
            warps.serial.eq(host.serial),
            warps.load_cause.eq(load.cause),
            warps.store_cause.eq(store.cause),
            warps.store_progress.eq(store.progress),
        ]

    def _wgmma(
        self, m: Module, host: HostInterface, warps: Warps, tile: TileMultiplier, memory: MemoryPort
    ) -> Any:
        """Wire the warpgroup multiplier, which is before the tile multiplier; returns what takes tiles."""
        m.submodules.warpgroup = shares = WarpgroupMultiplier(self._config)
        for given, taken in zip(warps.wgmma, shares.requests, strict=True):
            connect(m, given, taken)
        for asked, port in zip(tile.stored_read, shares.read, strict=True):
            connect(m, asked, port)
        connect(m, shares.tile, tile.request)
        connect(m, shares.chunk_requests, memory.chunk_requests)
        m.d.comb += [
            shares.chunks.eq(memory.chunks),
            host.bank_conflict.eq(memory.conflict),
            shares.tile_fetched.eq(tile.fetched),
            shares.tile_done.eq(tile.done),
            warps.wgmma_fetched.eq(shares.share_fetched),
            warps.wgmma_done.eq(shares.share_done),
        ]
        return shares

    def _readers(
        self,
        m: Module,
        warps: Warps,
        load: LoadEngine,
        store: StoreEngine,
        tile: TileMultiplier,
        registers: RegisterFile,
    ) -> list[Any]:
        """Wire what reads registers before a command starts: addresses of rows, and side operands."""
        readers: list[Any] = []
        if self._config.shared_bytes:
            m.submodules.rows = rows = RowAddresses(self._config)
            m.d.comb += rows.request.eq(warps.rows)
            self._before_start(m, warps, rows)
            connect(m, rows.load_rows, load.rows)
            connect(m, rows.store_rows, store.rows)
            readers.append(rows)
        if self._config.has_side_operands:
            m.submodules.side = side = SideOperandReader(self._config)
            m.d.comb += [
                side.request.eq(warps.side),
                side.word.eq(registers.shared_read.word),
                side.read_enable.eq(tile.read_enable),
                side.asked.eq(tile.asked),
                side.release.eq(tile.released),
                *(getattr(tile, name).eq(getattr(side, name)) for name in side_members(self._config)),
            ]
            self._before_start(m, warps, side)
            readers.append(side)
        return readers

    def _before_start(self, m: Module, warps: Warps, reader: RowAddresses | SideOperandReader) -> None:
        """Wire when a reader reads and what it found; where there are two, a command names one of them."""
        both = self._config.has_side_operands and self._config.shared_bytes
        chosen = warps.reads_side == isinstance(reader, SideOperandReader) if both else None
        m.d.comb += [
            reader.start.eq(warps.rows_start if chosen is None else warps.rows_start & chosen),
            reader.keep.eq(warps.rows_keep if chosen is None else warps.rows_keep & chosen),
        ]
        with nullcontext() if chosen is None else m.If(chosen):
            m.d.comb += [
                warps.rows_room.eq(reader.room),
                warps.rows_done.eq(reader.done),
                warps.rows_cause.eq(reader.cause),
            ]
