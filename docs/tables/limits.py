"""The limits of inputs, from the constants and docstrings of `golden.limits`."""

import ast
import inspect
from itertools import pairwise

from docs.tables.markdown import table
from golden import limits


def limit_table() -> str:
    """A row for each constant: its value and what it bounds."""
    statements = ast.parse(inspect.getsource(limits)).body
    rows = []
    for statement, text in pairwise(statements):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name = statement.target.id
        assert isinstance(text, ast.Expr), f"{name} has no docstring"
        assert isinstance(text.value, ast.Constant), f"{name} has no docstring"
        rows.append((f"`{name}`", _number(getattr(limits, name)), str(text.value.value)))
    return table(("limit", "value", "meaning"), rows)


def _number(value: int | tuple[int, ...]) -> str:
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else " x ".join(map(_number, value))
