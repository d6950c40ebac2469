"""What compiled code has in place of the functions of `golden.arithmetic.compiled`: instructions of LLVM."""

from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload, register_jitable

from golden.arithmetic.compiled import (
    MARKED,
    bit_count,
    bit_length,
    choose,
    like,
    of_single_bits,
    one_by_one,
    power_of_two,
    shift,
    unsigned_word,
    word,
)
from golden.arithmetic.lanes import Lanes

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
        number, places = arguments
        none, width = ir.Constant(number.type, 0), ir.Constant(number.type, value.bitwidth)
        left, right = (
            _unpredictable(builder, builder.icmp_unsigned("<", count, width), way(number, count), none)
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
    kind: Any = types.float32 if getattr(bits, "element", bits) == types.int32 else types.float64
    if isinstance(bits, Lanes):
        kind = Lanes(kind, bits.count)

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


@overload(one_by_one)
def _one_by_one():  # type: ignore[no-untyped-def]
    return lambda: _opaque()  # type: ignore[call-arg]  # noqa: PLW0108  numba compiles functions


@overload(bit_count)
def _bit_count(value):  # type: ignore[no-untyped-def]
    return lambda value: _ones(types.int32(value))  # type: ignore[call-arg]


@overload(bit_length)
def _bit_length(value):  # type: ignore[no-untyped-def]  # numba compares the signatures
    return lambda value: 64 - _leading_zeros(types.int64(value))  # type: ignore[call-arg]  # numba adds the context


@overload(shift)
def _shift(value, distance):  # type: ignore[no-untyped-def]
    return lambda value, distance: _shifted(types.int64(value), types.int64(distance))  # type: ignore[call-arg]


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
    single = getattr(other, "element", other) == types.float32
    kind, bias, place = (types.int32, 127, 23) if single else (types.int64, 1023, 52)
    least, most, width = (bias + 1) // 2 - 1, 2 * bias, kind(0)
    return lambda exponent, other: _with_bits(  # type: ignore[call-arg]
        like(like(max(min(exponent + bias, most), least), width) << place, width)
    )


@overload(of_single_bits)
def _of_single_bits(bits):  # type: ignore[no-untyped-def]
    return lambda bits: _with_bits(bits)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(word)
def _word(value):  # type: ignore[no-untyped-def]
    return lambda value: types.int32(value)  # noqa: PLW0108  numba compiles functions, not types


@overload(unsigned_word)
def _unsigned_word(value):  # type: ignore[no-untyped-def]
    return lambda value: types.uint32(value)  # noqa: PLW0108
