"""Fragments as arrays: between a matrix and the registers of a warp."""

from functools import cache
from typing import Any, Final, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arguments import checked_array, checked_registers, dtype_of
from golden.integers import checked_choice, checked_object, checked_text, quoted
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import LAYOUTS, SHAPES, WARP_FAMILIES, Layout, Shape, Use
from golden.tables.layouts import LANES, FragmentLayout, fragment, in_quad_pairs

_WORD_BITS: Final = 32
_SHAPES_BY_NAME: Final = {str(shape): shape for shape in SHAPES}


def fragment_layout(
    use: Use, type: str, shape: Shape | str, layout: Layout | None = None, sparse: bool = False
) -> NDArray[np.int64]:
    """Which matrix element each lane holds.

    Parameters
    ----------
    use : {"a", "b", "c", "d"}
        Role of the matrix.
    type : str
        Element type, by its PTX qualifier.
    shape : Shape or str
        Shape of the instruction, for example ``"m16n16k16"``.
    layout : {"row", "col"} or None
        How A or B lies in memory, which matters in ``mma.m8n8k4`` of f16 alone; None for rows of A and
        columns of B. Its fragments hold four matrices, one below the other.
    sparse : bool
        Whether the instruction is ``mma.sp``, whose A holds half of its k.

    Returns
    -------
    ndarray of int64, shape (32, elements, 2)
        Row and column; elements in register order, low bits first.

    Raises
    ------
    InvalidArgument
        For a fragment that no instruction has.
    """
    return np.array(_checked_table(use, type, shape, layout, sparse).layout.positions, dtype=np.int64)


def distribute(
    matrix: ArrayLike,
    use: Use,
    type: str,
    shape: Shape | str,
    layout: Layout | None = None,
    sparse: bool = False,
) -> NDArray[np.uint32]:
    """Spread a matrix over the registers of a warp.

    Parameters
    ----------
    matrix : array_like, shape (..., rows, columns)
        Raw bit patterns of floating point, values of integers, as for `golden.mma`.
    use, type, shape, layout, sparse
        As for `fragment_layout`.

    Returns
    -------
    ndarray of uint32, shape (..., registers, 32 lanes)
        f64 takes two registers an element, the low half first.

    Raises
    ------
    InvalidArgument
    """
    table = _checked_table(use, type, shape, layout, sparse)
    checked = checked_array("matrix", matrix, type, table.layout.extent)
    leading = checked.shape[:-2]
    flat = checked.reshape(-1, len(table.scatter))
    elements = flat[:, table.gather]  # (tiles, registers or pairs of them, elements in it, lanes)
    bits = table.layout.element_bits
    if bits > _WORD_BITS:
        words = np.concatenate([elements, elements >> np.uint64(_WORD_BITS)], axis=2).astype(np.uint32)
    else:
        fields = elements.astype(np.uint32) & np.uint32((1 << bits) - 1)
        fields <<= table.shifts
        words = np.bitwise_or.reduce(fields, axis=2)
    return words.reshape(*leading, table.layout.registers, LANES)


def collect(
    registers: ArrayLike,
    use: Use,
    type: str,
    shape: Shape | str,
    layout: Layout | None = None,
    sparse: bool = False,
) -> NDArray[Any]:
    """Put a matrix together from the registers of a warp: the inverse of `distribute`.

    Where registers repeat an element, the first one counts.

    Parameters
    ----------
    registers : array_like of uint32, shape (..., registers, 32 lanes)
    use, type, shape, layout, sparse
        As for `fragment_layout`.

    Returns
    -------
    ndarray, shape (..., rows, columns)
        Raw bit patterns in the unsigned integer of their width; values of integers in the smallest
        dtype that holds them.

    Raises
    ------
    InvalidArgument
    """
    table = _checked_table(use, type, shape, layout, sparse)
    checked = checked_registers(registers, (table.layout.registers, LANES))
    leading = checked.shape[:-2]
    element = FORMATS[type]
    words = checked.reshape(-1, table.layout.registers, LANES)
    if element.bits > _WORD_BITS:
        elements = words[:, 0::2, None, :].astype(np.uint64)
        elements |= words[:, 1::2, None, :].astype(np.uint64) << np.uint64(_WORD_BITS)
    else:
        elements = words[:, :, None, :] >> table.shifts
    flat = elements.reshape(len(words), -1)[:, table.scatter]
    values = flat.astype(dtype_of(element))
    spare = max(8, element.bits) - element.bits
    if spare:  # of other fields, which lie above; the sign is extended
        values = values << spare >> spare
    return values.reshape(*leading, *table.layout.extent)


class _Table(NamedTuple):
    layout: FragmentLayout
    gather: NDArray[np.int64]
    """(registers or pairs, elements in one, lanes): index into the flat matrix."""
    scatter: NDArray[np.int64]
    """(rows * columns): index into the flat elements, ordered as `gather`."""
    shifts: NDArray[np.uint32]
    """(elements in a register, 1): of each the bits below it."""


@cache
def _table(use: Use, type: str, shape: Shape, in_memory: Layout | None, sparse: bool) -> _Table:
    layout = fragment(use, type, shape, in_memory, sparse)
    positions = np.array(layout.positions, dtype=np.int64)
    columns = layout.extent[1]
    flat = positions[..., 0] * columns + positions[..., 1]
    per_word = max(1, _WORD_BITS // layout.element_bits)
    gather = np.ascontiguousarray(flat.reshape(LANES, -1, per_word).transpose(1, 2, 0))
    scatter = np.unique(gather, return_index=True)[1]
    shifts = np.arange(layout.element_shift, _WORD_BITS, layout.element_bits, dtype=np.uint32)
    return _Table(layout, gather, scatter, shifts[:, None])


def _checked_table(use: Use, type: str, shape: Shape | str, layout: Layout | None, sparse: bool) -> _Table:
    """The tables of a fragment, after a check that some instruction has it."""
    hashable = sparse.__class__ is bool and (layout is None or layout.__class__ is str)
    if hashable and use.__class__ is type.__class__ is str and shape.__class__ in (str, Shape):
        return _known_table(use, type, shape, layout, sparse)
    return _find_table(use, type, shape, layout, sparse)


def _find_table(use: Use, type: str, shape: Shape | str, layout: Layout | None, sparse: bool) -> _Table:
    checked_object("sparse", sparse, (bool, np.bool_), "True or False")
    checked_choice("use", use, get_args(Use))
    type = checked_text("type", type)
    having = [f for f in WARP_FAMILIES if f.is_sparse == sparse]
    families = [f for f in having if type in f.types(use)]
    if not families:
        types = dict.fromkeys(t for f in having for t in f.types(use))
        raise InvalidArgument("type", quoted(type), f"{', '.join(types)} for {use}")
    name = str(shape) if isinstance(shape, str | Shape) else quoted(shape)
    named = _SHAPES_BY_NAME.get(name)
    shapes = dict.fromkeys(known for family in families for known in family.shapes)
    if named not in shapes:
        raise InvalidArgument("shape", quoted(name), f"{', '.join(map(str, shapes))} for {use} of {type}")
    if layout is not None:
        checked_choice("layout", layout, LAYOUTS)
    return _table(use, type, named, layout if in_quad_pairs(type, named) else None, sparse)


_known_table = cache(_find_table)
