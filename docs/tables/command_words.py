"""The binary form of commands, from the structures of `hdl.command`."""

import inspect
from collections.abc import Iterator

from amaranth.lib import data

from docs.tables.markdown import table
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import SHAPES
from hdl.command import (
    COMMAND_BITS,
    OPCODES,
    MatrixMove,
    Opcode,
    shape_code,
    type_code,
)

_WORD_BITS = 32


def command_words() -> str:
    """A section for each kind of command: its opcodes, and its fields by word and bit."""
    return "\n".join(_section(kind, opcodes) for kind, opcodes in OPCODES.items())


def type_and_shape_codes() -> str:
    """The codes of element types and tile shapes, and of the directions of a matrix."""
    types = table(("code", "element type"), [(type_code(name), f"`{name}`") for name in FORMATS])
    shapes = table(("code", "shape"), [(shape_code(shape), f"`{shape}`") for shape in SHAPES])
    moves = table(("code", "move"), [(move.value, move.name.lower()) for move in MatrixMove])
    return f"{types}\n{shapes}\n{moves}"


def _section(kind: type[data.Struct], opcodes: tuple[Opcode, ...]) -> str:
    title = " and ".join(f"{opcode.name} ({opcode.value})" for opcode in opcodes)
    meaning = (inspect.getdoc(kind) or "").replace("``", "`")
    return f"### {title}\n\n{meaning}\n\n{table(('word', 'bits', 'field'), _fields(kind))}"


def _fields(kind: type[data.Struct]) -> Iterator[tuple[object, str, str]]:
    layout = data.Layout.cast(kind)
    assert layout.size == COMMAND_BITS
    for name, field in layout:
        if name.startswith(("reserved", "unused")):
            continue
        word, low = divmod(field.offset, _WORD_BITS)
        high = low + field.width - 1
        if high < _WORD_BITS:
            yield word, f"{high}:{low}" if high > low else f"{low}", f"`{name}`"
        else:
            yield f"{word} to {word + high // _WORD_BITS}", f"{high}:{low}", f"`{name}`"
