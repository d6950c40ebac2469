"""Arithmetic that may work on every element of a fragment: in floating point, and of 32-bit integers.

On fragment registers it becomes a command for the host; on scalar registers it is evaluated.
"""

from types import MappingProxyType
from typing import Final

from golden.ptx.allocation import words
from golden.ptx.arithmetic import FLOAT_OPERATIONS
from golden.ptx.evaluation import Action, Evaluation
from golden.ptx.lane_values import by_lane
from golden.ptx.operands import Context, UniformReader
from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.syntax import Immediate, Instruction, Register
from golden.tables.commands import Elementwise, Uniform
from golden.tables.elements import OPERAND_COUNTS, ElementOperation, ElementType

__all__ = ["float_action", "fragment_action", "is_float_arithmetic"]

_FLOATS: Final = MappingProxyType[str, ElementType](
    {"f16": "f16", "f16x2": "f16", "f32": "f32", "f64": "f64"}
)
"""The element of each type of floating-point arithmetic."""


def is_float_arithmetic(statement: Instruction) -> bool:
    """Whether a statement is arithmetic in a floating-point type, supported or not."""
    type_ = TYPES.get(statement.opcode[-1])
    floating = type_ is not None and (type_.kind == "float" or type_.name.endswith("x2"))
    return floating and statement.opcode[0] in FLOAT_OPERATIONS


def float_action(context: Context, statement: Instruction) -> Action:
    """Check a statement of which `is_float_arithmetic` is true, and make it an action.

    Raises
    ------
    PtxError
        For a qualifier, type or operand that is not supported, naming what is.
    """
    mnemonic, *qualifiers, type_name = statement.opcode
    operation = FLOAT_OPERATIONS[mnemonic]
    if type_name not in _FLOATS:
        choices = ", ".join(f".{name}" for name in _FLOATS)
        raise context.error(statement, f"illegal type .{type_name} in {statement.name}; allowed: {choices}")
    element = _FLOATS[type_name]
    rounded = operation not in ("min", "max")
    optional = [*(["rn"] if rounded else []), *(["ftz"] if element != "f64" else [])]
    remaining = list(qualifiers)
    for name in optional:
        if remaining and remaining[0] == name:
            remaining.pop(0)
    if remaining:
        choices = ", ".join(f".{name}" for name in optional) or "nothing"
        raise context.error(
            statement, f"qualifier .{remaining[0]} of {statement.name} is not supported; supported: {choices}"
        )
    if operation == "fma" and "rn" not in qualifiers:
        raise context.error(statement, f"{statement.name} lacks its rounding; supported: .rn")
    context.require_operands(statement, 1 + OPERAND_COUNTS[operation])
    for operand in statement.operands[1:]:
        if element == "f16" and isinstance(operand, Immediate):
            raise context.error(operand, f"{statement.name} takes registers, not a constant")
    type_, flush = TYPES[type_name], "ftz" in qualifiers
    if any(context.is_fragment(operand) for operand in statement.operands[1:]):
        return fragment_action(context, statement, operation, element, type_, flush=flush)
    target, *sources = statement.operands
    destination = context.destination(target, type_)
    readers = [context.reader(source, type_) for source in sources]

    def action(evaluation: Evaluation) -> None:
        from golden.arithmetic.element import compute_register  # noqa: PLC0415  needs numpy; other programs do not

        def single(*patterns: int) -> int:
            return compute_register(operation, element, type_.bits, *patterns, flush=flush)

        evaluation.write(destination, by_lane(single, *(read(evaluation) for read in readers)))

    return action


def fragment_action(
    context: Context,
    statement: Instruction,
    operation: ElementOperation,
    element: ElementType,
    type_: ScalarType,
    *,
    flush: bool = False,
) -> Action:
    """Make arithmetic on fragment registers an action; the number of its operands has been checked.

    Parameters
    ----------
    context : Context
    statement : Instruction
        At least one of its sources is a fragment register.
    operation, element : str
        As for `golden.tables.commands.Elementwise`.
    type_ : ScalarType
        Of all operands.
    flush : bool

    Raises
    ------
    PtxError
        For an operand of another type, and a destination whose width is no whole machine register.
    """
    target, *operands = statement.operands
    destination = context.destination(target, type_)
    if type_.bits < 32:
        raise context.error(
            statement, f"{statement.name} on a fragment is not supported; its registers hold two: .f16x2"
        )
    sources: list[Register | UniformReader] = [
        context.destination(operand, type_)
        if context.is_fragment(operand)
        else context.uniform(operand, type_, f"an operand of {statement.name} on a fragment")
        for operand in operands
    ]
    fragments = [source for source in sources if isinstance(source, Register)]

    def action(evaluation: Evaluation) -> None:
        evaluation.provenance.compute(destination, fragments, element)
        position = evaluation.allocation.position
        evaluation.commands.append(
            Elementwise(
                operation,
                element,
                position[destination.key],
                tuple(
                    position[source.key]
                    if isinstance(source, Register)
                    else Uniform(type_.wrap(source(evaluation)))
                    for source in sources
                ),
                words(destination),
                flush,
            )
        )

    return action
