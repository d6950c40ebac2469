"""The dotted qualifiers of one instruction, read from left to right with precise complaints."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar

from golden.tables.formats import FORMATS
from golden.tables.instruction_set import BIT_OPERATIONS, LAYOUTS, ROUNDINGS, SHAPES
from golden.tables.matrix_instructions import IllegalInstruction

_T = TypeVar("_T")

_ONCE: Final = frozenset(
    {
        *("sync", "aligned", "popc", "satfinite", "a", "b", "c", "d"),
        *("global", "shared", "shared::cta"),
        *("m8n8", "x1", "x2", "x4", "trans", "b16"),
        *BIT_OPERATIONS,
        *ROUNDINGS,
        *(str(shape) for shape in SHAPES),
    }
)
"""Qualifiers that no instruction has twice."""

_VOCABULARY: Final = _ONCE | {"load", "store", "mma", *LAYOUTS, *FORMATS}


class MalformedInstruction(IllegalInstruction):
    """Qualifiers that are unknown, missing, doubled or out of order, whatever their combination.

    The qualifier at fault is empty where one is missing; `allowed` is what may stand there instead, and
    `context` the instruction up to that place.
    """

    def __init__(self, reason: str, qualifier: str, allowed: Iterable[str], context: str) -> None:
        allowed = tuple(allowed)
        choices = ", ".join(f".{item}" for item in allowed) or "nothing"
        super().__init__(qualifier, allowed, context, f"{reason} after {context}; allowed here: {choices}")


@dataclass
class Qualifiers:
    """The qualifiers of one instruction, taken from left to right."""

    parts: Sequence[str]
    """Mnemonic and qualifiers without their dots; the first is taken like any other."""
    _next: int = 0

    def take(self, allowed: Mapping[str, _T]) -> _T:
        """The value of the next qualifier, which must be one of `allowed`."""
        taken = self.parts[: self._next]
        prefix = ".".join(taken)
        if self._next == len(self.parts):
            raise MalformedInstruction("missing qualifier", "", allowed, prefix)
        part = self.parts[self._next]
        if part not in allowed:
            if part in taken and part in _ONCE:
                reason = f"qualifier .{part} given twice,"
            elif part in _VOCABULARY:
                reason = f"qualifier .{part} out of place"
            else:
                reason = f"unknown qualifier .{part}"
            raise MalformedInstruction(reason, part, allowed, prefix)
        self._next += 1
        return allowed[part]

    def accept(self, allowed: Mapping[str, _T], following: Mapping[str, object]) -> _T | None:
        """As `take`, for an optional qualifier; `following` is what may stand there when it is left out."""
        if self._next < len(self.parts) and self.parts[self._next] in allowed:
            return self.take(allowed)
        if following:
            self.take({**allowed, **following})
            self._next -= 1
        return None

    def end(self, optional: Mapping[str, object] = MappingProxyType({})) -> None:
        """Refuse anything that follows; `optional` is what could have stood here."""
        if self._next < len(self.parts):
            self.take(optional)
