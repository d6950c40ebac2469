"""Instructions on vectors and on registers of 128 bits as instructions on single registers."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile
from typing import Final

from golden.ptx.source import Source
from golden.ptx.syntax import Immediate, Instruction, Operand, Register, Sink, Vector

_WIDE: Final = "b128"
_LENGTHS: Final = {"v2": 2, "v4": 4}


def split(source: Source, instruction: Instruction) -> tuple[Instruction, ...]:
    """The instructions that do what an instruction does: itself, but for moves of vectors and for ``.b128``.

    A register of 128 bits is two of 64 bits. A load or store of it is one of two elements.
    """
    opcode, operands = instruction.opcode, instruction.operands
    if opcode[0] == "mov" and len(opcode) == 3 and opcode[1] in _LENGTHS:
        return _vector_move(source, instruction, _LENGTHS[opcode[1]])
    if _WIDE not in opcode:
        for operand in operands:
            if isinstance(operand, Vector) and operand.wide:
                raise source.error(operand.location, f"{instruction.name} does not take a .b128 register")
        return (instruction,)
    values = operands if opcode[0] == "mov" else operands[opcode[0] == "st" :][:1]
    wide = [isinstance(value, Vector) and value.wide for value in values]
    if opcode == ("mov", _WIDE) and len(operands) == 2 and any(wide):
        targets, sources = (_halves(source, operand) for operand in operands)
        return _moves(instruction, "b64", zip(targets, sources, strict=True))
    one = len(operands) >= 2 and not _LENGTHS.keys() & set(opcode)
    if opcode[0] not in ("ld", "st") or not all(wide) or not one:
        raise source.error(
            instruction.location,
            f"{instruction.name} is not supported: mov, ld and st take .b128, with a .b128 register",
        )
    before = tuple(takewhile(lambda part: part != _WIDE, opcode))
    return (replace(instruction, opcode=(*before, "v2", "b64", *opcode[len(before) + 1 :])),)


def _halves(source: Source, operand: Operand) -> tuple[Operand, Operand]:
    """The lower and the upper 64 bits of an operand of ``mov.b128``."""
    if isinstance(operand, Immediate) and operand.kind == "integer":
        return operand, replace(operand, value=0)
    if not isinstance(operand, Vector) or len(operand.elements) not in (2, 4):
        raise source.error(operand.location, "expected a .b128, two or four registers, or an integer")
    if len(operand.elements) == 2:
        return operand.elements[0], operand.elements[1]
    return replace(operand, elements=operand.elements[:2]), replace(operand, elements=operand.elements[2:])


def _vector_move(source: Source, instruction: Instruction, length: int) -> tuple[Instruction, ...]:
    vectors = [item for item in instruction.operands if isinstance(item, Vector) and not item.wide]
    fitting = [len(vector.elements) == length for vector in vectors]
    if not len(instruction.operands) == len(vectors) == 2 or not all(fitting):
        message = f"{instruction.name} takes two vectors of {length} registers"
        raise source.error(instruction.location, message)
    targets, sources = (vector.elements for vector in vectors)
    written = {target.key for target in targets if isinstance(target, Register)}
    copies = [
        replace(item, key=f"{item.key}~") if isinstance(item, Register) and item.key in written else item
        for item in sources
    ]
    before = [pair for pair in zip(copies, sources, strict=True) if pair[0] is not pair[1]]
    return _moves(instruction, instruction.opcode[2], (*before, *zip(targets, copies, strict=True)))


def _moves(
    instruction: Instruction, type_: str, pairs: Iterable[tuple[Operand, Operand]]
) -> tuple[Instruction, ...]:
    return tuple(
        replace(instruction, opcode=("mov", type_), operands=pair)
        for pair in pairs
        if not isinstance(pair[0], Sink)
    )
