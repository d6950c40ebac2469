"""The report: a table in the terminal, and a page with every hole by its name."""

from collections.abc import Sequence

from rich.table import Table

from regression.functional.model import Coverpoint, Seen

__all__ = ["markdown", "share", "table"]


def share(model: Sequence[Coverpoint], seen: Seen) -> tuple[int, int]:
    """How many bins were seen, and how many there are."""
    bins = sum(len(point.bins) for point in model)
    return bins - sum(len(point.holes(seen)) for point in model), bins


def table(model: Sequence[Coverpoint], seen: Seen) -> Table:
    """A row for each coverpoint."""
    made = Table(title="Functional coverage")
    made.add_column("coverpoint")
    for column in ("bins", "seen", "%", "excluded", "least often"):
        made.add_column(column, justify="right")
    for point in model:
        made.add_row(point.name, *_figures(point, seen))
    found, bins = share(model, seen)
    made.add_section()
    made.add_row("all", str(bins), str(found), _percent(found, bins), "", "")
    return made


def markdown(model: Sequence[Coverpoint], seen: Seen, runs: Sequence[str]) -> str:
    """The page: what was run, the table, the holes, and what is excluded and why."""
    found, bins = share(model, seen)
    lines = [
        "# Functional coverage",
        "",
        f"{found} of {bins} bins, {_percent(found, bins)} %. Runs: {'; '.join(runs) or 'none'}.",
        "",
        "| coverpoint | bins | seen | % | excluded | least often |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| {point.name} | {' | '.join(_figures(point, seen))} |" for point in model]
    for point in model:
        lines += ["", f"## {point.name}", "", f"{point.what} Bins: {' / '.join(point.axes)}.", ""]
        holes = point.holes(seen)
        lines += [f"- not seen: {hole}" for hole in holes] or ["Everything was seen."]
        reasons: dict[str, int] = {}
        for reason in point.excluded.values():
            reasons[reason] = reasons.get(reason, 0) + 1
        if reasons:
            lines += ["", "Excluded:", ""]
            lines += [f"- {count}: {reason}" for reason, count in reasons.items()]
    return "\n".join(lines) + "\n"


def _figures(point: Coverpoint, seen: Seen) -> tuple[str, ...]:
    bins = len(point.bins)
    found = bins - len(point.holes(seen))
    least = min((seen[point.name, item] for item in point.bins), default=0)
    return str(bins), str(found), _percent(found, bins), str(len(point.excluded)), str(least)


def _percent(found: int, bins: int) -> str:
    """Rounded down, so that 100 means all."""
    return f"{1000 * found // max(bins, 1) / 10:.1f}"
