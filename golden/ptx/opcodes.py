"""How each statement of a program of one warp becomes a step that evaluates it."""

from typing import Final

from golden.ptx.arithmetic import integer_operation
from golden.ptx.contraction.forms import ONES, SIGNS
from golden.ptx.decoding import Context, Step
from golden.ptx.evaluation import Action, Evaluation, LaneValue, by_array, by_lane
from golden.ptx.fragments import WarpContext, decode_matrix
from golden.ptx.matrix import MNEMONICS
from golden.ptx.scalar_types import TYPES
from golden.ptx.statements import (
    check_address_conversion,
    check_computation,
    check_load,
    check_move,
    scalar_operation,
)
from golden.ptx.syntax import Instruction, Operand, Register, Symbol
from golden.tables.commands import OPERAND_COUNTS, ElementOperation, ElementType, Elementwise, Uniform

_ELEMENTS: Final[dict[str, ElementType]] = {
    **{"f16x2": "f16", "f32": "f32", "f64": "f64"},
    **{"s32": "s32", "u32": "u32"},
}
_INTEGER_OPERATIONS: Final[dict[str, ElementOperation]] = {
    **{"add": "add", "sub": "sub", "min": "min", "max": "max"},
    **{"mul.lo": "mul", "mad.lo": "fma"},
}
_FLOAT_OPERATIONS: Final[dict[str, ElementOperation]] = {
    **{name: name for name in OPERAND_COUNTS},
    "neg": "mul",
}


def decode_statement(context: Context, instruction: Instruction, index: int) -> Step:
    """Decode a statement that ends no block."""
    assert isinstance(context, WarpContext)
    if instruction.opcode[0] == "wgmma" and not context.raw:
        raise context.unsupported(instruction)
    context.spread(instruction)
    return _DECODERS.get(instruction.opcode[0], _compute)(context, instruction, index)


def _step(context: WarpContext, instruction: Instruction, index: int, action: Action) -> Step:
    """The step of a statement that writes its first operand and reads the others."""
    target, *sources = instruction.operands
    return context.step(instruction, index, sources, (target,), action, pure=True)


def _compute(context: WarpContext, instruction: Instruction, index: int) -> Step:
    action = _fragment_action(context, instruction)
    if action is not None:
        return _step(context, instruction, index, action)
    integers = integer_operation(instruction.opcode)
    operation = integers or scalar_operation(context, instruction)
    targets, sources = check_computation(context, instruction, operation)
    widths = tuple(zip(sources, operation.operands, strict=True))

    def evaluate(evaluation: Evaluation) -> None:
        values = [evaluation.value(operand, bits) for operand, bits in widths]
        if integers is not None:
            outcome = [by_lane(integers.evaluate, *values)]
        else:
            outcome = by_array(operation.evaluate, operation.operands, *values)
        for target, value, bits in zip(targets, outcome, operation.results, strict=True):
            evaluation.put(target, value, bits, signed=operation.signed)

    return context.step(instruction, index, sources, targets, evaluate, pure=True)


def _fragment_action(context: WarpContext, statement: Instruction) -> Action | None:
    """Make arithmetic that reads fragment registers an action; None for any other statement."""
    operands: tuple[Operand, ...] = statement.operands[1:]
    if len(statement.opcode) == 1 or not any(map(context.is_fragment, operands)):
        return None
    name, *qualifiers, type_name = statement.opcode
    stem = ".".join((name, *qualifiers))
    element = _ELEMENTS.get(type_name)
    is_float = type_name[0] == "f"
    operation = _FLOAT_OPERATIONS.get(name) if is_float else _INTEGER_OPERATIONS.get(stem)
    if element is None or operation is None:
        return None
    if is_float:
        _require_qualifiers(context, statement, qualifiers, element)
    bits = TYPES[type_name].bits
    count = 1 + OPERAND_COUNTS[operation] - (name == "neg")
    destination, *_ = context.operands(statement, count)
    context.require_destination(destination, bits, type_name)
    if not isinstance(destination, Register):
        raise context.error(destination, "the destination must be a register")
    what = f"an operand of {statement.name} on a fragment"
    for operand in operands:
        Context.require_source(context, operand, bits, type_name)
    fragments = list(filter(context.is_fragment, operands))
    constants = (Uniform(ONES[type_name] | SIGNS[type_name]),) if name == "neg" else ()
    flush = "ftz" in qualifiers

    def action(evaluation: Evaluation) -> None:
        evaluation.provenance.compute(destination, fragments, element)
        position = evaluation.allocation.position
        places = tuple(
            position[operand.key]
            if isinstance(operand, Register) and operand.key in position
            else Uniform(evaluation.uniform(operand, bits, what))
            for operand in operands
        )
        to, count = position[destination.key], destination.type.bits // 32
        evaluation.commands.append(Elementwise(operation, element, to, (*places, *constants), count, flush))

    return action


