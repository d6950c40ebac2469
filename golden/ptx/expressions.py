"""Constants and constant expressions.

Integers have 64 bits, signed or unsigned. A literal is unsigned if it ends in ``U`` or exceeds the signed
range; an operation is unsigned if one of its operands is. Remainder and complement take their operands as
unsigned, comparisons and logic give a signed 0 or 1, a shift takes its count modulo 64 and the type of what
it shifts, and a choice has the type of the operand that it chooses. Floats are f64, without remainder and
operations on bits; an f32 pattern stands alone. All this is as the assembler evaluates it.
"""

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from golden.limits import EXPRESSION_DEPTH, NUMBER_CHARACTERS
from golden.ptx.scalar_types import TYPES, ScalarType, float_bits, float_value
from golden.ptx.source import Cursor, Token
from golden.ptx.syntax import Immediate
from golden.tables.layouts import LANES

_INTEGER: Final = re.compile(
    r"(?:0[xX](?P<x>[0-9A-Fa-f]+)|0[bB](?P<b>[01]+)|(?P<o>0[0-7]+)|(?P<d>0|[1-9][0-9]*))(?P<unsigned>U?)"
)
_BASES: Final = {"x": 16, "b": 2, "o": 8, "d": 10}
"""Of each group of digits."""
_FLOAT_PATTERN: Final = re.compile(r"0(?:[fF](?P<f32>[0-9A-Fa-f]{8})|[dD](?P<f64>[0-9A-Fa-f]{16}))")
_DECIMAL_FLOAT: Final = re.compile(r"[0-9]*(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)")
_LONGEST_NUMBER: Final = 67
"""Characters of a 64-bit binary constant with prefix and suffix."""

_SIZE: Final = 1 << 64

_DECLARED: Final = tuple(name for name in TYPES if not name.startswith("bf16"))
"""The types that a variable or a register may have."""


def _quotient(a: Any, b: Any) -> Any:
    if isinstance(a, float):
        return a / b
    magnitude = abs(a) // abs(b)
    return magnitude if (a < 0) == (b < 0) else -magnitude


_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
_OPERATORS: Final[Mapping[str, tuple[int, Callable[[Any, Any], Any]]]] = {
    "||": (1, lambda a, b: bool(a or b)),
    "&&": (2, lambda a, b: bool(a and b)),
    "|": (3, operator.or_),
    "^": (4, operator.xor),
    "&": (5, operator.and_),
    "==": (6, operator.eq),
    "!=": (6, operator.ne),
    "<": (7, operator.lt),
    "<=": (7, operator.le),
    ">": (7, operator.gt),
    ">=": (7, operator.ge),
    "<<": (8, lambda a, b: a << b % 64),
    ">>": (8, lambda a, b: a >> b % 64),
    "+": (9, operator.add),
    "-": (9, operator.sub),
    "*": (10, operator.mul),
    "/": (10, _quotient),
    "%": (10, lambda a, b: a % _SIZE % (b % _SIZE)),
}
"""How tightly each operator binds, and its function; a truth is 0 or 1."""


class _Value(NamedTuple):
    """A value and its type; of a float the bit pattern."""

    number: int
    type: Literal["s64", "u64", "f32", "f64"]


def _integer(number: int, *, unsigned: bool) -> _Value:
    """The low 64 bits of a number."""
    number %= _SIZE
    if unsigned:
        return _Value(number, "u64")
    return _Value(number - _SIZE if number >> 63 else number, "s64")


