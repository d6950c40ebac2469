"""A grid of cells as text in the terminal and as an SVG picture."""

from colorsys import hls_to_rgb

import svg
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from openwmma.fragment_grid import FragmentGrid, span
from openwmma.svg_drawing import LINE, label, page, rectangle

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


_CHARACTER = 7.5
_MARGIN = 16
_CELL_HEIGHT = 22


def layout_svg(grid: FragmentGrid) -> str:
    """Draw the grid: a colour for each quad, lighter and darker for its four lanes."""
    cell = (max(len(item.text) for item in grid.cells) + 1) * _CHARACTER
    left, top = _MARGIN + 7 * _CHARACTER, _MARGIN + LINE * (len(grid.legend) + 3)
    elements: list[svg.Element] = [label(_MARGIN, _MARGIN + LINE / 2, grid.title, bold=True)]
    for number, sentence in enumerate(grid.legend, 1):
        elements.append(label(_MARGIN, _MARGIN + LINE * (number + 0.5), sentence))
    texts = [grid.title, *grid.legend]
    for item in grid.cells:
        x = left + item.column // grid.cell_columns * cell
        y = top + item.row // grid.cell_rows * _CELL_HEIGHT
        if item.row == 0:
            elements.append(
                label(x + cell / 2, top - 6, span(item.column, grid.cell_columns), anchor="middle")
            )
        if item.column == 0:
            elements.append(label(left - 6, y + 15, span(item.row, grid.cell_rows), anchor="end"))
        elements += [
            rectangle(x, y, cell, _CELL_HEIGHT, _colour(item.lane)),
            label(x + cell / 2, y + 15, item.text, anchor="middle", place="cell"),
        ]
    width = max(left + grid.columns // grid.cell_columns * cell, *(len(text) * _CHARACTER for text in texts))
    height = top + grid.rows // grid.cell_rows * _CELL_HEIGHT
    return page(grid.title, round(width + 2 * _MARGIN), round(height + _MARGIN), elements)


def _colour(lane: int) -> str:
    """A hue for each quad, a lightness for each lane in it."""
    parts = hls_to_rgb(lane // 4 / 8, 0.72 + lane % 4 * 0.06, 0.6)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)
