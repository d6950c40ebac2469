"""Names of a package that load their modules on first use."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def loaded_on_first_use(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` (PEP 562) of a package, given by its full name.

    `homes` has for each public name the full name of the module that defines it. ``__getattr__`` imports the
    module of a name and keeps the object in the package, so that it is called once for each name. It raises
    `AttributeError` for other names.
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return load, names
