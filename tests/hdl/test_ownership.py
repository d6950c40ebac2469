"""Every hardware component has a testbench: one that simulates it, or the one that its docstring names.

A line ``Testbench:`` names it: a path, and, where the component stands inside another one, a backquoted
class or function that the testbench uses and that contains the component.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HARDWARE = ("hdl",)
BENCHES = ("cocotb_tests", "tests")
BASES = {"Component", "Stage"}
"""They make the module, and other classes fill it."""
DESIGNS = {"unit_design", "plain_design", "BulkUnit", "Design"}
"""What makes something to be simulated of a component."""

NAMED = re.compile(r"^Testbench: (?P<path>\S+?\.py)(?:, through `(?P<parent>\w+)`)?[.;]", re.MULTILINE)


@dataclass(frozen=True)
class Component:
    """A class with hardware in it.

    Parameters
    ----------
    path : str
        Of its file, from the root.
    name : str
    docstring : str
    """

    path: str
    name: str
    docstring: str

    def __str__(self) -> str:
        return f"{self.path}:{self.name}"


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def is_component(node: ast.AST) -> bool:
    """Whether a class writes hardware into a module; a private one belongs to what is beside it."""
    if not isinstance(node, ast.ClassDef) or node.name.startswith("_") or node.name in BASES:
        return False
    methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    return not methods.isdisjoint({"_logic", "elaborate"})


def components() -> Iterator[Component]:
    for folder in HARDWARE:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in tree_of(path).body:
                if isinstance(node, ast.ClassDef) and is_component(node):
                    place = path.relative_to(ROOT).as_posix()
                    yield Component(place, node.name, ast.get_docstring(node) or "")


def file_of(module: str) -> Path | None:
    """The file of one of our modules."""
    path = ROOT / module.replace(".", "/")
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.exists():
            return candidate
    return None


@cache
def imports_of(path: Path) -> dict[str, tuple[Path, str]]:
    """Name in a file to the file it comes from, and its name there."""
    found = {}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module and (source := file_of(node.module)):
            found.update({alias.asname or alias.name: (source, alias.name) for alias in node.names})
    return found


@cache
def resolved(path: Path, name: str) -> tuple[Path, str]:
    """Where a name of a file is defined, past packages that hand it on."""
    while (imported := imports_of(path).get(name)) is not None:
        path, name = imported
    return path, name


@cache
def names_in(node: ast.AST) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


@cache
def definition(path: Path, name: str) -> ast.stmt | None:
    """What a name stands for at the top level of a file."""
    for node in tree_of(path).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return node
        if isinstance(node, ast.Assign | ast.AnnAssign) and name in names_in(node):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                return node
    return None


def contains(path: Path, name: str, wanted: tuple[Path, str]) -> bool:
    """Whether what a name stands for uses something, itself or through what it uses."""
    seen: set[tuple[Path, str]] = set()
    left = [(path, name)]
    while left:
        place = left.pop()
        if place == wanted:
            return True
        if place in seen or (node := definition(*place)) is None:
            continue
        seen.add(place)
        left += [resolved(place[0], used) for used in names_in(node)]
    return False


@cache
def called_in(node: ast.AST) -> set[str]:
    return {
        item.func.id
        for item in ast.walk(node)
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Name)
    }


@cache
def bench_files(bench: Path) -> set[Path]:
    """A testbench and the files of tests and testbenches that it imports."""
    files, left = set(), [bench]
    while left:
        path = left.pop()
        if path in files or not path.relative_to(ROOT).as_posix().startswith(BENCHES):
            continue
        files.add(path)
        left += [source for source, _ in imports_of(path).values()]
    return files


@cache
def makes(bench: Path, wanted: tuple[Path, str]) -> bool:
    """Whether a testbench uses something beyond importing it, itself or in a file that it imports."""
    return any(
        resolved(path, name) == wanted for path in bench_files(bench) for name in names_in(tree_of(path))
    )


def own_benches(component: Component) -> list[Path]:
    """Testbenches in the folder that mirrors the component's, or above it, that simulate it."""
    wanted = (ROOT / component.path, component.name)
    folder = Path(component.path).parent
    parts = folder.parts[1:] if folder.parts[0] == "hdl" else folder.parts
    folders = [ROOT.joinpath("cocotb_tests", *parts[:count]) for count in range(len(parts) + 1)]
    found = []
    for bench in (path for place in folders for path in sorted(place.glob("test_*.py"))):
        for node in tree_of(bench).body:
            designs = isinstance(node, ast.FunctionDef) and called_in(node) & DESIGNS
            if designs and any(resolved(bench, name) == wanted for name in called_in(node)):
                found.append(bench)
    return found


def complaint(component: Component) -> str:
    """What is wrong with a component's testbench; empty if it has one."""
    if own_benches(component):
        return ""
    named = NAMED.search(component.docstring)
    if named is None:
        return "has no testbench of its own, and its docstring names none"
    bench = ROOT / named["path"]
    if not named["path"].startswith(BENCHES) or not bench.exists():
        return f"names the testbench {named['path']}, which does not exist"
    wanted = (ROOT / component.path, component.name)
    if named["parent"] is None:
        return "" if makes(bench, wanted) else f"is not made by {named['path']}"
    for path in bench_files(bench):
        parent = resolved(path, named["parent"])
        if named["parent"] in names_in(tree_of(path)) and makes(bench, parent):
            return "" if contains(*parent, wanted) else f"is not inside {named['parent']}"
    return f"is inside {named['parent']}, which {named['path']} does not make"


@pytest.mark.parametrize("component", list(components()), ids=str)
def test_component_has_a_testbench(component: Component) -> None:
    problem = complaint(component)
    assert not problem, f"{component} {problem}"


def test_all_components_are_found() -> None:
    names = {component.name for component in components()}
    assert {"Core", "TileFetch", "Top"} <= names
    assert len(names) > 65


@pytest.mark.parametrize(
    ("docstring", "message"),
    [
        ("Nothing.", "its docstring names none"),
        ("x\n\nTestbench: cocotb_tests/test_nothing.py.", "which does not exist"),
        ("x\n\nTestbench: cocotb_tests/memory/test_access.py.", "is not made by"),
        (
            "x\n\nTestbench: cocotb_tests/memory/test_access.py, through `AccessCheck`.",
            "is not inside",
        ),
        ("x\n\nTestbench: cocotb_tests/memory/test_access.py, through `Core`.", "does not make"),
        ("x\n\nTestbench: hdl/core.py.", "which does not exist"),
    ],
)
def test_a_component_without_testbench_is_found(docstring: str, message: str) -> None:
    assert message in complaint(Component("hdl/multiply/tile/fetch.py", "TileFetch", docstring))


def test_a_testbench_is_found_by_what_it_simulates() -> None:
    router = Component("hdl/memory/burst_router.py", "BurstRouter", "")
    assert [path.name for path in own_benches(router)] == ["test_burst_router.py"]
