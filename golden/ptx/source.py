"""PTX text: where something stands in it, the error that says so, and a cursor over its tokens."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Final, Literal, NamedTuple, TypeVar, cast

from golden.message_text import excerpt, sentence

_FILE: Final = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"')
_LOC: Final = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+\d+")
_FUNCTION: Final = re.compile(r".*\.(?:entry|func)\b")

_T = TypeVar("_T")

Kind = Literal["word", "directive", "number", "string", "punctuation", "end"]

_TOKEN: Final = re.compile(
    r"""
      (?P<space>       [ \t\r\n\f\v]+ | //[^\n]* | /\*.*?\*/ )
    | (?P<word>        (?: [A-Za-z_$][A-Za-z0-9_$]* | %[A-Za-z0-9_$]+ ) (?: (?:\.|::)[A-Za-z0-9_]+ )* )
    | (?P<directive>   \.[A-Za-z_][A-Za-z0-9_]* )
    | (?P<number>      0[xX][A-Za-z0-9_.]* | \.?[0-9](?: (?<=[eE])[+-](?=[0-9]) | [A-Za-z0-9_.] )* )
    | (?P<string>      "[^"\n]*" )
    | (?P<punctuation> << | >> | [<>=!]= | && | \|\| | [{}()\[\]<>,;:=+\-!@|*/%&^~?] )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


class PtxError(Exception):
    """A PTX module that cannot be parsed, is illegal, or asks for what is not supported.

    `line` and `column` count from 1; `message` says what is wrong, and what is allowed.
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


class Token(NamedTuple):
    """One token."""

    kind: Kind
    """A word is a name, or an opcode with all its qualifiers; a directive begins with a dot."""
    text: str
    """As written; empty at the end of the file."""
    location: Location
    """Of its first character."""

    def __str__(self) -> str:
        return "the end of the file" if self.kind == "end" else repr(self.text)


def tokens(source: Source) -> Iterator[Token]:
    """Split a source text, without comments and white space, and end with an ``end`` token."""
    text = source.text
    starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def locate(offset: int) -> Location:
        line = bisect_right(starts, offset)
        return Location(line, offset - starts[line - 1] + 1)

    offset = 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if text.startswith("/*", offset) and (match is None or match.lastgroup != "space"):
            raise source.error(locate(offset), "comment without its end */")
        if match is None:
            what = "string without its end" if text[offset] == '"' else f"unexpected {text[offset]!r}"
            raise source.error(locate(offset), what)
        if match.lastgroup != "space":
            yield Token(cast(Kind, match.lastgroup), match.group(), locate(offset))
        offset = match.end()
    yield Token("end", "", locate(len(text)))


class Cursor:
    """The tokens of one source, read from front to back with one token in sight: `next`.

    Without a stream, whose last token is an ``end``, these are all tokens of the source.
    """

    def __init__(self, source: Source, stream: Iterable[Token] | None = None) -> None:
        self.source = source
        self._tokens = iter(tokens(source) if stream is None else stream)
        self.next = next(self._tokens)
        self._after: Token | None = None

    def advance(self) -> Token:
        """Take the token in sight, whatever it is; the end of the file stays in sight."""
        token = self.next
        if token.kind != "end":
            self.next = self._after or next(self._tokens)
            self._after = None
        return token

    def peek(self) -> Token:
        """The token after the one in sight."""
        if self._after is None and self.next.kind != "end":
            self._after = next(self._tokens)
        return self._after or self.next

    def sees(self, text: str) -> bool:
        """Whether the token in sight is this punctuation, word or directive."""
        return self.next.kind != "string" and self.next.text == text

    def accept(self, text: str) -> bool:
        """Take the token in sight if it is `text`."""
        if not self.sees(text):
            return False
        self.advance()
        return True

    def expect(self, text: str) -> Token:
        """Take the token in sight, which must be `text`."""
        if not self.sees(text):
            raise self.unexpected(repr(text))
        return self.advance()

    def expect_kind(self, kind: Kind, what: str) -> Token:
        """Take the token in sight, which must be of a kind; `what` describes it to a reader."""
        if self.next.kind != kind:
            raise self.unexpected(what)
        return self.advance()

    def several(self, take: Callable[[], _T], end: str = "") -> list[_T]:
        """Take one or more, with commas between them, and the `end` if there is one."""
        found = [take()]
        while self.accept(","):
            found.append(take())
        if end:
            self.expect(end)
        return found

    def unexpected(self, expected: str) -> PtxError:
        """The error that `expected` should be in sight."""
        return self.error(self.next, f"expected {expected}, not {self.next}")

    def error(self, token: Token, message: str) -> PtxError:
        """The error about `token`."""
        return self.source.error(token.location, message)

    def skip_block(self) -> list[Token]:
        """Take a whole ``{ ... }``, whatever is in it, and return its tokens.

        Where the file ends before the block does, the last one is the ``end`` token.
        """
        taken = [self.expect("{")]
        depth = 1
        while depth and taken[-1].kind != "end":
            token = self.advance()
            if token.kind == "punctuation":
                depth += (token.text == "{") - (token.text == "}")
            taken.append(token)
        return taken

    def skip_behind(self, text: str) -> None:
        """Take everything up to and with the next `text`."""
        while not self.accept(text):
            if self.next.kind == "end":
                raise self.unexpected(repr(text))
            self.advance()
