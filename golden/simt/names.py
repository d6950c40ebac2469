"""Names as compilers mangle them, and as people read them."""

from functools import lru_cache
from typing import Final

import itanium_demangler

__all__ = ["matches", "readable"]

_LONGEST: Final = 120
"""Characters of a readable name in a message; templates of libraries have kilobytes."""


@lru_cache(maxsize=4096)
def _written(name: str) -> str | None:
    """The name as C++ writes it, in full; None where it is not mangled, or not understood."""
    if not name.startswith("_Z"):
        return None
    try:
        node = itanium_demangler.parse(name)
        return str(node) if node is not None else name
    except Exception:  # noqa: BLE001  the demangler has no exception of its own; the mangled name is right too
        return None


def readable(name: str) -> str:
    """The name as C++ writes it; `name` itself where it is not mangled, or not understood."""
    written = _written(name)
    if written is None:
        return name
    return written if len(written) <= _LONGEST else f"{written[: _LONGEST - 3]}..."


def matches(name: str, wanted: str) -> bool:
    """Whether `wanted` may mean `name`: mangled, as C++ writes it, or without its parameters."""
    written = _written(name)
    if name == wanted or written is None:
        return name == wanted
    plain = written.partition("(")[0].rpartition(" ")[2]
    return wanted in (written, plain, plain.partition("<")[0])
