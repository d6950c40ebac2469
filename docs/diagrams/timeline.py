"""A matrix multiply over the cycles, from a trace: the sequencer, its waits, each unit and the bus."""

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import svg

from docs.diagrams.theme import WIDTH, Colour, bar, line, page, text
from openwmma.modules import Module

Document = Mapping[str, Any]

PRESET: Final = "small"
EXAMPLE: Final = Path("examples") / "gemm_f16_f32.ptx"
STORED: Final = Path(__file__).with_name("data") / "matrix-multiply.json"
"""The trace of `example_trace`, so that drawing it needs no simulation; a test compares them."""

_SIZE: Final = 32
"""Rows and columns of the matrices of the example; the first tile of the result is drawn."""

_LEFT: Final = 152
_RIGHT: Final = 14
_TOP: Final = 74
_ROW: Final = 25
_CHARACTER: Final = 5.4
"""Width of a character in a box, at most."""

_ROWS: Final[tuple[tuple[str, str, str, Colour], ...]] = (
    ("commands", "issue", "sequencer", "grey"),
    ("commands", "waits", "waits for", "red"),
    ("register mover", "command 0", "register mover", "violet"),
    ("load engine", "command 0", "load engine", "blue"),
    ("load engine", "command 1", "", "blue"),
    ("AXI4 memory port", "read data", "read data", "blue"),
    ("load engine", "writes registers", "writes registers", "blue"),
    ("tile multiplier", "fetches operands", "fetches operands", "green"),
    ("tile multiplier", "command 0", "tile multiplier", "green"),
    ("tile multiplier", "writes results", "writes results", "green"),
    ("store engine", "command 0", "store engine", "amber"),
    ("AXI4 memory port", "write data", "write data", "amber"),
)
"""Process and row of the trace, what the picture calls it, and its colour."""


def example_trace() -> dict[str, Any]:
    """Simulate the example, and keep of its trace what the picture shows of its first tile."""
    kernel = Module(Path(__file__).parents[2] / EXAMPLE, name=EXAMPLE.as_posix()).kernel()
    matrix = np.eye(_SIZE, dtype=np.float16)
    d = np.zeros(matrix.shape, dtype=np.float32)
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        kernel.launch(1, 32, [matrix, matrix, d, _SIZE], on="rtl", preset=PRESET, trace=trace)
        return _of_the_first_tile(json.loads(trace.read_text()))


def _of_the_first_tile(document: Document) -> dict[str, Any]:
    """The rows that are drawn, up to the end of the first store."""
    rows = _rows(document)
    stores = rows["store engine", "command 0"]
    end = min(event["ts"] + event["dur"] for event in stores)
    shown = {
        f"{process}/{row}": [
            {key: event[key] for key in ("name", "ts", "dur")} | _lines(event)
            for event in rows.get((process, row), [])
            if event["ts"] < end
        ]
        for process, row, _, _ in _ROWS
    }
    return {"about": document["otherData"], "end": end, "rows": shown}


def _lines(event: Mapping[str, Any]) -> dict[str, str]:
    """The PTX line that an event belongs to, if it has one."""
    return {"PTX": event["args"]["PTX"]} if "PTX" in event["args"] else {}


def _rows(document: Document) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The slices of a trace by the names of process and row."""
    processes, threads = {}, {}
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for event in document["traceEvents"]:
        if event["name"] == "process_name":
            processes[event["pid"]] = event["args"]["name"]
        elif event["name"] == "thread_name":
            threads[event["pid"], event["tid"]] = event["args"]["name"]
        elif event["ph"] == "X":
            where = processes[event["pid"]], threads[event["pid"], event["tid"]]
            found.setdefault(where, []).append(event)
    return found


def read_stored() -> dict[str, Any]:
    """The trace that is kept."""
    document: dict[str, Any] = json.loads(STORED.read_text())
    return document


def write_stored() -> None:
    """Simulate the example, and keep its trace."""
    STORED.parent.mkdir(exist_ok=True)
    STORED.write_text(json.dumps(example_trace(), indent=1) + "\n")


def timeline_svg(document: Document, title: str) -> str:
    """Draw a trace as `read_stored` gives it."""
    end = document["end"]
    rows = [
        (name, colour, document["rows"][f"{process}/{row}"])
        for process, row, name, colour in _ROWS
        if document["rows"].get(f"{process}/{row}")
    ]
    first = min(event["ts"] for _, _, events in rows for event in events)
    scale = (WIDTH - _LEFT - _RIGHT) / (end - first)
    bottom = _TOP + _ROW * len(rows)
    units = document["about"]["dot-product units"]
    elements: list[svg.Element] = [
        text(14, 24, title, size=15, bold=True),
        text(
            14,
            42,
            f"{EXAMPLE.name}, preset {PRESET} ({units} dot-product unit{'s' * (units > 1)}), simulated: "
            f"{end - first} cycles for the first 16 x 16 tile.",
            muted=True,
        ),
        text(_LEFT - 10, _TOP - 10, "cycle", size=10, anchor="end", muted=True),
    ]
    step = 100
    for cycle in range(-(-first // step) * step, end, step):
        x = _LEFT + (cycle - first) * scale
        elements.append(line(x, _TOP - 4, x, bottom))
        elements.append(text(x, _TOP - 10, str(cycle), size=10, anchor="middle", muted=True))
    for number, (name, colour, events) in enumerate(rows):
        y = _TOP + number * _ROW
        elements.append(text(_LEFT - 10, y + 17, name, anchor="end"))
        for event in events:
            elements += _slice(event, y, first, end, scale, colour)
    names = ", ".join(dict.fromkeys(name for name, _, _ in rows if name))
    return page(title, f"Rows: {names}.", bottom + 14, elements)


def _slice(
    event: Mapping[str, Any], y: float, first: int, end: int, scale: float, colour: Colour
) -> list[svg.Element]:
    last = min(event["ts"] + event["dur"], end)
    x, width = _LEFT + (event["ts"] - first) * scale, max((last - event["ts"]) * scale, 0.6)
    title = f"{event['name']}: cycles {event['ts']} to {event['ts'] + event['dur'] - 1}"
    if "PTX" in event:
        title += f"; {event['PTX']}"
    drawn: list[svg.Element] = [bar(x, y + 3, width, _ROW - 6, colour, title=title)]
    name = next((name for name in _names(event["name"]) if len(name) * _CHARACTER <= width - 4), None)
    if name is not None:
        drawn.append(text(x + 4, y + 16, name, size=10))
    return drawn


def _names(name: str) -> list[str]:
    """The name of a slice, and shorter ones."""
    words = name.removeprefix("registers ").split(" ")
    return [name, " ".join(words), " ".join(words[:2]), *(words[:1] if name[0] == "#" else [])]
