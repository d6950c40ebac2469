"""What place and route found about the clock: how fast it may be, and along which path it is slowest."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_GLOBAL: Final = "$glbnet$"
"""What nextpnr puts before the name of a net on the clock network."""

_CONSTANT: Final = "$PACKER_"
"""And before a constant's: the clock of a multiplier without registers, which it counts as one."""

_ROUNDING: Final = 0.01
"""Periods are whole picoseconds."""

_MAPPED: Final = re.compile(r"_(?:LUT4|PFUMX|L6MUX21|CCU2C|TRELLIS_[A-Z0-9]+|SB_[A-Z0-9_]+?)_.*")
"""What synthesis adds to a signal's name for the cells around it: types and ports, from one to the next."""

_REGISTER: Final = re.compile(r"_(?:TRELLIS_FF|SB_DFF[A-Z]*)_Q(?:_\d+)?(?:_DFFLC)?")
"""The same for the register that holds the signal itself."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A part of a path.

    Parameters
    ----------
    kind : str
        ``clk-to-q``, ``logic``, ``routing`` or ``setup``.
    nanoseconds : float
    name : str
        The cell it passes or, of routing, the net.
    """

    kind: str
    nanoseconds: float
    name: str

    @property
    def place(self) -> str:
        """The signal of the design, or ``near`` and the one after which synthesis named the cell."""
        added = _MAPPED.search(self.name)
        if added is None:
            return self.name
        signal = self.name[: added.start()]
        return signal if _REGISTER.fullmatch(added[0]) else f"near {signal}"


@dataclass(frozen=True, kw_only=True)
class CriticalPath:
    """A path between two registers.

    Parameters
    ----------
    steps : tuple of Step
        From the one register to the other.
    """

    steps: tuple[Step, ...]

    @property
    def nanoseconds(self) -> float:
        """All of it."""
        return sum(step.nanoseconds for step in self.steps)

    @property
    def routing(self) -> float:
        """Nanoseconds on the way between cells."""
        return sum(step.nanoseconds for step in self.steps if step.kind == "routing")

    @property
    def levels(self) -> int:
        """Cells between the registers that take time."""
        return sum(step.kind == "logic" and step.nanoseconds > 0 for step in self.steps)


@dataclass(frozen=True, kw_only=True)
class Timing:
    """How fast a clock may be.

    Parameters
    ----------
    clock : str
        Name of its net.
    mhz : float
        The most.
    required_mhz : float
        What was asked for.
    path : CriticalPath
        What keeps it from being faster.
    """

    clock: str
    mhz: float
    required_mhz: float
    path: CriticalPath

    @property
    def is_met(self) -> bool:
        """Whether the clock may be as fast as it has to be."""
        return self.mhz >= self.required_mhz


def read_timing(report: Path, system_mhz: float) -> Timing:
    """Read the report of nextpnr.

    Parameters
    ----------
    report : Path
        JSON, written with ``--report``.
    system_mhz : float
        Of the clock of core, processor and bus, which must be among those that were asked for.

    Returns
    -------
    Timing
        Of that clock; of another one where it misses its frequency by more.

    Raises
    ------
    ValueError
        If no clock has that frequency.
    """
    found = json.loads(report.read_text())
    clocks = {clock: limits for clock, limits in found["fmax"].items() if not clock.startswith(_CONSTANT)}
    of_system = [
        clock for clock, limits in clocks.items() if abs(limits["constraint"] / system_mhz - 1) < _ROUNDING
    ]
    if not of_system:
        raise ValueError(f"A clock must be of {system_mhz:g} MHz, none of {', '.join(clocks) or 'none'} is")
    margins = {clock: limits["achieved"] / limits["constraint"] for clock, limits in clocks.items()}
    too_slow = [clock for clock, margin in margins.items() if margin < 1]
    clock = min(too_slow or of_system, key=margins.__getitem__)
    limits = clocks[clock]
    inside = f"posedge {clock}"
    paths = [
        _path(entry["path"]) for entry in found["critical_paths"] if entry["from"] == entry["to"] == inside
    ]
    if len(paths) != 1:
        raise ValueError(f"A report must have one critical path of {clock}, not {len(paths)}")
    return Timing(
        clock=clock.removeprefix(_GLOBAL),
        mhz=round(limits["achieved"], 2),
        required_mhz=round(limits["constraint"], 2),
        path=paths[0],
    )


def _path(segments: Sequence[dict[str, Any]]) -> CriticalPath:
    return CriticalPath(
        steps=tuple(
            Step(
                kind=segment["type"],
                nanoseconds=round(segment["delay"], 3),
                name=segment["net"] if segment["type"] == "routing" else segment["to"]["cell"],
            )
            for segment in segments
        )
    )
