"""A whole PTX module to its syntax tree, with the bodies left in tokens until they are needed."""

from functools import partial
from typing import Final

from golden.ptx.body import parse_body
from golden.ptx.declarations import DeclarationParser
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Location, Source, Token
from golden.ptx.syntax import Function, Module, Variable

_LINKAGES: Final = (".visible", ".extern", ".weak", ".common")
_STATE_SPACES: Final = (".global", ".const", ".shared", ".local")
_TUNINGS: Final = {
    **dict.fromkeys((".maxntid", ".reqntid", ".reqnctapercluster"), 3),
    **dict.fromkeys((".maxnreg", ".minnctapersm", ".maxnctapersm", ".maxclusterrank", ".abi_preserve"), 1),
    **dict.fromkeys((".explicitcluster", ".noreturn", ".blocksareclusters"), 0),
}
"""Performance directives between the parameters and the body, with the most numbers each takes."""

_CONFLICTS: Final = ((".maxntid", ".reqntid"), (".reqnctapercluster", ".maxclusterrank"))
_NEEDED: Final = {
    ".blocksareclusters": {".reqntid", ".reqnctapercluster"},
    ".noreturn": {".func in place of .entry"},
    ".abi_preserve": {".func in place of .entry"},
}
"""Directives of an entry that exclude each other, and what some need beside them."""

_RESERVED: Final = Variable(
    *("%reserved_smem_offset_1", "%reserved_smem_offset_1", "shared", TYPES["b8"], 288, 16, Location(1, 1)),
    is_array=True,
)
"""Shared memory that cooperative groups of several warps have without declaring it."""


def parse_syntax(source: Source) -> Module:
    """Parse a module down to the bodies of its functions."""
    return _ModuleParser(source).parse()


