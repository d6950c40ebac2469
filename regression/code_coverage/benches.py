"""Which testbenches a source of the hardware has, and how much of it these alone must reach."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from regression.code_coverage.counts import KINDS, Kind

BENCHES: Final = "regression/code_coverage/benches.toml"
"""From the root of the repository."""

REQUIRED: Final[Mapping[Kind, float]] = {"line": 1.0, "branch": 1.0, "toggle": 0.99}
"""The share of each kind that must be reached in each source."""


class BenchesError(ValueError):
    """A row that is malformed."""


@dataclass(frozen=True, kw_only=True)
class Benches:
    """The testbenches of a source."""

    files: frozenset[str]
    """From the root of the repository."""
    required: Mapping[Kind, float]
    """Shares of each kind: `REQUIRED`, or less for those that only other testbenches reach."""


def read_benches(text: str) -> dict[str, Benches]:
    """Read the text of `BENCHES`, by sources.

    BenchesError for a lower share without a reason, or a share that is not lower.
    """
    return {f"hdl/{source}": _benches(source, row) for source, row in tomllib.loads(text).items()}


def _benches(source: str, row: list[str] | dict[str, Any]) -> Benches:
    if isinstance(row, list):
        row = {"benches": row}
    lower: dict[Kind, float] = {kind: row[kind] for kind in KINDS if kind in row}
    if unknown := set(row) - {"benches", "reason", *KINDS}:
        raise BenchesError(f"{source}: expected benches, {', '.join(KINDS)} and reason, not {unknown}")
    if bool(lower) != bool(row.get("reason", "").strip()):
        raise BenchesError(f"{source}: a lower share must have a reason, and a reason a lower share")
    if any(share >= REQUIRED[kind] for kind, share in lower.items()):
        raise BenchesError(f"{source}: shares must be lower than {dict(REQUIRED)}, not {lower}")
    files = frozenset(f"cocotb_tests/{bench}" for bench in row["benches"])
    return Benches(files=files, required={**REQUIRED, **lower})
