"""What a simulation of mutants is told, and the files in which it answers."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

SELECT: Final = "mutsel"
"""The input that chooses the mutant: 0 stands for none, n for the n-th."""

SURVIVED: Final = 100
FAILED: Final = 101
"""Exit codes of a mutant; any other says that the simulation broke off."""

_VARIABLE: Final = "OPENWMMA_MUTATION"
_UNMUTATED_SECONDS: Final = 300.0
_WALL_SECONDS: Final = 900.0
_WALL_FACTOR: Final = 50.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One run of a simulation."""

    cases: tuple[str, ...]
    """Names of the unit's tests; none stands for all."""
    mutants: tuple[int, ...]
    """Values of `SELECT` to be tried."""
    folder: str
    """Takes the files."""
    limits: Mapping[str, float]
    """Seconds of computing after which a test is given up, by its name; none while they are measured."""

    @property
    def limit(self) -> float:
        """The same for a test without a limit of its own."""
        return max(self.limits.values(), default=_UNMUTATED_SECONDS)

    @property
    def wall_seconds(self) -> float:
        """Seconds after which a mutant is given up."""
        return _WALL_SECONDS + _WALL_FACTOR * sum(self.limits.values())

    @classmethod
    def from_environment(cls) -> "Settings":
        """Within the simulation: what `variables` were made of."""
        values: dict[str, Any] = json.loads(os.environ[_VARIABLE])
        return cls(**{**values, "cases": tuple(values["cases"]), "mutants": tuple(values["mutants"])})

    def variables(self) -> dict[str, str]:
        """The environment variables that carry it into the simulation."""
        return {_VARIABLE: json.dumps(asdict(self))}

    @property
    def ended(self) -> Path:
        """A line of JSON for each mutant whose process has ended."""
        return Path(self.folder) / "ended.jsonl"

    @property
    def current_test(self) -> Path:
        """The name of the test that was started last."""
        return Path(self.folder) / "current_test"

    @property
    def times(self) -> Path:
        """Seconds of each test, as JSON."""
        return Path(self.folder) / "times.json"
