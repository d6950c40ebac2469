"""Rows of values in which every allowed pair of values of two fields stands together."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

__all__ = ["Pair", "covering_rows", "pairs_of"]

Choice = tuple[str, Any]
Pair = frozenset[Choice]


def pairs_of(fields: Mapping[str, Sequence[Any]]) -> list[Pair]:
    """Every value of a field with every value of every other one."""
    return [
        frozenset({(first, one), (second, other)})
        for first, second in combinations(fields, 2)
        for one in fields[first]
        for other in fields[second]
    ]


def covering_rows(
    fields: Mapping[str, Sequence[Any]], allowed: Callable[[Mapping[str, Any]], bool]
) -> list[dict[str, Any]]:
    """Choose rows until each allowed pair stands in one of them: greedily, a pair and then field by field.

    Parameters
    ----------
    fields : mapping of str to sequence
        The values of each field; hashable.
    allowed : callable
        Whether some of the fields may have their values together. Where they may, it must be so that the
        remaining fields have values too.

    Returns
    -------
    list of dict
        Each with a value of every field; the same for the same fields.
    """
    missing = dict.fromkeys(pair for pair in pairs_of(fields) if allowed(dict(pair)))
    rows = []
    while missing:
        row = dict(sorted(next(iter(missing))))
        for name in sorted(fields, key=lambda name: -len(fields[name])):
            if name in row:
                continue

            def gain(value: Any, name: str = name, row: dict[str, Any] = row) -> int:
                return sum(frozenset({(name, value), choice}) in missing for choice in row.items())

            row[name] = max((value for value in fields[name] if allowed({**row, name: value})), key=gain)
        for pair in combinations(row.items(), 2):
            missing.pop(frozenset(pair), None)
        rows.append(row)
    return rows
