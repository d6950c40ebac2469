"""A fragment as a coloured grid in the terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from openwmma.fragment_grid import FragmentGrid, span

_COLOURS = ("red", "green", "yellow", "blue", "magenta", "cyan", "white", "bright_black")
"""Of the eight quads; odd lanes are in reverse."""


def layout_text(grid: FragmentGrid, width: int) -> RenderableType:
    """The grid, in as many blocks of columns as the width in characters demands."""
    lines = list(grid.lines)
    cell = max(len(item.text) for item in grid.cells) + 1
    head = len(str(grid.rows)) + 6
    across = max(1, (width - head) // cell)
    parts: list[RenderableType] = [Text(grid.title, style="bold"), *map(Text, grid.legend)]
    for start in range(0, len(lines[0]), across):
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
        table.add_column("row", style="dim", justify="right", no_wrap=True)
        for item in lines[0][start : start + across]:
            table.add_column(span(item.column, grid.cell_columns), no_wrap=True)
        for line in lines:
            shown = line[start : start + across]
            cells = [Text(item.text, style=_style(item.lane)) for item in shown]
            table.add_row(span(shown[0].row, grid.cell_rows), *cells)
        parts += [Text(), table]
    return Group(*parts)


def _style(lane: int) -> str:
    return f"{_COLOURS[lane // 4]}{' reverse' if lane % 2 else ''}"
