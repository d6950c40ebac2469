"""How often each point of the Amaranth sources was reached, from Verilator's counts and the Verilog."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple

from regression.code_coverage.sources import SEPARATOR

_ATTRIBUTE: Final = re.compile(r'^ *[(/]\* src = "(?P<places>[^"]*)" \*[)/]$')
_OTHER_ATTRIBUTE: Final = re.compile(r"^ *\(\* .* \*\)$")
_SIGNAL: Final = re.compile(r"^  (?:input|output|wire|reg)\b.*?(?P<name>\\\S+|\w+) *(?:= \S+)?;$")
_SWITCH: Final = re.compile(r"^(?P<indent> +)casez \(")
_ITEM: Final = re.compile(r"^(?P<indent> +)(?P<patterns>\d+'[bh][\da-f?, 'bh]+|default):$")
_PATTERN: Final = re.compile(r"(?P<width>\d+)'(?:b(?P<bits>[01?]+)|h(?P<hex>[\da-f]+))")
_CHOICE: Final = re.compile(r' \? \(\* src = "(?P<places>[^"]*)" \*\)')
_NUMBER: Final = re.compile(r"\$\d+$")


class Place(NamedTuple):
    """A line of a source file, named as in the Verilog."""

    file: str
    line: int

    @classmethod
    def parse(cls, text: str) -> "Place":
        """Parse ``file:line``."""
        file, _, line = text.rpartition(":")
        return cls(file, int(line))


@dataclass(frozen=True)
class Switch:
    """A choice among blocks, of which none may be taken."""

    parent: int
    """Verilog line of the block that it stands in."""
    items: list[int] = field(default_factory=list)
    """Verilog lines of its blocks."""
    patterns: list[str] = field(default_factory=list)
    """The values for which these are taken."""


class VerilogPlaces:
    """The places of a Verilog file that `sources.convert_with_sources` has written.

    A signal from a file outside `folder`, the project, or of a library has the place of its module.
    """

    def __init__(self, text: str, folder: str) -> None:
        self.blocks: dict[int, tuple[Place, ...]] = {}
        """The assignments of each block of statements that is executed together, by its Verilog line; none of
        a process' own."""
        self.switches: list[Switch] = []
        """In the order of the text."""
        self.choices: dict[int, Place] = {}
        """Selections between two values, by Verilog line."""
        self.signals: dict[int, tuple[str, Place]] = {}
        """Names, without the number that tells equal ones apart, and places, by Verilog line. The fields of a
        structure, which Amaranth names as well, are left out: they are the same wires."""
        self._folder = folder
        self._module: Place | None = None
        self._of_name: dict[str, Place] = {}
        self._open: list[tuple[int, int, Switch | None]] = []
        """Indentation of the blocks and switches around a line, the block's Verilog line, and the switch."""
        pending: tuple[Place, ...] = ()
        for number, line in enumerate(text.splitlines(), 1):
            if found := _ATTRIBUTE.match(line):
                pending = tuple(Place.parse(part) for part in found["places"].split(SEPARATOR))
            elif not _OTHER_ATTRIBUTE.match(line):
                self._read(number, line, pending)
                pending = ()

    def _read(self, number: int, line: str, pending: tuple[Place, ...]) -> None:
        if line.startswith("module "):
            self._module, self._of_name = (pending[0] if pending else None), {}
        elif found := _SIGNAL.match(line):
            self._note_signal(number, found["name"], pending)
        elif line == "  always @* begin":
            self.blocks[number] = ()
            self._open = [(0, number, None)]
        elif found := _SWITCH.match(line):
            _, block, _ = self._around(len(found["indent"]))
            self.switches.append(Switch(block))
            self._open.append((len(found["indent"]), block, self.switches[-1]))
        elif found := _ITEM.match(line):
            _, _, switch = self._around(len(found["indent"]))
            assert switch is not None
            switch.items.append(number)
            switch.patterns.extend(_patterns(found["patterns"]))
            self._open.append((len(found["indent"]), number, None))
            self.blocks[number] = pending
        elif found := _CHOICE.search(line):
            self.choices[number] = Place.parse(found["places"])

    def _around(self, indent: int) -> tuple[int, int, Switch | None]:
        """Close what ends before something with an indentation; what is around it."""
        while self._open[-1][0] >= indent:
            self._open.pop()
        return self._open[-1]

    def _note_signal(self, number: int, name: str, pending: tuple[Place, ...]) -> None:
        # A port is declared twice, and has its source before the first.
        place = pending[0] if pending else self._of_name.get(name)
        if place is None:
            return
        self._of_name[name] = place
        # An environment may lie in the project or not.
        inside = place.file.startswith(self._folder) and "/site-packages/" not in place.file
        if not inside and self._module is not None:
            place = self._module
        plain = _NUMBER.sub("", name.removeprefix("\\"))
        if not {".", "["} & set(plain):
            self.signals[number] = (plain, place)


