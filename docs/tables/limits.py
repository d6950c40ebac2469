"""The limits on inputs."""

import ast
import inspect
from itertools import pairwise

from docs.tables.markdown import table
from golden import limits

__all__ = ["limit_table"]


def limit_table() -> str:
    """Every constant of `golden.limits`, with its value and its docstring."""
    statements = ast.parse(inspect.getsource(limits)).body
    rows = []
    for statement, text in pairwise(statements):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name = statement.target.id
        assert isinstance(text, ast.Expr), f"{name} has no docstring"
        assert isinstance(text.value, ast.Constant), f"{name} has no docstring"
        value = f"{getattr(limits, name):,}".replace(",", " ")
        rows.append((f"`{name}`", value, str(text.value.value)))
    return table(("limit", "value", "of what"), rows)
