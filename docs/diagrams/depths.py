"""Clock and area of the dot-product unit over its depth, as a picture of what pipelining costs and brings."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import svg

from docs.diagrams.theme import WIDTH, Colour, bar, line, page, text

DEPTHS: Final = Path(__file__).parent / "data" / "depths.json"
"""What `bench.dot_product` measured: ``cycles``, ``comb``, ``ff`` and ``mhz`` of each depth, ascending."""

_LEFT: Final = 70
_TOP: Final = 70
_HEIGHT: Final = 220
_BAR: Final = 26
_HEADROOM: Final = 1.1


def depths_svg(measured: Sequence[Mapping[str, float]], title: str) -> str:
    """Draw the clock as a curve, and look-up tables and flip-flops as bars beside each other.

    Parameters
    ----------
    measured : sequence of mapping
        As `DEPTHS`.
    title : str
    """
    bottom = _TOP + _HEIGHT
    step = (WIDTH - 2 * _LEFT) / len(measured)
    most_area = _HEADROOM * max(max(item["comb"], item["ff"]) for item in measured)
    most_mhz = _HEADROOM * max(item["mhz"] for item in measured)
    elements: list[svg.Element] = [
        text(14, 24, title, size=15, bold=True),
        text(14, 42, "Bars: TRELLIS_COMB and, to the right of it, flip-flops. Curve: MHz.", muted=True),
        line(_LEFT, bottom, WIDTH - _LEFT, bottom),
    ]
    points: list[tuple[float, float]] = []
    for index, item in enumerate(measured):
        middle = _LEFT + (index + 0.5) * step
        elements += _bars(item, middle, bottom, most_area)
        elements.append(text(middle, bottom + 18, f"{item['cycles']:.0f} cycles", anchor="middle"))
        points.append((round(middle, 1), round(bottom - _HEIGHT * item["mhz"] / most_mhz, 1)))
    curve: list[svg.PathData] = [svg.M(*points[0]), *(svg.L(*point) for point in points[1:])]
    elements.append(svg.Path(d=curve, class_=["edge"]))
    elements += [
        text(x + 6, y - 6, f"{item['mhz']:.0f} MHz", size=11)
        for (x, y), item in zip(points, measured, strict=True)
    ]
    described = "; ".join(
        f"{item['cycles']:.0f} cycles: {item['comb']:.0f} TRELLIS_COMB, {item['ff']:.0f} flip-flops, "
        f"{item['mhz']:.0f} MHz"
        for item in measured
    )
    return page(title, described, bottom + 32, elements)


def stored_depths() -> list[dict[str, float]]:
    """The content of `DEPTHS`."""
    found: list[dict[str, float]] = json.loads(DEPTHS.read_text())
    return found


def _bars(item: Mapping[str, float], middle: float, bottom: float, most: float) -> Iterator[svg.Element]:
    drawn: tuple[tuple[float, str, Colour], ...] = (
        (middle - _BAR - 2, "comb", "blue"),
        (middle + 2, "ff", "green"),
    )
    for x, name, colour in drawn:
        height = _HEIGHT * item[name] / most
        yield bar(x, bottom - height, _BAR, height, colour)
        yield text(x + _BAR / 2, bottom - 6, f"{item[name] / 1000:.1f}k", size=10, anchor="middle")
