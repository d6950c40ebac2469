"""What a simulation of mutants is told, and the files of its folder in which it answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

SELECT: Final = "mutsel"
"""The input that chooses the mutant: 0 stands for none, n for the n-th."""

MUTANT: Final = Path("mutant")
"""The number that `SELECT` has in a simulation without cocotb, which reads it when it begins."""

SURVIVED: Final = 100
FAILED: Final = 101
"""Exit codes of a mutant; any other says that the simulation broke off."""

SETTINGS: Final = Path("settings.json")
"""`Settings` as JSON."""

ENDED: Final = Path("ended.jsonl")
"""A line of JSON for each mutant whose process has ended."""

CURRENT_TEST: Final = Path("current_test")
"""The name of the test that was started last."""

MEASURED: Final = Path("measured.json")
"""The ``seconds`` of each test of the unit without a fault, and its `Settings.cycles`, as JSON."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One run of a simulation."""

    cases: Sequence[str]
    """Names of the unit's tests; none stands for all."""
    mutants: Sequence[int]
    """Values of `SELECT` to be tried."""
    limits: Mapping[str, float]
    """Seconds of computing after which a test is given up, by its name; none while they are measured."""

    cycles: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """The cycles after which the parts of a test end, by its name; none while they are counted."""

    @property
    def limit(self) -> float:
        """The same for a test without a limit of its own."""
        return max(self.limits.values(), default=300.0)

    @property
    def wall_seconds(self) -> float:
        """Seconds after which a mutant is given up."""
        return 900.0 + 50.0 * sum(self.limits.values())
