"""2:4 sparse matrices as arrays: pruned, compressed, expanded; metadata in the registers of a warp."""

from functools import cache
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arguments import checked_array, checked_registers, given_array
from golden.arithmetic.sparse_tiles import are_among, places_of, scattered
from golden.integers import checked_integer
from golden.invalid_argument import InvalidArgument
from golden.resolve import resolve_instruction
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.sparsity import ROWS, Sparsity

_TWICE_E2M1: Final = np.array([0, 1, 2, 3, 4, 6, 8, 12])
"""The magnitudes of e2m1, doubled."""


def prune(instruction: str | MmaInstruction, a: ArrayLike) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """The two largest magnitudes of every four units, and where they were.

    Parameters
    ----------
    instruction : str or MmaInstruction
        A sparse multiply; its multiplicands say what a unit is: an element, of 4-bit types a pair, whose
        magnitude is the sum of both. Of tf32 one of two elements is kept.
    a : array_like, shape (..., rows, k)
        As for `golden.mma`, but with any number of rows and of groups. Of equal magnitudes the first are
        kept. A NaN counts as larger than all numbers.

    Returns
    -------
    stored : ndarray, shape (..., rows, k / 2)
        Bit patterns of floating point, values of integers.
    metadata : ndarray of uint8, shape (..., rows, groups)
        A nibble for each group.

    Raises
    ------
    InvalidArgument
    """
    instruction, dense, units = _dense(instruction, a)
    magnitudes = _magnitudes(dense, instruction.a_type).reshape(*units.shape).sum(axis=-1)
    return _kept(instruction, units, np.argsort(-magnitudes, axis=-1, kind="stable"))


def compress(instruction: str | MmaInstruction, a: ArrayLike) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """The stored elements and the metadata of a matrix that is 2:4 sparse; see `prune`.

    Where less than half of a group is not zero, zeros are stored too.

    Raises
    ------
    InvalidArgument
        Naming row and group of the first group with too many elements that are not zero.
    """
    instruction, dense, units = _dense(instruction, a)
    used = (_magnitudes(dense, instruction.a_type) != 0).reshape(*units.shape).any(axis=-1)
    most = used.shape[-1] // 2
    full = np.argwhere(used.sum(axis=-1) > most)
    if len(full):
        *_, row, group = full[0].tolist()
        given = f"{used[tuple(full[0])].sum()} units that are not zero in row {row}, group {group}"
        raise InvalidArgument("a", given, f"at most {most} of {used.shape[-1]}")
    return _kept(instruction, units, np.argsort(~used, axis=-1, kind="stable"))


