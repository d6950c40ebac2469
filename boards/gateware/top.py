"""A core, its memory and its serial line: what goes between the pins of a board."""

from typing import Any, Final

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    DomainRenamer,
    Module,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from boards.gateware.board_config import BoardConfig
from boards.gateware.board_memory import BoardMemory
from boards.gateware.serial_memory import SerialMemory
from boards.gateware.uart_bridge import UartBridge
from boards.serial_core.core import SerialCore
from boards.serial_core.serial_config import SerialConfig
from hdl.core import Core

__all__ = ["LEDS", "RESET_CYCLES", "BoardTop"]

LEDS: Final = ("alive", "activity", "fault", "line")
"""What the lamps say, the lowest bit first: out of reset; a request was answered; the core raised its
interrupt, which the host's software enables for faults; a frame was given up."""

RESET_CYCLES: Final = 64
"""Cycles for which everything is held in reset after the configuration of the FPGA."""

_BLINKS_PER_SECOND: Final = 8


class BoardTop(wiring.Component):
    """The core with on-chip memory, driven over a serial line.

    Everything runs on one clock, `sync`. After the configuration of the FPGA a counter holds the reset
    for `RESET_CYCLES`; a reset of `sync` does the same, and may come from a button. Clock generation and the
    synchronisation of that reset are left to what is around it.

    Parameters
    ----------
    config : BoardConfig

    Members
    -------
    rx : In(1)
        Serial line from the host, not synchronous to the clock.
    tx : Out(1)
        Serial line to the host.
    leds : Out(4)
        `LEDS`; an event is shown for an eighth to a quarter of a second.
    """

    def __init__(self, config: BoardConfig) -> None:
        self._config = config
        super().__init__({"rx": In(1), "tx": Out(1, init=1), "leds": Out(len(LEDS))})

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        m.domains += ClockDomain("board", local=True)
        remaining = Signal(range(RESET_CYCLES), init=RESET_CYCLES - 1)
        held = Signal(init=1)
        m.d.sync += held.eq(remaining != 0)
        with m.If(remaining != 0):
            m.d.sync += remaining.eq(remaining - 1)
        m.d.comb += [ClockSignal("board").eq(ClockSignal()), ResetSignal("board").eq(held)]

        in_board = DomainRenamer("board")
        core: Any
        memory: Any
        if isinstance(config.core, SerialConfig):
            core, memory = SerialCore(config.core), SerialMemory(config)
            connect(m, core.memory, memory.core)
        else:
            core, memory = Core(config.core), BoardMemory(config)
            connect(m, core.memory, memory.axi)
        bridge = UartBridge(config)
        m.submodules.core = in_board(core)
        m.submodules.memory = in_board(memory)
        m.submodules.uart_bridge = in_board(bridge)
        connect(m, bridge.host, core.host)
        connect(m, bridge.memory, memory.request)
        connect(m, memory.answer, bridge.memory_answer)
        m.d.comb += [bridge.rx.eq(self.rx), self.tx.eq(bridge.tx)]
        m.d.board += self.leds.eq(Cat(1, self._shown(m, bridge.served, core.irq, bridge.dropped)))
        return m

    def _shown(self, m: Module, *events: Value) -> Value:
        """Each event, kept until a slow clock has ticked twice."""
        period = max(1, self._config.clock_hz // _BLINKS_PER_SECOND)
        clocks = Signal(range(period))
        tick = Signal()
        # Cleared and not loaded: a load would part the carry chain of an iCE40.
        m.d.comb += tick.eq(clocks == period - 1)
        m.d.board += clocks.eq(clocks + 1)
        with m.If(tick):
            m.d.board += clocks.eq(0)
        shown = [Signal(2, name=f"shown_{name}") for name in LEDS[1:]]
        for kept, event in zip(shown, events, strict=True):
            with m.If(tick):
                m.d.board += kept.eq(kept << 1)
            with m.If(event):
                m.d.board += kept[0].eq(1)
        return Cat(kept.any() for kept in shown)
