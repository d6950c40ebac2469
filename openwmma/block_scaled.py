"""Matrix products of block-scaled operands: MXFP8 and NVFP4, by the profile `blackwell`, and their storage.

No chip has confirmed these products here; ``docs/explanation/small-formats.md`` says how each rule is known.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arguments import VALUES, checked_array, given_array
from golden.arithmetic.arrays import convert, fma
from golden.arithmetic.fp4_tiles import fp4_tiles
from golden.arithmetic.tiles import float_tiles
from golden.integers import checked_choice, checked_integer
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import float_format
from golden.tables.profiles import PROFILES
from openwmma.product_epilogue import scalar_bits

_F32: Final = float_format("f32")
_BLACKWELL: Final = PROFILES["blackwell"]
_RESULTS: Final = ("bf16", "f16", "f32")
_ELEMENTS: Final = {VALUES[name]: name for name in ("e4m3", "e5m2", "e2m1")}
_SCALES: Final = {VALUES["ue8m0"]: ("ue8m0", 32), VALUES["ue4m3"]: ("ue4m3", 16)}
"""The type of scales, by the dtype, and the elements that share one."""

_FP4_DEPTH: Final = 64
_TILE_ROWS: Final = 128
_TILE_COLUMNS: Final = 4


def has_block_scales(scale: ArrayLike | None) -> bool:
    """Whether scales of an operand are block scales: of float8_e8m0fnu or float8_e4m3fn."""
    return getattr(getattr(scale, "dtype", None), "name", "") in _SCALES


def block_scaled_matmul(
    a: ArrayLike,
    b: ArrayLike,
    scale_a: Any,
    scale_b: Any,
    *,
    d_type: str | None = None,
    alpha: float = 1,
) -> NDArray[Any]:
    """D = alpha A B, each block of k multiplied by its scales, as `openwmma.matmul` computes such operands.

    Parameters
    ----------
    a, b : array_like, shapes (m, k) and (k, n)
        Values of ml_dtypes' float8_e4m3fn or float8_e5m2, which may be mixed, or both of float4_e2m1fn.
    scale_a, scale_b : array_like, shapes (m, k / size) and (k / size, n)
        float8_e8m0fnu for 32 elements (MXFP8, MXFP4), or of e2m1 float8_e4m3fn for 16 (NVFP4).
    d_type : {"bf16", "f16", "f32"} or None
        None is bf16.
    alpha : float
        Multiplies the sums in f32, to nearest even: the product of the global scales of NVFP4.

    Returns
    -------
    ndarray, shape (m, n)
        A chain of m16n8k32, or of m16n8k64 of e2m1, over ascending k, with f32 sums.

    Raises
    ------
    InvalidArgument
    """
    x, y = (given_array(name, given, "an array") for name, given in (("a", a), ("b", b)))
    types = [_element(name, array) for name, array in (("a", x), ("b", y))]
    if (types[0] == "e2m1") != (types[1] == "e2m1"):
        raise InvalidArgument("b", f"elements of {types[1]}", f"{types[0]} as of a, or both of 8 bits")
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
        raise InvalidArgument("b", f"shape {y.shape}", f"(k, n) for a of shape (m, k), which is {x.shape}")
    step = _FP4_DEPTH if types[0] == "e2m1" else 32
    depth = x.shape[1]
    if depth % step or not depth:
        raise InvalidArgument("a", f"shape {x.shape}", f"k a multiple of {step}, from {step} on")
    name = checked_choice("d_type", "bf16" if d_type is None else d_type, _RESULTS)
    factor = scalar_bits("alpha", alpha, "f32")
    kind, size = _scale_type(scale_a, scale_b, types[0])
    extents = (x.shape[0], depth // size), (depth // size, y.shape[1])
    operands = [
        checked_array(name, array, type, array.shape)[None]
        for name, array, type in (("a", x, types[0]), ("b", y, types[1]))
    ]
    scales = [
        checked_array(f"scale_{name}", given, kind, extent)[None]
        for name, given, extent in zip("ab", (scale_a, scale_b), extents, strict=True)
    ]
    total = np.zeros((1, x.shape[0], y.shape[1]), np.uint32)
    if types[0] == "e2m1":
        for start in range(0, depth, step):
            here, part = slice(start, start + step), slice(start // size, (start + step) // size)
            some = operands[0][:, :, here], operands[1][:, here], total
            of_part = scales[0][:, :, part], scales[1][:, part]
            group = _BLACKWELL.fp4_group or step
            total = fp4_tiles(*some, *of_part, scale_type=kind, group=group, out=np.empty_like(total))
    else:
        formats = float_format(types[0]), float_format(types[1]), _F32, _F32
        whole = (operands[0], operands[1], total, scales[0], scales[1])
        total = float_tiles(*whole, formats=formats, profile=_BLACKWELL, mnemonic="mma")
    if factor.view(np.float32) != 1:
        total = fma(total, factor, np.uint32(_F32.sign_mask), _F32)
    if name == "f32":
        single: NDArray[Any] = total[0].view(np.float32)
        return single
    return convert(total[0], _F32, float_format(name)).view(VALUES[name])


def pack_fp4(values: ArrayLike) -> NDArray[np.uint8]:
    """Two elements of e2m1 in a byte along the last axis, the first in the low bits: float4_e2m1fn_x2.

    Parameters
    ----------
    values : array_like, shape (..., k)
        ml_dtypes' float4_e2m1fn, or bit patterns in uint8; k is even.

    Raises
    ------
    InvalidArgument
    """
    given = given_array("values", values, "an array")
    bits = checked_array("values", given, "e2m1", given.shape)
    if not bits.ndim or bits.shape[-1] % 2:
        raise InvalidArgument("values", f"shape {bits.shape}", "an even last axis")
    packed: NDArray[np.uint8] = bits[..., ::2] | bits[..., 1::2] << 4
    return packed


def unpack_fp4(packed: ArrayLike) -> NDArray[np.uint8]:
    """The bit patterns of the elements of `pack_fp4`, which ``.view(ml_dtypes.float4_e2m1fn)`` makes values.

    Raises
    ------
    InvalidArgument
        For another dtype than uint8.
    """
    given = given_array("packed", packed, "an array of uint8")
    if given.dtype != np.uint8 or not given.ndim:
        raise InvalidArgument(
            "packed", f"{given.dtype} of shape {given.shape}", "uint8 with at least one axis"
        )
    both = np.stack([given & 15, given >> 4], axis=-1)
    return both.reshape(*given.shape[:-1], 2 * given.shape[-1])


def swizzle_scales(scales: ArrayLike) -> NDArray[Any]:
    """Scales as cuBLAS and ``torch._scaled_mm`` store them, in one axis.

    Tiles of 128 rows and 4 columns follow each other, row after row of tiles; scale (r, c) of a tile is at
    ``16 (r % 32) + 4 (r // 32) + c``. What is missing of the last tiles is filled up with zero bytes.

    Parameters
    ----------
    scales : array_like of 8 bits, shape (rows, columns)
        A row for each row of A or column of B, a column for each block of k.

    Raises
    ------
    InvalidArgument
    """
    given = given_array("scales", scales, "an array of 8 bits")
    if given.ndim != 2 or given.dtype.itemsize != 1:
        raise InvalidArgument(
            "scales", f"{given.dtype} of shape {given.shape}", "8 bits, shape (rows, columns)"
        )
    rows, columns = given.shape
    whole = np.pad(given.view(np.uint8), ((0, -rows % _TILE_ROWS), (0, -columns % _TILE_COLUMNS)))
    tiles = whole.reshape(-1, 4, 32, whole.shape[1] // _TILE_COLUMNS, _TILE_COLUMNS)
    return np.ascontiguousarray(tiles.transpose(0, 3, 2, 1, 4)).reshape(-1).view(given.dtype)


def unswizzle_scales(swizzled: ArrayLike, rows: int, columns: int) -> NDArray[Any]:
    """The inverse of `swizzle_scales`, shape (rows, columns).

    Raises
    ------
    InvalidArgument
    """
    given = given_array("swizzled", swizzled, "an array of 8 bits")
    rows, columns = checked_integer("rows", rows, 0), checked_integer("columns", columns, 0)
    down, across = -(-rows // _TILE_ROWS), -(-columns // _TILE_COLUMNS)
    size = down * _TILE_ROWS * across * _TILE_COLUMNS
    if given.dtype.itemsize != 1 or given.size != size:
        allowed = f"{size} of 8 bits for {rows} rows and {columns} columns"
        raise InvalidArgument("swizzled", f"{given.size} of {given.dtype}", allowed)
    tiles = given.view(np.uint8).reshape(down, across, 32, 4, _TILE_COLUMNS).transpose(0, 3, 2, 1, 4)
    whole = np.ascontiguousarray(tiles).reshape(down * _TILE_ROWS, across * _TILE_COLUMNS)
    return np.ascontiguousarray(whole[:rows, :columns]).view(given.dtype)


def _element(name: str, array: NDArray[Any]) -> str:
    if array.dtype.name not in _ELEMENTS:
        allowed = f"{', '.join(_ELEMENTS)} with block scales"
        raise InvalidArgument(name, f"dtype {array.dtype}", allowed)
    return _ELEMENTS[array.dtype.name]


def _scale_type(scale_a: Any, scale_b: Any, element: str) -> tuple[str, int]:
    """The type of both scales, and the elements that share one."""
    names = [str(getattr(getattr(scale, "dtype", None), "name", scale)) for scale in (scale_a, scale_b)]
    allowed = [VALUES["ue8m0"], *([VALUES["ue4m3"]] if element == "e2m1" else [])]
    for argument, name in zip(("scale_a", "scale_b"), names, strict=True):
        if name not in allowed:
            raise InvalidArgument(
                argument, f"dtype {name}", f"{' or '.join(allowed)} for blocks of {element}"
            )
    if names[0] != names[1]:
        raise InvalidArgument("scale_b", f"dtype {names[1]}", f"{names[0]}, as scale_a has")
    return _SCALES[names[0]]
