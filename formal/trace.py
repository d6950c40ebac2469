"""The end of a waveform as text, in the names of the design."""

from pathlib import Path
from typing import Final

from vcd.reader import TokenKind, tokenize

CLAIMED: Final = "holds_"
"""How the names of claimed conditions begin."""

ASSUMED: Final = "assumed_"
"""How the names of assumed ones do."""

_CYCLE: Final = 10
_OWN: Final = ("clk", "smt_step", "smt_clock")


def last_cycles(trace: Path, cycles: int) -> str:
    """Say which conditions a waveform breaks, and tabulate its last cycles.

    Parameters
    ----------
    trace : Path
        As yosys-smtbmc writes it.
    cycles : int

    Returns
    -------
    str
        A line for each signal that is not constantly zero, in hexadecimal, the last cycle at the right.
    """
    names, values = _read(trace)
    shown = {path: values[code][-cycles:] for path, code in sorted(names.items(), key=_by_depth)}
    broken = [
        path.removeprefix(CLAIMED) for path in shown if path.startswith(CLAIMED) and not shown[path][-1]
    ]
    rows = {
        path: [f"{value:x}" for value in row]
        for path, row in shown.items()
        if any(row) and not path.startswith((CLAIMED, ASSUMED))
    }
    width = max(map(len, rows), default=0)
    cell = max((len(text) for row in rows.values() for text in row), default=0)
    lines = [f"{path:{width}} " + " ".join(f"{text:>{cell}}" for text in row) for path, row in rows.items()]
    return "\n".join([f"broken: {', '.join(broken)}", *lines])


def _read(trace: Path) -> tuple[dict[str, str], dict[str, list[int]]]:
    """The code of each path, and its values in each cycle.

    Of a port only the outermost path is given, of a structure none of the fields.
    """
    names: dict[str, str] = {}
    values: dict[str, list[int]] = {}
    current: dict[str, int] = {}
    scope: list[str] = []
    time = -1
    with trace.open("rb") as file:
        for token in tokenize(file):
            if token.kind is TokenKind.SCOPE:
                scope.append(token.scope.ident)
            elif token.kind is TokenKind.UPSCOPE:
                scope.pop()
            elif token.kind is TokenKind.VAR:
                path = ".".join([*scope[1:], token.var.reference])
                if not set("$<") & set(path) and token.var.reference not in _OWN:
                    names[path] = token.var.id_code
            elif token.kind is TokenKind.CHANGE_TIME:
                if time >= 0 and time % _CYCLE == 0:
                    for code, value in current.items():
                        values.setdefault(code, []).append(value)
                time = token.time_change
            elif token.kind is TokenKind.CHANGE_SCALAR:
                current[token.scalar_change.id_code] = _number(token.scalar_change.value)
            elif token.kind is TokenKind.CHANGE_VECTOR:
                current[token.vector_change.id_code] = _number(token.vector_change.value)
    shown = {
        path: code
        for path, code in names.items()
        if path.partition(".")[2] not in names and path.rpartition(".")[0] not in names
    }
    return shown, values


def _by_depth(item: tuple[str, str]) -> tuple[int, str]:
    return item[0].count("."), item[0]


def _number(value: int | str) -> int:
    """A value of the solver, which knows no bits that are neither 0 nor 1."""
    return int(value)