def _patterns(text: str) -> list[str]:
    """The patterns of a block, highest bit first, without the constant 1 that `sources` puts before them."""
    if text == "default":
        return [""]
    return [
        (match["bits"] or f"{int(match['hex'], 16):0{match['width']}b}")[1:]
        for match in _PATTERN.finditer(text)
    ]


def _cover_all(patterns: list[str]) -> bool:
    """Whether every value matches one of the patterns."""
    if any(not pattern.strip("?") for pattern in patterns):
        return True
    return bool(patterns) and all(
        _cover_all([pattern[1:] for pattern in patterns if pattern[0] in (bit, "?")]) for bit in "01"
    )


PointKind = Literal["line", "branch", "toggle"]

KINDS: Final[tuple[PointKind, ...]] = ("line", "branch", "toggle")

_ROW: Final = re.compile(r"^C '(?P<fields>.*)' (?P<count>\d+)$")
_FIELD_START: Final = "\x01"
_VALUE_START: Final = "\x02"
_ENCODED: Final = re.compile(r"__0([0-9A-F]{2})")
_EDGE: Final = re.compile(r"^(?P<name>.*?)(?:\[(?P<bit>\d+)\])?:(?P<edge>0->1|1->0)$")
_BIT: Final = re.compile(r"\[(\d+)\] ")
_CHOICES: Final = {"cond_then": "first value", "cond_else": "second value"}


class Point(NamedTuple):
    """Something that a test can reach, in all instances of a line."""

    file: str
    """From the root of the repository."""
    line: int
    kind: PointKind
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
    found: Counter[tuple[Place, PointKind, str]] = Counter()
    blocks: dict[int, int] = defaultdict(int)
    for line, kind, name, count in _rows(counts):
        if kind == "line":
            blocks[line] += count
        elif kind == "branch" and name in _CHOICES and line in places.choices:
            found[places.choices[line], "branch", _CHOICES[name]] += count
        elif kind == "toggle" and line in places.signals:
            signal, place = places.signals[line]
            edge = _EDGE.match(_ENCODED.sub(lambda code: chr(int(code[1], 16)), name))
            if edge is not None:
                bit = f"[{edge['bit']}]" if edge["bit"] is not None else ""
                found[place, "toggle", f"{signal}{bit} {edge['edge']}"] += count
    for line, assignments in places.blocks.items():
        for place in assignments:
            found[place, "line", ""] += blocks[line]
    for switch in places.switches:
        first = places.blocks[switch.items[0]] if switch.items else ()
        if first and not _cover_all(switch.patterns):
            none = blocks[switch.parent] - sum(blocks[item] for item in switch.items)
            found[first[0], "branch", "not taken"] += none
    inside: Counter[Point] = Counter()
    for (place, kind, name), count in found.items():
        file = Path(place.file)
        if file.is_relative_to(folder):
            inside[Point(file.relative_to(folder).as_posix(), place.line, kind, name)] = count
    return inside


def _rows(counts: Path) -> Iterator[tuple[int, str, str, int]]:
    """Line, type, comment and count of each row of a file of Verilator's."""
    with counts.open() as rows:
        for row in rows:
            if match := _ROW.match(row):
                fields = dict(
                    field.split(_VALUE_START, 1) for field in match["fields"].split(_FIELD_START) if field
                )
                yield int(fields["l"]), fields["t"], fields.get("o", ""), int(match["count"])
