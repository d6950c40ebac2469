"""Matrix products of any size, as PyTorch computes them on a Hopper GPU, to the bit.

The rules, and how they were measured: ``docs/explanation/matrix-products.md``.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arguments import VALUES, dtype_of
from golden.integers import checked_text, quoted
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.profiles import PROFILES, Profile
from openwmma.block_scaled import block_scaled_matmul, has_block_scales
from openwmma.product_chains import (
    Accumulation,
    ProductRule,
    interleaved_places,
    part_lengths,
    product_of_bits,
)
from openwmma.product_epilogue import EpilogueArguments, native_array

RESULTS: Final = {
    "f16": ("f16", "f32"),
    "bf16": ("bf16", "f32"),
    "tf32": ("f32",),
    "f64": ("f64",),
    "e4m3": ("bf16", "f16", "f32", "e4m3"),
    "e5m2": ("bf16", "f16", "f32", "e4m3"),
    "s8": ("s32",),
}
"""The types of D by the type of A and B, the default first."""

_VALUES: Final = {VALUES.get(name, "int8"): name for name in RESULTS}
"""The type of an array's elements, by its dtype, where none is named."""

_FP8: Final = ("e4m3", "e5m2")


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    a_type: str | None = None,
    b_type: str | None = None,
    d_type: str | None = None,
    bias: ArrayLike | None = None,
    c: ArrayLike | None = None,
    alpha: float = 1,
    beta: float = 1,
    activation: str | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    split_k: int | Sequence[int] = 1,
    interleaved: bool | Sequence[int] = False,
    accumulation: Accumulation = "fast",
    profile: str | Profile | None = None,
    threads: int | None = None,
) -> NDArray[Any]:
    """D = alpha A B + beta C of any size, equal to PyTorch's (cuBLAS's) on a Hopper GPU in every bit.

    Parameters
    ----------
    a : array_like, shape (..., m, k) or (k,)
    b : array_like, shape (..., k, n) or (k,)
        Leading axes broadcast. D lacks the axis that an operand lacks. Values: float16, ml_dtypes' bfloat16,
        float8_e4m3fn and float8_e5m2, float32 (taken as tf32), float64 and int8. With `a_type` and `b_type`
        also raw bits in unsigned integers.
    a_type, b_type : str or None
        ``"f16"``, ``"bf16"``, ``"tf32"``, ``"f64"``, ``"e4m3"``, ``"e5m2"`` or ``"s8"``: the type of raw
        bits; None for what the dtype of values says. Both are the same, but e4m3 and e5m2 may be mixed.
    d_type : str or None
        Of D; by default the type of A and B, f32 for tf32, bf16 for fp8 and s32 for s8. A result of e4m3 is
        clamped to 448.
    bias : array_like, shape (n,), or None
        Of the type of D, added before D is rounded, as by ``torch.nn.functional.linear``; `beta` scales it.
    c : array_like, shape (..., m, n), or None
        Added as by ``torch.addmm`` and ``torch.baddbmm``. With `beta` 1, D of f16 and bf16 is rounded before
        it is added, and once more afterwards. C of one axis is a bias. Zero `beta`: C is not read.
    alpha, beta : float
    activation : {"relu"} or None
        As by ``torch._addmm_activation``.
    scale_a, scale_b : float or array_like of float32, or None
        fp8 only, as by ``torch._scaled_mm``: one for all of A and one for all of B, or one for each row of A,
        shape (m, 1), and for each column of B, shape (1, n). Block scales of float8_e8m0fnu or float8_e4m3fn
        make it `openwmma.block_scaled.block_scaled_matmul`: MXFP8 and NVFP4 by the profile ``"blackwell"``,
        not confirmed by a chip here, with `d_type` and `alpha` alone.
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
    if has_block_scales(scale_a) or has_block_scales(scale_b):
        for name, value, default in (
            *(("a_type", a_type, None), ("b_type", b_type, None), ("bias", bias, None), ("c", c, None)),
            *(("activation", activation, None), ("beta", beta, 1), ("split_k", split_k, 1)),
            *(("interleaved", interleaved, False), ("accumulation", accumulation, "fast")),
        ):
            if value is not default and not (isinstance(value, int | float | str) and value == default):
                raise InvalidArgument(name, quoted(value), "the default beside block scales")
        if profile is not None and not (isinstance(profile, str) and profile == "blackwell"):
            raise InvalidArgument("profile", quoted(profile), "blackwell for block scales")
        return block_scaled_matmul(a, b, scale_a, scale_b, d_type=d_type, alpha=alpha)
    x, a_name, a_raw = checked_operand("a", a, a_type)
    y, b_name, b_raw = checked_operand("b", b, b_type)
    if c is not None and min(x.ndim, y.ndim) == 1:
        raise InvalidArgument("c", "C beside an operand of one axis", "operands of two axes; or bias")
    lacking = [axis for axis, operand in ((-2, x), (-1, y)) if operand.ndim == 1]
    x, y = x[None] if x.ndim == 1 else x, y[:, None] if y.ndim == 1 else y
    types = a_name, b_name, checked_types(x, y, (a_name, b_name, d_type))
    if checked_text("accumulation", accumulation) not in ("fast", "precise"):
        raise InvalidArgument("accumulation", quoted(accumulation), "'fast' or 'precise'")
    if accumulation == "precise" and a_name not in ("e4m3", "e5m2"):
        raise InvalidArgument("accumulation", f"'precise' of {a_name}", "'fast', or e4m3 and e5m2")
    try:
        leading = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        raise InvalidArgument(
            "b", f"leading axes {y.shape[:-2]}", f"axes that broadcast with {x.shape[:-2]} of a"
        ) from None
    parts, order = part_lengths(x.shape[-1], split_k), None
    if interleaved is not False:
        _, parts = interleaved_places(x.shape[-1], split_k, None if interleaved is True else interleaved)
        order = tuple(interleaved if isinstance(interleaved, list | tuple) else range(len(parts)))
    rule = ProductRule(
        types=types, parts=parts, order=order, accumulation=accumulation, profile=_profile(profile, a_name)
    )
    shape = (*leading, x.shape[-2], y.shape[-1])
    given = EpilogueArguments(
        bias=bias, c=c, alpha=alpha, beta=beta, activation=activation, scale_a=scale_a, scale_b=scale_b
    )
    epilogue = given.checked(types, shape, raw=a_raw or b_raw)
    try:
        d = np.empty(shape, dtype_of(FORMATS[types[2]]))
    except (MemoryError, ValueError):
        raise InvalidArgument(
            "a and b", f"a product of shape {shape}", "one that the host has memory for"
        ) from None
    rows = np.broadcast_to(x, (*leading, *x.shape[-2:]))
    columns = np.broadcast_to(y, (*leading, *y.shape[-2:]))
    for index in np.ndindex(leading):
        d[index] = product_of_bits(rows[index], columns[index], rule, epilogue.at(index), threads)
    d = d.squeeze(tuple(lacking))
    return d if a_raw or b_raw or types[2] == "s32" else d.view(VALUES[types[2]])


def checked_types(x: NDArray[Any], y: NDArray[Any], types: tuple[str, str, str | None]) -> str:
    """The type of D, for operands that have been checked and their types.

    InvalidArgument for types that do not go together, and for shapes.
    """
    a_name, b_name, d_type = types
    if a_name != b_name and not (a_name in _FP8 and b_name in _FP8):
        given = {"tf32": "tf32, as which float32 is taken"}.get(b_name, b_name)
        raise InvalidArgument("b_type", given, f"{a_name}, the type of a")
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

    InvalidArgument for what is no array, another dtype, and a number.
    """
    array = native_array(argument, given)
    if type is not None and checked_text(f"{argument}_type", type) not in RESULTS:
        raise InvalidArgument(f"{argument}_type", quoted(type), ", ".join(RESULTS))
    of_dtype = _VALUES.get(array.dtype.name)
    name = type or of_dtype
    if name is None:
        raise InvalidArgument(argument, f"dtype {array.dtype}", f"{', '.join(_VALUES)}, or {argument}_type")
    if not array.ndim:
        raise InvalidArgument(argument, "a number", "at least one axis")
    if of_dtype == name:
        return array if name == "s8" else array.view(dtype_of(FORMATS[name])), name, False
    if array.dtype != dtype_of(FORMATS[name]):
        values = next(dtype for dtype, item in _VALUES.items() if item == name)
        wanted = f"{values} (values) or {dtype_of(FORMATS[name])} (raw bits) for {name}"
        raise InvalidArgument(argument, f"dtype {array.dtype}", wanted)
    return array, name, True
