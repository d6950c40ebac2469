"""Vectors in compiled code: a number of each of some lanes, in one register of the processor.

`load` makes one. Operators, comparisons, `max`, `min` and functions of `golden.arithmetic.compiled` take
vectors like numbers. The other operand may be a number, which then stands in every lane.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import templates
from numba.extending import intrinsic, lower_builtin, models, register_model

from golden.arithmetic import compiled

_cgutils: Final[Any] = cgutils
_templates: Final[Any] = templates
_models: Final[Any] = models
_INDEX: Final = ir.IntType(32)

_INTEGER: Final = {
    operator.add: "add",
    operator.sub: "sub",
    operator.mul: "mul",
    operator.and_: "and_",
    operator.or_: "or_",
    operator.lshift: "shl",
}
_FLOAT: Final = {operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul"}
_COMPARISONS: Final = {
    operator.lt: "<",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}
_CHOICES: Final[dict[Any, Any]] = {max: operator.gt, min: operator.lt}


class Lanes(types.Type):
    """The type of a vector."""

    def __init__(self, element: Any, count: int) -> None:
        self.element = element
        self.count = count
        super().__init__(name=f"lanes({element} x {count})")


@register_model(Lanes)
class _LanesModel(_models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, ir.VectorType(manager[kind.element].get_value_type(), kind.count))


def _vector(context: Any, builder: Any, value: Any, kind: Any, target: Lanes) -> Any:
    """A number, or the numbers of a vector, as a vector of this type."""
    if not isinstance(kind, Lanes):
        number = context.cast(builder, value, kind, target.element)
        one = ir.Constant(ir.VectorType(number.type, target.count), ir.Undefined)
        one = builder.insert_element(one, number, _INDEX(0))
        return builder.shuffle_vector(one, one, ir.VectorType(_INDEX, target.count)(None))
    source, element, llvm = kind.element, target.element, context.get_value_type(target)
    if source == element:
        return value
    if isinstance(element, types.Float):
        if isinstance(source, types.Float):
            return (builder.fpext if element.bitwidth > source.bitwidth else builder.fptrunc)(value, llvm)
        return builder.sitofp(value, llvm)
    if isinstance(source, types.Float):
        return builder.fptosi(value, llvm)
    if llvm.element.width <= value.type.element.width:
        return builder.trunc(value, llvm) if llvm != value.type else value
    return (builder.sext if source.signed else builder.zext)(value, llvm)


def _emit(function: Any, builder: Any, x: Any, y: Any, element: Any) -> Any:
    is_float = isinstance(element, types.Float)
    is_signed = is_float or getattr(element, "signed", False)
    if function in _CHOICES:
        return builder.select(_emit(_CHOICES[function], builder, x, y, element), x, y)
    if function in _COMPARISONS:
        compare = builder.icmp_signed if is_signed else builder.icmp_unsigned
        if is_float:
            compare = builder.fcmp_unordered if function is operator.ne else builder.fcmp_ordered
        return compare(_COMPARISONS[function], x, y)
    if function is operator.rshift:
        return (builder.ashr if is_signed else builder.lshr)(x, y)
    return getattr(builder, (_FLOAT if is_float else _INTEGER)[function])(x, y)


def _typed(function: Callable[..., Any], result: Callable[..., Any]) -> None:
    """Let compiled code call a function with arguments for which `result` gives a type."""

    class Template(_templates.AbstractTemplate):  # type: ignore[misc]
        def generic(self, arguments: Any, named: Any) -> Any:
            found = result(*arguments)
            return None if found is None else _templates.signature(found, *arguments)

    _templates.infer_global(function)(Template)


def _binary(function: Callable[..., Any]) -> None:
    """Let compiled code use an operator, `max` or `min` with vectors."""

    def result(*kinds: Any) -> Any:
        kind = next((kind for kind in kinds if isinstance(kind, Lanes)), None)
        if kind is None or len(kinds) != 2:
            return None
        return Lanes(types.boolean, kind.count) if function in _COMPARISONS else kind

    def lower(context: Any, builder: Any, found: Any, arguments: Any) -> Any:
        kind = next(each for each in found.args if isinstance(each, Lanes))
        x, y = (_vector(context, builder, *each, kind) for each in zip(arguments, found.args, strict=True))
        return _emit(function, builder, x, y, kind.element)

    _typed(function, result)
    for kinds in ((Lanes, Lanes), (Lanes, types.Any), (types.Any, Lanes)):
        lower_builtin(function, *kinds)(lower)  # type: ignore[no-untyped-call]


for _function in (*_INTEGER, operator.rshift, *_COMPARISONS, *_CHOICES):
    _binary(_function)


def _defined(function: Callable[..., Any], result: Callable[..., Any]) -> Callable[..., Any]:
    """Mark what emits the code of a function with vectors, whose arguments are of these types."""
    _typed(function, result)
    lowered: Callable[..., Any] = lower_builtin(function, types.VarArg(types.Any))  # type: ignore[no-untyped-call]
    return lowered


def _to(element: types.Type) -> Callable[..., Any]:
    return lambda value: Lanes(element, value.count) if isinstance(value, Lanes) else None


def _place(context: Any, builder: Any, array: Any, arguments: Any, kind: Any) -> Any:
    """The address of a vector in an array; its elements may be narrower than the array's."""
    data = context.make_array(array)(context, builder, arguments[0]).data
    return builder.bitcast(builder.gep(data, [arguments[1]]), kind.as_pointer())


