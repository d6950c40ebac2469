"""Tables of what campaigns and coverage found."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table for the terminal and the report."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
