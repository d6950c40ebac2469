"""A whole PTX module to its syntax tree."""

from golden.ptx.body import Body, skip_line_information
from golden.ptx.cursor import Cursor
from golden.ptx.declarations import declare_variables
from golden.ptx.lexer import Token
from golden.ptx.source import Source
from golden.ptx.syntax import Address, EntryDefinition, Module, Parameter, Symbol, Variable, Vector

__all__ = ["parse_syntax"]

_LINKAGES = (".visible", ".extern", ".weak", ".common")
_STATE_SPACES = (".global", ".const", ".shared")
_TUNINGS = {
    **dict.fromkeys((".maxntid", ".reqntid", ".reqnctapercluster"), 3),
    **dict.fromkeys((".maxnreg", ".minnctapersm", ".maxnctapersm", ".maxclusterrank"), 1),
    ".explicitcluster": 0,
    ".noreturn": 0,
}
"""Performance directives between the parameters and the body, with the most numbers each takes."""


class _ModuleParser:
    """Parser of one module; `parse_syntax` is its only use."""

    def __init__(self, source: Source) -> None:
        self._cursor = Cursor(source)
        self._variables: dict[str, Variable] = {}
        self._entries: list[EntryDefinition] = []
        self._pragmas: set[str] = set()

    def parse(self) -> Module:
        cursor = self._cursor
        version = self._version()
        target = self._target()
        while cursor.next.kind != "end":
            self._directive()
        return Module(cursor.source, version, target, tuple(self._entries))

    def _version(self) -> tuple[int, int]:
        cursor = self._cursor
        cursor.expect(".version")
        token = cursor.expect_kind("number", "a version such as 8.0")
        major, dot, minor = token.text.partition(".")
        if not (dot and major.isdecimal() and minor.isdecimal() and len(token.text) < 8):
            raise cursor.error(token, f"expected a version such as 8.0, not {token}")
        return int(major), int(minor)

    def _target(self) -> tuple[str, ...]:
        cursor = self._cursor
        cursor.expect(".target")
        names = [cursor.expect_kind("word", "a target such as sm_90").text]
        while cursor.accept(","):
            names.append(cursor.expect_kind("word", "a target option").text)
        return tuple(names)

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
        elif token.text == ".entry":
            self._entry()
        elif token.text in _STATE_SPACES:
            declare_variables(cursor, token.text, self._variables)
        elif token.text == ".func":
            if not external:
                raise cursor.error(token, "functions are not supported; only .entry")
            cursor.skip_statement()
        elif token.text == ".file":
            self._file()
        elif token.text == ".section":
            cursor.advance()
            cursor.skip_block()
        elif token.text == ".loc":
            skip_line_information(cursor)
        elif token.text == ".pragma":
            cursor.skip_statement()
        else:
            supported = ", ".join((".address_size", ".entry", *_STATE_SPACES, ".file", ".section", ".pragma"))
            raise cursor.error(token, f"unknown directive {token}; supported: {supported}")

    def _file(self) -> None:
        cursor = self._cursor
        cursor.integer("a file number")
        cursor.expect_kind("string", "a file name")
        while cursor.accept(","):
            cursor.integer("a time stamp or size")

    def _entry(self) -> None:
        cursor = self._cursor
        name = cursor.expect_kind("word", "the name of an entry")
        if any(entry.name == name.text for entry in self._entries):
            raise cursor.error(name, f"entry {name.text} is already defined")
        parameters = self._parameters() if cursor.accept("(") else []
        self._pragmas.clear()
        while cursor.next.text in _TUNINGS or cursor.sees(".pragma"):
            self._tuning(cursor.advance())
        body = Body(cursor)
        body.parse()
        entry = EntryDefinition(
            name=name.text,
            parameters=tuple(parameters),
            statements=tuple(body.statements),
            labels=body.labels,
            variables={
                name: variable for name, variable in self._variables.items() if name not in body.variables
            }
            | body.variables,
            location=name.location,
            pragmas=frozenset(self._pragmas),
        )
        self._require_declared(entry)
        self._entries.append(entry)

    def _tuning(self, directive: Token) -> None:
        cursor = self._cursor
        if directive.text == ".pragma":
            self._pragma()
            return
        for index in range(_TUNINGS[directive.text]):
            if index and not cursor.accept(","):
                break
            cursor.integer("a number")

    def _pragma(self) -> None:
        cursor = self._cursor
        while not cursor.accept(";"):
            token = cursor.expect_kind("string", "a string")
            self._pragmas.add(token.text.strip('"'))
            cursor.accept(",")

    def _parameters(self) -> list[Parameter]:
        cursor = self._cursor
        parameters: list[Parameter] = []
        if cursor.accept(")"):
            return parameters
        while True:
            parameter = self._parameter()
            if any(other.name == parameter.name for other in parameters):
                raise cursor.source.error(
                    parameter.location, f"parameter {parameter.name} is already declared"
                )
            parameters.append(parameter)
            if not cursor.accept(","):
                break
        cursor.expect(")")
        return parameters

    def _parameter(self) -> Parameter:
        cursor = self._cursor
        cursor.expect(".param")
        if cursor.accept(".align"):
            cursor.integer("an alignment")
        type_ = cursor.type()
        if cursor.accept(".ptr"):
            if cursor.next.text in (*_STATE_SPACES, ".local"):
                cursor.advance()
            if cursor.accept(".align"):
                cursor.integer("an alignment")
        name = cursor.expect_kind("word", "the name of a parameter")
        size = None
        if cursor.accept("["):
            size = cursor.integer("the size of an array")
            cursor.expect("]")
        return Parameter(name.text, type_, size, name.location)

    def _require_declared(self, entry: EntryDefinition) -> None:
        known = {*entry.labels, *entry.variables, *(parameter.name for parameter in entry.parameters)}
        for statement in entry.statements:
            for operand in statement.operands:
                parts: tuple[object, ...] = (operand,)
                if isinstance(operand, Vector):
                    parts = operand.elements
                elif isinstance(operand, Address):
                    parts = (operand.base,)
                for part in parts:
                    if isinstance(part, Symbol) and part.name not in known:
                        raise self._cursor.source.error(
                            part.location, f"{part.name} is not declared: no register, label or parameter"
                        )


def parse_syntax(source: Source) -> Module:
    """Parse a module into its syntax tree.

    Raises
    ------
    PtxError
        For a lexical or syntactic error, and for a name that is not declared.
    """
    return _ModuleParser(source).parse()
