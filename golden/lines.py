"""Elements in memory, packed low bits first, and a matrix of them: rows or columns at a stride."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arguments import dtype_of
from golden.tables.formats import FORMATS, IntegerFormat
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction

Access = LoadInstruction | StoreInstruction


def gather_lines(instruction: Access, address: int, stride: int | None) -> list[tuple[int, int]]:
    """Where the rows (columns) of the matrix lie: byte address and number of bytes of each, first line first.

    `address` is the byte address of the first element; `stride` counts the elements from one line to the
    next, None for the default.
    """
    lines, elements = instruction.shape.lines(instruction.use, instruction.layout)
    bits = FORMATS[instruction.type].bits
    step = (elements if stride is None else stride) * bits // 8
    return [(address + line * step, elements * bits // 8) for line in range(lines)]


def piece_addresses(
    instruction: Access, addresses: NDArray[np.uint64], strides: NDArray[np.int64], size: int
) -> NDArray[np.uint64]:
    """Where the bytes of matrices lie, `size` of them together: shape (matrices, lines, pieces).

    `addresses` are of the first element of each matrix; `strides` count the elements from one line to the
    next.
    """
    lines, elements = instruction.shape.lines(instruction.use, instruction.layout)
    bits = FORMATS[instruction.type].bits
    steps = (np.arange(lines) * (strides * bits // 8)[:, None]).view(np.uint64)
    pieces = np.arange(0, elements * bits // 8, size, dtype=np.uint64)
    return addresses[:, None, None] + steps[..., None] + pieces


def matrix_of_lines(data: NDArray[np.uint8], instruction: Access) -> NDArray[Any]:
    """The matrices, shape (..., rows, columns), whose lines are `data`, shape (..., lines, bytes).

    Floating point comes as raw bit patterns, integers as values.
    """
    elements = unpack(data, instruction.type)
    return elements if instruction.layout == "row" else elements.swapaxes(-1, -2)


def matrix_to_lines(matrix: NDArray[Any], instruction: Access) -> NDArray[np.uint8]:
    """The bytes of the matrix, shape (..., lines, bytes): the inverse of `matrix_of_lines`."""
    lines = matrix if instruction.layout == "row" else matrix.swapaxes(-1, -2)
    return pack(lines, instruction.type).reshape(*lines.shape[:-1], -1)


def pack(values: NDArray[Any], type: str) -> NDArray[np.uint8]:
    """The bytes of elements one after the other, in the order of the array; small ones low bits first.

    The values are as for `golden.mma`: raw bit patterns of floating point, values of integers.
    """
    bits = FORMATS[type].bits
    flat = np.ascontiguousarray(values).reshape(-1)
    if bits >= 8:
        return flat.astype(f"<u{bits // 8}").view(np.uint8)
    expanded = flat.astype(np.uint8)[:, None] >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(expanded.reshape(-1), bitorder="little")


def unpack(data: NDArray[np.uint8], type: str) -> NDArray[Any]:
    """The elements that `pack` wrote, along the last axis."""
    element = FORMATS[type]
    if element.bits >= 8:
        little_endian = dtype_of(element).newbyteorder("<")
        return np.ascontiguousarray(data).view(little_endian).astype(dtype_of(element), copy=False)
    assert isinstance(element, IntegerFormat)
    places = np.arange(0, 8, element.bits, dtype=np.uint8)
    fields = data[..., None] >> places & np.uint8((1 << element.bits) - 1)
    values = fields.reshape(*data.shape[:-1], -1).astype(np.int16)
    if element.signed:
        values -= (values > element.maximum).astype(np.int16) << element.bits
    return values.astype(dtype_of(element))
