"""The limits of inputs, from the constants and docstrings of `golden.limits`."""

import ast
from itertools import pairwise
from pathlib import Path

from docs.tables.markdown import table
from golden import limits

__all__ = ["limit_table"]


def limit_table() -> str:
    """A row for each constant: its value and what it bounds."""
    statements = ast.parse(Path(str(limits.__file__)).read_text()).body
    rows = []
    for statement, text in pairwise(statements):
        if isinstance(statement, ast.AnnAssign) and isinstance(text, ast.Expr):
            assert isinstance(statement.target, ast.Name)
            assert isinstance(text.value, ast.Constant)
            name = statement.target.id
            rows.append((f"`{name}`", _number(getattr(limits, name)), str(text.value.value)))
    return table(("limit", "value", "meaning"), rows)


def _number(value: int | tuple[int, ...]) -> str:
    return f"{value:,}" if isinstance(value, int) else " x ".join(map(_number, value))
