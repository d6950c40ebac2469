"""Sphinx: the pages of this folder, and the reference from the docstrings."""

from importlib.metadata import version as installed_version
from typing import Any

from sphinx.pycode import ModuleAnalyzer

project = "openwmma"
copyright = "the openwmma authors"
version = release = installed_version("openwmma")
extensions = ["sphinx.ext.apidoc", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_parser"]
apidoc_modules = [
    {
        "path": f"../{package}",
        "destination": f"generated/{package}",
        "separate_modules": True,
        # Of the fields of a struct, some need no word but their names.
        "automodule_options": {"members", "show-inheritance", "ignore-module-all"}
        | ({"undoc-members"} if package == "hdl" else set()),
        # It runs where it is imported, which is in a simulation.
        "exclude_patterns": ["../regression/mutation/fork_point.py"],
    }
    for package in ("openwmma", "golden", "hdl", "sim", "boards", "regression")
]
# The reference is written without LiteX, which only boards need.
autodoc_mock_imports = ["litedram", "litex", "litex_boards", "migen"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_custom_sections = [("Members", "params_style")]
exclude_patterns = [
    "generated/*/modules.rst",
    *(
        f"generated/{name}/{name}.rst"
        for name in ("openwmma", "golden", "hdl", "sim", "boards", "regression")
    ),
]
html_theme = "alabaster"
html_theme_options = {"description": "an open tensor core", "page_width": "1200px"}
suppress_warnings = ["ref.python"]  # many classes have a member of the same name (shape, registers, ...)


def _show_shape(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Put the shape of a struct's field where napoleon looks for a type: before a colon."""
    owner, _, field = name.rpartition(".")
    module, _, owner = owner.rpartition(".")
    if what == "attribute" and lines and module.startswith("hdl."):
        shape = ModuleAnalyzer.for_module(module).annotations.get((owner, field))
        lines[0] = f"``{shape}``: {lines[0]}" if shape else lines[0]


def setup(app: Any) -> None:
    """Connect what Sphinx lacks; napoleon comes later."""
    app.connect("autodoc-process-docstring", _show_shape, priority=400)
