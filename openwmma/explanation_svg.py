"""The steps of one result as an SVG picture."""

import svg

from openwmma.explaining import ExplainedResult
from openwmma.explanation_picture import Row, Ruler
from openwmma.svg_drawing import FONT_SIZE, LINE, label, page, rectangle

_CELL = 12
"""Width of a binary place."""

_CHARACTER = 0.61 * FONT_SIZE
"""Width of a character of the fixed-width font, at most."""

_MARGIN = 16
_KEPT, _CUT, _SUM = "#bfe3c4", "#f6c1b5", "#c5d7f2"


def explanation_svg(found: ExplainedResult) -> str:
    """Draw all steps, one below the other, and the result beside the exact one.

    Green bits are kept, red bits are cut by alignment, blue bits are the sum. A line stands below the unit.
    """
    elements: list[svg.Element] = []
    widest = 0.0
    y = _MARGIN + LINE / 2

    def write(text: str, *, bold: bool = False, x: float = _MARGIN) -> None:
        nonlocal widest, y
        elements.append(label(x, y, text, bold=bold))
        widest = max(widest, x + len(text) * _CHARACTER)
        y += LINE

    write(found.title, bold=True)
    for note in found.notes:
        write(f"note: {note}")
    for step in found.pictures:
        y += LINE / 2
        write(step.title, bold=True)
        if step.ruler is not None and len(step.ruler.rows) > 1:
            drawn, right = _ruler(step.ruler, y)
            elements += drawn
            widest = max(widest, right)
            y += LINE * (len(step.ruler.rows) + 1)
        indent = max(len(name) for name, _ in step.facts) + 2
        for name, text in step.facts:
            write(f"{name:<{indent}}".replace(" ", "\u00a0") + text)
    return page(found.title, round(widest + _MARGIN), round(y), elements)


def _ruler(ruler: Ruler, y: float) -> tuple[list[svg.Element], float]:
    """Elements whose first baseline is at y, and their right edge."""
    names = max(len(row.label) for row in ruler.rows) * _CHARACTER + _MARGIN
    left = names + max(len(row.value) for row in ruler.rows) * _CHARACTER + 2 * _CELL
    right = left + len(ruler.places) * _CELL
    elements: list[svg.Element] = [
        label(left + (column + 0.5) * _CELL, y, str(place), anchor="middle", place="muted")
        for column, place in enumerate(ruler.places)
        if place % 4 == 0
    ]
    for number, row in enumerate(ruler.rows, 1):
        base = y + number * LINE
        is_sum = number == len(ruler.rows)
        elements += [
            label(_MARGIN, base, row.label, bold=is_sum),
            label(left - 1.5 * _CELL, base, row.value, anchor="end"),
            label(left - 0.5 * _CELL, base, "-" if row.negative else "+", anchor="middle"),
            *_cells(ruler, row, left, base, is_sum=is_sum),
        ]
        if row.cut:
            text = f"{row.kept} kept, {row.cut} cut" + (f" (lost {row.lost})" if row.lost != "0" else "")
            elements.append(label(right + 2 * _CELL, base, text, place="muted"))
    if ruler.bottom < ruler.unit:
        x = left + (ruler.top - ruler.unit + 1) * _CELL
        bottom = y + len(ruler.rows) * LINE + 4
        elements.append(svg.Line(x1=x, y1=y + 4, x2=x, y2=bottom, class_=["rule"], stroke_width=2))
    texts = [len(f"{row.kept} kept, {row.cut} cut (lost {row.lost})") if row.cut else 0 for row in ruler.rows]
    return elements, right + 2 * _CELL + max(texts) * _CHARACTER


def _cells(ruler: Ruler, row: Row, left: float, base: float, *, is_sum: bool) -> list[svg.Element]:
    """The bits of one number."""
    elements: list[svg.Element] = []
    for column, place in enumerate(ruler.places):
        digit = row.digit(place)
        if digit:
            x = left + column * _CELL
            fill = _SUM if is_sum else _KEPT if place >= ruler.unit else _CUT
            elements.append(rectangle(x, base - LINE + 4, _CELL, LINE, fill))
            elements.append(label(x + _CELL / 2, base, digit, anchor="middle", place="cell"))
    if ruler.is_elided(row):
        elements.append(label(left + len(ruler.places) * _CELL, base, "..."))
    return elements
