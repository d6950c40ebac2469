"""Pointers of the WMMA API: any numpy view is the tile that numpy says it is, or is refused by a rule."""

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from wmma_tiles import LAYOUT, MEMORY_LAYOUT, TYPES, VALUES, raw

from golden.arguments import dtype_of
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import FAMILIES, LAYOUTS
from golden.tables.layouts import fragment as fragment_layout
from openwmma import wmma

HELD = sorted(
    {
        (use, type_, shape)
        for family in FAMILIES
        if family.mnemonic == "wmma"
        for shape in family.shapes
        for use in "abc"
        for type_ in (family.accumulators if use == "c" else family.multiplicands)
        if FORMATS[type_].bits >= 8
    }
)
USES = {"a": wmma.matrix_a, "b": wmma.matrix_b, "c": wmma.accumulator}


def make(held, layout):
    use, type_, shape = held
    return wmma.fragment(USES[use], *shape, TYPES[type_], None if use == "c" else LAYOUT[layout])


def load(held, layout, view, **rest):
    fragment = make(held, layout)
    memory_layout = MEMORY_LAYOUT[layout] if held[0] == "c" else None
    wmma.load_matrix_sync(fragment, view, layout=memory_layout, **rest)
    return raw(fragment.matrix(), held[1])


def numbered(count, type_):
    """Elements with different bytes."""
    size = FORMATS[type_].bits // 8
    noise = np.random.default_rng(3).integers(0, 256, count * size, dtype=np.uint8)
    return noise.view(VALUES.get(type_, dtype_of(FORMATS[type_])))


def aligned(held, layout, offset, step, strict):
    """Whether the rules allow a first element at `offset` bytes and lines `step` bytes apart."""
    size = fragment_layout(*held).core_alignment(layout, "global")
    return not (offset % size or step % size or (strict and (offset % 32 or step % 16)))


@settings(max_examples=300)
@given(data=st.data(), held=st.sampled_from(HELD), layout=st.sampled_from(LAYOUTS), strict=st.booleans())
def test_a_view_is_the_matrix_that_it_shows(data, held, layout, strict):
    use, type_, shape = held
    rows, columns = shape.extent(use)
    lines, length = (rows, columns) if layout == "row" else (columns, rows)
    size = FORMATS[type_].bits // 8
    first = data.draw(st.integers(0, 3), "first line")
    step = data.draw(st.sampled_from([1, 1, 1, 2, -1]), "lines apart")
    count = data.draw(st.sampled_from([lines, lines, lines + 1, lines - 1]), "lines")
    start = data.draw(st.sampled_from([0, 0, 8, 16, 32, 1, 4]), "first element")
    width = data.draw(st.sampled_from([64, 64, 48, 72, 65]), "line")
    apart = data.draw(st.sampled_from([1, 1, 1, 1, 2]), "elements apart")
    taken = data.draw(st.sampled_from([length, length, length + 3, length - 1]), "elements")
    memory = numbered(width * (first + 2 * count + 1), type_).reshape(-1, width)
    view = (
        memory[first : first + step * count : step] if step > 0 else memory[first + count - 1 :: -1][:count]
    )
    view = view[:, start : start + apart * taken : apart]
    legal = (
        view.shape[0] >= lines
        and view.shape[1] >= length
        and step > 0
        and apart == 1
        and aligned(held, layout, (first * width + start) * size, step * width * size, strict)
    )
    event(f"legal: {legal}")
    matrix = view if layout == "row" else view.T
    with wmma.warp(strict=strict):
        if legal:
            np.testing.assert_array_equal(load(held, layout, matrix), raw(matrix[:rows, :columns], type_))
        else:
            with pytest.raises(wmma.Misuse):
                load(held, layout, matrix)


@settings(max_examples=200)
@given(
    held=st.sampled_from(HELD),
    layout=st.sampled_from(LAYOUTS),
    start=st.sampled_from([0, 32, 64, 16, 5]),
    ldm=st.sampled_from([8, 16, 32, 48, 4, 64, 36, 0]),
    spare=st.sampled_from([0, 7, -1]),
    strict=st.booleans(),
)
def test_ldm_says_how_memory_is_a_matrix(held, layout, start, ldm, spare, strict):
    use, type_, shape = held
    rows, columns = shape.extent(use)
    lines, length = (rows, columns) if layout == "row" else (columns, rows)
    size = FORMATS[type_].bits // 8
    needed = start + ldm * (lines - 1) + length
    memory = numbered(needed + spare, type_)
    legal = spare >= 0 and aligned(held, layout, start * size, ldm * size, strict)
    event(f"legal: {legal}")
    indices = start + ldm * np.arange(lines)[:, None] + np.arange(length)
    with wmma.warp(strict=strict):
        if legal:
            expected = memory[indices if layout == "row" else indices.T]
            np.testing.assert_array_equal(load(held, layout, memory[start:], ldm=ldm), raw(expected, type_))
        else:
            with pytest.raises(wmma.Misuse):
                load(held, layout, memory[start:], ldm=ldm)


@settings(max_examples=100)
@given(
    held=st.sampled_from([held for held in HELD if held[0] == "c"]),
    layout=st.sampled_from(LAYOUTS),
    order=st.sampled_from("CF"),
    row=st.sampled_from([0, 8, 16]),
    column=st.sampled_from([0, 8, 16]),
)
def test_a_store_writes_its_tile_and_nothing_else(held, layout, order, row, column):
    """In an array by rows or columns; the layout is the view's, transposed where it must be."""
    _, type_, shape = held
    memory = numbered(64 * 64, type_).reshape((64, 64), order=order).copy(order=order)
    by_rows = memory if order == "C" else memory.T
    before = memory.copy()
    view = by_rows[row:, column:]
    tile = (slice(row, row + shape.m), slice(column, column + shape.n))
    if layout == "col":
        view, tile = view.T, (slice(row, row + shape.n), slice(column, column + shape.m))
    with wmma.warp(strict=False):
        held_c = make(held, layout)
        values = numbered(32 * held_c.num_elements, type_).reshape(32, -1)
        held_c.x = values.view(held_c.T.storage)
        wmma.store_matrix_sync(view, held_c, MEMORY_LAYOUT[layout])
        stored = raw(held_c.matrix(), type_)
    expected = raw(before, type_).reshape(64, 64) if order == "C" else raw(before.T, type_)
    expected[tile] = stored if layout == "row" else stored.T
    np.testing.assert_array_equal(raw(by_rows, type_), expected)
