"""What compiled code has in place of the functions of `golden.arithmetic.compiled`: instructions of LLVM."""

from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload, register_jitable

from golden.arithmetic.compiled import (
    MARKED,
    TOGETHER,
    add_products,
    add_values,
    bit_count,
    bit_length,
    choose,
    like,
    one_by_one,
    power_of_two,
    raise_to_sums,
    shift,
    unsigned_word,
    word,
)

_known: Final[set[Callable[..., Any]]] = set()


def register_marked() -> bool:
    """Let compiled code call every marked function; whether this is the first call."""
    is_first = not _known
    for marked in MARKED:
        if marked not in _known:
            _known.add(marked)
            register_jitable(forceinline=True)(marked)
    return is_first


@intrinsic
def _leading_zeros(context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return value(value), generate


@intrinsic
def _shifted(context: Any, value: Any, distance: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Selects, which a processor's shifts of vectors do by themselves."""
        number, places = arguments
        none, width = ir.Constant(number.type, 0), ir.Constant(number.type, value.bitwidth)
        # 32 bits are in vectors, where LLVM knows a select better without a mark.
        select = _unpredictable if value.bitwidth > 32 else ir.IRBuilder.select
        left, right = (
            select(builder, builder.icmp_unsigned("<", count, width), way(number, count), none)
            for way, count in ((builder.shl, places), (builder.lshr, builder.neg(places)))
        )
        return builder.or_(left, right)

    return value(value, value), generate


@intrinsic
def _chosen(context: Any, condition: Any, yes: Any, no: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _unpredictable(builder, *arguments)

    return yes(condition, yes, yes), generate


def _unpredictable(builder: Any, condition: Any, yes: Any, no: Any) -> Any:
    """A select that does not become a branch."""
    chosen = builder.select(condition, yes, no)
    chosen.set_metadata("unpredictable", builder.module.add_metadata([]))
    return chosen


@intrinsic
def _ones(context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int32(types.int32), generate


@intrinsic
def _with_bits(context: Any, bits: Any) -> Any:
    kind = types.float32 if bits == types.int32 else types.float64

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(kind))

    return kind(bits), generate


@intrinsic
def _opaque(context: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """No instruction, but one that may not be moved."""
        builder.asm(ir.FunctionType(ir.VoidType(), []), "", "", [], side_effect=True)
        return context.get_dummy_value()

    return types.none(), generate


def _side_by_side(term: Callable[..., Any], combine: Callable[..., Any]) -> Any:
    """A term for each of `TOGETHER` factors, combined with what was there, for all lanes as one vector.

    LLVM would compute loops of so few passes one by one, as it cannot know that arrays do not overlap.
    """

    @intrinsic
    def operation(
        context: Any, sums: Any, a: Any, b: Any, places: Any, start: Any, lanes: Any, units: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            *arrays, first, _, last = zip(signature.args, arguments, strict=True)
            data = [context.make_array(kind)(context, builder, value).data for kind, value in (*arrays, last)]
            index = ir.IntType(64)

            def vector(pointer: Any) -> Any:
                kind = ir.VectorType(pointer.type.pointee, lanes.count)
                return builder.bitcast(pointer, kind.as_pointer())

            def load(pointer: Any) -> Any:
                return builder.load(
                    vector(pointer), align=pointer.type.pointee.get_abi_size(context.target_data)
                )

            def splat(number: Any) -> Any:
                one = ir.Constant(ir.VectorType(number.type, lanes.count), ir.Undefined)
                one = builder.insert_element(one, number, ir.IntType(32)(0))
                return builder.shuffle_vector(one, one, ir.VectorType(ir.IntType(32), lanes.count)(None))

            terms, unit = [], load(data[4])
            for k in range(TOGETHER):
                place = builder.add(first[1], index(k))
                found = builder.sext(builder.load(builder.gep(data[3], [place])), index)
                other = load(builder.gep(data[2], [builder.mul(found, index(lanes.count))]))
                terms.append(term(builder, splat(builder.load(builder.gep(data[1], [place]))), other, unit))
            total = load(data[0])
            for x, y in zip(terms[::2], terms[1::2], strict=True):
                total = combine(builder, total, combine(builder, x, y))
            builder.store(total, vector(data[0]), align=4)
            return context.get_dummy_value()

        return types.none(sums, a, b, places, start, lanes, units), generate

    return operation


_raised = _side_by_side(
    lambda builder, a, b, _: builder.add(a, b),
    lambda builder, x, y: builder.select(builder.icmp_signed(">", x, y), x, y),
)
_added = _side_by_side(
    lambda builder, a, b, unit: builder.fptosi(
        builder.fmul(builder.fmul(a, b), unit), ir.VectorType(ir.IntType(32), a.type.count)
    ),
    lambda builder, x, y: builder.add(x, y),
)
_summed = _side_by_side(lambda builder, a, b, _: builder.fmul(a, b), lambda builder, x, y: builder.fadd(x, y))


@overload(raise_to_sums)
def _raise_to_sums(largest, a, b, places, start, lanes):  # type: ignore[no-untyped-def]
    return lambda largest, a, b, places, start, lanes: _raised(largest, a, b, places, start, lanes, largest)


@overload(add_products)
def _add_products(totals, a, b, places, start, lanes, units):  # type: ignore[no-untyped-def]
    return lambda totals, a, b, places, start, lanes, units: _added(  # noqa: PLW0108
        totals, a, b, places, start, lanes, units
    )


@overload(add_values)
def _add_values(totals, a, b, places, start, lanes):  # type: ignore[no-untyped-def]
    return lambda totals, a, b, places, start, lanes: _summed(totals, a, b, places, start, lanes, totals)


@overload(one_by_one)
def _one_by_one():  # type: ignore[no-untyped-def]
    return lambda: _opaque()  # type: ignore[call-arg]  # noqa: PLW0108  numba compiles functions


@overload(bit_count)
def _bit_count(value):  # type: ignore[no-untyped-def]
    return lambda value: _ones(types.int32(value))  # type: ignore[call-arg]


@overload(bit_length)
def _bit_length(value):  # type: ignore[no-untyped-def]  # numba compares the signatures
    if value == types.uint32:
        return lambda value: types.int32(32 - _leading_zeros(value))  # type: ignore[call-arg]
    return lambda value: 64 - _leading_zeros(types.int64(value))  # type: ignore[call-arg]  # numba adds the context


@overload(shift)
def _shift(value, distance):  # type: ignore[no-untyped-def]
    kind = types.uint32 if value == types.uint32 else types.int64
    return lambda value, distance: _shifted(kind(value), kind(distance))  # type: ignore[call-arg]


@overload(choose)
def _choose(condition, yes, no):  # type: ignore[no-untyped-def]
    return lambda condition, yes, no: _chosen(  # type: ignore[call-arg]
        bool(condition), types.int64(yes), types.int64(no)
    )


@overload(like)
def _like(value, other):  # type: ignore[no-untyped-def]
    kind = other
    return lambda value, other: kind(value)


@overload(power_of_two)
def _power_of_two(exponent, other):  # type: ignore[no-untyped-def]
    kind, bias, place = (types.int32, 127, 23) if other == types.float32 else (types.int64, 1023, 52)
    least, most = kind((bias + 1) // 2 - 1), kind(2 * bias)
    return lambda exponent, other: _with_bits(  # type: ignore[call-arg]
        kind(max(least, min(kind(exponent + bias), most)) << place)
    )


@overload(word)
def _word(value):  # type: ignore[no-untyped-def]
    return lambda value: types.int32(value)  # noqa: PLW0108  numba compiles functions, not types


@overload(unsigned_word)
def _unsigned_word(value):  # type: ignore[no-untyped-def]
    return lambda value: types.uint32(value)  # noqa: PLW0108
