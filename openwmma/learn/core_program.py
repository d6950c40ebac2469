"""PTX programs for the page `core`: to the words of commands, and what golden makes of them.

It runs in the browser, as `openwmma.learn.microscope` does. The words are put together from ``core.json``,
which ``site/rtl/describe.py`` makes with `hdl.command.encode`.
"""

import json
import struct
from collections.abc import Mapping
from typing import Any, Final

from golden.invalid_argument import InvalidArgument
from golden.ptx.program import Entry, parse_module
from golden.ptx.source import PtxError
from golden.tables.commands import Command, Fill, Load, Mma, Move, Store
from golden.tables.matrix_instructions import IllegalInstruction
from openwmma.learn.core_reference import Reference

__all__ = ["answer_text", "command_words", "compiled", "contents"]

STEP_LIMIT: Final = 200_000
"""PTX instructions that a program of the page may execute."""

COMMAND_LIMIT: Final = 2_000
"""Commands that it may give."""

FILLS: Final = ("zeros", "ones", "identity", "counting", "halves", "alternating")
"""What a buffer may contain; see `contents`."""

_reference: Reference | None = None


class _Refused(Exception):
    """A program that the page does not run; the message says why."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def answer_text(question: str) -> str:
    """Answer a question of the page; both are JSON text.

    ``{"kind": "parameters", "text": PTX}`` gives ``name``, ``registers`` and ``parameters``, each with `name`
    and `type`. ``{"kind": "compile", "text": PTX, "arguments": {NAME: NUMBER}, "description": core.json}``
    gives the ``commands``. ``{"kind": "contents", "fill": F, "type": T, "columns": N, "bytes": N}`` gives
    ``bytes`` as hexadecimal text. ``{"kind": "begin", "base": ADDRESS, "memory": HEX, "registers": N}`` and
    then ``{"kind": "golden", "index": I}`` for each command compute what golden expects; ``{"kind": "end"}``
    gives ``memory`` and ``registers`` as hexadecimal text. A refused question gives ``error`` and ``line``.
    """
    asked = json.loads(question)
    try:
        return json.dumps(_ANSWERS[asked["kind"]](asked))
    except PtxError as error:
        return json.dumps({"error": error.message, "line": error.line})
    except _Refused as error:
        return json.dumps({"error": str(error), "line": error.line})
    except (InvalidArgument, IllegalInstruction) as error:
        return json.dumps({"error": str(error), "line": 0})
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        return json.dumps({"error": "this arithmetic needs numpy, which no page has", "line": 0})


def _entry(text: str) -> Entry:
    return parse_module(text, "program").entry()


def _parameters(asked: Mapping[str, Any]) -> dict[str, Any]:
    entry = _entry(asked["text"])
    parameters = [{"name": item.name, "type": item.type.name} for item in entry.parameters]
    parameters += [{"name": item.name, "type": "u64"} for item in entry.variables]
    return {"name": entry.name, "registers": entry.registers, "parameters": parameters}


def _compile(asked: Mapping[str, Any]) -> dict[str, Any]:
    global _commands  # noqa: PLW0603  the questions after this one are about these commands
    description = asked["description"]
    _commands = compiled(asked["text"], asked["arguments"], description)
    return {
        "commands": [
            {"words": command_words(command, description, line), "line": line, "text": text}
            for command, line, text in _commands
        ]
    }


_commands: list[tuple[Command, int, str]] = []


def compiled(
    text: str, arguments: Mapping[str, int], description: Mapping[str, Any]
) -> list[tuple[Command, int, str]]:
    """Evaluate a module's only entry.

    Parameters
    ----------
    text : str
    arguments : mapping of str to int
    description : dict
        ``core.json``.

    Returns
    -------
    list of (Command, int, str)
        Each command with the number and the text of its line.

    Raises
    ------
    PtxError
    """
    found: list[tuple[Command, int, str]] = []
    program = _entry(text).commands(arguments, registers=description["registers"], step_limit=STEP_LIMIT)
    for work, source in program:
        if not isinstance(work, Load | Store | Mma | Fill | Move):
            raise _Refused(
                "this page runs loads, stores, multiplies, fills and moves of fragments; "
                f"{source.text} is none of these",
                source.line,
            )
        if len(found) == COMMAND_LIMIT:
            raise _Refused(f"the program gives more than {COMMAND_LIMIT} commands", source.line)
        found.append((work, source.line, source.text))
    if not found:
        raise _Refused("the program gives the core no command: it has no wmma or mma instruction")
    return found


def command_words(command: Command, description: Mapping[str, Any], line: int = 0) -> list[int]:
    """The 32-bit words of a command, word 0 first.

    Parameters
    ----------
    command : Command
    description : dict
        ``core.json``.
    line : int
        Of the program, for messages.
    """
    kind = type(command).__name__
    name = str(command.instruction) if isinstance(command, Load | Store | Mma) else kind
    forms = description["commands"]
    if name not in forms["words"]:
        formats = ", ".join(description["formats"])
        raise _Refused(f"the core of this page multiplies {formats} only; it cannot execute {name}", line)
    bits = sum(word << 32 * index for index, word in enumerate(forms["words"][name]))
    values = {name: getattr(command, name, 0) for name in forms["fields"][kind]}
    if isinstance(command, Load | Store):
        values |= {"has_stride": int(command.stride is not None), "stride": command.stride or 0}
    for field, value in values.items():
        place = forms["fields"][kind][field]
        if not 0 <= value < 1 << place["width"]:
            limit = (1 << place["width"]) - 1
            raise _Refused(f"{field} must be from 0 to {limit}, not {value}", line)
        bits |= value << place["offset"]
    return [bits >> 32 * index & 0xFFFF_FFFF for index in range(forms["count"])]


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
    return {"commands": len(_commands)}


def _golden(asked: Mapping[str, Any]) -> dict[str, Any]:
    assert _reference is not None
    _reference.execute(_commands[asked["index"]][0])
    return {}


def _end(asked: Mapping[str, Any]) -> dict[str, Any]:
    assert _reference is not None
    registers = b"".join(struct.pack("<32I", *lanes) for lanes in _reference.registers)
    return {"memory": _reference.memory.hex(), "registers": registers.hex()}


_ANSWERS: Final = {
    "parameters": _parameters,
    "compile": _compile,
    "contents": _contents,
    "begin": _begin,
    "golden": _golden,
    "end": _end,
}