def expand(instruction: str | MmaInstruction, stored: ArrayLike, metadata: ArrayLike) -> NDArray[Any]:
    """The dense matrix, shape (..., rows, k), with zeros for what is not stored: the inverse of `compress`.

    Raises
    ------
    InvalidArgument
    """
    instruction = sparse_instruction(instruction)
    sparsity = instruction.sparsity
    elements = _matrix("stored", stored, instruction.a_type, sparsity.group // 2)
    rows, groups = elements.shape[-2], 2 * elements.shape[-1] // sparsity.group
    places = stored_places(sparsity, checked_metadata(sparsity, metadata, (rows, groups)))
    if places.shape != elements.shape:
        raise InvalidArgument("metadata", f"leading axes {places.shape[:-2]}", f"{elements.shape[:-2]}")
    return scattered(elements, places, groups * sparsity.group)


def pack_metadata(
    instruction: str | MmaInstruction, metadata: ArrayLike, selector: int = 0
) -> NDArray[np.uint32]:
    """The metadata register of a warp, shape (..., 32), or of a warpgroup's four, shape (..., 4, 32).

    Lanes that the selector does not choose hold zero.
    """
    instruction = sparse_instruction(instruction)
    sparsity, warps = instruction.sparsity, _warps(instruction)
    nibbles = checked_metadata(sparsity, metadata, (instruction.shape.m, sparsity.groups))
    nibbles = nibbles.reshape(*nibbles.shape[:-2], *warps, ROWS, sparsity.groups)
    lanes, shifts, rows, groups = _register_places(sparsity, _selector(instruction, selector))
    words = np.zeros((*nibbles.shape[:-2], LANES), np.uint32)
    for lane, shift, row, group in zip(lanes, shifts, rows, groups, strict=True):
        words[..., lane] |= nibbles[..., row, group].astype(np.uint32) << shift
    return words


def unpack_metadata(
    instruction: str | MmaInstruction, registers: ArrayLike, selector: int = 0
) -> NDArray[np.uint8]:
    """The nibbles that a metadata register holds, defined or not: the inverse of `pack_metadata`."""
    instruction = sparse_instruction(instruction)
    sparsity, warps = instruction.sparsity, _warps(instruction)
    words = checked_registers(registers, (*warps, LANES))
    lanes, shifts, rows, groups = _register_places(sparsity, _selector(instruction, selector))
    nibbles = np.zeros((*words.shape[:-1], ROWS, sparsity.groups), np.uint8)
    nibbles[..., rows, groups] = words[..., lanes] >> shifts & 15
    leading = words.shape[: -1 - len(warps)]
    return nibbles.reshape(*leading, instruction.shape.m, sparsity.groups)


def sparse_instruction(instruction: str | MmaInstruction) -> MmaInstruction:
    """The instruction, which must be a sparse multiply."""
    parsed = resolve_instruction(instruction)
    if not parsed.is_sparse:
        raise InvalidArgument("instruction", str(parsed), "a sparse multiply (mma.sp, wgmma.mma_async.sp)")
    return parsed


def checked_metadata(sparsity: Sparsity, metadata: ArrayLike, extent: tuple[int, int]) -> NDArray[np.uint8]:
    """Metadata with so many rows and groups, of which every nibble is defined."""
    nibbles = given_array("metadata", metadata, "an array of uint8")
    if nibbles.dtype != np.uint8:
        raise InvalidArgument("metadata", f"dtype {nibbles.dtype}", "uint8 (a nibble for each group)")
    if nibbles.shape[-2:] != extent:
        allowed = f"shape (..., {extent[0]}, {extent[1]}): rows, groups"
        raise InvalidArgument("metadata", f"shape {nibbles.shape}", allowed)
    found = first_undefined(sparsity, nibbles)
    if found is not None:
        raise found[1]
    return nibbles


def first_undefined(
    sparsity: Sparsity, nibbles: NDArray[np.uint8]
) -> tuple[list[int], InvalidArgument] | None:
    """The place of the first nibble that is not defined, and the error; None if all are."""
    if are_among(nibbles, sparsity.nibbles):
        return None
    first: list[int] = np.argwhere(~np.isin(nibbles, sparsity.nibbles))[0].tolist()
    given = f"{nibbles[tuple(first)]:04b} in row {first[-2]}, group {first[-1]}"
    return first, InvalidArgument("metadata", given, ", ".join(f"{each:04b}" for each in sparsity.nibbles))


def stored_places(sparsity: Sparsity, nibbles: NDArray[np.uint8]) -> NDArray[Any]:
    """The k of every stored element, shape (..., rows, k / 2), from metadata that has been checked."""
    return places_of(nibbles, sparsity.group)


def _matrix(argument: str, given: ArrayLike, type: str, multiple: int) -> NDArray[Any]:
    """A matrix with any number of rows, each a multiple of so many elements."""
    array = given_array(argument, given, "an array in host memory")
    if array.ndim < 2 or array.shape[-1] % multiple:
        raise InvalidArgument(argument, f"shape {array.shape}", f"(..., rows, a multiple of {multiple})")
    return checked_array(argument, array, type, array.shape[-2:])


@cache
def _register_places(sparsity: Sparsity, selector: int) -> tuple[NDArray[Any], ...]:
    """Of every nibble its lane, its shift, its row and its group."""
    lanes, nibbles, rows, groups = np.array(list(sparsity.positions(selector))).T
    return lanes, (4 * nibbles).astype(np.uint32), rows, groups


def _warps(instruction: MmaInstruction) -> tuple[int, ...]:
    """The axis of the warps of a warpgroup, each of which holds the metadata of its rows."""
    return (instruction.shape.m // ROWS,) if instruction.family.is_warpgroup else ()


def _selector(instruction: MmaInstruction, selector: int) -> int:
    allowed = instruction.sparsity.selectors
    return checked_integer("selector", selector, allowed[0], allowed[-1], unit=f"for {instruction}")


def _dense(
    instruction: str | MmaInstruction, a: ArrayLike
) -> tuple[MmaInstruction, NDArray[Any], NDArray[Any]]:
    """The matrix as checked, and as (..., m, groups, units in a group, elements of a unit)."""
    parsed = sparse_instruction(instruction)
    sparsity = parsed.sparsity
    dense = _matrix("a", a, parsed.a_type, sparsity.group)
    groups = dense.shape[-1] // sparsity.group
    count = min(sparsity.group, 4)
    units = dense.reshape(*dense.shape[:-1], groups, count, sparsity.group // count)
    return parsed, dense, units


def _magnitudes(dense: NDArray[Any], type: str) -> NDArray[Any]:
    """Numbers in the order of the magnitudes; 0 for zeros alone. Those of 4 bits may be added."""
    element = FORMATS[type]
    if not isinstance(element, FloatFormat):
        return np.abs(dense.astype(np.int64))
    codes = ((dense & dense.dtype.type(element.sign_mask - 1)) >> element.ignored_bits).astype(np.int64)
    magnitudes: NDArray[Any] = _TWICE_E2M1[codes] if element.bits == 4 else codes
    return magnitudes


def _kept(
    instruction: MmaInstruction, units: NDArray[Any], order: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """The units that come first in an order, in ascending places, and their nibbles."""
    keep = np.sort(order[..., : order.shape[-1] // 2], axis=-1)
    stored = np.take_along_axis(units, keep[..., None], axis=-2)
    if keep.shape[-1] == 1:  # tf32, whose units are halves
        keep = 2 * keep + np.arange(2)
    nibbles = (keep[..., 0] | keep[..., 1] << 2).astype(np.uint8)
    return stored.reshape(*units.shape[:-3], prod(stored.shape[-3:])), nibbles
