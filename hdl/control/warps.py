"""The warps: a sequencer for each, and the units between them."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.command import COMMAND_BITS
from hdl.component import Component
from hdl.config import CoreConfig
from hdl.control.dispatch import Dispatch
from hdl.control.scoreboard import Unit, slots
from hdl.control.sequencer import Sequencer, looks_ahead, unit_members
from hdl.memory.beats import CAUSE_BITS
from hdl.stream.turns import take_turns
from hdl.warpgroup.request import WgmmaRequest

STALLS: Final = ("stall_registers", "stall_memory", "stall_unit", "queue_empty")
"""Why a warp started no command in a cycle."""

_REPORTS: Final = MappingProxyType({"cause": CAUSE_BITS, "progress": 16, "executed": 64})
"""Bits of what each warp reports."""


class Warps(Component):
    """Executes the commands of each warp in order, and commands of different warps side by side.

    A warp has its own registers, so hazards are only within a warp, and each has a sequencer with a
    scoreboard of its own. A unit takes the commands of the warps in turns, round robin, and works on them in
    the order in which it got them. So a command that waits holds up its warp alone. A fault stops its warp,
    and what has been started ends; nothing else happens to other warps. Accesses of different warps to the
    same bytes of memory are in no order.

    Throughput: a command each 2 cycles from a warp, to a unit, and of each unit. Latency: as of the
    sequencer, and 1 cycle for a command whose unit was another warp's before.
    Expected critical path: as of `hdl.control.sequencer` and `hdl.control.dispatch`.

    Parameters
    ----------
    config : CoreConfig
    count_from : int
        What `executed` counts from after reset.

    Members
    -------
    commands : In(stream.Signature(160)).array(warps)
        Those for warps that do not exist come to warp 0.
    load, store, tile, f64, move, rows, rows_..., fetched, done, load_cause, store_cause, store_progress
        To and from the units, as of `hdl.control.sequencer.Sequencer`.
    wgmma : Out(stream.Signature(WgmmaRequest)).array(warps)
        Only where there is `wgmma`, as the two below.
    wgmma_fetched, wgmma_done : In(warps)
    serial : In(1)
        One command of each warp at a time.
    clear, busy : In(warps), Out(warps)
        As of the sequencer, a bit for each warp, like the four below.
    stall_registers, stall_memory, stall_unit, queue_empty : Out(warps)
    cause, progress, executed : Out(ArrayLayout(..., warps))
    """

    def __init__(self, config: CoreConfig, *, count_from: int = 0) -> None:
        self._config = config
        warps = config.warps
        self._count_from = count_from
        members = {
            "commands": In(stream.Signature(COMMAND_BITS)).array(warps),
            **unit_members(config),
            "serial": In(1),
            "clear": In(warps),
            "busy": Out(warps),
            **{name: Out(warps) for name in STALLS},
            **{name: Out(data.ArrayLayout(bits, warps)) for name, bits in _REPORTS.items()},
        }
        if config.wgmma:
            members |= {
                "wgmma": Out(stream.Signature(WgmmaRequest)).array(warps),
                "wgmma_fetched": In(warps),
                "wgmma_done": In(warps),
            }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        sequencers = [
            Sequencer(self._config, warp, count_from=self._count_from) for warp in range(self._config.warps)
        ]
        bits = ("busy", *STALLS)
        for warp, sequencer in enumerate(sequencers):
            m.submodules[f"sequencer_{warp}"] = sequencer
            connect(m, flipped(self.commands[warp]), sequencer.commands)
            m.d.comb += [
                sequencer.serial.eq(self.serial),
                sequencer.clear.eq(self.clear[warp]),
                sequencer.load_cause.eq(self.load_cause),
                sequencer.store_cause.eq(self.store_cause),
                sequencer.store_progress.eq(self.store_progress),
                *(getattr(self, name)[warp].eq(getattr(sequencer, name)) for name in bits),
                *(getattr(self, name)[warp].eq(getattr(sequencer, name)) for name in _REPORTS),
            ]
        for unit, count in slots(self._config).items():
            if unit is not Unit.WGMMA:
                self._dispatch(m, unit, count, sequencers)
        if self._config.wgmma:
            self._shares(m, sequencers)
        if looks_ahead(self._config):
            self._rows(m, sequencers)

    def _dispatch(self, m: Module, unit: Unit, slots_of_warp: int, sequencers: Sequence[Sequencer]) -> None:
        name = unit.name.lower()
        port: Any = getattr(self, name)
        dispatch = Dispatch(
            port.payload.shape(), warps=self._config.warps, in_flight=slots_of_warp * self._config.warps
        )
        m.submodules[f"dispatch_{name}"] = dispatch
        connect(m, dispatch.request, flipped(port))
        m.d.comb += [
            dispatch.fetched.eq(self.fetched[unit.value]),
            dispatch.done.eq(self.done[unit.value]),
        ]
        for warp, sequencer in enumerate(sequencers):
            connect(m, getattr(sequencer, name), dispatch.requests[warp])
            m.d.comb += [
                dispatch.wants[warp].eq(sequencer.wants[unit.value]),
                sequencer.fetched[unit.value].eq(dispatch.warp_fetched[warp]),
                sequencer.done[unit.value].eq(dispatch.warp_done[warp]),
            ]

    def _shares(self, m: Module, sequencers: Sequence[Sequencer]) -> None:
        """Each warp has a port of its own to the warpgroup multiplier."""
        unit = Unit.WGMMA.value
        for warp, sequencer in enumerate(sequencers):
            connect(m, sequencer.wgmma, flipped(self.wgmma[warp]))
            m.d.comb += [
                sequencer.fetched[unit].eq(self.wgmma_fetched[warp]),
                sequencer.done[unit].eq(self.wgmma_done[warp]),
            ]

    def _rows(self, m: Module, sequencers: Sequence[Sequencer]) -> None:
        """The readers of registers are a warp's from the question to the start of its command."""
        wants = Signal(self._config.warps)
        turn = take_turns(m, "rows_turn", wants)
        m.d.comb += [
            wants.eq(Cat(sequencer.wants_rows for sequencer in sequencers)),
            self.rows_start.eq(Cat(sequencer.rows_start for sequencer in sequencers).any()),
            self.rows_keep.eq(Cat(sequencer.rows_keep for sequencer in sequencers).any()),
        ]
        for sequencer in sequencers:
            m.d.comb += [sequencer.rows_done.eq(self.rows_done), sequencer.rows_cause.eq(self.rows_cause)]
        with m.Switch(turn):
            for warp, sequencer in enumerate(sequencers):
                with m.Case(warp) if warp < len(sequencers) - 1 else m.Default():
                    m.d.comb += [self.rows.eq(sequencer.rows), sequencer.rows_room.eq(self.rows_room)]
                    if self._config.has_side_operands:
                        m.d.comb += [
                            self.side.eq(sequencer.side),
                            self.reads_side.eq(sequencer.reads_side),
                        ]
