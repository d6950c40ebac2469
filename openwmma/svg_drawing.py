"""What all SVG pictures share: a page of fixed-width text and cells."""

from html import escape
from typing import Literal

import svg

FONT_SIZE = 12
LINE = 18
"""Pixels from one line to the next."""

_STYLE = (
    ".paper{fill:#fff}.ink{fill:#222}.muted{fill:#666}.rule{stroke:#222}"
    "@media (prefers-color-scheme:dark)"
    "{.paper{fill:#14181d}.ink{fill:#e8edf3}.muted{fill:#a3b0be}.rule{stroke:#e8edf3}}"
)
"""Colours of what stands on the page itself; cells are light, and what stands in them is dark."""


def label(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    place: Literal["ink", "muted", "cell"] = "ink",
    bold: bool = False,
) -> svg.Text:
    """A line of text whose baseline is at y: on the page, there less important, or in a cell."""
    return svg.Text(
        x=x,
        y=y,
        text=escape(text, quote=False),
        class_=None if place == "cell" else [place],
        fill="#222" if place == "cell" else None,
        text_anchor="middle" if anchor == "middle" else "end" if anchor == "end" else "start",
        font_weight="bold" if bold else "normal",
    )


def rectangle(x: float, y: float, width: float, height: float, fill: str) -> svg.Rect:
    """A filled cell."""
    return svg.Rect(x=x, y=y, width=width, height=height, fill=fill, stroke="#fff", stroke_width=1)


def page(title: str, width: float, height: float, elements: list[svg.Element]) -> str:
    """The text of an SVG file with a light background, or a dark one where the reader prefers that."""
    drawing = svg.SVG(
        width=width,
        height=height,
        viewBox=svg.ViewBoxSpec(0, 0, width, height),
        style=f"font:{FONT_SIZE}px monospace;max-width:100%;height:auto",
        elements=[
            svg.Title(text=escape(title, quote=False)),
            svg.Style(text=_STYLE),
            svg.Rect(x=0, y=0, width=width, height=height, class_=["paper"]),
            *elements,
        ],
    )
    return f"{drawing}\n"
