"""How much of the model was seen."""

from collections import Counter
from collections.abc import Sequence

from regression.campaign.kind import Table
from regression.functional.model import Coverpoint, Seen


def share(model: Sequence[Coverpoint], seen: Seen) -> tuple[int, int]:
    """How many bins were seen, and how many there are."""
    bins = sum(len(point.bins) for point in model)
    return bins - sum(len(point.holes(seen)) for point in model), bins


def tables(model: Sequence[Coverpoint], seen: Seen) -> list[Table]:
    """A row for each coverpoint, and why bins are excluded."""
    found, bins = share(model, seen)
    rows = [(point.name, *_figures(point, seen)) for point in model]
    rows.append(("all", str(bins), str(found), _percent(found, bins), "", ""))
    header = ("coverpoint", "bins", "seen", "%", "excluded", "least often")
    reasons = Counter((point.name, reason) for point in model for reason in point.excluded.values())
    excluded = [(name, str(count), reason) for (name, reason), count in reasons.items()]
    return [
        Table(title="functional coverage", header=header, rows=rows),
        Table(title="excluded", header=("coverpoint", "bins", "reason"), rows=excluded),
    ]


def _figures(point: Coverpoint, seen: Seen) -> tuple[str, ...]:
    bins = len(point.bins)
    found = bins - len(point.holes(seen))
    least = min((seen[point.name, item] for item in point.bins), default=0)
    return str(bins), str(found), _percent(found, bins), str(len(point.excluded)), str(least)


def _percent(found: int, bins: int) -> str:
    """Rounded down, so that 100 means all."""
    return f"{1000 * found // max(bins, 1) / 10:.1f}"
