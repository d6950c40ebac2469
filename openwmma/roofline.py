"""Launches as points under what the units and the bus of a core allow.

After S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual performance model for
multicore architectures", Communications of the ACM 52 (2009), no. 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from itertools import pairwise
from math import ceil, floor, log2
from typing import Final, Literal

import svg

from golden.machine import Counters
from hdl.config import CoreConfig

_LINE: Final = 18
"""Pixels from one line of text to the next."""

_STYLE: Final = (
    ".paper{fill:#fff}.ink{fill:#222}.muted{fill:#666}.rule{stroke:#222}"
    "@media (prefers-color-scheme:dark)"
    "{.paper{fill:#14181d}.ink{fill:#e8edf3}.muted{fill:#a3b0be}.rule{stroke:#e8edf3}}"
)
_WIDTH, _HEIGHT, _LEFT, _TOP = 560, 300, 80, 60
_AXES = "dot products for each byte on the busier half of the bus", "dot products in a cycle"


@dataclass(frozen=True)
class Point:
    """A launch in the plot."""

    name: str
    counters: Counters
    """Of the core."""
    config: CoreConfig

    @property
    def beat_bytes(self) -> int:
        """What the bus moves in a cycle, read and written each."""
        return self.config.data_bits // 8

    @property
    def intensity(self) -> float | None:
        """Dot products for each byte in the direction with more of them; None without bytes."""
        beats = max(self.counters.read_beats, self.counters.write_beats)
        return self.counters.dot_product_cycles / (beats * self.beat_bytes) if beats else None

    @property
    def rate(self) -> float:
        """Dot products in a cycle."""
        return self.counters.dot_product_cycles / self.counters.cycles if self.counters.cycles else 0

    @property
    def limit(self) -> tuple[float, str]:
        """The most dot products in a cycle at this intensity, and what limits them."""
        units, intensity = self.config.dot_product_units, self.intensity
        if intensity is None or intensity * self.beat_bytes >= units:
            return units, "units"
        return intensity * self.beat_bytes, "bus"

    def __str__(self) -> str:
        """What the plot says in words."""
        if not self.rate:
            return f"{self.name}: no dot products"
        most, by = self.limit
        return f"{self.name}: {self.rate:.3g} in a cycle, {self.rate / most:.0%} of what the {by} can"


def roofline_svg(points: Sequence[Point]) -> str:
    """The text of an SVG file with launches on cores of one configuration, at least one."""
    config, ridge = points[0].config, points[0].config.dot_product_units / points[0].beat_bytes
    shown = [point for point in points if point.rate]
    at = [point.intensity or ridge for point in shown]
    first, last = floor(log2(min(*at, ridge, ridge / 4))), ceil(log2(max(*at, ridge, ridge * 8)))
    top = ceil(log2(config.dot_product_units)) + 1
    bottom = floor(log2(min(*(point.rate for point in shown), config.dot_product_units / 16, 1)))

    def x(value: float) -> float:
        return _LEFT + _WIDTH * (log2(value) - first) / (last - first)

    def y(value: float) -> float:
        return _TOP + _HEIGHT * (top - log2(value)) / (top - bottom)

    low, left = y(2.0**bottom), 2.0**first
    meets = max(left, 2.0**bottom / points[0].beat_bytes)
    roof: list[tuple[float, float]] = [(meets, meets * points[0].beat_bytes)] * (meets < ridge)
    roof += [(max(left, ridge), config.dot_product_units), (2.0**last, config.dot_product_units)]
    elements: list[svg.Element] = [
        _label(_LEFT, 20, "Launches and the limits of the core", weight="bold"),
        _label(_LEFT, 40, _AXES[1], place="muted"),
        _label(_LEFT, low + 2 * _LINE + 8, _AXES[0], place="muted"),
        _label(
            x(2.0**last), y(config.dot_product_units) - 6, f"{config.dot_product_units} units", anchor="end"
        ),
    ]
    axes = (_LEFT, _TOP, _LEFT, low), (_LEFT, low, _LEFT + _WIDTH, low)
    limits = [(x(one[0]), y(one[1]), x(other[0]), y(other[1])) for one, other in pairwise(roof)]
    elements += [
        svg.Line(x1=x1, y1=y1, x2=x2, y2=y2, class_=["rule"], stroke_width=width)
        for lines, width in ((axes, 1), (limits, 2))
        for x1, y1, x2, y2 in lines
    ]
    elements += [
        _label(x(2.0**power), low + _LINE, str(Fraction(2) ** power), anchor="middle", place="muted")
        for power in range(first, last + 1)
    ]
    elements += [
        _label(_LEFT - 8, y(2.0**power) + 4, str(Fraction(2) ** power), anchor="end", place="muted")
        for power in range(bottom, top + 1)
    ]
    for number, point in enumerate(points, 1):
        line = low + (number + 3) * _LINE
        elements.append(_label(_LEFT, line, f"{number} {point}"))
        if point.rate:
            across, up = x(point.intensity or 2.0**last), y(point.rate)
            elements += [
                svg.Circle(cx=across, cy=up, r=4, fill="#c33"),
                _label(across + 7, up + 4, str(number)),
            ]
    width, height = _LEFT + _WIDTH + 40, low + (len(points) + 4) * _LINE
    drawing = svg.SVG(
        width=width,
        height=height,
        viewBox=svg.ViewBoxSpec(0, 0, width, height),
        style="font:12px monospace;max-width:100%;height:auto",
        elements=[
            svg.Title(text="Roofline"),
            svg.Style(text=_STYLE),
            svg.Rect(x=0, y=0, width=width, height=height, class_=["paper"]),
            *elements,
        ],
    )
    return f"{drawing}\n"


def _label(
    x: float,
    y: float,
    text: str,
    *,
    anchor: Literal["start", "middle", "end"] = "start",
    place: str = "ink",
    weight: Literal["normal", "bold"] = "normal",
) -> svg.Text:
    """A line of text whose baseline is at y."""
    shown = escape(text, quote=False)
    return svg.Text(x=x, y=y, text=shown, class_=[place], text_anchor=anchor, font_weight=weight)
