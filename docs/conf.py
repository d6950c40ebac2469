"""Sphinx: the pages of this folder, and the reference from the docstrings."""

from importlib.metadata import version as installed_version

project = "openwmma"
copyright = "the openwmma authors"
version = release = installed_version("openwmma")
extensions = ["sphinx.ext.apidoc", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_parser"]
apidoc_modules = [
    {
        "path": f"../{package}",
        "destination": f"generated/{package}",
        "separate_modules": True,
        "automodule_options": {"members", "show-inheritance", "ignore-module-all"},
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
    "generated/tables/*",  # included by pages
    "generated/*/modules.rst",
    *(
        f"generated/{name}/{name}.rst"
        for name in ("openwmma", "golden", "hdl", "sim", "boards", "regression")
    ),
]
html_theme = "alabaster"
html_theme_options = {"description": "an open tensor core", "page_width": "1200px"}
suppress_warnings = ["ref.python"]  # many classes have a member of the same name (shape, registers, ...)
