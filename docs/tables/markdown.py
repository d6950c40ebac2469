"""Markdown tables."""

from collections.abc import Iterable, Sequence


def code(items: Iterable[object]) -> str:
    """Items as code, with commas between."""
    return ", ".join(f"`{item}`" for item in items)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; a bar inside a cell is escaped, and a line break becomes a space."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(content: object) -> str:
    return " ".join(str(content).split()).replace("|", "\\|")
