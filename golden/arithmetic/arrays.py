"""The scalar functions of this package on arrays of any shape, compiled."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arithmetic import fma as scalar_fma
from golden.arithmetic import round_pack as rounding_rules
from golden.arithmetic.compiled import one_by_one
from golden.arithmetic.decode import layout
from golden.arithmetic.engine import Compiled, read_only, run_chunks
from golden.arithmetic.round_pack import NEAREST, ROUNDINGS
from golden.tables.formats import FloatFormat, float_format

_CHUNK = 1 << 14
_TABLE_BITS = 16
"""Conversions of formats of so many bits are looked up."""
_LEAST_FOR_THREADS = 4 * _CHUNK
_F64 = float_format("f64")
_UINT64 = np.dtype(np.uint64)


@cache
def _loop(function: Callable[..., int], operands: int, constants: tuple[Any, ...]) -> Callable[..., None]:
    """A compiled loop over flat arrays; operands beside the first may have a single element for all."""
    if operands == 1:

        def loop(out: Any, x: Any, arguments: Any) -> None:
            for i in range(len(x)):
                out[i] = function(x[i], *(constants + arguments))

        return Compiled(loop)
    if operands == 2:

        def loop2(out: Any, x: Any, y: Any, arguments: Any) -> None:
            x_step, y_step = len(x) > 1, len(y) > 1
            for i in range(len(out)):
                out[i] = function(x[i * x_step], y[i * y_step], *(constants + arguments))

        return Compiled(loop2)

    def loop3(out: Any, x: Any, y: Any, z: Any, arguments: Any) -> None:
        x_step, y_step, z_step = len(x) > 1, len(y) > 1, len(z) > 1
        for i in range(len(out)):
            one_by_one()
            out[i] = function(x[i * x_step], y[i * y_step], z[i * z_step], *(constants + arguments))

    return Compiled(loop3)


def elementwise(
    function: Callable[..., int],
    operands: tuple[ArrayLike, ...],
    constants: tuple[Any, ...],
    dtype: Any,
    threads: int | None = None,
    arguments: tuple[Any, ...] = (),
) -> NDArray[Any]:
    """A function of each element, marked with `golden.arithmetic.compiled.compiled`.

    It takes one to three integers, then the constants and the arguments. Operands broadcast. Constants are
    integers and layouts; each combination is compiled once. Arguments are integers, or tuples that contain
    arrays; for them nothing is compiled anew. The result has `dtype`.
    """
    given = [np.asarray(operand) for operand in operands]
    shapes = {array.shape for array in given}
    shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
    flat = [_flat(array, shape) for array in given]
    result = np.empty(shape, dtype)
    out = _flat(result, shape)
    loop = _loop(function, len(flat), constants)
    if len(out) <= _LEAST_FOR_THREADS:
        loop(out, *flat, arguments)
        return result

    def work(piece: slice) -> None:
        loop(out[piece], *(array if len(array) == 1 else array[piece] for array in flat), arguments)

    run_chunks(work, len(out), _CHUNK, threads)
    return result


def _flat(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """One axis, of a single element if there is only one, contiguous and writeable: one type for kernels."""
    if array.shape != shape and array.size != 1:
        array = np.broadcast_to(array, shape)
    if not array.flags.carray:
        array = array.copy()
    # In 64 bits, words become signed, as they are in compiled code.
    return array.reshape(-1).view(np.int64) if array.dtype == _UINT64 else array.reshape(-1)


def _unsigned(format: FloatFormat) -> np.dtype[Any]:
    return np.dtype(f"u{max(format.bits, 8) // 8}")


def convert(
    bits: NDArray[Any], source: FloatFormat, target: FloatFormat, rounding: str = "rn", flush: bool = False
) -> NDArray[Any]:
    """See `golden.arithmetic.round_pack.convert`."""
    if source.bits > _TABLE_BITS or rounding != "rn" or flush:
        return _converted(bits, source, target, ROUNDINGS.index(rounding), flush)
    return look_up(_conversions(source, target), bits)


def _converted(
    bits: NDArray[Any], source: FloatFormat, target: FloatFormat, rounding: int, flush: bool
) -> NDArray[Any]:
    constants, arguments = (layout(source), layout(target)), (rounding, flush)
    return elementwise(rounding_rules.convert, (bits,), constants, _unsigned(target), arguments=arguments)


def look_up(table: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """The entries of a table at these places, which are unsigned."""
    entries = np.empty(np.shape(places), table.dtype)
    _look_up(*read_only(table, places.reshape(-1)), entries.reshape(-1))
    return entries


@Compiled
def _look_up(table: Any, places: Any, entries: Any) -> None:
    for i in range(len(places)):
        entries[i] = table[places[i]]


@cache
def _conversions(source: FloatFormat, target: FloatFormat) -> NDArray[Any]:
    """The conversion of every bit pattern."""
    return _converted(np.arange(1 << source.bits), source, target, NEAREST, False)


def saturate(bits: NDArray[Any], format: FloatFormat) -> NDArray[Any]:
    """See `golden.arithmetic.round_pack.saturate_to_finite`."""
    return elementwise(rounding_rules.saturate_to_finite, (bits,), (layout(format),), _unsigned(format))


def add(a: NDArray[Any], b: NDArray[Any], format: FloatFormat) -> NDArray[Any]:
    """See `golden.arithmetic.fma.add`; to nearest even."""
    return elementwise(scalar_fma.add, (a, b), (layout(format), 0), _unsigned(format))


def fma(
    a: ArrayLike, b: ArrayLike, c: ArrayLike, format: FloatFormat = _F64, rounding: str = "rn"
) -> NDArray[Any]:
    """See `golden.arithmetic.fma.fused_multiply_add`; on arrays of bit patterns that broadcast."""
    constants = layout(format), ROUNDINGS.index(rounding)
    return elementwise(scalar_fma.fused_multiply_add, (a, b, c), constants, _unsigned(format))
