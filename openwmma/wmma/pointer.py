"""From a numpy view to what CUDA passes: a pointer into an array, and the leading dimension."""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.integers import integer_of, shortened
from golden.lines import gather_lines
from golden.tables.formats import FORMATS
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from openwmma.wmma.element_types import ElementType, Misuse

POINTER_ALIGNMENT: Final = 32
"""Bytes: CUDA asks for 256-bit aligned pointers."""

STRIDE_ALIGNMENT: Final = 16
"""Bytes of which CUDA wants `ldm` to be a multiple: 8 elements of `__half`, 4 of `float`."""


@dataclass(frozen=True, kw_only=True)
class Pointer:
    """The first element of a tile."""

    owner: NDArray[Any] = field(repr=False)
    """The array that owns the memory. It counts as aligned, as what the CUDA allocator returns."""
    bytes: NDArray[np.uint8] = field(repr=False)
    """The memory of `owner`, in the order of its addresses: one axis."""
    offset: int
    """Bytes from the beginning of `owner`."""
    ldm: int
    """Elements from one row (column) to the next."""
    dtype: np.dtype[Any]
    """Of the view."""


def point_to(
    function: str,
    view: object,
    ldm: int | None,
    instruction: LoadInstruction | StoreInstruction,
    element: ElementType,
    *,
    strict: bool,
) -> Pointer:
    """Take a numpy view as the memory of a tile; Misuse for what CUDA or the chip rules out.

    With two axes, the view is the matrix from the tile's first element on, with contiguous rows (columns,
    where the layout is by columns). Of sub-byte types, it is an array of integers into which elements are
    packed along the contiguous axis, low bits first. With one axis, it is the memory from the first element
    on, and `ldm` must be given. With two axes, `ldm` None is the stride of the view.

    With `strict`, CUDA's rules of alignment hold, else only the chip's.
    """
    if not isinstance(view, np.ndarray):
        raise Misuse(f"{function}: got {type(view).__name__}", "a pointer is a numpy array or a view of one")
    if view.dtype.name not in element.arrays or not view.dtype.isnative:
        raise Misuse(
            f"{function}: got an array of {view.dtype}",
            f"the elements of this fragment are {element}, in numpy {' or '.join(element.arrays)}",
        )
    if isinstance(instruction, StoreInstruction) and not view.flags.writeable:
        raise Misuse(f"{function}: got a read-only array", "the destination of a store must be writable")
    stride = _given_stride(function, ldm) if ldm is not None else _stride_of(function, view, instruction)
    if ldm is not None and view.ndim not in (1, 2):
        raise Misuse(f"{function}: got {view.ndim} axes", "a pointer with ldm= has one axis or two")
    owner, memory = _owner(function, view)
    offset = _address(view) - _address(owner)
    pointer = Pointer(owner=owner, bytes=memory, offset=offset, ldm=stride, dtype=view.dtype)
    _check_alignment(function, pointer, instruction, strict=strict)
    _check_bounds(function, pointer, instruction)
    return pointer


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _given_stride(function: str, ldm: int) -> int:
    stride = integer_of(ldm)
    if stride is None:
        raise Misuse(
            f"{function}: ldm={shortened(repr(ldm))}", "ldm is a number of elements, an unsigned integer"
        )
    if not 0 <= stride < 1 << 32:
        raise Misuse(f"{function}: ldm={shortened(stride)}", "ldm is an unsigned integer of 32 bits")
    return stride


def _stride_of(function: str, view: NDArray[Any], instruction: LoadInstruction | StoreInstruction) -> int:
    """The leading dimension of a view with two axes."""
    if view.ndim != 2:
        raise Misuse(
            f"{function}: got an array with {view.ndim} {'axis' if view.ndim == 1 else 'axes'}",
            "a matrix has two axes; memory with one axis needs ldm=",
        )
    by_rows = instruction.layout == "row"
    bits, size = FORMATS[instruction.type].bits, view.dtype.itemsize
    lines, length = instruction.shape.lines(instruction.use, instruction.layout)
    length = length * bits // (8 * size) if bits < 8 else length
    matrix = view if by_rows else view.T
    if matrix.shape[0] < lines or matrix.shape[1] < length:
        rows, columns = (lines, length) if by_rows else (length, lines)
        raise Misuse(
            f"{function}: got a view of {view.shape[0]} x {view.shape[1]}",
            f"the tile takes {rows} x {columns} elements of {view.dtype}",
        )
    step, line = matrix.strides
    kind, other = ("row", "column") if by_rows else ("column", "row")
    if line != size:
        prefix = "" if instruction.use in "ab" else "mem_"
        advice = f"; this view has contiguous {other}s: {prefix}{other[:3]}_major" if step == size else ""
        raise Misuse(
            f"{function}: got a view whose {kind}s are not contiguous, strides {view.strides}",
            f"in {prefix}{kind[:3]}_major the elements of a {kind} lie one after the other{advice}",
        )
    if step < 0 or step % size:
        raise Misuse(
            f"{function}: got strides {view.strides}",
            f"ldm, from one {kind} to the next, is an unsigned number of whole elements",
        )
    return step * 8 // bits


def _owner(function: str, view: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """The array that owns the memory of a view, and its bytes."""
    owner = np.asarray(view)
    while isinstance(owner.base, np.ndarray):
        owner = np.asarray(owner.base)
    if owner.flags.c_contiguous:
        return owner, owner.reshape(-1).view(np.uint8)
    if owner.flags.f_contiguous:
        return owner, owner.T.reshape(-1).view(np.uint8)
    raise Misuse(
        f"{function}: got memory of an array that is not contiguous, strides {owner.strides}",
        "the array that owns the memory must be contiguous; copy it",
    )


def _check_alignment(
    function: str, pointer: Pointer, instruction: LoadInstruction | StoreInstruction, *, strict: bool
) -> None:
    bits, size = FORMATS[instruction.type].bits, instruction.core_alignment
    place = f"the first element lies {pointer.offset} bytes behind the beginning of its array"
    step = f"ldm is {pointer.ldm}"
    wrong = (
        (
            strict and pointer.offset % POINTER_ALIGNMENT,
            place,
            "CUDA: mptr must be a 256-bit aligned pointer, so that must be a multiple of "
            f"{POINTER_ALIGNMENT}; with strict=False for {size}",
        ),
        (
            strict and pointer.ldm * bits % (8 * STRIDE_ALIGNMENT),
            step,
            f"CUDA: ldm must be a multiple of 16 bytes, {8 * STRIDE_ALIGNMENT // bits} elements of this type",
        ),
        (pointer.offset % size, place, f"the address of this fragment must be a multiple of {size} bytes"),
        (
            pointer.ldm * bits % (8 * size),
            step,
            f"each row (column) of this fragment begins at a multiple of {size} bytes, so ldm must be a "
            f"multiple of {8 * size // bits}",
        ),
    )
    for is_wrong, what, rule in wrong:
        if is_wrong:
            raise Misuse(f"{function}: {what}", rule)


def _check_bounds(function: str, pointer: Pointer, instruction: LoadInstruction | StoreInstruction) -> None:
    last, count = gather_lines(instruction, pointer.offset, pointer.ldm)[-1]
    end = last + count
    if end > pointer.bytes.size:
        raise Misuse(
            f"{function}: with ldm {pointer.ldm} the tile ends {end} bytes behind the beginning of its array",
            f"it must lie in the {pointer.bytes.size} bytes of the array",
        )
