"""The sources that the pages run in the browser, as one archive: modules and what they import of ours."""

import ast
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[3]
_FOLDERS = {"golden": ROOT, "openwmma": ROOT, "answers": Path(__file__).parents[1]}
"""The packages whose sources the browser gets, and the folder that holds each."""

_PROGRAM = """
import importlib, json, sys

packages = json.loads(sys.argv[2])
sys.path[:0] = packages.values()

class WithoutPackages:
    def find_spec(self, name, path=None, target=None):
        known = (*sys.stdlib_module_names, *packages)
        if name.partition(".")[0] not in known:
            raise ImportError(f"{name} is no part of Python, and the pages have nothing else")

sys.meta_path.insert(0, WithoutPackages())
importlib.import_module(sys.argv[1])
names = [name for name in sys.modules if name.partition(".")[0] in packages]
print(json.dumps(sorted(names)))
"""


def modules_loaded_by(module: str) -> list[str]:
    """The modules of this repository that a module imports, itself included.

    Parameters
    ----------
    module : str
        Full name.

    Raises
    ------
    ImportError
        If it needs a package that is no part of Python.
    """
    packages = json.dumps({name: str(folder) for name, folder in _FOLDERS.items()})
    command = [sys.executable, "-c", _PROGRAM, module, packages]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise ImportError(result.stderr.strip().splitlines()[-1])
    names: list[str] = json.loads(result.stdout)
    return names


def code_of(source: str) -> str:
    """Python source without docstrings and comments, which a browser need not load."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            code = [item for item in node.body if not _is_text(item)]
            node.body = code if code or isinstance(node, ast.Module) else [ast.Pass()]
    return ast.unparse(tree)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def write_archive(path: Path, modules: Iterable[str]) -> None:
    """Write the code of modules and of what they import, equal inputs giving equal bytes.

    Parameters
    ----------
    path : Path
        Of the zip file.
    modules : iterable of str
        Full names.
    """
    names = {name for module in modules for name in modules_loaded_by(module)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(names):
            folder = _FOLDERS[name.partition(".")[0]]
            source = folder / name.replace(".", "/")
            source = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
            entry = zipfile.ZipInfo(source.relative_to(folder).as_posix())
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, code_of(source.read_text(encoding="utf-8")), compresslevel=9)
