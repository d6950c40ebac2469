"""What all SVG pictures share: a page of fixed-width text and cells."""

from html import escape

import svg

__all__ = ["FONT_SIZE", "LINE", "label", "page", "rectangle"]

FONT_SIZE = 12
LINE = 18
"""Pixels from one line to the next."""


def label(
    x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#222", bold: bool = False
) -> svg.Text:
    """A line of text whose baseline is at y."""
    return svg.Text(
        x=x,
        y=y,
        text=escape(text, quote=False),
        fill=colour,
        text_anchor="middle" if anchor == "middle" else "end" if anchor == "end" else "start",
        font_weight="bold" if bold else "normal",
    )


def rectangle(x: float, y: float, width: float, height: float, fill: str) -> svg.Rect:
    """A filled cell."""
    return svg.Rect(x=x, y=y, width=width, height=height, fill=fill, stroke="#fff", stroke_width=1)


def page(title: str, width: float, height: float, elements: list[svg.Element]) -> str:
    """The text of an SVG file with a white background."""
    drawing = svg.SVG(
        width=width,
        height=height,
        viewBox=svg.ViewBoxSpec(0, 0, width, height),
        style=f"font: {FONT_SIZE}px monospace",
        elements=[
            svg.Title(text=escape(title, quote=False)),
            rectangle(0, 0, width, height, "#fff"),
            *elements,
        ],
    )
    return f"{drawing}\n"
