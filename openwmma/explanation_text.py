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

from golden.explanation.record import FusedSum
from openwmma.explaining import ExplainedResult
from openwmma.explanation_facts import Facts, described, term_label, value_text

_PLACES: Final = 56
"""The most binary places of a ruler; what lies lower is only counted."""

_TICKS: Final = 8
"""Places from one labelled tick of a ruler to the next."""

CELL: Final = "#111111 on "
"""Style of a coloured cell, before the colour."""

_KEPT, _CUT, _SUM = f"{CELL}#bfe3c4", f"{CELL}#f6c1b5", f"{CELL}#c5d7f2"


def explanation_text(found: ExplainedResult) -> Group:
    """Tables of all steps, one below the other, and of the result beside the exact one."""
    parts: list[RenderableType] = [Text(found.title, style="bold")]
    parts += [Text(f"note: {note}") for note in found.notes]
    for number, step in enumerate(found.steps, 1):
        title, facts = described(step)
        parts += [Text(), Text(f"step {number} of {len(found.steps)}: {title}", style="bold")]
        if isinstance(step, FusedSum) and any(term.kind == "finite" for term in step.terms):
            parts += [_ruler_table(step)]
        parts += [_facts_table(facts)]
    return Group(*parts, Text(), Text("result", style="bold"), _facts_table(found.comparison))


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


def _ruler_table(step: FusedSum) -> Table:
    """The terms that are not zero, and the sum as the last row; every column is one binary place."""
    unit, magnitude = step.unit_exponent, abs(step.total)
    terms = [term for term in step.terms if term.kind == "finite"]
    lowest = [term.exponent - term.fraction_bits for term in terms]
    lengths = [term.significand.bit_length() for term in terms]
    tops = [low + length - 1 for low, length in zip(lowest, lengths, strict=True)]
    top = max(unit, unit + magnitude.bit_length() - 1, *tops)
    top = top if step.largest_exponent is None else max(top, step.largest_exponent)
    places = range(top, max(min(unit, *lowest), top - _PLACES + 1) - 1, -1)
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("term", style="cyan", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column(Text(_ticks(places, unit)), no_wrap=True)
    table.add_column("kept", justify="right", no_wrap=True)
    table.add_column("cut", justify="right", no_wrap=True)
    table.add_column("lost", no_wrap=True)
    for term, low, length in zip(terms, lowest, lengths, strict=True):
        cut = min(term.cut_bits, length)
        value = value_text(term.significand, low, negative=term.negative)
        bits = _bits(places, unit, term.negative, term.significand, low, _KEPT)
        lost = value_text(term.lost, low) if cut else ""
        table.add_row(term_label(term), value, bits, str(length - cut), str(cut), lost)
    value = value_text(magnitude, unit, negative=step.total < 0)
    bits = _bits(places, unit, step.total < 0, magnitude, unit, _SUM)
    table.add_row("sum", value, bits, str(magnitude.bit_length()), "", "")
    return table


def _ticks(places: range, unit: int) -> str:
    """The exponents of every eighth place, each above the place, with the bar below the unit."""
    line = [" "] * (len(places) + 4)
    for column, place in enumerate(places):
        label = f"2^{place}"
        if place % _TICKS == 0 and column + len(label) <= len(places):
            at = column + 1 + (place < unit)
            line[at : at + len(label)] = label
    return "".join(line).rstrip()


def _bits(places: range, unit: int, negative: bool, magnitude: int, lowest: int, kept: str) -> Text:
    """Sign and bits of ``magnitude * 2**lowest``, in a style where they are kept; a bar follows the unit."""
    text = Text("-" if negative else "+")
    for place in places:
        if place == unit - 1:
            text.append("|", "dim")
        if 0 <= place - lowest < magnitude.bit_length():
            text.append(str(magnitude >> place - lowest & 1), kept if place >= unit else _CUT)
        else:
            text.append(".", "dim")
    return text.append("..." if magnitude and lowest < places[-1] else "")
