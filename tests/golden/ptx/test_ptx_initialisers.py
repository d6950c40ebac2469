"""Initialisers of variables: nested lists at every depth, and floats of every type."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.ptx.parser import parse_syntax
from golden.ptx.source import PtxError, Source

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"


def bits_of(declaration):
    """The bytes of variable x."""
    variable = parse_syntax(Source(f"{HEADER}.global {declaration};", "x.ptx")).variables["x"]
    data = bytearray(variable.size)
    for piece in variable.initialiser:
        data[piece.offset : piece.offset + piece.size] = piece.value.to_bytes(piece.size, "little")
    return bytes(data)


@st.composite
def lists(draw, extents):
    """A nested list with no more elements than the extents allow."""
    if not extents:
        return draw(st.integers(0, 255))
    return draw(st.lists(lists(extents[1:]), max_size=extents[0]))


def written(values):
    return f"{{{', '.join(map(written, values))}}}" if isinstance(values, list) else str(values)


@given(st.data())
def test_incomplete_lists_are_filled_with_zeros(data):
    extents = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    values = data.draw(lists(extents))
    expected = np.zeros(extents, np.uint8)
    for place in itertools.product(*map(range, extents)):
        element = values
        for index in place:
            element = element[index] if isinstance(element, list) and index < len(element) else 0
        expected[place] = element
    sizes = "".join(f"[{extent}]" for extent in extents)
    assert bits_of(f".u8 x{sizes} = {written(values)}") == expected.tobytes()
    open_sizes = "[]" + sizes.partition("]")[2]
    assert (
        not values or bits_of(f".u8 x{open_sizes} = {written(values)}") == expected[: len(values)].tobytes()
    )


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (".u8 x[2] = {1, 2, 3}", "a list of x has more than 2 elements"),
        (".u8 x[2][2] = {{1, 2, 3}, {4}}", "a list of x has more than 2 elements"),
        (".u8 x[2][2] = {{1}, {2}, {3}}", "a list of x has more than 2 elements"),
        (".u8 x[][2][2] = {{{1}, {2}}, {{3, 4, 5}}}", "a list of x has more than 2 elements"),
        (".u8 x[2][2] = {1, 2}", "expected '{', not '1'"),
        (".u8 x[2] = {{1}, {2}}", "an element of x is a value, not a list"),
        (".u8 x = {1}", "an element of x is a value, not a list"),
        (".v2 .u8 x[2] = {{1}, {2, 3}}", "a vector of x has 2 elements, not 1"),
        (".u8 x[2][] = {{1}, {2}}", "only the first dimension may be open"),
        (f".u8 x{'[1]' * 17}", "a variable has at most 16 dimensions"),
    ],
)
def test_lists_that_do_not_fit(declaration, message):
    with pytest.raises(PtxError, match=r"x\.ptx:4:\d+: ") as caught:
        bits_of(declaration)
    assert message in str(caught.value)


def test_vectors_are_lists():
    assert bits_of(".v4 .u8 x[3] = {{1, 2, 3, 4}, {5, 6, 7, 8}}") == bytes([*range(1, 9), 0, 0, 0, 0])
    assert bits_of(".v2 .u16 x = {1, 2}") == bytes([1, 0, 2, 0])


@pytest.mark.parametrize(
    ("type_", "literal", "bits"),
    [
        ("f32", "1.5", 0x3FC00000),
        ("b32", "1.5", 0x3FC00000),
        ("b64", "0f3FC00000", 0x3FF8000000000000),
    ],
)
def test_floats(type_, literal, bits):
    assert int.from_bytes(bits_of(f".{type_} x = {literal}"), "little") == bits
