"""A cursor over the tokens of a module: the complaints and constants that all of the grammar shares."""

import re
from collections.abc import Iterable
from typing import Final

from golden.limits import NUMBER_CHARACTERS
from golden.ptx.lexer import Kind, Token, tokens
from golden.ptx.scalar_types import TYPES, ScalarType, float_bits
from golden.ptx.source import PtxError, Source
from golden.ptx.syntax import Immediate

__all__ = ["Cursor"]

_INTEGER: Final = re.compile(r"(?:0[xX](?P<hex>[0-9A-Fa-f]+)|0[bB](?P<binary>[01]+)|(?P<plain>[0-9]+))U?")
_FLOAT_PATTERN: Final = re.compile(r"0(?:[fF](?P<f32>[0-9A-Fa-f]{8})|[dD](?P<f64>[0-9A-Fa-f]{16}))")
_DECIMAL_FLOAT: Final = re.compile(r"[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)")
_LONGEST_NUMBER: Final = 67
"""Characters of a 64-bit binary constant with prefix and suffix."""


class Cursor:
    """The tokens of one source, read from front to back with one token in sight.

    Parameters
    ----------
    source : Source
    stream : iterable of Token or None
        The tokens to read, with an ``end`` token last; None for all of the source.

    Attributes
    ----------
    source : Source
    next : Token
        The token in sight.
    """

    def __init__(self, source: Source, stream: Iterable[Token] | None = None) -> None:
        self.source = source
        self._tokens = iter(tokens(source) if stream is None else stream)
        self.next = next(self._tokens)

    def advance(self) -> Token:
        """Take the token in sight, whatever it is; the end of the file stays in sight."""
        token = self.next
        if token.kind != "end":
            self.next = next(self._tokens)
        return token

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

    def skip_statement(self) -> None:
        """Take everything up to and with the next semicolon."""
        while not self.accept(";"):
            if self.next.kind == "end":
                raise self.unexpected("';'")
            self.advance()

    def skip_line_information(self) -> None:
        """Take what follows ``.loc``: file, line and column, and where the code was inlined."""
        place = ("a file number", "a line number", "a column")
        for what in place:
            self.integer(what)
        if self.accept(","):
            self.expect("function_name")
            self.expect_kind("word", "a label")
            if self.accept("+"):
                self.integer("an offset")
            self.expect(",")
            self.expect("inlined_at")
            for what in place:
                self.integer(what)

    def type(self) -> ScalarType:
        """Take a type such as ``.b32``."""
        token = self.next
        if token.kind != "directive" or token.text[1:] not in TYPES:
            raise self.unexpected(f"a type ({', '.join(f'.{name}' for name in TYPES)})")
        self.advance()
        return TYPES[token.text[1:]]

    def integer(self, what: str) -> int:
        """Take an unsigned integer constant."""
        if self.next.kind != "number":
            raise self.unexpected(what)
        token = self.next
        constant = self.immediate()
        if constant.kind != "integer":
            raise self.error(token, f"expected {what}, not {token}")
        return constant.value

    def immediate(self) -> Immediate:
        """Take a constant, which may have a sign."""
        location = self.next.location
        negative = self.accept("-")
        token = self.expect_kind("number", "a constant")
        text = token.text
        if len(text) > NUMBER_CHARACTERS:
            raise self.error(token, f"a number has at most {NUMBER_CHARACTERS} characters, not {len(text)}")
        if pattern := _FLOAT_PATTERN.fullmatch(text):
            width, kind = (32, "f32") if pattern["f32"] else (64, "f64")
            sign = negative << (width - 1)
            bits = int(text[2:], 16) ^ sign
            return Immediate(bits, "f32" if kind == "f32" else "f64", location)
        if _DECIMAL_FLOAT.fullmatch(text):
            return Immediate(float_bits(-float(text) if negative else float(text), 64), "f64", location)
        match = _INTEGER.fullmatch(text)
        if match is None or (match["plain"] and text.startswith("0") and set(text) & {"8", "9"}):
            raise self.error(token, f"malformed constant {text!r}")
        if len(text) > _LONGEST_NUMBER:
            raise self.error(token, f"constant {text[:12]}... exceeds 64 bits")
        if match["hex"]:
            value = int(match["hex"], 16)
        elif match["binary"]:
            value = int(match["binary"], 2)
        else:
            value = int(match["plain"], 8 if match["plain"].startswith("0") else 10)
        if value >> 64:
            raise self.error(token, f"constant {text} exceeds 64 bits")
        return Immediate(-value if negative else value, "integer", location)
