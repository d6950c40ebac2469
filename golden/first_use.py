"""Names of a package that load their modules on first use."""

import ast
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec


def loaded_on_first_use(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` (PEP 562) of a package, given by its full name.

    The names are those that the package imports for type checkers, under ``if TYPE_CHECKING:``.
    ``__getattr__`` imports the module of a name and keeps the object in the package, so that it is called
    once for each name; `__all__` is all of them. It raises `AttributeError` for other names.
    """

    def load(name: str) -> object:
        homes = _homes(package)
        if name == "__all__":
            return sorted(homes)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *_homes(package)})

    return load, names


@cache
def _homes(package: str) -> Mapping[str, str]:
    """For each name that a package imports for type checkers, the module that defines it."""
    spec = find_spec(package)
    source = spec and spec.loader and spec.loader.get_source(package)  # type: ignore[attr-defined]
    blocks = (item for item in ast.parse(source or "").body if isinstance(item, ast.If))
    imports = [item for block in blocks for item in block.body if isinstance(item, ast.ImportFrom)]
    return {name.name: str(item.module) for item in imports for name in item.names}
