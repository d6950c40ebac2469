"""Imports never point upwards: every import against one table, and what loading a package loads."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping

import pytest
from repository_imports import FOLDERS, ROOT, Import, imports, imports_of_source, modules_of

SHIPPED = ("golden", "hdl", "sim", "boards")
EVERYTHING = ("*",)

MAY_IMPORT = {
    "golden": ("numpy", "numba", "llvmlite", "mpmath", "platformdirs", "itanium_demangler"),
    "hdl": ("amaranth", "golden.tables"),
    "sim": ("golden", "hdl"),
    "boards": ("golden", "hdl", "sim"),
    "constraints": (),
    "openwmma": SHIPPED,
    "cocotb_tests": ("golden", "hdl", "boards", "sim.build", "sim.files", "sim.testbench", "sim.verilate"),
    "formal": ("hdl", "golden.tables"),
    "regression": (*SHIPPED, "openwmma", "formal", "bench"),
    "bench": (*SHIPPED, "openwmma", "formal", "regression"),
    "docs": (*SHIPPED, "openwmma", "regression"),
    "examples": (*SHIPPED, "openwmma"),
    "stubs": (),
    "tests": EVERYTHING,
}
"""What each folder may import besides itself and Python's own library."""

OF_EXTRA_SOC = ("litex", "litedram", "litex_boards", "migen")
"""Packages that only modules for SoCs load, which nothing else loads."""

ANY_LIBRARY = set(MAY_IMPORT) - {"golden", "hdl"}
"""Folders that may import any package from elsewhere; golden and hdl only the packages of the table."""


def is_allowed(item: Import) -> bool:
    allowed = MAY_IMPORT[item.importer]
    if allowed is EVERYTHING or item.package == item.importer or item.package in sys.stdlib_module_names:
        return True
    if item.package not in MAY_IMPORT and item.importer in ANY_LIBRARY:
        return True
    return any(item.is_of(name) for name in allowed)


def violations() -> list[Import]:
    return [item for item in imports() if not is_allowed(item)]


def test_every_folder_is_in_the_table() -> None:
    assert [folder for folder in FOLDERS if folder not in MAY_IMPORT] == []


def test_every_import_is_in_the_table() -> None:
    found = [
        f"{item.file}:{item.line} imports {item.module}; "
        f"{item.importer} may import {', '.join(MAY_IMPORT[item.importer]) or 'nothing'}"
        for item in violations()
    ]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("file", "text", "module"),
    [
        ("golden/a.py", "import hdl.config", "hdl.config"),
        ("golden/a.py", "import scipy", "scipy"),
        ("hdl/a.py", "import numpy as np", "numpy"),
        ("hdl/a.py", "from golden import tables, mma", "golden"),
        ("hdl/a.py", "def f():\n    from golden.arithmetic import fdpa", "golden.arithmetic.fdpa"),
        ("hdl/a.py", "from ..golden import multiply", "golden.multiply"),
        ("sim/a.py", "from boards.boards import BOARDS", "boards.boards"),
        ("sim/a.py", "import importlib\nimportlib.import_module('boards')", "boards"),
        ("boards/a.py", "import openwmma", "openwmma"),
        ("cocotb_tests/a.py", "from sim import lockstep", "sim.lockstep"),
        ("bench/a.py", "from golden_captures import capture", "tests.golden_captures"),
        ("regression/a.py", "from cocotb_tests import conftest", "cocotb_tests.conftest"),
    ],
)
def test_a_violation_is_found(file: str, text: str, module: str) -> None:
    assert [item.module for item in imports_of_source(file, text) if not is_allowed(item)] == [module]


def folder_imports(items: Iterable[Import]) -> dict[tuple[str, ...], dict[str, set[str]]]:
    """By folder: which of its subfolders import which others."""
    found: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for item in items:
        importer, imported = item.file.split("/")[:-1], item.module.split(".")
        if not ROOT.joinpath(*imported).is_dir():
            imported = imported[:-1]
        common = 0
        while common < min(len(importer), len(imported)) and importer[common] == imported[common]:
            common += 1
        if 0 < common < min(len(importer), len(imported)):
            folder = found.setdefault(tuple(importer[:common]), {})
            folder.setdefault(importer[common], set()).add(imported[common])
    return found


