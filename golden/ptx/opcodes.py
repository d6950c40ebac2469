"""The scalar opcodes: how each statement becomes an action.

Arithmetic is in its own table; what is left here moves values, branches, or does nothing. To add an
opcode, add its decoder to `_DECODERS`.
"""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Final

from golden.ptx.arithmetic import (
    ARITHMETIC,
    FLOAT_OPERATIONS,
    INTEGER_OPERATIONS,
    Arithmetic,
    OperandType,
)
from golden.ptx.elementwise import float_action, fragment_action, is_float_arithmetic
from golden.ptx.evaluation import Action, Evaluation
from golden.ptx.lane_values import LaneValue, by_lane
from golden.ptx.matrix import MNEMONICS
from golden.ptx.operands import Context, Reader
from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.source import PtxError
from golden.ptx.syntax import Address, Immediate, Instruction, Operand, Register, Sink, Symbol, Vector
from golden.tables.elements import ElementType

__all__ = ["decode_scalar_statement"]

_FIXED: Final = MappingProxyType({"u32": TYPES["u32"], "pred": TYPES["pred"]})
_BARRIERS: Final = ("bar.sync", "bar.warp.sync", "barrier.sync", "barrier.sync.aligned")


def decode_scalar_statement(context: Context, statement: Instruction) -> Action:
    """Check a statement that is not a matrix statement, and make it an action.

    Raises
    ------
    PtxError
        For an opcode, type or operand that is not supported, naming what is.
    """
    decoder = _DECODERS.get(statement.opcode[0])
    if decoder is not None:
        return decoder(context, statement)
    if is_float_arithmetic(statement):
        return float_action(context, statement)
    *stem, type_name = statement.opcode
    arithmetic = ARITHMETIC.get(".".join(stem))
    if arithmetic is None:
        raise _unsupported(context, statement)
    type_ = _type(context, statement, type_name, arithmetic.types)
    return _arithmetic(context, statement, arithmetic, type_)


def _unsupported(context: Context, statement: Instruction) -> PtxError:
    names = sorted(
        {*ARITHMETIC, *FLOAT_OPERATIONS, *_DECODERS, *MNEMONICS} - {"bar", "barrier"} | set(_BARRIERS)
    )
    return context.error(statement, f"{statement.name} is not supported; supported: {', '.join(names)}")


def _type(context: Context, statement: Instruction, name: str, allowed: tuple[str, ...]) -> ScalarType:
    if name not in allowed:
        choices = ", ".join(f".{item}" for item in allowed)
        raise context.error(statement, f"illegal type .{name} in {statement.name}; allowed: {choices}")
    return TYPES[name]


def _operand_type(type_: ScalarType, kind: OperandType) -> ScalarType:
    if kind == "same":
        return type_
    if kind == "wide":
        return type_.widened()
    return _FIXED[kind]


def _arithmetic(
    context: Context, statement: Instruction, arithmetic: Arithmetic, type_: ScalarType
) -> Action:
    context.require_operands(statement, 1 + len(arithmetic.sources))
    target, *sources = statement.operands
    operation = INTEGER_OPERATIONS.get(".".join(statement.opcode[:-1]))
    if operation is not None and type_.bits == 32 and any(map(context.is_fragment, sources)):
        element: ElementType = "s32" if type_.kind == "signed" else "u32"
        return fragment_action(context, statement, operation, element, type_)
    destination = context.destination(target, _operand_type(type_, arithmetic.destination))
    readers = [
        context.reader(operand, _operand_type(type_, kind))
        for operand, kind in zip(sources, arithmetic.sources, strict=True)
    ]
    compute, bits = arithmetic.compute, type_.bits

    def action(evaluation: Evaluation) -> None:
        evaluation.write(
            destination, by_lane(partial(compute, bits), *(read(evaluation) for read in readers))
        )

    return action


def _load(context: Context, statement: Instruction) -> Action:
    if statement.opcode[1:-1] not in (("param",), ("param::entry",)):
        raise context.error(statement, f"{statement.name} is not supported; only ld.param is")
    context.require_operands(statement, 2)
    allowed = tuple(name for name, item in TYPES.items() if item.kind != "predicate" and name[-2:] != "x2")
    type_ = _type(context, statement, statement.opcode[-1], allowed)
    target, address = statement.operands
    if not isinstance(target, Register):
        raise context.error(target, "the destination must be a register")
    wider = type_.is_integer and target.type.kind not in ("float", "predicate")
    if not (wider and target.type.bits > type_.bits):
        context.destination(target, type_)
    base = address.base if isinstance(address, Address) else None
    if not isinstance(address, Address) or not isinstance(base, Symbol):
        raise context.error(address, "expected a parameter in brackets, as in [n]")
    parameter = context.parameters.get(base.key)
    if parameter is None:
        raise context.error(base, f"{base.name} is not a parameter")
    if parameter.is_array:
        raise context.error(base, f"parameter {base.name} is an array, which is not supported")
    if address.offset or not type_.accepts(parameter.type):
        raise context.error(base, f"parameter {base.name} is {parameter.type}, not {type_} at that offset")
    name = parameter.name

    def action(evaluation: Evaluation) -> None:
        evaluation.write(target, type_.interpret(evaluation.arguments[name]))

    return action


