"""Which module imports which, read from the sources of the repository."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FOLDERS = sorted(
    folder.name
    for folder in ROOT.iterdir()
    if not folder.name.startswith(".") and folder.name not in ("build", "site") and any(folder.rglob("*.py"))
)
"""Folders with Python sources, which are the packages; the tests' folder is none."""

TEST_MODULES = {path.stem for path in (ROOT / "tests").rglob("*.py")}
"""Tests import each other by the names of their files alone."""


class Import(NamedTuple):
    """One import of one of the repository's modules, or of a package from elsewhere."""

    file: str
    """Path of the importer, relative to the root."""
    line: int
    module: str
    """Full name; ``tests.NAME`` of a test."""

    @property
    def importer(self) -> str:
        """Folder of the importer."""
        return self.file.split("/", maxsplit=1)[0]

    @property
    def package(self) -> str:
        """Top-level package that is imported."""
        return self.module.split(".", maxsplit=1)[0]

    def is_of(self, name: str) -> bool:
        """Whether the module is `name` or lies in it."""
        return f"{self.module}.".startswith(f"{name}.")


def imports_of_source(file: str, text: str) -> Iterator[Import]:
    """Every import of a file, those inside functions and behind `TYPE_CHECKING` among them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [_module(_absolute(file, node), alias.name) for alias in node.names]
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__", "importorskip"):
            names = [str(arg.value) for arg in node.args[:1] if isinstance(arg, ast.Constant)]
        else:
            continue
        for name in names:
            is_test = name.split(".")[0] in TEST_MODULES and name.split(".")[0] not in FOLDERS
            yield Import(file, node.lineno, f"tests.{name}" if is_test else name)


@cache
def imports() -> list[Import]:
    """Every import in the repository."""
    return [
        item
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for item in imports_of_source(path.relative_to(ROOT).as_posix(), path.read_text())
    ]


def modules_of(package: str) -> list[str]:
    """Full names of a package's modules, itself first; no tests, and nothing that runs when imported."""
    names = []
    for path in sorted((ROOT / package.replace(".", "/")).rglob("*.py")):
        if path.stem in ("__main__", "conftest") or path.stem.startswith("test_"):
            continue
        parts = path.relative_to(ROOT).with_suffix("").parts
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def _absolute(file: str, node: ast.ImportFrom) -> str:
    """The module after ``from``."""
    if not node.level:
        return node.module or ""
    above = file.split("/")[: -node.level]
    return ".".join([*above, *([node.module] if node.module else [])])


def _module(module: str, name: str) -> str:
    """``module.name`` where that is a module of the repository, else `module`."""
    path = ROOT / module.replace(".", "/") / name
    return f"{module}.{name}" if path.with_suffix(".py").exists() or path.is_dir() else module


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
