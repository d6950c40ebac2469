"""The boards that have a ready-made build: what is on each, and the core that fits it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal

from boards.gateware.board_config import BoardConfig
from boards.serial_core.serial_config import SerialConfig
from hdl.config import PRESETS, DotProductConfig

__all__ = ["BOARDS", "Board", "Family"]

Family = Literal["ecp5", "ice40", "series7"]
"""The kinds of FPGA for which there is a clock multiplier."""

_MILLION: Final = 1_000_000

_CORE: Final = replace(
    PRESETS["small"],
    dot_product=DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"})),
)
"""Preset `small` without fp8: what fits the larger boards with room for their memory and the link."""


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board: its FPGA, what is connected to it, and what it carries.

    Its pins are `clk`, `button`, `rx`, `tx` and `leds` of the top module; ``constraints/`` gives them places.

    Parameters
    ----------
    name : str
        As the command line takes it.
    title : str
        As its maker calls it.
    family : str
        Of the FPGA.
    folder : str
        Of its constraints, inside ``constraints/``.
    oscillator_hz : int
        Of the clock at the pin `clk`.
    button_pressed : int
        Level of the pin `button` that resets: 0 or 1.
    inverted_leds : int
        A bit for each lamp that is lit by a 0.
    tied_high : tuple of str
        Further outputs that the board wants at 1.
    config : BoardConfig
        What is built for it.
    """

    name: str
    title: str
    family: Family
    folder: str
    oscillator_hz: int
    button_pressed: int
    inverted_leds: int = 0
    tied_high: tuple[str, ...] = ()
    config: BoardConfig

    @property
    def top(self) -> str:
        """Name of the top module."""
        return f"openwmma_{self.name}"


_ULX3S: Final = Board(
    name="ulx3s",
    title="ULX3S with ECP5-85F",
    family="ecp5",
    folder="ulx3s",
    oscillator_hz=25 * _MILLION,
    button_pressed=1,
    tied_high=("wifi_gpio0",),
    config=BoardConfig(core=_CORE, memory_bytes=128 * 1024, clock_hz=50 * _MILLION, baud=_MILLION),
)

_ARTY: Final = Board(
    name="arty",
    title="Digilent Arty A7-100T",
    family="series7",
    folder="arty_a7_100",
    oscillator_hz=100 * _MILLION,
    button_pressed=0,
    config=BoardConfig(core=_CORE, memory_bytes=128 * 1024, clock_hz=100 * _MILLION, baud=_MILLION),
)

_ICEBREAKER: Final = Board(
    name="icebreaker",
    title="iCEBreaker with iCE40UP5K",
    family="ice40",
    folder="icebreaker",
    oscillator_hz=12 * _MILLION,
    button_pressed=0,
    inverted_leds=0b0101,
    config=BoardConfig(
        core=SerialConfig(address_bits=18),
        memory_bytes=128 * 1024,
        clock_hz=24 * _MILLION,
        baud=_MILLION,
    ),
)

BOARDS: Final[Mapping[str, Board]] = MappingProxyType(
    {board.name: board for board in (_ULX3S, _ARTY, _ICEBREAKER)}
)
"""By name: all formats but fp8, f64 among them, in one bitstream on the first two; 8-bit, 4-bit and
single-bit integers on the last, one element at a time."""
