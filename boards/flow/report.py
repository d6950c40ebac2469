"""The report of a build, to read and as JSON."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from boards.boards import Board
from boards.flow.devices import RESOURCES
from boards.flow.netlist import Utilisation
from boards.flow.timing import Timing

_LEAST_SHARE = 0.01
"""Units that take less than this of the design are in the JSON alone."""

_DEEPEST = 3
"""So are units inside more than this many others."""


@dataclass(frozen=True, kw_only=True)
class BuildReport:
    """What was built.

    Parameters
    ----------
    board : Board
    utilisation : Utilisation
    timing : Timing or None
        None where place and route is left to another program.
    result : Path
        The bitstream, or the script that makes it.
    """

    board: Board
    utilisation: Utilisation
    timing: Timing | None
    result: Path

    @property
    def is_met(self) -> bool:
        """Whether the clock, as far as it is known, may be as fast as it has to be."""
        return self.timing is None or self.timing.is_met

    def as_json(self) -> dict[str, Any]:
        """Everything, for `json.dump`."""
        board, used = self.board, self.utilisation
        return {
            "board": board.name,
            "device": used.device.title,
            "formats": sorted(board.core.formats),
            "clock_hz": board.clock_hz,
            "available": dict(zip(RESOURCES, used.device.available, strict=True)),
            "units": {unit: dict(zip(RESOURCES, taken, strict=True)) for unit, taken in used.units.items()},
            "cells": dict(used.cells),
            "timing": None if self.timing is None else {**asdict(self.timing), "is_met": self.timing.is_met},
            "result": self.result.name,
        }

    def as_text(self) -> str:
        """A page to read."""
        return "\n".join(self._lines()) + "\n"

    def write(self, folder: Path) -> None:
        """Write ``report.txt`` and ``report.json`` into a folder."""
        (folder / "report.txt").write_text(self.as_text())
        (folder / "report.json").write_text(json.dumps(self.as_json(), indent=2) + "\n")

    def _lines(self) -> Iterator[str]:
        board, used = self.board, self.utilisation
        yield f"{board.title}: {used.device.title}"
        yield (
            f"formats {', '.join(sorted(board.core.formats))}; {board.clock_hz / 1e6:g} MHz; "
            f"memory {board.memory.module}, {board.memory.data_bits} bits"
        )
        yield ""
        yield from self._utilisation_lines()
        yield ""
        yield from self._timing_lines()
        yield ""
        yield f"written: {self.result}"

    def _utilisation_lines(self) -> Iterator[str]:
        used = self.utilisation
        shown = [
            unit
            for unit, taken in used.units.items()
            if unit.count(".") <= _DEEPEST
            and any(part > _LEAST_SHARE * whole for part, whole in zip(taken, used.total, strict=True))
        ]
        width = max(map(len, ("of available", *shown)))
        yield "unit".ljust(width) + "".join(name.rjust(16) for name in RESOURCES)
        for unit in shown:
            yield (unit or "everything").ljust(width) + "".join(
                f"{taken:,.10g}".rjust(16) for taken in used.units[unit]
            )
        shares = zip(used.total, used.device.available, strict=True)
        yield "available".ljust(width) + "".join(f"{count:,}".rjust(16) for count in used.device.available)
        yield "of available".ljust(width) + "".join(f"{part / whole:.0%}".rjust(16) for part, whole in shares)

    def _timing_lines(self) -> Iterator[str]:
        timing = self.timing
        if timing is None:
            yield "timing: not known before place and route"
            return
        path = timing.path
        verdict = "met" if timing.is_met else "NOT MET"
        yield (
            f"timing {verdict}: {timing.mhz:.1f} MHz at most, {timing.required_mhz:.1f} MHz required; "
            "the slowest path takes"
        )
        yield (
            f"{path.nanoseconds:.2f} ns, {path.routing:.2f} of them between cells; "
            f"levels of logic: {path.levels}"
        )
        for step in (step for step in path.steps if step.nanoseconds):
            yield f"  {step.nanoseconds:6.2f} ns  {step.kind:<8}  {step.place}"