class ConstantParser(Cursor):
    """Takes types and constants; the operands of an expression are evaluated as they are read."""

    _depth = 0
    """Operators and parentheses around the token in sight."""

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
        if token.kind != "directive" or token.text[1:] not in _DECLARED:
            raise self.unexpected(f"a type ({', '.join(f'.{name}' for name in _DECLARED)})")
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
        if token.kind != "number" or (constant := self._literal()).type in ("f32", "f64"):
            raise self.error(token, f"expected {what}, not {token}")
        return constant.number

    def immediate(self) -> Immediate:
        """Take a constant, or an expression of constants."""
        location = self.next.location
        number, type_ = self._choice()
        return Immediate(
            number, "f32" if type_ == "f32" else "f64" if type_ == "f64" else "integer", location
        )

    def _literal(self) -> _Value:
        """Take a number."""
        token = self.expect_kind("number", "a constant")
        text = token.text
        if len(text) > NUMBER_CHARACTERS:
            raise self.error(token, f"a number has at most {NUMBER_CHARACTERS} characters, not {len(text)}")
        if pattern := _FLOAT_PATTERN.fullmatch(text):
            return _Value(int(text[2:], 16), "f32" if pattern["f32"] else "f64")
        if _DECIMAL_FLOAT.fullmatch(text):
            return _Value(float_bits(float(text), 64), "f64")
        match = _INTEGER.fullmatch(text)
        if match is None:
            raise self.error(token, f"malformed constant {text!r}")
        if len(text) > _LONGEST_NUMBER:
            raise self.error(token, f"constant {text[:12]}... exceeds 64 bits")
        value = next(int(match[name], base) for name, base in _BASES.items() if match[name])
        if value >> 64:
            raise self.error(token, f"constant {text} exceeds 64 bits")
        return _Value(value, "u64" if match["unsigned"] or value >> 63 else "s64")

    def _choice(self) -> _Value:
        """``condition ? one : other``, or what stands alone."""
        token = self.next
        value = self._binary(1)
        if not self.accept("?"):
            return value
        self._enter(token)
        self._require_integer(value, token, "?")
        one = self._require_integer(self._choice(), token, "?")
        self.expect(":")
        other = self._require_integer(self._choice(), token, "?")
        self._depth -= 1
        return one if value.number else other

    def _binary(self, least: int) -> _Value:
        """Operands and operators that bind at least as tightly as the level `least`."""
        left = self._unary()
        while self.next.kind == "punctuation":
            token = self.next
            level, _ = _OPERATORS.get(token.text, (0, None))
            if level < least:
                break
            self.advance()
            left = self._combined(token, left, self._binary(level + 1))
        return left

    def _unary(self) -> _Value:
        token = self.next
        if self.accept("WARP_SZ"):
            return _Value(LANES, "s64")
        if token.kind != "punctuation" or token.text not in ("-", "+", "~", "!", "("):
            return self._literal()
        self.advance()
        self._enter(token)
        value = self._parenthesised() if token.text == "(" else self._signed(token, self._unary())
        self._depth -= 1
        return value

    def _parenthesised(self) -> _Value:
        """What follows an opening parenthesis: an expression, or a cast and its operand."""
        token = self.next
        if token.kind != "directive":
            value = self._choice()
            self.expect(")")
            return value
        self.advance()
        if token.text not in (".s64", ".u64"):
            raise self.error(token, f"a constant is cast to .s64 or .u64, not to {token}")
        self.expect(")")
        value = self._require_integer(self._unary(), token, f"({token.text})")
        return _integer(value.number, unsigned=token.text == ".u64")

    def _signed(self, token: Token, value: _Value) -> _Value:
        """The value of a unary operator."""
        if token.text == "+":
            return value
        if token.text == "-" and value.type in ("f32", "f64"):
            return _Value(value.number ^ 1 << int(value.type[1:]) - 1, value.type)
        self._require_integer(value, token, token.text)
        if token.text == "-":
            return _integer(-value.number, unsigned=value.type == "u64")
        if token.text == "!":
            return _Value(int(not value.number), "s64")
        return _integer(~value.number, unsigned=True)

    def _combined(self, token: Token, left: _Value, right: _Value) -> _Value:
        """The value of a binary operator."""
        name, types = token.text, {left.type, right.type}
        is_float = types == {"f64"} and name in ("+", "-", "*", "/", *_COMPARISONS)
        if not (is_float or types <= {"s64", "u64"}):
            raise self.error(token, f"{name} does not take constants of types {left.type} and {right.type}")
        unsigned = left.type == "u64" if name in ("<<", ">>") else name == "%" or "u64" in types
        a: float = left.number
        b: float = right.number
        if is_float:
            a, b = float_value(left.number, 64), float_value(right.number, 64)
        if name in ("/", "%") and not b:
            raise self.error(token, f"division by zero: the constant {a} {name} 0")
        if not is_float and name not in ("<<", ">>"):
            a, b = (_integer(item.number, unsigned=unsigned).number for item in (left, right))
        result = _OPERATORS[name][1](a, b)
        if isinstance(result, bool):
            return _Value(int(result), "s64")
        return _Value(float_bits(result, 64), "f64") if is_float else _integer(result, unsigned=unsigned)

    def _require_integer(self, value: _Value, token: Token, name: str) -> _Value:
        if value.type in ("f32", "f64"):
            raise self.error(token, f"{name} takes integer constants, not {value.type}")
        return value

    def _enter(self, token: Token) -> None:
        self._depth += 1
        if self._depth > EXPRESSION_DEPTH:
            message = f"a constant expression is nested deeper than {EXPRESSION_DEPTH} levels"
            raise self.error(token, message)
