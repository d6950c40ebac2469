"""Scalar PTX instructions as functions on numpy arrays of raw bits, equal to an H200 in every bit.

Each module describes one family: lines of syntax, its `FORMS`, and functions that evaluate them.
"""

from functools import cache
from typing import Final

from golden.scalar import comparison, conversion, float_arithmetic, integers, logic, video
from golden.scalar.form import Form, Operation, UnsupportedInstruction

__all__ = ["Operation", "UnsupportedInstruction", "operation"]

_FAMILIES = (integers, logic, comparison, float_arithmetic, conversion, video)

SYNTAX: Final[dict[str, list[Form]]] = {}
"""The forms of each opcode."""
for _family in _FAMILIES:
    for _form in _family.FORMS:
        SYNTAX.setdefault(_form.opcode, []).append(_form)


@cache
def operation(name: str, *, pair: bool = False, parts: tuple[str, ...] = ()) -> Operation:
    """The operation that a mnemonic stands for.

    Parameters
    ----------
    name : str
        Opcode with all qualifiers: ``mad.lo.s32``. Types stand in their order; the other qualifiers may stand
        anywhere after the opcode.
    pair : bool
        Whether the instruction has two predicates as destinations: ``setp`` with ``p|q``. Of packed halves it
        always has.
    parts : tuple of str
        Of a video instruction: the part of each operand in the order written, without its dot, such as
        ``"h1"``, ``"b3210"`` or ``"-b0"``; empty for a whole operand.

    Returns
    -------
    Operation
        The same object for the same mnemonic. Approximate instructions are computed by
        `golden.approximation`.

    Raises
    ------
    UnsupportedInstruction
        There is no such scalar instruction.
    """
    opcode = name.split(".", maxsplit=1)[0]
    forms = SYNTAX.get(opcode)
    if forms is None:
        raise UnsupportedInstruction(f"{name}: no scalar instruction has the opcode {opcode!r}")
    for form in forms:
        found = form.operation(name, parts) if form.pair == pair else None
        if found is not None:
            return found
    if any(parts):
        written = ", ".join(f".{part}" for part in parts if part)
        raise UnsupportedInstruction(f"{name}: {opcode} does not take these parts of its operands: {written}")
    known = ", ".join(dict.fromkeys(form.syntax for form in forms))
    raise UnsupportedInstruction(f"{name}: {opcode} has no form with these qualifiers; there are: {known}")