def _move(context: Context, statement: Instruction) -> Action:
    context.require_operands(statement, 2)
    allowed = ("pred", *(f"{kind}{bits}" for bits in (16, 32, 64) for kind in "bus"), "f32", "f64")
    type_ = _type(context, statement, ".".join(statement.opcode[1:]), allowed)
    target, value = statement.operands
    if isinstance(target, Vector):
        return _unpack(context, target, value, type_)
    destination = context.destination(target, type_)
    if isinstance(value, Register) and {value.key, destination.key} <= set(context.fragments):
        context.destination(value, type_)
        source = value
        return lambda evaluation: evaluation.move(destination, source)
    if isinstance(value, Vector):
        read: Reader = _packed(context, value, type_)
    elif isinstance(value, Symbol):
        read = context.address(value, type_)
    else:
        read = context.reader(value, type_)
    return lambda evaluation: evaluation.write(destination, read(evaluation))


def _shifted(bits: int, pattern: int) -> int:
    return pattern >> bits


def _part(context: Context, vector: Vector, type_: ScalarType) -> ScalarType:
    """The type of a vector's elements, which together are as wide as `type_`."""
    name = f"b{type_.bits // len(vector.elements)}"
    if type_.kind != "bits" or name not in TYPES or TYPES[name].bits * len(vector.elements) != type_.bits:
        raise context.error(vector, f"{len(vector.elements)} elements cannot make up {type_}")
    return TYPES[name]


def _packed(context: Context, vector: Vector, type_: ScalarType) -> Reader:
    part = _part(context, vector, type_)
    readers = [context.reader(element, part) for element in vector.elements]

    def pack(*values: int) -> int:
        return sum(part.wrap(value) << (part.bits * index) for index, value in enumerate(values))

    def read(evaluation: Evaluation) -> LaneValue:
        return by_lane(pack, *(read(evaluation) for read in readers))

    return read


def _unpack(context: Context, vector: Vector, value: Operand, type_: ScalarType) -> Action:
    part = _part(context, vector, type_)
    destinations = [
        (index, context.destination(element, part))
        for index, element in enumerate(vector.elements)
        if not isinstance(element, Sink)
    ]
    read = context.reader(value, type_)

    def action(evaluation: Evaluation) -> None:
        pattern = read(evaluation)
        for index, destination in destinations:
            evaluation.write(destination, by_lane(partial(_shifted, part.bits * index), pattern))

    return action


_CONVERSIONS: Final = MappingProxyType[str, tuple[str, int]](
    {
        "cvta.global.u64": ("global", 0),
        "cvta.to.global.u64": ("global", 0),
        "cvta.shared.u64": ("shared", 1),
        "cvta.shared::cta.u64": ("shared", 1),
        "cvta.to.shared.u64": ("shared", -1),
        "cvta.to.shared::cta.u64": ("shared", -1),
    }
)
"""State space of each conversion of addresses, and how often the base of shared memory is added."""


def _convert_address(context: Context, statement: Instruction) -> Action:
    if statement.name not in _CONVERSIONS:
        allowed = ", ".join(_CONVERSIONS)
        raise context.error(statement, f"{statement.name} is not supported; supported: {allowed}")
    context.require_operands(statement, 2)
    space, sign = _CONVERSIONS[statement.name]
    target, value = statement.operands
    u64 = TYPES["u64"]
    destination = context.destination(target, u64)
    if isinstance(value, Symbol):
        read: Reader = context.address(value, u64)
        found = context.variables[value.key].space
        if found != space or "to" in statement.opcode:
            raise context.error(value, f"{value.name} is in .{found}; {statement.name} cannot convert that")
    else:
        read = context.reader(value, u64)

    def action(evaluation: Evaluation) -> None:
        shift = sign * evaluation.shared_base
        evaluation.write(destination, by_lane(lambda value: value + shift, read(evaluation)))

    return action


def _convert(context: Context, statement: Instruction) -> Action:
    """``cvt`` between integers; registers may be wider, and a result is extended to fill one."""
    context.require_operands(statement, 2)
    integers = tuple(name for name, item in TYPES.items() if item.is_integer)
    names = [name for name in statement.opcode[1:] if name != "sat"]
    if len(names) != 2 or len(statement.opcode) > 4:
        raise context.error(statement, f"{statement.name} is not supported; only cvt between integers is")
    to, of = (_type(context, statement, name, integers) for name in names)
    least, greatest = to.range
    target, value = statement.operands
    destination, read = context.destination(target, to, wider=True), context.reader(value, of, wider=True)

    def converted(number: int) -> int:
        return min(max(number, least), greatest) if "sat" in statement.opcode else to.interpret(number)

    return lambda evaluation: evaluation.write(destination, by_lane(converted, read(evaluation)))


def _branch(context: Context, statement: Instruction) -> Action:
    if statement.opcode[1:] not in ((), ("uni",)):
        raise context.error(statement, f"{statement.name} is not supported; supported: bra, bra.uni")
    context.require_operands(statement, 1)
    (label,) = statement.operands
    if not isinstance(label, Symbol) or label.key not in context.body.labels:
        raise context.error(label, "expected a label")
    target = context.body.labels[label.key]
    return lambda _: target


def _return(context: Context, statement: Instruction) -> Action:
    if statement.opcode[1:] not in ((), ("uni",)):
        raise _unsupported(context, statement)
    context.require_operands(statement, 0)
    end = len(context.body.instructions)
    return lambda _: end


def _barrier(context: Context, statement: Instruction) -> Action:
    if statement.name not in _BARRIERS:
        raise _unsupported(context, statement)
    for operand in statement.operands:
        if not isinstance(operand, Register | Immediate):
            raise context.error(operand, "expected a register or a constant")
    return lambda _: None


_DECODERS: Final = MappingProxyType[str, Callable[[Context, Instruction], Action]](
    {
        "bar": _barrier,
        "barrier": _barrier,
        "bra": _branch,
        "cvt": _convert,
        "cvta": _convert_address,
        "exit": _return,
        "ld": _load,
        "mov": _move,
        "ret": _return,
    }
)
