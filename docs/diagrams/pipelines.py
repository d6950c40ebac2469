"""A pipeline as a picture: its stages over the cycles, and what they produce, with widths."""

from collections.abc import Sequence
from typing import Any, Final

import svg
from amaranth.hdl import Value

from docs.diagrams.dataflow import mark_used
from docs.diagrams.theme import WIDTH, bar, line, page, text
from hdl.stream.pipeline import Pipeline, Stage

_NAMES: Final = 128
"""Pixels for the names of the stages."""
_MARGIN: Final = 14
_TOP: Final = 70
_ROW: Final = 30
_CHARACTER: Final = 5.3
"""Width of a character of the smaller font, at most."""


def field_bits(pipeline: Pipeline) -> dict[str, int]:
    """The width of each field of a pipeline, by name."""
    interfaces: list[Any] = [pipeline.input, *(stage.output for stage, _ in pipeline.schedule)]
    return {
        name: _bits(getattr(interface, name))
        for interface in interfaces
        for name in interface.signature.members
    }


def _bits(field: Any) -> int:
    """Of a port, or of all elements of an array of ports."""
    ports: Sequence[Any] = field if isinstance(field, (list, tuple)) else [field]
    return sum(len(Value.cast(port)) for port in ports)


def pipeline_svg(pipeline: Pipeline, title: str) -> str:
    """Draw a pipeline.

    Parameters
    ----------
    pipeline : Pipeline
    title : str
    """
    mark_used(pipeline, *(stage for stage, _ in pipeline.schedule))
    cycle = (WIDTH - _NAMES - 2 * _MARGIN) / len(pipeline.held)
    left = _MARGIN + _NAMES
    bottom = _TOP + _ROW * len(pipeline.schedule)
    elements: list[svg.Element] = [
        text(_MARGIN, 24, title, size=15, bold=True),
        text(
            _MARGIN,
            42,
            f"{pipeline.latency} cycles from operands to result; registers at the lines.",
            muted=True,
        ),
    ]
    for number, held in enumerate((True, *pipeline.held)):
        x = left + number * cycle
        if held:
            elements.append(line(x, _TOP - 4, x, bottom))
        if number < len(pipeline.held):
            name = str(pipeline.cycle(number))
            elements.append(text(x + cycle / 2, _TOP - 8, name, size=10, anchor="middle", muted=True))
    elements.append(text(left - 10, _TOP - 8, "cycle", size=10, anchor="end", muted=True))
    bits = field_bits(pipeline)
    for row, (stage, start) in enumerate(pipeline.schedule):
        elements += _stage(stage, start, _TOP + row * _ROW, left, cycle, bits)
    description = "; ".join(
        f"{type(stage).__name__} from cycle {pipeline.cycle(start)}, {stage.latency} cycles"
        for stage, start in pipeline.schedule
    )
    return page(title, description, bottom + _MARGIN, elements)


def _stage(
    stage: Stage, start: int, y: float, left: float, cycle: float, bits: dict[str, int]
) -> list[svg.Element]:
    """The row of one stage: its name, its box, and the fields that it produces."""
    x = left + start * cycle
    width = len(stage.held) * cycle
    produced = [f"{name} {bits[name]}" for name in stage.produces]
    behind, before = WIDTH - _MARGIN - x - width - 8, x - left - 8
    shown = ", ".join(produced)
    is_behind = len(shown) * _CHARACTER <= behind or behind >= before
    room = max(behind, before) if not is_behind else behind
    while produced and len(shown) * _CHARACTER > room:
        produced.pop()
        shown = ", ".join([*produced, "..."])
    every = ", ".join(f"{name} {bits[name]} bits" for name in stage.produces)
    what = f"{type(stage).__name__}: cuts {start + 1} to {start + len(stage.held)}; produces {every}"
    return [
        text(left - 10, y + 19, type(stage).__name__, anchor="end"),
        bar(x, y + 4, width, _ROW - 8, "blue", title=what),
        text(x + width / 2, y + 19, str(len(stage.held)), size=11, anchor="middle"),
        text(
            x + width + 6 if is_behind else x - 6,
            y + 19,
            shown,
            size=10,
            anchor="start" if is_behind else "end",
            muted=True,
        ),
    ]
