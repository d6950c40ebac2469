"""How often each point of the Amaranth sources was reached, from Verilator's counts."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from regression.code_coverage.places import Place, VerilogPlaces

Kind = Literal["line", "branch", "toggle"]

KINDS: Final[tuple[Kind, ...]] = ("line", "branch", "toggle")

_ROW: Final = re.compile(r"^C '(?P<fields>.*)' (?P<count>\d+)$")
_FIELD_START: Final = "\x01"
_VALUE_START: Final = "\x02"
_ENCODED: Final = re.compile(r"__0([0-9A-F]{2})")
_EDGE: Final = re.compile(r"^(?P<name>.*?)(?:\[(?P<bit>\d+)\])?:(?P<edge>0->1|1->0)$")
_BIT: Final = re.compile(r"\[(\d+)\] ")
_CHOICES: Final = {"cond_then": "first value", "cond_else": "second value"}


@dataclass(frozen=True, order=True)
class Point:
    """Something that a test can reach, in all instances of a line."""

    place: Place
    kind: Kind
    """``line``: the assignment there; ``branch``: a side of a choice there; ``toggle``: a bit of a signal."""
    name: str = ""
    """Which side, or signal, bit and edge; nothing for a line."""

    @property
    def bit(self) -> int:
        """Of a toggle: the bit's number; 0 where a signal has but one, and for other kinds."""
        match = _BIT.search(self.name)
        return int(match[1]) if match else 0


def read_counts(verilog: Path, counts: Path, folder: Path) -> Counter[Point]:
    """Read what one run has counted; points that were never reached have 0.

    `sources.convert_with_sources` wrote `verilog`, and Verilator `counts` for it. Places get paths inside
    `folder`, the project; those outside are left out.
    """
    places = VerilogPlaces(verilog.read_text(), f"{folder}/")
    found: Counter[Point] = Counter()
    blocks: dict[int, int] = defaultdict(int)
    for line, kind, name, count in _rows(counts):
        if kind == "line":
            blocks[line] += count
        elif kind == "branch" and name in _CHOICES and line in places.choices:
            _count(found, folder, places.choices[line], "branch", _CHOICES[name], count)
        elif kind == "toggle" and line in places.signals:
            signal, place = places.signals[line]
            edge = _EDGE.match(_ENCODED.sub(lambda code: chr(int(code[1], 16)), name))
            if edge is not None:
                bit = f"[{edge['bit']}]" if edge["bit"] is not None else ""
                _count(found, folder, place, "toggle", f"{signal}{bit} {edge['edge']}", count)
    for line, assignments in places.blocks.items():
        for place in assignments:
            _count(found, folder, place, "line", "", blocks[line])
    for switch in places.switches:
        first = places.blocks[switch.items[0]] if switch.items else ()
        if first:
            none = blocks[switch.parent] - sum(blocks[item] for item in switch.items)
            _count(found, folder, first[0], "branch", "not taken", none)
    return found


def _count(found: Counter[Point], folder: Path, place: Place, kind: Kind, name: str, count: int) -> None:
    file = Path(place.file)
    if file.is_relative_to(folder):
        inside = Place(file.relative_to(folder).as_posix(), place.line)
        found[Point(inside, kind, name)] += count


def _rows(counts: Path) -> Iterator[tuple[int, str, str, int]]:
    """Line, type, comment and count of each row of a file of Verilator's."""
    with counts.open() as rows:
        for row in rows:
            if match := _ROW.match(row):
                fields = dict(
                    field.split(_VALUE_START, 1) for field in match["fields"].split(_FIELD_START) if field
                )
                yield int(fields["l"]), fields["t"], fields.get("o", ""), int(match["count"])
