"""`ldmatrix`, `stmatrix` and `movmatrix`: 8 x 8 matrices of 16-bit elements between rows and lanes."""

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.invalid_argument import InvalidArgument
from golden.tables.commands import MATRIX_COUNTS
from golden.tables.layouts import LANES

_SIZE: Final = 8


@cache
def _source(transposed: bool) -> NDArray[np.int64]:
    """Element ``8 * row + column`` of each lane and half, shape (32, 2)."""
    lane, half = np.arange(LANES)[:, None], np.arange(2)[None, :]
    row, column = lane // 4, 2 * (lane % 4) + half
    return _SIZE * column + row if transposed else _SIZE * row + column


@cache
def _place(transposed: bool) -> NDArray[np.int64]:
    """Index into lanes and halves of each element, shape (64,): the inverse of `_source`."""
    return np.argsort(_source(transposed).ravel())


def ldmatrix(matrices: ArrayLike, *, transposed: bool = False) -> NDArray[np.uint32]:
    """Registers that `ldmatrix` loads.

    Parameters
    ----------
    matrices : array_like of uint16, shape (..., count, 8, 8)
        One, two or four matrices. Row i of matrix j is what lies at the address of lane ``8 j + i``.
    transposed : bool
        ``.trans``.

    Returns
    -------
    ndarray of uint32, shape (..., count, 32 lanes)
        Register j has elements of matrix j, the first in its low half.

    Raises
    ------
    InvalidArgument
    """
    checked = _checked("matrices", matrices, np.uint16, (_SIZE, _SIZE))
    halves = checked.reshape(*checked.shape[:-2], _SIZE * _SIZE)[..., _source(transposed)].astype(np.uint32)
    words: NDArray[np.uint32] = halves[..., 0] | halves[..., 1] << np.uint32(16)
    return words


def stmatrix(registers: ArrayLike, *, transposed: bool = False) -> NDArray[np.uint16]:
    """Matrices that `stmatrix` stores: the inverse of `ldmatrix`.

    Parameters
    ----------
    registers : array_like of uint32, shape (..., count, 32 lanes)
    transposed : bool
        ``.trans``.

    Returns
    -------
    ndarray of uint16, shape (..., count, 8, 8)
        Row i of matrix j belongs to the address of lane ``8 j + i``.

    Raises
    ------
    InvalidArgument
    """
    checked = _checked("registers", registers, np.uint32, (LANES,))
    halves = np.stack((checked & np.uint32(0xFFFF), checked >> np.uint32(16)), axis=-1).astype(np.uint16)
    flat = halves.reshape(*checked.shape[:-1], 2 * LANES)[..., _place(transposed)]
    return flat.reshape(*checked.shape[:-1], _SIZE, _SIZE)


def movmatrix(register: ArrayLike) -> NDArray[np.uint32]:
    """The register that ``movmatrix.sync.aligned.m8n8.trans.b16`` makes: one matrix, transposed.

    Parameters
    ----------
    register : array_like of uint32, shape (..., 32 lanes)

    Returns
    -------
    ndarray of uint32, shape (..., 32 lanes)

    Raises
    ------
    InvalidArgument
    """
    matrices = stmatrix(np.asarray(register)[..., None, :])
    return ldmatrix(matrices, transposed=True)[..., 0, :]


def _checked(argument: str, given: ArrayLike, dtype: Any, extent: tuple[int, ...]) -> NDArray[Any]:
    array = np.asarray(given)
    if array.dtype != dtype:
        raise InvalidArgument(argument, f"dtype {array.dtype}", str(np.dtype(dtype)))
    tail = array.shape[-len(extent) - 1 :]
    if len(tail) != len(extent) + 1 or tail[1:] != extent or tail[0] not in MATRIX_COUNTS:
        inner = ", ".join(map(str, extent))
        raise InvalidArgument(argument, f"shape {array.shape}", f"shape (..., 1, 2 or 4, {inner})")
    return array
