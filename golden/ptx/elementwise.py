"""Arithmetic on every element of a fragment: in floating point, and of 32-bit integers."""

from typing import Final

from golden.ptx.allocation import words
from golden.ptx.contraction.forms import SIGNS, one
from golden.ptx.decoding import Context
from golden.ptx.evaluation import Action, Evaluation
from golden.ptx.operands import WarpContext
from golden.ptx.scalar_types import TYPES
from golden.ptx.syntax import Instruction, Operand, Register
from golden.tables.commands import Elementwise, Uniform
from golden.tables.elements import OPERAND_COUNTS, ElementOperation, ElementType

_FLOATS: Final[dict[str, ElementType]] = {"f16x2": "f16", "f32": "f32", "f64": "f64"}
_INTEGERS: Final[dict[str, ElementType]] = {"s32": "s32", "u32": "u32"}
_INTEGER_OPERATIONS: Final[dict[str, ElementOperation]] = {
    **{"add": "add", "sub": "sub", "min": "min", "max": "max"},
    **{"mul.lo": "mul", "mad.lo": "fma"},
}
_FLOAT_OPERATIONS: Final[dict[str, ElementOperation]] = {
    **{name: name for name in OPERAND_COUNTS},
    "neg": "mul",
}


def fragment_action(context: WarpContext, statement: Instruction) -> Action | None:
    """Make arithmetic that reads fragment registers an action; None for any other statement."""
    operands: tuple[Operand, ...] = statement.operands[1:]
    if len(statement.opcode) == 1 or not any(map(context.is_fragment, operands)):
        return None
    name, *qualifiers, type_name = statement.opcode
    stem = ".".join((name, *qualifiers))
    if type_name in _INTEGERS and stem in _INTEGER_OPERATIONS:
        element, operation = _INTEGERS[type_name], _INTEGER_OPERATIONS[stem]
    elif type_name in _FLOATS and name in _FLOAT_OPERATIONS:
        element, operation = _FLOATS[type_name], _FLOAT_OPERATIONS[name]
        _require_qualifiers(context, statement, qualifiers, element)
    else:
        return None
    bits = TYPES[type_name].bits
    count = 1 + OPERAND_COUNTS[operation] - (name == "neg")
    destination, *_ = context.operands(statement, count)
    context.require_destination(destination, bits)
    if not isinstance(destination, Register):
        raise context.error(destination, "the destination must be a register")
    what = f"an operand of {statement.name} on a fragment"
    for operand in operands:
        Context.require_source(context, operand, bits)
    sources = [
        operand
        if isinstance(operand, Register) and context.is_fragment(operand)
        else context.uniform(operand, bits, what)
        for operand in operands
    ]
    fragments = [source for source in sources if isinstance(source, Register)]
    constants = (Uniform(one(type_name) | SIGNS[type_name]),) if name == "neg" else ()
    flush = "ftz" in qualifiers

    def action(evaluation: Evaluation) -> None:
        evaluation.provenance.compute(destination, fragments, element)
        position = evaluation.allocation.position
        places = tuple(
            position[source.key] if isinstance(source, Register) else Uniform(source(evaluation))
            for source in sources
        )
        evaluation.commands.append(
            Elementwise(
                operation,
                element,
                position[destination.key],
                (*places, *constants),
                words(destination),
                flush,
            )
        )

    return action


def _require_qualifiers(
    context: WarpContext, statement: Instruction, qualifiers: list[str], element: ElementType
) -> None:
    """Refuse a rounding or saturation that the host does not compute."""
    name = statement.opcode[0]
    optional = [
        *(["rn"] if name not in ("min", "max", "neg") else []),
        *(["ftz"] if element != "f64" else []),
    ]
    for qualifier in qualifiers:
        if qualifier not in optional:
            choices = ", ".join(f".{item}" for item in optional) or "nothing"
            raise context.error(
                statement,
                f"qualifier .{qualifier} of {statement.name} on a fragment is not supported; "
                f"supported: {choices}",
            )
    if name == "fma" and "rn" not in qualifiers:
        raise context.error(statement, f"{statement.name} lacks its rounding; supported: .rn")
