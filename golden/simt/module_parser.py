"""A whole PTX module: variables, functions and entries, with the bodies left for when they are needed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from golden.ptx.body import skip_line_information
from golden.ptx.cursor import Cursor
from golden.ptx.lexer import Token
from golden.ptx.source import Source
from golden.simt.declarations import declare, parameters
from golden.simt.syntax import Function, ModuleVariable

__all__ = ["ModuleSyntax", "parse_module_syntax"]

_LINKAGES: Final = (".visible", ".extern", ".weak", ".common")
_SPACES: Final = (".global", ".const", ".shared", ".local")
_TUNINGS: Final = {
    **dict.fromkeys((".maxntid", ".reqntid", ".reqnctapercluster"), 3),
    **dict.fromkeys((".maxnreg", ".minnctapersm", ".maxnctapersm", ".maxclusterrank", ".abi_preserve"), 1),
    **dict.fromkeys((".explicitcluster", ".noreturn", ".blocksareclusters"), 0),
}
"""Performance directives between the parameters and the body, with the most numbers each takes."""


@dataclass(frozen=True)
class ModuleSyntax:
    """A parsed file, with the bodies of its functions still in tokens.

    Parameters
    ----------
    source : Source
    version : (int, int)
        PTX ISA version.
    target : tuple of str
        Target specifiers, the architecture first.
    variables : mapping of str to ModuleVariable
    functions : mapping of str to Function
        Entries and functions, in the order written; where there is a body, that one.
    """

    source: Source
    version: tuple[int, int]
    target: tuple[str, ...]
    variables: Mapping[str, ModuleVariable]
    functions: Mapping[str, Function]


def parse_module_syntax(source: Source) -> ModuleSyntax:
    """Parse a module down to the bodies.

    Raises
    ------
    PtxError
    """
    return _ModuleParser(source).parse()


class _ModuleParser:
    def __init__(self, source: Source) -> None:
        self._cursor = Cursor(source)
        self._variables: dict[str, ModuleVariable] = {}
        self._functions: dict[str, Function] = {}

    def parse(self) -> ModuleSyntax:
        cursor = self._cursor
        version = self._version()
        cursor.expect(".target")
        target = [cursor.expect_kind("word", "a target such as sm_90").text]
        while cursor.accept(","):
            target.append(cursor.expect_kind("word", "a target option").text)
        while cursor.next.kind != "end":
            if not cursor.accept(";"):
                self._directive()
        return ModuleSyntax(cursor.source, version, tuple(target), self._variables, self._functions)

    def _version(self) -> tuple[int, int]:
        cursor = self._cursor
        cursor.expect(".version")
        token = cursor.expect_kind("number", "a version such as 8.0")
        major, dot, minor = token.text.partition(".")
        if not (dot and major.isdecimal() and minor.isdecimal() and len(token.text) < 8):
            raise cursor.error(token, f"expected a version such as 8.0, not {token}")
        return int(major), int(minor)

    def _directive(self) -> None:
        cursor = self._cursor
        token = cursor.expect_kind("directive", "a directive")
        external = False
        while token.text in _LINKAGES:
            external = external or token.text == ".extern"
            token = cursor.expect_kind("directive", "a directive")
        if token.text == ".address_size":
            size = cursor.next
            if cursor.integer("an address size") != 64:
                raise cursor.error(size, f".address_size must be 64, not {size.text}")
        elif token.text in (".entry", ".func"):
            self._function(token)
        elif token.text in _SPACES:
            self._declare(token, external=external)
        elif token.text == ".file":
            cursor.integer("a file number")
            cursor.expect_kind("string", "a file name")
            while cursor.accept(","):
                cursor.integer("a time stamp or size")
        elif token.text == ".section":
            cursor.advance()
            cursor.skip_block()
        elif token.text == ".loc":
            skip_line_information(cursor)
        elif token.text in (".pragma", ".alias"):
            cursor.skip_statement()
        else:
            supported = ", ".join(
                (".address_size", ".entry", ".func", *_SPACES, ".file", ".section", ".pragma")
            )
            raise cursor.error(token, f"unknown directive {token}; supported: {supported}")

    def _declare(self, token: Token, *, external: bool) -> None:
        cursor = self._cursor
        for variable in declare(cursor, token.text, external=external):
            name = variable.storage.name
            before = self._variables.get(name)
            if before is not None and not (external or before.storage.external):
                raise cursor.source.error(variable.storage.location, f"variable {name} is already declared")
            if before is None or before.storage.external:
                self._variables[name] = variable

    def _function(self, directive: Token) -> None:
        cursor = self._cursor
        results = parameters(cursor) if directive.text == ".func" and cursor.sees("(") else ()
        name = cursor.expect_kind("word", "the name of a function")
        takes = parameters(cursor) if cursor.sees("(") else ()
        tunings: dict[str, tuple[int, ...]] = {}
        while cursor.next.text in _TUNINGS or cursor.sees(".pragma"):
            tuning = cursor.advance().text
            if tuning == ".pragma":
                cursor.skip_statement()
                continue
            numbers = []
            for index in range(_TUNINGS[tuning]):
                if index and not cursor.accept(","):
                    break
                numbers.append(cursor.integer("a number"))
            tunings[tuning] = tuple(numbers)
        body: tuple[Token, ...] = ()
        if not cursor.accept(";"):
            taken = cursor.skip_block()
            body = (*taken, Token("end", "", taken[-1].location))
        before = self._functions.get(name.text)
        if before is not None and before.tokens and body:
            raise cursor.error(name, f"{name.text} is already defined")
        if before is None or body:
            kind: Literal["entry", "function"] = "entry" if directive.text == ".entry" else "function"
            self._functions[name.text] = Function(
                name.text, kind, results, takes, body, name.location, tunings
            )
