"""A grid of cells as tables."""

from colorsys import hls_to_rgb

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from openwmma.explanation_text import CELL
from openwmma.fragment_grid import FragmentGrid, span


def layout_table(grid: FragmentGrid, width: int = 1 << 14) -> Group:
    """The grid, in as many blocks of columns as the width in characters demands; in one by default."""
    lines = list(grid.lines)
    longest = max(len(item.text) for item in grid.cells)
    head = len(str(grid.rows)) + 6
    across = max(1, (width - head) // (longest + 1))
    parts: list[RenderableType] = [Text(grid.title, style="bold"), *map(Text, grid.legend)]
    for start in range(0, len(lines[0]), across):
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
        table.add_column("row", style="dim", justify="right", no_wrap=True)
        for item in lines[0][start : start + across]:
            table.add_column(span(item.column, grid.cell_columns), no_wrap=True)
        for line in lines:
            shown = line[start : start + across]
            cells = [Text(item.text.ljust(longest), style=_style(item.lane)) for item in shown]
            table.add_row(span(shown[0].row, grid.cell_rows), *cells)
        parts += [Text(), table]
    return Group(*parts)


def _style(lane: int) -> str:
    """A hue for each quad, a lightness for each lane in it."""
    parts = hls_to_rgb(lane // 4 / 8, 0.72 + lane % 4 * 0.06, 0.6)
    return f"{CELL}#" + "".join(f"{round(255 * part):02x}" for part in parts)
