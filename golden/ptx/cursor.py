"""A cursor over the tokens of a module: the complaints and constants that all of the grammar shares."""

from collections.abc import Iterable

from golden.ptx.expressions import expression, literal
from golden.ptx.lexer import Kind, Token, tokens
from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.source import PtxError, Source
from golden.ptx.syntax import Immediate


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
        """Take a constant expression that is an integer, not negative."""
        token = self.next
        begins = token.kind in ("number", "punctuation") or token.text == "WARP_SZ"
        constant = self.immediate() if begins else None
        if constant is None or constant.kind != "integer" or constant.value < 0:
            raise self.error(token, f"expected {what}, not {token if constant is None else constant.value}")
        return constant.value

    def number(self, what: str) -> int:
        """Take an integer without operators."""
        token = self.next
        if token.kind != "number" or (constant := literal(self)).type in ("f32", "f64"):
            raise self.error(token, f"expected {what}, not {token}")
        return constant.number

    def immediate(self) -> Immediate:
        """Take a constant, or an expression of constants."""
        return expression(self)
