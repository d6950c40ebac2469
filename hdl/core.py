"""The core: all units, wired."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.axi import Axi4LiteSignature, Axi4Signature
from hdl.config import CoreConfig
from hdl.control.host import HostInterface
from hdl.control.sequencer import Sequencer
from hdl.dot_product.unit import DotProductUnit
from hdl.fma64.unit import FusedMultiplyAdd64
from hdl.memory.load_store import LoadStoreUnit
from hdl.multiply.double_multiplier import DoubleMultiplier
from hdl.multiply.tile_multiplier import TileMultiplier
from hdl.registers.register_file import RegisterFile
from hdl.registers.register_mover import RegisterMover

__all__ = ["Core"]


class Core(wiring.Component):
    """A tensor core for one warp.

    Commands from the host pass the queue to the sequencer, which hands each to the load/store unit, the
    tile multiplier or the register mover. These share the register file's two ports; as commands do not
    overlap, whoever raises its enable has the port.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    host : In(Axi4LiteSignature())
    memory : Out(Axi4Signature(config))
    irq : Out(1)
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "host": In(Axi4LiteSignature()),
                "memory": Out(Axi4Signature(config)),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        m.submodules.host = host = HostInterface(config)
        m.submodules.sequencer = sequencer = Sequencer(config)
        m.submodules.load_store = load_store = LoadStoreUnit(config)
        m.submodules.multiplier = multiplier = TileMultiplier(config)
        m.submodules.mover = mover = RegisterMover(config)
        m.submodules.registers = registers = RegisterFile(config)
        for index in range(config.dot_product_units):
            unit = DotProductUnit(config.dot_product)
            m.submodules[f"dot_product_{index}"] = unit
            connect(m, getattr(multiplier, f"operands_{index}"), unit.operands)
            connect(m, unit.result, getattr(multiplier, f"result_{index}"))

        units: list[Any] = [load_store, multiplier, mover, host]
        if config.double_units:
            m.submodules.double_multiplier = double_multiplier = DoubleMultiplier(config)
            m.submodules.fma = fma = FusedMultiplyAdd64()
            connect(m, sequencer.double, double_multiplier.request)
            connect(m, double_multiplier.operands, fma.operands)
            connect(m, fma.result, double_multiplier.result)
            m.d.comb += sequencer.double_done.eq(double_multiplier.done)
            units.append(double_multiplier)

        connect(m, flipped(self.host), host.axi)
        connect(m, load_store.axi, flipped(self.memory))
        connect(m, host.commands, sequencer.commands)
        connect(m, sequencer.memory, load_store.request)
        connect(m, sequencer.tile, multiplier.request)
        connect(m, sequencer.move, mover.request)
        m.d.comb += [
            self.irq.eq(host.irq),
            host.busy.eq(sequencer.busy),
            host.cause.eq(sequencer.cause),
            host.executed.eq(sequencer.executed),
            host.progress.eq(load_store.progress),
            host.read_beat.eq(self.memory.r.valid & self.memory.r.ready),
            host.write_beat.eq(self.memory.w.valid & self.memory.w.ready),
            host.busy_units.eq(multiplier.busy_units),
            sequencer.clear.eq(host.clear),
            sequencer.memory_done.eq(load_store.done),
            sequencer.memory_cause.eq(load_store.cause),
            sequencer.tile_done.eq(multiplier.done),
            sequencer.move_done.eq(mover.done),
        ]
        _share_write_port(m, registers.write, [unit.write for unit in units])
        _share_read_port(m, registers.read, [unit.read for unit in units])
        return m


def _share_write_port(m: Module, port: Any, users: list[Any]) -> None:
    """Give the port to the first user that raises its enable."""
    for index, user in enumerate(users):
        with m.If(user.enable) if index == 0 else m.Elif(user.enable):
            m.d.comb += [
                port.enable.eq(1),
                port.address.eq(user.address),
                port.data.eq(user.data),
                port.lanes.eq(user.lanes),
            ]


def _share_read_port(m: Module, port: Any, users: list[Any]) -> None:
    """Give the port to the first user that raises its enable; all see what was read."""
    m.d.comb += [user.data.eq(port.data) for user in users]
    for index, user in enumerate(users):
        with m.If(user.enable) if index == 0 else m.Elif(user.enable):
            m.d.comb += [port.enable.eq(1), port.address.eq(user.address)]
