"""Matrix products of any size, as PyTorch computes them on a Hopper GPU, to the bit.

The rules, and how they were measured: ``docs/explanation/matrix-products.md``.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arguments import dtype_of
from golden.arithmetic.arrays import add, convert, elementwise
from golden.arithmetic.decode import layout
from golden.arithmetic.engine import run_chunks
from golden.arithmetic.integer_tiles import integer_tiles
from golden.arithmetic.round_pack import convert as convert_number
from golden.arithmetic.tiles import float_tiles, multiply_add_tiles
from golden.host_arrays import host_array
from golden.integers import checked_integer, checked_text, integer_of, quoted, shortened
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.profiles import PROFILES, Profile

__all__ = [
    "INTERLEAVED_PRODUCTS",
    "RESULTS",
    "Accumulation",
    "checked_operand",
    "checked_types",
    "interleaved_places",
    "matmul",
    "native_array",
    "part_lengths",
    "product_of_bits",
]

Accumulation = Literal["fast", "precise"]

_VALUES: Final = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "tf32",
    "float64": "f64",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "int8": "s8",
}
"""The type of an array's elements, by its dtype, where none is named."""

RESULTS: Final = {
    "f16": ("f16", "f32"),
    "bf16": ("bf16", "f32"),
    "tf32": ("f32",),
    "f64": ("f64",),
    "e4m3": ("bf16", "f16", "f32"),
    "e5m2": ("bf16", "f16", "f32"),
    "s8": ("s32",),
}
"""The types of D, the default first."""

_FP8: Final = ("e4m3", "e5m2")
_F32: Final = float_format("f32")
_TILE: Final = 128
"""Rows and columns of D computed at once by a thread."""
_DEPTH: Final = 128
"""Products of a chain computed at once: a multiple of every block."""
_BLOCK: Final = 32
"""Equal parts are multiples of it, as every block divides it."""
INTERLEAVED_PRODUCTS: Final = 32
"""Consecutive products of an interleaved part."""
_PRECISE: Final = 128
"""Products of fp8 that are added before their sum goes to an f32 sum."""


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    a_type: str | None = None,
    b_type: str | None = None,
    d_type: str | None = None,
    split_k: int | Sequence[int] = 1,
    interleaved: bool | Sequence[int] = False,
    accumulation: Accumulation = "fast",
    profile: str | Profile | None = None,
    threads: int | None = None,
) -> NDArray[Any]:
    """D = A B of any size, equal to PyTorch's (cuBLAS's) on a Hopper GPU in every bit.

    Parameters
    ----------
    a : array_like, shape (..., m, k)
    b : array_like, shape (..., k, n)
        Leading axes broadcast. Values: float16, ml_dtypes' bfloat16, float8_e4m3fn and float8_e5m2, float32
        (taken as tf32), float64 and int8. With `a_type` and `b_type` also raw bits in unsigned integers.
    a_type, b_type : str or None
        ``"f16"``, ``"bf16"``, ``"tf32"``, ``"f64"``, ``"e4m3"``, ``"e5m2"`` or ``"s8"``: the type of raw
        bits; None for what the dtype of values says. Both are the same, but e4m3 and e5m2 may be mixed.
    d_type : str or None
        Of D; by default the type of A and B, f32 for tf32, bf16 for fp8 and s32 for s8.
    split_k : int or sequence of int
        Number of equal parts of k, or their lengths. Each is a chain of its own; they are added in f32, for
        f64 in f64, in ascending order.
    interleaved : bool or sequence of int
        The `split_k` parts take 32 products in turn. A sequence of their numbers is the order in which they
        are added.
    accumulation : {"fast", "precise"}
        fp8 only: one chain, or a chain for every 128 products, added in f32.
    profile : str, Profile or None
        None for Hopper, whose results were compared. Other generations chain what their ``mma`` adds at once;
        this was not compared with their chips.
    threads : int or None
        As for `golden.mma`.

    Returns
    -------
    ndarray, shape (..., m, n)
        Values for values, raw bits for raw bits.

    Raises
    ------
    InvalidArgument
    """
    x, a_name, a_raw = checked_operand("a", a, a_type)
    y, b_name, b_raw = checked_operand("b", b, b_type)
    d_name = checked_types(x, y, (a_name, b_name, d_type))
    if checked_text("accumulation", accumulation) not in ("fast", "precise"):
        raise InvalidArgument("accumulation", quoted(accumulation), "'fast' or 'precise'")
    try:
        leading = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        raise InvalidArgument(
            "b", f"leading axes {y.shape[:-2]}", f"axes that broadcast with {x.shape[:-2]} of a"
        ) from None
    found = _profile(profile, a_name)
    if interleaved is False:
        parts = part_lengths(x.shape[-1], split_k)
    else:
        places, parts = interleaved_places(x.shape[-1], split_k, None if interleaved is True else interleaved)
        x, y = x[..., places], y[..., places, :]
    shape = (*leading, x.shape[-2], y.shape[-1])
    try:
        d = np.empty(shape, dtype_of(FORMATS[d_name]))
    except (MemoryError, ValueError):
        raise InvalidArgument(
            "a and b", f"a product of shape {shape}", "one that the host has memory for"
        ) from None
    rows = np.broadcast_to(x, (*leading, *x.shape[-2:]))
    columns = np.broadcast_to(y, (*leading, *y.shape[-2:]))
    for index in np.ndindex(leading):
        d[index] = product_of_bits(
            rows[index],
            columns[index],
            types=(a_name, b_name, d_name),
            parts=parts,
            accumulation=accumulation,
            profile=found,
            threads=threads,
        )
    return d if a_raw or b_raw else _values(d, d_name)


