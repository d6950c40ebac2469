"""The steps of one result as tables, and tables on a terminal, as an HTML page and as an SVG picture."""

from html import escape
from io import StringIO
from pathlib import Path
from string import Template
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

from openwmma.explaining import ExplainedResult
from openwmma.explanation_picture import Facts, Row, Ruler

_TICKS = 8
"""Places from one labelled tick of a ruler to the next."""

CELL: Final = "#111111 on "
"""Style of a coloured cell, before the colour."""

_KEPT, _CUT, _SUM = f"{CELL}#bfe3c4", f"{CELL}#f6c1b5", f"{CELL}#c5d7f2"


def explanation_text(found: ExplainedResult) -> Group:
    """Tables of all steps, one below the other, and of the result beside the exact one."""
    parts: list[RenderableType] = [Text(found.title, style="bold")]
    parts += [Text(f"note: {note}") for note in found.notes]
    for step in found.pictures:
        parts += [Text(), Text(step.title, style="bold")]
        if step.ruler is not None and len(step.ruler.rows) > 1:
            parts += [_ruler_table(step.ruler)]
        parts += [_facts_table(step.facts)]
    return Group(*parts)


def print_wide(content: RenderableType) -> None:
    """Print on the terminal at the content's own width, so that no digit of a ruler is left out."""
    console = Console()
    console.width = max(console.width, _natural_width(content))
    console.print(content, highlight=False, soft_wrap=False)


def html_page(content: Group, title: str) -> str:
    """The same as a page of HTML that loads nothing; on a narrow screen text wraps and each table scrolls."""
    parts = []
    for part in content.renderables:
        console = Console(record=True, file=StringIO(), width=_natural_width(part), force_terminal=True)
        console.print(part, highlight=False)
        kind = "table" if isinstance(part, Table) else "text"
        parts.append(
            console.export_html(inline_styles=True, code_format=f'<pre class="{kind}">{{code}}</pre>')
        )
    page = Template(Path(__file__).with_name("explanation.html").read_text())
    return page.substitute(title=escape(title), parts="\n".join(parts))


def svg_picture(content: RenderableType, title: str) -> str:
    """The same as an SVG picture that loads nothing, with a dark page where the reader prefers one."""
    console = Console(record=True, file=StringIO(), width=_natural_width(content), force_terminal=True)
    console.print(content, highlight=False)
    template = Path(__file__).with_name("picture.svg").read_text()
    drawn = console.export_svg(theme=DEFAULT_TERMINAL_THEME, code_format=template, unique_id="text")
    ink = f"fill: {DEFAULT_TERMINAL_THEME.foreground_color.hex}"
    return drawn.replace(ink, "fill: var(--ink)").replace("<title/>", f"<title>{escape(title)}</title>")


def _natural_width(content: RenderableType) -> int:
    wide = Console(width=10_000)
    return Measurement.get(wide, wide.options, content).maximum


def _facts_table(facts: Facts) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(no_wrap=True)
    for name, text in facts:
        table.add_row(Text(name), Text(text))
    return table


def _ruler_table(ruler: Ruler) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("term", style="cyan", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column(Text(_ticks(ruler)), no_wrap=True)
    table.add_column("kept", justify="right", no_wrap=True)
    table.add_column("cut", justify="right", no_wrap=True)
    table.add_column("lost", no_wrap=True)
    *terms, total = ruler.rows
    for row in terms:
        bits = _bits(ruler, row, _KEPT)
        table.add_row(row.label, row.value, bits, str(row.kept), str(row.cut), row.lost)
    table.add_row(total.label, total.value, _bits(ruler, total, _SUM), str(total.kept), "", "")
    return table


def _ticks(ruler: Ruler) -> str:
    """The exponents of every eighth place, each above the place, with the bar below the unit."""
    line = [" "] * (len(ruler.places) + 4)
    for column, place in enumerate(ruler.places):
        label = f"2^{place}"
        if place % _TICKS == 0 and column + len(label) <= len(ruler.places):
            at = column + 1 + (place < ruler.unit)
            line[at : at + len(label)] = label
    return "".join(line).rstrip()


def _bits(ruler: Ruler, row: Row, kept: str) -> Text:
    """Sign and bits, in a style where they are kept; a bar stands between the unit and what is cut."""
    text = Text("-" if row.negative else "+")
    for place in ruler.places:
        digit = row.digit(place)
        if place == ruler.unit - 1:
            text.append("|", "dim")
        is_kept = place >= ruler.unit
        text.append(digit or ".", (kept if is_kept else _CUT) if digit else "dim")
    return text.append("..." if ruler.is_elided(row) else "")
