"""`ldmatrix`, `stmatrix` and `movmatrix`: 8 x 8 matrices of 16-bit elements between rows and lanes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.invalid_argument import InvalidArgument
from golden.tables.commands import MATRIX_COUNTS, MATRIX_ROWS
from golden.tables.layouts import LANES


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
    checked = _checked("matrices", matrices, np.uint16, (MATRIX_ROWS, MATRIX_ROWS))
    ordered = np.array(checked.swapaxes(-1, -2) if transposed else checked, order="C")
    return ordered.reshape(*checked.shape[:-2], MATRIX_ROWS * MATRIX_ROWS).view(np.uint32)


def stmatrix(registers: ArrayLike, *, transposed: bool = False) -> NDArray[np.uint16]:
    """Matrices that `stmatrix` stores: the inverse of `ldmatrix`, from its result to its argument.

    InvalidArgument for another dtype or shape.
    """
    checked = _checked("registers", registers, np.uint32, (LANES,))
    matrices = (
        np.array(checked, order="C").view(np.uint16).reshape(*checked.shape[:-1], MATRIX_ROWS, MATRIX_ROWS)
    )
    return np.ascontiguousarray(matrices.swapaxes(-1, -2)) if transposed else matrices


def movmatrix(register: ArrayLike) -> NDArray[np.uint32]:
    """The register that ``movmatrix.sync.aligned.m8n8.trans.b16`` makes: one matrix, transposed.

    Both are uint32 of shape (..., 32 lanes); InvalidArgument for another dtype or shape.
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