def _require_qualifiers(
    context: WarpContext, statement: Instruction, qualifiers: list[str], element: ElementType
) -> None:
    """Refuse a rounding or saturation that the host does not compute."""
    name = statement.opcode[0]
    optional = ["rn"] if name not in ("min", "max", "neg") else []
    optional += ["ftz"] if element != "f64" else []
    for qualifier in qualifiers:
        if qualifier not in optional:
            choices = ", ".join(f".{item}" for item in optional) or "nothing"
            what = f"qualifier .{qualifier} of {statement.name} on a fragment"
            raise context.error(statement, f"{what} is not supported; supported: {choices}")
    if name == "fma" and "rn" not in qualifiers:
        raise context.error(statement, f"{statement.name} lacks its rounding; supported: .rn")


def _load(context: WarpContext, instruction: Instruction, index: int) -> Step:
    type_, targets, _, _, offset, _ = check_load(context, instruction)
    if offset is None:
        raise context.unsupported(instruction, "only loads of parameters by their names are")

    def action(evaluation: Evaluation) -> None:
        for number, target in enumerate(targets):
            start = offset + number * type_.size
            data = evaluation.parameters[start : start + type_.size]
            value = int.from_bytes(data, "little")
            evaluation.put(target, value, type_.bits, signed=type_.kind == "signed")

    return context.step(instruction, index, instruction.operands[1:], targets, action, pure=True)


def _move(context: WarpContext, instruction: Instruction, index: int) -> Step:
    type_, operands = TYPES.get(instruction.opcode[-1]), instruction.operands
    if type_ is not None and len(operands) == 2:
        target, source = operands
        if context.is_fragment(target) and context.is_fragment(source):
            for register in operands:
                context.require_destination(register, type_.bits, type_.name)
            to, of = target, source
            return _step(context, instruction, index, lambda evaluation: evaluation.move(to, of))
    bits, targets, sources = check_move(context, instruction)
    source_bits, target_bits = bits // len(sources), bits // len(targets)
    (source, *_) = sources
    if isinstance(source, Symbol) and context.symbol(source)[0].space == "entry":
        raise context.error(source, f"{source.name} is a parameter, which has no address")

    def joined(*parts: int) -> int:
        return sum(part << number * source_bits for number, part in enumerate(parts))

    def action(evaluation: Evaluation) -> None:
        value: LaneValue = by_lane(joined, *(evaluation.value(operand, source_bits) for operand in sources))
        for number, item in enumerate(targets):
            shift = number * target_bits
            part = by_lane(lambda whole, by=shift: whole >> by, value) if shift else value
            evaluation.put(item, part, target_bits)

    return context.step(instruction, index, sources, targets, action, pure=True)


def _convert_address(context: WarpContext, instruction: Instruction, index: int) -> Step:
    space, sign, bits, target, source = check_address_conversion(context, instruction)
    if space not in ("global", "shared"):
        raise context.unsupported(instruction, "only .global and .shared are")

    def action(evaluation: Evaluation) -> None:
        shift = sign * evaluation.shared_base if space == "shared" else 0
        value = by_lane(lambda address: address + shift, evaluation.value(source, bits))
        evaluation.put(target, value, bits)

    return _step(context, instruction, index, action)


_DECODERS: Final = {
    **dict.fromkeys((*MNEMONICS, "wgmma"), decode_matrix),
    "cvta": _convert_address,
    "ld": _load,
    "mov": _move,
}