def checked_types(x: NDArray[Any], y: NDArray[Any], types: tuple[str, str, str | None]) -> str:
    """The type of D, for operands that have been checked and their types.

    Raises
    ------
    InvalidArgument
        Types that do not go together, or shapes.
    """
    a_name, b_name, d_type = types
    if a_name != b_name and not (a_name in _FP8 and b_name in _FP8):
        raise InvalidArgument("b_type", b_name, f"{a_name}, the type of a")
    if x.shape[-1] != y.shape[-2]:
        raise InvalidArgument("b", f"shape {y.shape}", f"(..., {x.shape[-1]}, n), as a has shape {x.shape}")
    allowed = RESULTS[a_name]
    if d_type is not None and checked_text("d_type", d_type) not in allowed:
        raise InvalidArgument("d_type", quoted(d_type), f"{', '.join(allowed)} for {a_name}")
    return d_type or allowed[0]


def _profile(profile: str | Profile | None, a_name: str) -> Profile:
    if profile is None:
        profile = "hopper"
    found = PROFILES.get(profile) if isinstance(profile, str) else profile
    if not isinstance(found, Profile):
        raise InvalidArgument("profile", quoted(profile), ", ".join(PROFILES))
    format = FORMATS[a_name]
    if isinstance(format, FloatFormat) and format.bits < 64 and found.block(format, "mma") is None:
        having = [item.name for item in PROFILES.values() if item.block(format, "mma") is not None]
        raise InvalidArgument("profile", f"{found.name}, which has no {a_name}", ", ".join(having))
    return found


def checked_operand(argument: str, given: ArrayLike, type: str | None) -> tuple[NDArray[Any], str, bool]:
    """The bit patterns of an operand (of s8 the values), its type, and whether it came as raw bits.

    Raises
    ------
    InvalidArgument
    """
    array = native_array(argument, given)
    if type is not None and checked_text(f"{argument}_type", type) not in RESULTS:
        raise InvalidArgument(f"{argument}_type", quoted(type), ", ".join(RESULTS))
    of_dtype = _VALUES.get(array.dtype.name)
    name = type or of_dtype
    if name is None:
        raise InvalidArgument(argument, f"dtype {array.dtype}", f"{', '.join(_VALUES)}, or {argument}_type")
    if array.ndim < 2:
        raise InvalidArgument(argument, f"shape {array.shape}", "at least two axes")
    if of_dtype == name:
        return array if name == "s8" else array.view(dtype_of(FORMATS[name])), name, False
    if array.dtype != dtype_of(FORMATS[name]):
        values = next(dtype for dtype, item in _VALUES.items() if item == name)
        wanted = f"{values} (values) or {dtype_of(FORMATS[name])} (raw bits) for {name}"
        raise InvalidArgument(argument, f"dtype {array.dtype}", wanted)
    return array, name, True


