"""A board's whole FPGA, with the pins of the board as its ports."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from amaranth.hdl import ClockDomain, ClockSignal, Elaboratable, Module, Signal
from amaranth.lib.cdc import ResetSynchronizer

from boards.boards import Board, Family
from boards.gateware.clocks.ecp5 import Ecp5Clock
from boards.gateware.clocks.ice40 import Ice40Clock
from boards.gateware.clocks.multiplier import ClockMultiplier
from boards.gateware.clocks.series7 import Series7Clock
from boards.gateware.top import LEDS, BoardTop
from hdl.verilog.modules import to_rtlil

__all__ = ["BoardDesign", "generate_board"]

_CLOCKS: Final[Mapping[Family, Callable[[int, int], ClockMultiplier]]] = MappingProxyType(
    {"ecp5": Ecp5Clock, "ice40": Ice40Clock, "series7": Series7Clock}
)


class BoardDesign(Elaboratable):
    """The board top, the clock that it runs on, and its reset.

    Without a multiplied clock or with the button pressed, everything is in reset.

    Parameters
    ----------
    board : Board

    Attributes
    ----------
    ports : dict
        Name to signal: `clk`, `button`, `rx`, `tx`, `leds`, and what the board wants tied high.

    Testbench
    ---------
    tests/boards/test_fpga_constraints.py; `BoardTop` inside has its own.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self.ports: dict[str, Signal] = {
            "clk": Signal(name="clk"),
            "button": Signal(name="button"),
            "rx": Signal(name="rx"),
            "tx": Signal(name="tx"),
            "leds": Signal(len(LEDS), name="leds"),
            **{name: Signal(name=name) for name in board.tied_high},
        }

    def elaborate(self, platform: object) -> Module:
        """Return the design's module."""
        m = Module()
        board, ports = self._board, self.ports
        m.domains += ClockDomain("sync")
        m.submodules.clock = clock = _CLOCKS[board.family](board.oscillator_hz, board.config.clock_hz)
        m.submodules.reset = ResetSynchronizer(
            ~clock.locked | (ports["button"] == board.button_pressed), domain="sync"
        )
        m.submodules.board = top = BoardTop(board.config)
        m.d.comb += [
            clock.pin.eq(ports["clk"]),
            ClockSignal().eq(clock.clock),
            top.rx.eq(ports["rx"]),
            ports["tx"].eq(top.tx),
            ports["leds"].eq(top.leds ^ board.inverted_leds),
            *(ports[name].eq(1) for name in board.tied_high),
        ]
        return m


def generate_board(board: Board) -> str:
    """Generate a board's whole FPGA as RTLIL; `hdl.verilog.modules.to_verilog` makes Verilog of it.

    Parameters
    ----------
    board : Board

    Returns
    -------
    str
        The top module is `Board.top`; the same board gives the same text.
    """
    design = BoardDesign(board)
    return to_rtlil(design, board.top, {name: (signal, None) for name, signal in design.ports.items()})
