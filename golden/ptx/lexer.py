"""PTX text to tokens."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, cast

from golden.ptx.source import Location, Source

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
