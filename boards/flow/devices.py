"""The FPGAs of the boards: what each has, and what a netlist's cells take of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

RESOURCES: Final = ("look-up tables", "flip-flops", "block RAMs", "multipliers")
"""What reports count, on every FPGA."""


@dataclass(frozen=True, kw_only=True)
class Device:
    """An FPGA.

    Parameters
    ----------
    title : str
        As its maker calls it.
    available : tuple of int
        Of each of `RESOURCES`.
    cells : mapping
        For each of `RESOURCES`, by its index: the beginning of a cell type's name, and how many such a cell
        takes. The longest beginning counts.
    nextpnr : tuple of str
        Its options for place and route; none where another program does that.
    """

    title: str
    available: tuple[int, ...]
    cells: tuple[Mapping[str, float], ...]
    nextpnr: tuple[str, ...] = ()

    def taken(self, cell_type: str) -> tuple[float, ...]:
        """What a cell takes of each of `RESOURCES`."""
        amounts = []
        for weights in self.cells:
            matching = [prefix for prefix in weights if cell_type.startswith(prefix)]
            amounts.append(weights[max(matching, key=len)] if matching else 0.0)
        return tuple(amounts)


_ECP5_AVAILABLE: Final = (83_640, 83_640, 208, 156)
_ECP5_CELLS: Final = (
    {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4},
    {"TRELLIS_FF": 1},
    {"DP16KD": 1},
    {"MULT18X18D": 1},
)

DEVICES: Final[Mapping[str, Device]] = MappingProxyType(
    {
        "LFE5U-85F-6BG381": Device(
            title="LFE5U-85F, speed grade 6, CABGA381",
            available=_ECP5_AVAILABLE,
            cells=_ECP5_CELLS,
            nextpnr=("--85k", "--speed", "6", "--package", "CABGA381"),
        ),
        "LFE5UM5G-85F-8BG554": Device(
            title="LFE5UM5G-85F, speed grade 8, CABGA554",
            available=_ECP5_AVAILABLE,
            cells=_ECP5_CELLS,
            nextpnr=("--um5g-85k", "--speed", "8", "--package", "CABGA554"),
        ),
        "XC7A100T-1CSG324": Device(
            title="XC7A100T, speed grade 1, CSG324",
            available=(63_400, 126_800, 135, 240),
            cells=(
                {"LUT": 1, "RAM32M": 4, "RAM64M": 4, "RAM32X1D": 2, "RAM64X1D": 2, "SRL": 1},
                {"FD": 1},
                {"RAMB36": 1, "RAMB18": 0.5},
                {"DSP48": 1},
            ),
        ),
    }
)
"""By name. An ECP5 puts a memory of 16 x 4 bits into four look-up tables, two of them for the address; a
7-series FPGA has its LUT RAM in look-up tables."""
