"""Coverpoints and their bins, what was seen of them, and how much that is.

`cocotb-coverage` is not used: it samples single values inside a cocotb simulation, while these programs run
in a C++ harness and are sampled as arrays.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regression.table import Table

Seen = Counter[tuple[str, str]]
"""How often each bin of each coverpoint was seen, by their names."""


@dataclass(frozen=True, kw_only=True)
class Coverpoint:
    """Something that must be seen in every one of its bins."""

    name: str
    what: str
    """A sentence for the report."""
    bins: tuple[str, ...]
    excluded: Mapping[str, str]
    """Bins that cannot be, each with the reason."""

    def without(self, pattern: re.Pattern[str], reason: str) -> "Coverpoint":
        """The same with those bins excluded too in whose name, or in that of the point, the pattern is."""
        lost = {item: reason for item in self.bins if pattern.search(bin_name(self.name, item))}
        bins = tuple(item for item in self.bins if item not in lost)
        return replace(self, bins=bins, excluded={**self.excluded, **lost})

    def holes(self, seen: Seen) -> list[str]:
        """The bins that were not seen."""
        return [item for item in self.bins if not seen[self.name, item]]

    def contradictions(self, seen: Seen) -> list[str]:
        """What was seen although the model has it not, each with the reason it gives."""
        found = [item for name, item in seen if name == self.name and item not in self.bins]
        return [f"{item} ({self.excluded.get(item, 'no such bin')})" for item in found]


def coverpoint(
    name: str,
    what: str,
    axes: Mapping[str, Sequence[str]],
    exclude: Callable[..., str | None] = lambda *parts: None,
) -> Coverpoint:
    """The cross of some axes, which are values by name, less what a rule excludes.

    From a value of each axis `exclude` gives the reason why they cannot go together, or None.
    """
    reasons = {bin_name(*parts): exclude(*parts) for parts in product(*axes.values())}
    bins = tuple(item for item, reason in reasons.items() if reason is None)
    excluded = {item: reason for item, reason in reasons.items() if reason is not None}
    return Coverpoint(name=name, what=what, bins=bins, excluded=excluded)


def bin_name(*parts: str) -> str:
    """The name of a bin from its parts."""
    return " / ".join(parts)


def count_codes(seen: Seen, point: str, codes: NDArray[Any], *axes: str | Sequence[str]) -> None:
    """Note how often each bin of the cross of some axes occurs; codes count along the last axis first.

    An axis may be one value. Codes beyond the bins do not count.
    """
    bins = list(product(*([axis] if isinstance(axis, str) else axis for axis in axes)))
    for parts, count in zip(bins, np.bincount(codes.reshape(-1), minlength=len(bins)), strict=False):
        if count:
            seen[point, bin_name(*parts)] += int(count)


def share(model: Sequence[Coverpoint], seen: Seen) -> tuple[int, int]:
    """How many bins were seen, and how many there are."""
    bins = sum(len(point.bins) for point in model)
    return bins - sum(len(point.holes(seen)) for point in model), bins


def tables(model: Sequence[Coverpoint], seen: Seen) -> list[Table]:
    """A row for each coverpoint, and why bins are excluded."""
    found, bins = share(model, seen)
    rows = []
    for point in model:
        count, least = len(point.bins), min((seen[point.name, item] for item in point.bins), default=0)
        reached = count - len(point.holes(seen))
        shares = str(count), str(reached), _percent(reached, count)
        rows.append((point.name, *shares, str(len(point.excluded)), str(least)))
    rows.append(("all", str(bins), str(found), _percent(found, bins), "", ""))
    header = ("coverpoint", "bins", "seen", "%", "excluded", "least often")
    reasons = Counter((point.name, reason) for point in model for reason in point.excluded.values())
    excluded = [(name, str(count), reason) for (name, reason), count in reasons.items()]
    return [
        Table(title="functional coverage", header=header, rows=rows),
        Table(title="excluded", header=("coverpoint", "bins", "reason"), rows=excluded),
    ]


def _percent(found: int, bins: int) -> str:
    """Rounded down, so that 100 means all."""
    return f"{1000 * found // max(bins, 1) / 10:.1f}"