class _ModuleParser(DeclarationParser):
    def __init__(self, source: Source) -> None:
        super().__init__(source)
        reserved = _RESERVED.name in source.text
        self._variables: dict[str, Variable] = {_RESERVED.name: _RESERVED} if reserved else {}
        self._functions: dict[str, Function] = {}
        self._aliases: list[tuple[Token, Token]] = []
        self._module = Module(source, self._version(), self._target(), self._variables, self._functions)

    def parse(self) -> Module:
        while self.next.kind != "end":
            if not self.accept(";"):
                self._directive()
        for name, other in self._aliases:
            declared, defined = (self._functions.get(token.text) for token in (name, other))
            if declared is None or declared.tokens or declared.kind == "entry":
                raise self.error(name, f"{name.text} must be a function that is declared without a body")
            if defined is None or not defined.tokens or defined.kind == "entry":
                raise self.error(other, f"{other.text} must be a function with a body")
            self._functions[name.text] = defined
        return self._module

    def _version(self) -> tuple[int, int]:
        self.expect(".version")
        token = self.expect_kind("number", "a version such as 8.0")
        major, dot, minor = token.text.partition(".")
        if not (dot and major.isdecimal() and minor.isdecimal() and len(token.text) < 8):
            raise self.error(token, f"expected a version such as 8.0, not {token}")
        return int(major), int(minor)

    def _target(self) -> tuple[str, ...]:
        self.expect(".target")
        names = self.several(partial(self.expect_kind, "word", "a target such as sm_90"))
        return tuple(name.text for name in names)

    def _directive(self) -> None:
        token = self.expect_kind("directive", "a directive")
        linkage = ""
        if token.text in _LINKAGES:
            linkage, token = token.text, self.expect_kind("directive", "a directive")
            if token.text in _LINKAGES:
                raise self.error(token, f"{linkage} and {token.text} cannot stand together")
            if linkage == ".common" and token.text != ".global":
                raise self.error(token, f".common is for variables in .global, not for {token.text}")
        if token.text == ".address_size":
            size = self.next
            if self.integer("an address size") != 64:
                raise self.error(size, f".address_size must be 64, not {size.text}")
        elif token.text in (".entry", ".func"):
            self._function(token)
        elif token.text in _STATE_SPACES:
            self._declare(token, external=linkage == ".extern")
        elif token.text == ".file":
            self.integer("a file number")
            self.expect_kind("string", "a file name")
            while self.accept(","):
                self.integer("a time stamp or size")
        elif token.text == ".section":
            self.advance()
            block = self.skip_block()
            if block[-1].kind == "end":
                raise self.error(block[0], "block without its end }")
        elif token.text == ".loc":
            self.skip_line_information()
        elif token.text == ".pragma":
            self.skip_behind(";")
        elif token.text == ".alias":
            self._alias()
        else:
            supported = (
                ".address_size",
                ".entry",
                ".func",
                *_STATE_SPACES,
                ".file",
                ".section",
                ".pragma",
                ".alias",
            )
            raise self.error(token, f"unknown directive {token}; supported: {', '.join(supported)}")

    def _declare(self, directive: Token, *, external: bool) -> None:
        if directive.text == ".local":
            raise self.error(directive, "variables in .local are declared in functions, not in the module")
        for variable in self.declare(directive.text, external=external):
            before = self._variables.get(variable.name)
            if before is not None and not (external or before.external):
                raise self.source.error(variable.location, f"variable {variable.name} is already declared")
            if before is None or before.external:
                self._variables[variable.name] = variable

    def _function(self, directive: Token) -> None:
        is_entry = directive.text == ".entry"
        results = self.parameters(results=True) if not is_entry and self.sees("(") else ()
        name = self.expect_kind("word", "the name of an entry" if is_entry else "the name of a function")
        taken = self.parameters(registers=not is_entry) if self.sees("(") else ()
        tunings, pragmas = self._tunings()
        if is_entry:
            self._check_tunings(name, tunings)
        body = [] if self.accept(";") else self.skip_block()
        is_closed = not body or body[-1].kind != "end"
        if body and is_closed:
            body.append(Token("end", "", body[-1].location))
        function = Function(
            name=name.text,
            kind="entry" if is_entry else "function",
            results=results,
            parameters=taken,
            tokens=tuple(body),
            location=name.location,
            directives=tunings,
            pragmas=pragmas,
        )
        if not is_closed:
            parse_body(self._module, function)  # knows where the error is, but for braces in a directive
            raise self.error(body[0], "body without its end }")
        before = self._functions.get(name.text)
        if before is not None and before.tokens and body:
            raise self.error(name, f"{before.kind} {name.text} is already defined")
        if before is None or body:
            self._functions[name.text] = function

    def _alias(self) -> None:
        """Take another name of a function."""
        name = self.expect_kind("word", "the name of a function")
        self.expect(",")
        self._aliases.append((name, self.expect_kind("word", "the name of a function")))
        self.expect(";")

    def _check_tunings(self, name: Token, tunings: dict[str, tuple[int, ...]]) -> None:
        """Refuse directives of an entry that the assembler refuses."""
        for first, second in _CONFLICTS:
            if first in tunings and second in tunings:
                raise self.error(name, f"{first} and {second} of {name.text} exclude each other")
        for directive, needed in _NEEDED.items():
            if directive in tunings and not needed <= tunings.keys():
                told = " and ".join(sorted(needed))
                raise self.error(name, f"{directive} of {name.text} needs {told}")
        for directive in (".maxntid", ".maxnreg"):
            if 0 in tunings.get(directive, ()):
                raise self.error(name, f"{directive} of {name.text} must be positive, not 0")

    def _tunings(self) -> tuple[dict[str, tuple[int, ...]], frozenset[str]]:
        """The numbers of the performance directives, and the strings of the pragmas."""
        tunings: dict[str, tuple[int, ...]] = {}
        pragmas = set()
        while self.next.text in _TUNINGS or self.sees(".pragma"):
            directive = self.advance().text
            if directive == ".pragma":
                while not self.accept(";"):
                    pragmas.add(self.expect_kind("string", "a string").text.strip('"'))
                    self.accept(",")
                continue
            numbers: list[int] = []
            for index in range(_TUNINGS[directive]):
                if index and not self.accept(","):
                    break
                numbers.append(self.integer("a number"))
            tunings[directive] = tuple(numbers)
        return tunings, frozenset(pragmas)
