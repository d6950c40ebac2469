"""Initialisers of variables: nested lists at every depth, and floats of every type."""

import itertools
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.ptx.parser import parse_syntax
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import PtxError, Source
from golden.simt import Module

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
    assert bits_of(f".u8 x{open_sizes} = {written(values)}") == expected[: len(values)].tobytes()


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
        ("bf16", "1.5", 0x3FC0),
        ("bf16", "0f3FC00000", 0x3FC0),
        ("bf16", "0d3FF8000000000000", 0x3FC0),
        ("bf16", "-1", 0xBF80),
        ("bf16", "0f3F808000", 0x3F80),
        ("bf16", "0f3F818000", 0x3F82),
        ("bf16", "1e39", 0x7F80),
        ("bf16", "0fFF800000", 0xFF80),
        ("f16", "1.5", 0x3E00),
        ("f32", "1.5", 0x3FC00000),
        ("b32", "1.5", 0x3FC00000),
        ("b64", "0f3FC00000", 0x3FF8000000000000),
    ],
)
def test_floats(type_, literal, bits):
    assert int.from_bytes(bits_of(f".{type_} x = {literal}"), "little") == bits


@given(st.floats(width=64, allow_nan=False))
def test_bfloat16_is_the_nearest_of_its_values(value):
    found = TYPES["bf16"].float_bits(value)
    assert found >> 15 == (math.copysign(1, value) < 0)

    def number(bits):
        return struct.unpack("<f", (bits << 16).to_bytes(4, "little"))[0]

    magnitude, bits = abs(value), found & 0x7FFF
    if bits == 0x7F80:
        assert magnitude >= 2.0**128 - 2.0**119
        return
    above = number(bits + 1) if bits + 1 < 0x7F80 else 2.0**128
    below = number(bits - 1) if bits else -1.0
    distance = abs(number(bits) - magnitude)
    assert distance <= above - magnitude
    assert distance <= magnitude - below
    if distance in (above - magnitude, magnitude - below):
        assert not bits & 1


def test_a_bfloat16_parameter_takes_its_bits():
    body = "ld.param.u64 %rd0, [a]; ld.param.b16 %h0, [h]; st.global.b16 [%rd0], %h0; ret;"
    text = f"{HEADER}.entry k(.param .u64 a, .param .bf16 h) {{ .reg .b64 %rd0; .reg .b16 %h0; {body} }}"
    for value in (1.5, np.float32(1.5), 1):
        found = np.zeros(1, np.uint16)
        Module(text).kernel().launch(1, 1, [found, value])
        assert found[0] == (0x3F80 if value == 1 else 0x3FC0)
