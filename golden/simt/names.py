"""Names as compilers mangle them, and as people read them."""

from functools import lru_cache
from typing import Any

import itanium_demangler

from golden.limits import DEMANGLED_CHARACTERS, MANGLED_CHARACTERS, NAME_CHARACTERS
from golden.message_text import without_middle

_NESTED = "L_Z"
"""A name inside a name, which the demangler reads with a cursor of its own."""


class _Cursor(itanium_demangler._Cursor):  # type: ignore[misc]
    """A cursor that ends a name whose substitutions, written out, exceed `DEMANGLED_CHARACTERS`.

    A substitution may hold two others, so that 20 of them hold a million. The demangler compares, rewrites
    and prints what they stand for in full.
    """

    def __init__(self, raw: str) -> None:
        super().__init__(raw)
        self._known: set[Any] = set()
        self._length = len(raw)
        self._parameters = 0
        self._visited = 0

    def add_subst(self, node: Any) -> None:
        self._visit(node)
        if getattr(node, "kind", "") == "tpl_param":
            self._lengthen(0, 1)
        if node not in self._known:
            self._known.add(node)
            self._substs[len(self._substs)] = node

    def resolve_subst(self, seq_id: int) -> Any:
        node = super().resolve_subst(seq_id)
        self._lengthen(*self._visit(node))
        return node

    def _lengthen(self, length: int, parameters: int) -> None:
        self._length += length
        self._parameters += parameters
        # Each parameter of a template is replaced by an argument at the end.
        if self._length * (1 + self._parameters) > DEMANGLED_CHARACTERS:
            raise OverflowError

    def _visit(self, node: Any) -> tuple[int, int]:
        """Characters of a node written out, and the template parameters among them."""
        length = parameters = 0
        waiting = [node]
        while waiting:
            item = waiting.pop()
            length += len(item) if isinstance(item, str) else 1
            if isinstance(item, tuple):
                parameters += getattr(item, "kind", "") == "tpl_param"
                waiting.extend(item)
        self._visited += length
        if self._visited > 8 * DEMANGLED_CHARACTERS:
            raise OverflowError
        return length, parameters


@lru_cache(maxsize=1024)
def _written(name: str) -> str | None:
    """The name as C++ writes it, in full; None where it is not mangled, too long, or not understood."""
    if not name.startswith("_Z") or len(name) > MANGLED_CHARACTERS or _NESTED in name:
        return None
    try:
        node = itanium_demangler._parse_mangled_name(_Cursor(name))
        return str(itanium_demangler._expand_arg_packs(node)) if node is not None else name
    except Exception:  # noqa: BLE001  the demangler has no exception of its own; the mangled name is right too
        return None


def readable(name: str) -> str:
    """The name as C++ writes it; `name` itself where it is not mangled, too long, or not understood."""
    return without_middle(_written(name) or name, NAME_CHARACTERS)


def matches(name: str, wanted: str) -> bool:
    """Whether `wanted` may mean `name`: mangled, as C++ writes it, or without its parameters."""
    written = _written(name)
    if name == wanted or written is None:
        return name == wanted
    plain = written.partition("(")[0].rpartition(" ")[2]
    return wanted in (written, plain, plain.partition("<")[0])
