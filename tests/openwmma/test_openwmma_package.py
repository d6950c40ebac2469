"""The public package: every name it offers is the one of the module that implements it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import golden
import openwmma
from hdl.config import PRESETS

ROOT = Path(__file__).parents[2]


def run_python(text):
    return subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("name", openwmma.__all__)
def test_a_name_is_that_of_its_module(name):
    value = getattr(openwmma, name)
    home = getattr(value, "__module__", None)
    if home is not None and home != "builtins":
        assert getattr(sys.modules[home], name) is value


def test_what_it_offers():
    assert openwmma.mma is golden.mma
    assert openwmma.explain is golden.explain
    assert openwmma.fragment_layout is golden.fragment_layout
    assert openwmma.PRESETS is PRESETS


def test_every_public_name_is_loaded_and_seen_by_the_type_checker():
    tree = ast.parse(Path(openwmma.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = [alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(imported) == sorted(openwmma.__all__)
    assert set(openwmma.__all__) <= set(dir(openwmma))


def test_the_import_loads_nothing_else():
    """In a fresh interpreter: the package alone, and for `mma` neither hardware nor simulation."""
    loaded = run_python(
        "import sys, openwmma\n"
        "print(*sorted(sys.modules))\n"
        "openwmma.mma, openwmma.fragment_layout\n"
        "print(*sorted(sys.modules))"
    )
    first, second = (set(line.split()) for line in loaded.splitlines())
    assert not first & {"numpy", "hdl", "sim", "boards", "amaranth", "rich", "typer"}
    assert "numpy" in second
    assert not second & {"hdl", "sim", "boards", "amaranth", "rich", "typer"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'openwmma' has no attribute 'mmma'$"):
        openwmma.mmma  # noqa: B018
