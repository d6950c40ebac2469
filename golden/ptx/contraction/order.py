"""Which of two factors or terms of f64 the assembler puts first: of two NaN the second one prevails.

It numbers values as they are defined, and puts the lower number first. Higher than all these are registers
that several definitions reach, the first register last. Higher yet is what it computes in halves of 32 bits,
in the order written; then come parameters and constants.
"""

from typing import Final

from golden.ptx.contraction.flow import Edits, Flow
from golden.ptx.contraction.forms import is_move
from golden.ptx.syntax import Instruction, Operand, Register

_ORDERED: Final = frozenset({"add", "sub", "mul", "fma", "mad", "min", "max"})
_HALVES: Final = frozenset(
    {"and", "or", "xor", "not", "cnot", "shl", "shr", "add", "sub", "mul", "mad", "neg"}
)
"""Instructions that are computed in halves, on integers of 64 bits."""


def may_order(instruction: Instruction) -> bool:
    """Whether the assembler orders the first two sources of an instruction."""
    return instruction.opcode[0] in _ORDERED and instruction.opcode[-1] == "f64"


def order(flow: Flow) -> None:
    """Exchange the sources that the assembler exchanges; ``a - b`` becomes ``-b + a``."""
    edits = Edits(flow, "%ordered")
    merged = {slot for (_, slot), found in flow.values.items() if len(found) > 1}
    for place in sorted(flow.live):
        instruction = flow.statements[place].instruction
        if not may_order(instruction):
            continue
        first, second, *others = instruction.operands[1:]
        if _number(flow, merged, place, first) > _number(flow, merged, place, second):
            name = instruction.name
            if name.startswith("sub"):
                name, second = f"add{name[3:]}", edits.before(place, "neg.f64", second)
            edits.replace(place, name, second, first, *others)
    edits.apply()


def _number(flow: Flow, merged: set[int], user: int, operand: Operand) -> tuple[int, ...]:
    """What an operand of a statement is sorted by; several definitions reach some use of `merged`."""
    user, operand = flow.source(user, operand, _is_transparent)
    if not isinstance(operand, Register) or flow.is_fixed(user, operand, "f64"):
        return (3,)
    slot, found = flow.slot(operand), flow.definition(user, operand)
    if any(flow.statements[place].guard for place in flow.values[user, slot]):
        return (2,)
    if found is None or (slot in merged and flow.places[found][0] != flow.places[user][0]):
        return (1, -slot)
    name, *words = flow.statements[found].instruction.opcode
    if name == "selp" or (name in _HALVES and words[-1] in ("b64", "s64", "u64")):
        return (2,)
    return (0, found, flow.statements[found].writes.index(slot))


def _is_transparent(instruction: Instruction) -> bool:
    """Whether the assembler reads the source of an instruction in the place of its result."""
    return is_move(instruction) or (
        instruction.opcode[0] in ("neg", "abs") and instruction.opcode[-1] == "f64"
    )
