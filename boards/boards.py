"""The boards that have a ready-made build: LiteX's target for each, and the core that fits it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from hdl.config import PRESETS, CoreConfig

Family = Literal["ecp5", "series7"]
"""The kinds of FPGA on the boards."""

_MEGAHERTZ: Final = 1_000_000

_CORE: Final = PRESETS["small"]


@dataclass(frozen=True, kw_only=True)
class MemoryChip:
    """The memory of a board.

    Parameters
    ----------
    module : str
        Name of its class in `litedram.modules`.
    data_bits : int
        Of its data bus.
    """

    module: str
    data_bits: int


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board: its target in `litex_boards`, and what it carries.

    Parameters
    ----------
    name : str
        As the command line takes it.
    title : str
        As its maker calls it.
    family : str
        Of the FPGA.
    device : str
        The FPGA, of `boards.flow.devices.DEVICES`.
    target : str
        Module of `litex_boards.targets`, whose class ``BaseSoC`` has clocks, memory and pins.
    options : mapping
        Arguments of that class, in addition to `boards.gateware.settings.SETTINGS`.
    folder : str
        Of its constraints, inside ``constraints/``.
    clock_hz : int
        Of core, processor and bus.
    memory : MemoryChip
    core : CoreConfig
    """

    name: str
    title: str
    family: Family
    device: str
    target: str
    options: Mapping[str, Any]
    folder: str
    clock_hz: int
    memory: MemoryChip
    core: CoreConfig

    @property
    def top(self) -> str:
        """Name of the top module."""
        return f"openwmma_{self.name}"


_ULX3S: Final = Board(
    name="ulx3s",
    title="ULX3S with ECP5-85F",
    family="ecp5",
    device="LFE5U-85F-6BG381",
    target="radiona_ulx3s",
    options={"device": "LFE5U-85F", "with_led_chaser": False},
    folder="ulx3s",
    clock_hz=50 * _MEGAHERTZ,
    memory=MemoryChip(module="MT48LC16M16", data_bits=16),
    core=_CORE,
)

_ECPIX5: Final = Board(
    name="ecpix5",
    title="ECPIX-5 with ECP5-85F",
    family="ecp5",
    device="LFE5UM5G-85F-8BG554",
    target="lambdaconcept_ecpix5",
    options={"device": "85F", "with_led_chaser": False},
    folder="ecpix5",
    clock_hz=50 * _MEGAHERTZ,
    memory=MemoryChip(module="MT41K256M16", data_bits=16),
    core=_CORE,
)

_ARTY: Final = Board(
    name="arty",
    title="Digilent Arty A7-100T",
    family="series7",
    device="XC7A100T-1CSG324",
    target="digilent_arty",
    options={"variant": "a7-100", "with_led_chaser": False},
    folder="arty_a7_100",
    clock_hz=100 * _MEGAHERTZ,
    memory=MemoryChip(module="MT41K128M16", data_bits=16),
    core=_CORE,
)

BOARDS: Final[Mapping[str, Board]] = MappingProxyType(
    {board.name: board for board in (_ULX3S, _ECPIX5, _ARTY)}
)
"""By name; each carries preset `small`."""
