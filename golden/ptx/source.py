"""Where in a PTX file something stands, and the error that says so."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Final, NamedTuple

from golden.message_text import excerpt, sentence

_FILE: Final = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"')
_LOC: Final = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+\d+")
_FUNCTION: Final = re.compile(r".*\.(?:entry|func)\b")


class PtxError(Exception):
    """A PTX module that cannot be parsed, is illegal, or asks for what is not supported.

    Parameters
    ----------
    file : str
        Name of the file, for messages.
    line, column : int
        Where, both from 1.
    message : str
        What is wrong, and what is allowed.
    """

    def __init__(self, file: str, line: int, column: int, message: str) -> None:
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        super().__init__(sentence(f"{file}:{line}:{column}: {message}"))


class Location(NamedTuple):
    """A place in a source text; both numbers count from 1."""

    line: int
    column: int


def source_text(data: bytes, file: str) -> str:
    """The text of a file from its bytes; PtxError for bytes that are no UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        start = error.start
        line, column = data.count(b"\n", 0, start) + 1, start - data.rfind(b"\n", 0, start)
        raise PtxError(file, line, column, f"the byte {data[start]:#04x} is not UTF-8") from None


@dataclass(frozen=True)
class SourceLine:
    """The line of a module that a command came from."""

    file: str
    line: int
    column: int
    """Where the statement begins, both from 1."""
    text: str
    """The line itself, without surrounding white space."""
    origin: str = ""
    """File and line from which a compiler made it, by its ``.loc``, as in ``kernel.cu:31``; or empty."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {excerpt(self.text)}"


class Source:
    """The text of one PTX file, whose name is for messages.

    Lines may end as on any system; a byte order mark is dropped.
    """

    def __init__(self, text: str, file: str) -> None:
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        self.text = text
        self.file = file
        self._lines = text.split("\n")

    def error(self, location: Location, message: str) -> PtxError:
        """The error to raise about something at `location`."""
        return PtxError(self.file, location.line, location.column, message)

    def line(self, location: Location) -> SourceLine:
        """The line around `location`."""
        text = self._lines[location.line - 1].strip()
        before = bisect_right(self._origins, location.line, key=itemgetter(0))
        origin = self._origins[before - 1][1] if before else ""
        return SourceLine(self.file, location.line, location.column, text, origin)

    @cached_property
    def _origins(self) -> list[tuple[int, str]]:
        """Lines from which on the code has another origin, and that origin; it ends with the function."""
        files = {match[1]: match[2] for match in map(_FILE.match, self._lines) if match}
        found = []
        for number, line in enumerate(self._lines, 1):
            match = _LOC.match(line)
            if match:
                found.append((number, f"{files[match[1]]}:{match[2]}" if match[1] in files else ""))
            elif _FUNCTION.match(line):
                found.append((number, ""))
        return found
