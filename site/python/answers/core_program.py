"""For the page `core`: what buffers hold, and what golden makes of a program's commands.

It runs in the browser, as `answers.microscope` does. ``site/rtl/programs.py`` makes the commands of
each program when the site is built.
"""

import json
import struct
from collections.abc import Mapping
from typing import Any, Final

from answers.core_reference import Reference
from golden.programs.values import command_of

FILLS: Final = ("zeros", "ones", "identity", "counting", "halves", "alternating")
"""What a buffer may contain; see `contents`."""

_reference: Reference | None = None


def answer_text(question: str) -> str:
    """Answer a question of the page; both are JSON text.

    ``{"kind": "contents", "fill": F, "type": T, "columns": N, "bytes": N}`` gives ``bytes`` as hexadecimal
    text. ``{"kind": "begin", "base": ADDRESS, "memory": HEX, "registers": N}`` and then
    ``{"kind": "golden", "command": DATA}`` for each command (`golden.programs.values`) compute what
    golden expects; ``{"kind": "end"}`` gives ``memory`` and ``registers`` as hexadecimal text.
    """
    asked = json.loads(question)
    return json.dumps(_ANSWERS[asked["kind"]](asked))


def _contents(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {"bytes": contents(asked["fill"], asked["type"], asked["columns"], asked["bytes"]).hex()}


def contents(fill: str, type: str, columns: int, size: int) -> bytes:
    """What a buffer contains at first.

    Parameters
    ----------
    fill : str
        Of `FILLS`: element (i, j) is 0; 1; 1 where ``i = j``; ``(i * columns + j) % 16``; an odd multiple of
        1/2 from -2.5 to 3.5; 1 or -1.
    type : {"f16", "f32"}
    columns : int
        Elements of a row.
    size : int
        Bytes.

    Returns
    -------
    bytes
    """
    letter, width = {"f16": ("e", 2), "f32": ("f", 4)}[type]
    values = []
    for index in range(size // width):
        i, j = divmod(index, columns)
        odd = (3 * i + 5 * j) % 7 - 2.5
        choices = {"zeros": 0, "ones": 1, "identity": i == j, "counting": index % 16, "halves": odd}
        values.append(float(choices.get(fill, 1 - 2 * ((i + j) % 2))))
    return struct.pack(f"<{len(values)}{letter}", *values)


def _begin(asked: Mapping[str, Any]) -> dict[str, Any]:
    global _reference  # noqa: PLW0603  one run at a time
    _reference = Reference(asked["base"], bytearray.fromhex(asked["memory"]), asked["registers"])
    return {}


def _golden(asked: Mapping[str, Any]) -> dict[str, Any]:
    assert _reference is not None
    _reference.execute(command_of(asked["command"]))
    return {}


def _end(asked: Mapping[str, Any]) -> dict[str, Any]:
    assert _reference is not None
    registers = b"".join(struct.pack("<32I", *lanes) for lanes in _reference.registers)
    return {"memory": _reference.memory.hex(), "registers": registers.hex()}


_ANSWERS: Final = {
    "contents": _contents,
    "begin": _begin,
    "golden": _golden,
    "end": _end,
}