def in_circles(graph: Mapping[str, set[str]]) -> set[str]:
    """The subfolders that import themselves through others."""

    def reached(start: str) -> set[str]:
        found, new = set[str](), set(graph.get(start, ()))
        while new:
            found |= new
            new = {name for item in new for name in graph.get(item, ())} - found
        return found

    return {name for name in graph if name in reached(name)}


def test_no_subfolders_import_each_other_in_a_circle() -> None:
    found = {
        "/".join(folder): sorted(circle)
        for folder, graph in folder_imports(imports()).items()
        if (circle := in_circles(graph))
    }
    assert found == {}


def test_a_circle_is_found() -> None:
    files = {"golden/ptx/a.py": "golden.simt.module", "golden/simt/a.py": "golden.tables.formats"}
    files |= {"golden/tables/a.py": "golden.ptx.source", "golden/scalar/a.py": "golden.ptx.source"}
    items = [item for file, name in files.items() for item in imports_of_source(file, f"import {name}")]
    assert in_circles(folder_imports(items)["golden",]) == {"ptx", "simt", "tables"}


def loaded_by(modules: list[str]) -> list[str]:
    """Names in `sys.modules` of a fresh interpreter that imported these modules."""
    program = (
        "import sys, json, importlib\n"
        "before = set(sys.modules)\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    loaded: list[str] = json.loads(result.stdout.splitlines()[-1])
    return loaded


def may_load(folder: str) -> set[str]:
    """Top-level packages that a folder may load, directly or indirectly."""
    found, new = set[str](), {folder}
    while new:
        found |= new
        names = [name for package in new for name in MAY_IMPORT.get(package, ())]
        new = {name.split(".")[0] for name in names} - found
    return found


@pytest.mark.parametrize("folder", [folder for folder in (*SHIPPED, "openwmma") if folder in FOLDERS])
def test_a_package_loads_only_what_the_table_says(folder: str) -> None:
    """All its modules that need no LiteX together, so that none of them loads anything else."""
    of_extra = {item.file for item in imports() if item.package in OF_EXTRA_SOC}
    modules = [name for name in modules_of(folder) if f"{name.replace('.', '/')}.py" not in of_extra]
    loaded = {name.split(".")[0] for name in loaded_by(modules)}
    assert folder in loaded
    assert not loaded & set(OF_EXTRA_SOC)
    assert loaded & {*MAY_IMPORT, "numpy", "amaranth"} <= may_load(folder)


@pytest.mark.parametrize(
    "modules", [["golden"], modules_of("golden.tables"), modules_of("hdl")], ids="-".join
)
def test_loads_neither_numpy_nor_arithmetic(modules: list[str]) -> None:
    loaded = loaded_by(modules)
    assert set(modules) <= set(loaded)
    ours = {name for name in loaded if name.split(".")[0] == "golden"}
    texts = {"golden.limits", "golden.message_text"}
    assert ours <= {"golden", "golden.first_use", *texts, *modules_of("golden.tables")}
    assert not [name for name in loaded if name.split(".")[0] == "numpy"]


def test_names_of_golden_load_on_first_use() -> None:
    program = (
        "import sys, golden\n"
        "assert set(golden.__all__) <= set(dir(golden))\n"
        "assert 'golden.multiply' not in sys.modules\n"
        "assert golden.mma is sys.modules['golden.multiply'].mma\n"
        "assert all(getattr(golden, name) for name in golden.__all__)\n"
        "from golden.ptx import *\n"
        "assert PtxError is sys.modules['golden.ptx.source'].PtxError\n"
        "try: golden.absent\n"
        "except AttributeError as error: print(error)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (result.stdout, result.stderr) == ("module 'golden' has no attribute 'absent'\n", "")
