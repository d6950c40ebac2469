"""The look of all diagrams: one style sheet with light and dark colours, and elements that use it."""

from html import escape
from typing import Final, Literal, get_args

import svg

WIDTH: Final = 800
"""Pixels that a page of the documentation has for a diagram."""

_LIGHT: Final = {
    "paper": "#ffffff",
    "ink": "#1d2733",
    "muted": "#5a6776",
    "rule": "#d5dce4",
    "edge": "#5b7186",
    "blue": "#cfe0f7",
    "green": "#cdead2",
    "amber": "#fbe3b5",
    "red": "#f7cfc8",
    "violet": "#e2d6f5",
    "grey": "#e6eaef",
}
_DARK: Final = {
    "paper": "#14181d",
    "ink": "#e8edf3",
    "muted": "#a3b0be",
    "rule": "#333d48",
    "edge": "#8da3b8",
    "blue": "#24466f",
    "green": "#23573a",
    "amber": "#6b4e16",
    "red": "#6e332b",
    "violet": "#4a3a71",
    "grey": "#2c343d",
}

Colour = Literal["blue", "green", "amber", "red", "violet", "grey"]


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colours.items())


STYLE: Final = (
    f":root{{{_variables(_LIGHT)}}}"
    f"@media (prefers-color-scheme: dark){{:root{{{_variables(_DARK)}}}}}"
    "text{font-family:system-ui,-apple-system,'DejaVu Sans',sans-serif;fill:var(--ink);stroke:none}"
    "text.muted{fill:var(--muted)}"
    ".paper{fill:var(--paper);stroke:none}"
    ".rule{stroke:var(--rule)}"
    ".edge{stroke:var(--edge);fill:none}"
    + "".join(f".{name}{{fill:var(--{name});stroke:var(--edge)}}" for name in get_args(Colour))
)
"""The style sheet of every diagram."""


def text(
    x: float,
    y: float,
    content: str,
    *,
    size: float = 12,
    anchor: Literal["start", "middle", "end"] = "start",
    muted: bool = False,
    bold: bool = False,
) -> svg.Text:
    """A line of text whose baseline is at y."""
    return svg.Text(
        x=round(x, 1),
        y=round(y, 1),
        text=escape(content, quote=False),
        font_size=size,
        text_anchor=anchor,
        font_weight="600" if bold else None,
        class_=["muted"] if muted else None,
    )


def bar(
    x: float, y: float, width: float, height: float, colour: Colour, *, title: str | None = None
) -> svg.Rect:
    """A filled box; `title` is what a viewer shows at the pointer."""
    return svg.Rect(
        x=round(x, 1),
        y=round(y, 1),
        width=round(width, 1),
        height=round(height, 1),
        rx=2,
        stroke_width=0.8,
        class_=[colour],
        elements=[svg.Title(text=escape(title, quote=False))] if title is not None else None,
    )


def line(x1: float, y1: float, x2: float, y2: float) -> svg.Line:
    """A thin line of the grid."""
    return svg.Line(
        x1=round(x1, 1),
        y1=round(y1, 1),
        x2=round(x2, 1),
        y2=round(y2, 1),
        stroke_width=1,
        class_=["rule"],
    )


def page(title: str, description: str, height: float, elements: list[svg.Element]) -> str:
    """The text of an SVG file, `WIDTH` wide, that shrinks where there is less room."""
    drawing = svg.SVG(
        viewBox=svg.ViewBoxSpec(0, 0, WIDTH, round(height)),
        width=WIDTH,
        height=round(height),
        style="max-width:100%;height:auto",
        extra={"role": "img"},
        elements=[
            svg.Title(text=escape(title, quote=False)),
            svg.Desc(text=escape(description, quote=False)),
            svg.Style(text=STYLE),
            svg.Rect(x=0, y=0, width=WIDTH, height=round(height), rx=6, class_=["paper"]),
            *elements,
        ],
    )
    return f"{drawing}\n"