@_defined(compiled.load, lambda array, start, lanes: Lanes(array.dtype, lanes.count))
def _load(context: Any, builder: Any, found: Any, arguments: Any) -> Any:
    pointer = _place(context, builder, found.args[0], arguments, context.get_value_type(found.return_type))
    return builder.load(pointer, align=found.args[0].dtype.bitwidth // 8)


@_defined(compiled.element, lambda array, place: array.dtype)
def _element(context: Any, builder: Any, found: Any, arguments: Any) -> Any:
    kind = context.get_value_type(found.return_type)
    return builder.load(_place(context, builder, found.args[0], arguments, kind))


@_defined(compiled.store, lambda array, start, value: types.none)
def _store(context: Any, builder: Any, found: Any, arguments: Any) -> Any:
    pointer = _place(context, builder, found.args[0], arguments, arguments[2].type)
    builder.store(arguments[2], pointer, align=found.args[0].dtype.bitwidth // 8)
    return context.get_dummy_value()


@_defined(compiled.word, _to(types.int32))
@_defined(compiled.signed_byte, _to(types.int8))
@_defined(compiled.single, _to(types.float32))
def _converted(context: Any, builder: Any, found: Any, arguments: Any) -> Any:
    return _vector(context, builder, arguments[0], found.args[0], found.return_type)


def _like(value: Any, other: Any) -> Any:
    if isinstance(value, Lanes):
        return Lanes(getattr(other, "element", other), value.count)
    return other if isinstance(other, Lanes) else None


_defined(compiled.like, _like)(_converted)


def _chosen(condition: Any, *kinds: Any) -> Any:
    if not isinstance(condition, Lanes):
        return None
    element = next((kind.element for kind in kinds if isinstance(kind, Lanes)), types.int32)
    return Lanes(element, condition.count)


@_defined(compiled.choose, _chosen)
def _choose(context: Any, builder: Any, found: Any, arguments: Any) -> Any:
    yes_no = zip(arguments[1:], found.args[1:], strict=True)
    return builder.select(arguments[0], *(_vector(context, builder, *x, found.return_type) for x in yes_no))


@_defined(compiled.whole, lambda value: value)
def _whole(context: Any, builder: Any, found: Any, arguments: Any) -> Any:
    kind = arguments[0].type
    name = f"llvm.trunc.v{kind.count}f{found.return_type.element.bitwidth}"
    trunc = _cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), name)
    return builder.call(trunc, arguments)


@_defined(compiled.which, lambda condition: types.int64)
def _which(context: Any, builder: Any, found: Any, arguments: Any) -> Any:
    bits = builder.bitcast(arguments[0], ir.IntType(found.args[0].count))
    return builder.zext(bits, ir.IntType(64)) if bits.type.width < 64 else bits


@_defined(compiled.truncated, lambda value, bits: value)
def _truncated(context: Any, builder: Any, found: Any, arguments: Any) -> Any:
    width = found.return_type.element.bitwidth
    kind = Lanes(types.int64 if width == 64 else types.int32, found.return_type.count)
    llvm = context.get_value_type(kind)
    mask = builder.shl(
        _vector(context, builder, ir.Constant(llvm.element, -1), kind.element, kind),
        _vector(context, builder, arguments[1], found.args[1], kind),
    )
    return builder.bitcast(builder.and_(builder.bitcast(arguments[0], llvm), mask), arguments[0].type)