def native_array(argument: str, given: ArrayLike) -> NDArray[Any]:
    """The array that a caller handed in, in native byte order; InvalidArgument for what is none."""
    try:
        array = host_array(given)
    except (TypeError, BufferError, RuntimeError, ValueError, OverflowError) as error:
        raise InvalidArgument(argument, f"{given.__class__.__name__} ({error})", "an array") from None
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def part_lengths(depth: int, split_k: int | Sequence[int]) -> tuple[int, ...]:
    """Lengths of the parts of k: equal and of whole blocks, but the last may be shorter; or as given.

    Raises
    ------
    InvalidArgument
    """
    allowed = f"an integer from 1 on, or lengths from 1 on whose sum is k, {depth}"
    given: Sequence[Any] = split_k if isinstance(split_k, list | tuple) else [split_k]
    numbers = [integer_of(item) or 0 for item in given]
    if min(numbers, default=0) < 1:
        raise InvalidArgument("split_k", shortened(split_k), allowed)
    if isinstance(split_k, list | tuple):
        if sum(numbers) != depth:
            raise InvalidArgument("split_k", shortened(split_k), allowed)
        return tuple(numbers)
    step = -(-depth // numbers[0])
    step += -step % _BLOCK if numbers[0] > 1 else 0
    return tuple(min(step, depth - start) for start in range(0, depth, max(step, 1))) or (0,)


def interleaved_places(
    depth: int, split_k: int | Sequence[int], order: Sequence[int] | None = None
) -> tuple[NDArray[np.intp], tuple[int, ...]]:
    """The places of k, part after part, where parts take 32 products in turn; and the parts' lengths.

    Raises
    ------
    InvalidArgument
    """
    most = max(1, -(-depth // INTERLEAVED_PRODUCTS))
    count = checked_integer("split_k", split_k, 1, most)
    given: Sequence[Any] = order if isinstance(order, list | tuple) else [order]
    numbers = range(count) if order is None else [integer_of(item) for item in given]
    if {*numbers} != {*range(count)} or len(numbers) != count:
        raise InvalidArgument("interleaved", shortened(order), f"True, or 0 to {count - 1} in any order")
    part = np.arange(depth) // INTERLEAVED_PRODUCTS % count
    found = [np.flatnonzero(part == number) for number in numbers]
    return np.concatenate(found), tuple(map(len, found))


def product_of_bits(
    a: NDArray[Any],
    b: NDArray[Any],
    *,
    types: tuple[str, str, str],
    parts: tuple[int, ...],
    accumulation: Accumulation = "fast",
    profile: Profile = PROFILES["hopper"],
    threads: int | None = None,
) -> NDArray[Any]:
    """The product of two matrices of bit patterns; arguments as `matmul` has checked them.

    Parameters
    ----------
    a, b : ndarray, shapes (m, k), (k, n)
    types : tuple of str
        Of A, B and D.
    parts : tuple of int
        Lengths of the parts of k.
    accumulation, profile, threads
        As for `matmul`.
    """
    d_format = FORMATS[types[2]]
    d = np.empty((len(a), b.shape[1]), dtype_of(d_format))
    places = [(i, j) for i in range(0, len(a), _TILE) for j in range(0, b.shape[1], _TILE)]
    chain = _chain(types, profile)
    sum_type = "f64" if types[2] == "f64" else "f32"

    def work(piece: slice) -> None:
        for i, j in places[piece]:
            rows, columns = a[i : i + _TILE], b[:, j : j + _TILE]
            total = None
            start = 0
            for part in parts:
                found = _part(
                    chain, rows[:, start : start + part], columns[start : start + part], accumulation
                )
                start += part
                if total is None:
                    total = found
                elif types[2] == "s32":
                    total = (total + found).astype(np.int32)
                else:
                    total = add(total, found, float_format(sum_type))
            assert total is not None
            if isinstance(d_format, FloatFormat) and d_format.name != sum_type:
                total = convert(total, _F32, d_format)
            d[i : i + _TILE, j : j + _TILE] = total

    run_chunks(work, len(places), 1, threads)
    return d


_Chain = Callable[[NDArray[Any], NDArray[Any], NDArray[Any] | None], NDArray[Any]]


def _chain(types: tuple[str, str, str], profile: Profile) -> _Chain:
    """One piece of a chain: from rows, columns and the sum so far, None for zero."""
    a_format, b_format = FORMATS[types[0]], FORMATS[types[1]]
    dtype = np.dtype({"f64": "u8", "s32": "i4"}.get(types[2], "u4"))

    def step(a: NDArray[Any], b: NDArray[Any], total: NDArray[Any] | None) -> NDArray[Any]:
        c = np.zeros((len(a), b.shape[1]), dtype) if total is None else total
        tiles = a[None], b[None], c[None]
        if not isinstance(a_format, FloatFormat):
            whole: NDArray[Any] = integer_tiles(*tiles)[0]
            return whole
        if a_format.bits == 64:
            double: NDArray[Any] = multiply_add_tiles(*tiles, rounding="rn")[0]
            return double
        assert isinstance(b_format, FloatFormat)
        if types[0] == "tf32":
            tiles = _as_tf32(a)[None], _as_tf32(b)[None], c[None]
        result: NDArray[Any] = float_tiles(
            *tiles,
            formats=(a_format, b_format, _F32, _F32),
            profile=profile,
            mnemonic="wgmma" if profile.fp8_block is not None else "mma",
        )[0]
        return result

    return step


def _part(chain: _Chain, a: NDArray[Any], b: NDArray[Any], accumulation: Accumulation) -> NDArray[Any]:
    """The sum of one part of k."""
    precise = accumulation == "precise" and a.dtype == np.uint8
    sum_so_far: NDArray[Any] | None = None
    total = chain(a[:, :0], b[:0], None)
    for start in range(0, a.shape[1], _DEPTH):
        here = slice(start, start + (_PRECISE if precise else _DEPTH))
        sum_so_far = chain(a[:, here], b[here], None if precise else sum_so_far)
        total = add(total, sum_so_far, _F32) if precise else sum_so_far
    return total


def _as_tf32(bits: NDArray[Any]) -> NDArray[Any]:
    """f32 rounded to tf32, to nearest even."""
    layouts = layout(_F32), layout(float_format("tf32"))
    return elementwise(convert_number, (bits,), layouts, np.uint32, 1)


def _values(d: NDArray[Any], type: str) -> NDArray[Any]:
    names = {"f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "s32": "int32"}
    return d.view(np.dtype(names[type]))
