"""Diagrams of the documentation, drawn from the design; `python -m docs.diagrams FOLDER` writes them."""