@_defined(compiled.single_bits, _to(types.int32))
def _single_bits(context: Any, builder: Any, found: Any, arguments: Any) -> Any:
    single = Lanes(types.float32, found.return_type.count)
    number = _vector(context, builder, arguments[0], found.args[0], single)
    return builder.bitcast(number, context.get_value_type(found.return_type))


@_defined(compiled.spread, lambda word, other: other)
def _spread(context: Any, builder: Any, found: Any, arguments: Any) -> Any:
    element, count = found.return_type.element, found.return_type.count
    words = Lanes(found.args[0], count * element.bitwidth // found.args[0].bitwidth)
    many = _vector(context, builder, arguments[0], found.args[0], words)
    return builder.bitcast(many, context.get_value_type(found.return_type))


def _mask(places: Sequence[int]) -> Any:
    return ir.Constant(ir.VectorType(_INDEX, len(places)), list(places))


def has_instructions(context: Any, extension: str) -> bool:
    """Whether the processor that code is compiled for has an extension."""
    return f"+{extension}" in context.codegen()._tm_features.split(",")


def _instruction(
    context: Any, builder: Any, extension: str, name: str, kind: Any, arguments: Any, parts: int = 1
) -> Any:
    """The result of an instruction, of parts of vectors; None where the processor has no such one."""
    if not has_instructions(context, extension):
        return None
    sizes = [each.type.count // parts for each in arguments]
    some = [ir.VectorType(each.type.element, size) for each, size in zip(arguments, sizes, strict=True)]
    function = ir.FunctionType(ir.VectorType(kind.element, kind.count // parts), some)
    called = _cgutils.get_or_insert_function(builder.module, function, f"llvm.x86.{name}")
    found = []
    for part in range(parts):
        masks = (_mask(range(part * size, part * size + size)) for size in sizes)
        pieces = [builder.shuffle_vector(x, x, mask) for x, mask in zip(arguments, masks, strict=True)]
        found.append(builder.call(called, pieces))
    return builder.shuffle_vector(found[0], found[-1], _mask(range(kind.count)))


@_defined(compiled.take, lambda table, places, values: values)
def _take(context: Any, builder: Any, found: Any, arguments: Any) -> Any:
    *given, values = arguments
    return _instruction(context, builder, "avx512bw", "avx512.pshuf.b.512", values.type, given) or values


@_defined(compiled.add_fours, lambda total, x, y: total)
def _add_fours(context: Any, builder: Any, found: Any, arguments: Any) -> Any:
    total, *factors = arguments
    kind = total.type
    if added := _instruction(context, builder, "avx512vnni", "avx512.vpdpbusd.512", kind, arguments):
        return added
    # Products of even and of odd bytes, as halves of words.
    halves = ir.VectorType(ir.IntType(16), 2 * kind.count)
    byte, half = (ir.Constant(each, [width] * each.count) for each, width in ((halves, 8), (kind, 16)))
    x, y = (builder.bitcast(each, halves) for each in factors)
    even = builder.mul(builder.lshr(builder.shl(x, byte), byte), builder.ashr(builder.shl(y, byte), byte))
    odd = builder.mul(builder.lshr(x, byte), builder.ashr(y, byte))
    pairs = (
        _instruction(context, builder, "avx512bw", "avx512.pmaddubs.w.512", halves, factors)
        or _instruction(context, builder, "avx2", "avx2.pmadd.ub.sw", halves, factors, 2)
        or builder.add(even, odd)
    )
    pairs = builder.bitcast(pairs, kind)
    both = builder.add(builder.ashr(builder.shl(pairs, half), half), builder.ashr(pairs, half))
    return builder.add(total, both)


def permutation(*places: int) -> Any:
    """A function for compiled code: a vector of the elements of two vectors at these places."""

    @intrinsic
    def permuted(context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.shuffle_vector(*arguments, _mask(places))

        return Lanes(x.element, len(places))(x, y), generate

    return permuted


def _entries(context: Any, first: Any, second: Any, places: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        low, high, index = arguments
        name = "avx512.vpermi2var.qi.512"
        return _instruction(context, builder, "avx512vbmi", name, low.type, [low, index, high])

    return first(first, second, places), generate


entries: Final[Any] = intrinsic(_entries)
"""For compiled code: the bytes of a table of 128 at 64 places, whose highest bit does not count."""
