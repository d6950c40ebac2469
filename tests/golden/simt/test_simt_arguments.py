"""What a parameter takes, bit by bit, and what it refuses: drawn from a table of types and values."""

import ctypes
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import openwmma
from golden.simt.address_map import GLOBAL
from golden.simt.arguments import bind
from golden.simt.buffers import DEVICE
from golden.simt.errors import LaunchError
from golden.simt.module import Module

TYPES = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "b8", "b16", "b32", "b64", "f16", "f32", "f64")
BITS = {name: int(name[1:]) for name in TYPES}


def kernel(parameter):
    text = f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param {parameter}) {{ ret; }}"
    return Module(text).kernel().compiled


KERNELS = {name: kernel(f".{name} x") for name in BITS} | {"bytes": kernel(".align 8 .b8 x[8]")}


def passed(type_, value):
    bound = bind(KERNELS[type_], [value], DEVICE)
    bound.release()
    return bytes(bound.data)


def refused(type_, value):
    with pytest.raises(LaunchError) as caught:
        passed(type_, value)
    message = str(caught.value)
    assert message.startswith("x ")
    assert "\n" not in message
    assert len(message) < 200
    return message


HUGE = 10**6000
NO_NUMBERS = [
    np.complex64(1),
    np.complex128(1),
    np.datetime64(1, "s"),
    np.timedelta64(1, "s"),
    np.bytes_(b"12345678"),
    np.str_("1"),
    np.void(b"12345678"),
    np.array(1j),
    np.array(1, "M8[s]"),
    1j,
    "1",
    None,
    [1],
    {},
    object(),
]


@pytest.mark.parametrize("type_", [*BITS, "bytes"])
@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_what_is_no_number_is_refused_by_name_and_rule(type_, value):
    if type_ == "bytes" and isinstance(value, np.void | np.complex64):
        assert passed(type_, value) == value.tobytes()  # of the size of the structure
        return
    if BITS.get(type_) == 64 and not type_.startswith("f") and isinstance(value, np.ndarray):
        assert len(passed(type_, value)) == 8  # a pointer
        return
    message = refused(type_, value)
    if type_ == "bytes" and isinstance(value, np.complex128 | np.ndarray):
        assert "x has 8 bytes, but the argument has 16" in message or type(value).__name__ in message
    else:
        assert " takes " in message
        assert type(value).__name__ in message or isinstance(value, np.ndarray)


@pytest.mark.parametrize("type_", [name for name in TYPES if name[0] != "f"])
@pytest.mark.parametrize("wrap", [int, lambda value: np.array(value, object)[()]], ids=["int", "object"])
def test_integers_beyond_the_type_are_refused(type_, wrap):
    bits = BITS[type_]
    least, greatest = -(1 << bits - 1), (1 << bits - (type_[0] == "s")) - 1
    for value in (least, greatest, 0, 1, -1):
        assert passed(type_, wrap(value)) == (value % (1 << bits)).to_bytes(bits // 8, "little")
    for value in (least - 1, greatest + 1, HUGE, -HUGE, int("f" * 5000, 16)):
        assert f"x is .{type_}, which cannot hold" in refused(type_, wrap(value))


@pytest.mark.parametrize(
    ("type_", "greatest", "beyond"),
    [
        ("f16", 65519.0, [65520.0, -65520.0, 70000, 1e300, HUGE, np.float64(1e6)]),
        ("f32", 3.4028235e38, [3.5e38, HUGE, -HUGE, np.float64(-1e300)]),
        ("f64", 1.7976931348623157e308, [HUGE, -HUGE, 2**1024]),
    ],
)
def test_finite_numbers_that_would_become_infinite_are_refused(type_, greatest, beyond):
    assert passed(type_, greatest)
    for value in beyond:
        assert "which cannot hold" in refused(type_, value)
    infinity = {"f16": 0x7C00, "f32": 0x7F800000, "f64": 0x7FF0000000000000}[type_]
    size = BITS[type_] // 8
    for value in (np.inf, np.float32(np.inf), np.array(np.inf)):
        assert passed(type_, value) == infinity.to_bytes(size, "little")
    assert int.from_bytes(passed(type_, np.nan), "little") & infinity == infinity


def test_a_float_is_rounded_in_the_format_of_the_parameter():
    assert passed("f16", 1.5) == bytes.fromhex("003e")
    assert passed("b16", ml_dtypes.bfloat16(1.5)) == bytes.fromhex("c03f")
    assert passed("f32", ml_dtypes.bfloat16(1.5)) == passed("f32", 1.5)
    assert passed("f16", ml_dtypes.bfloat16(1.5)) == passed("f16", 1.5)
    # Through f64 this number becomes the middle of two of f32, and then the even one.
    assert passed("f32", (1 << 60) + (1 << 36) + 1) == np.float32((1 << 60) + (1 << 37)).tobytes()
    signalling = np.array([0x7F812345], np.uint32).view(np.float32)[0]
    assert passed("f32", signalling) == signalling.tobytes()


@given(st.integers(-(1 << 70), 1 << 70))
def test_integers_are_rounded_once(value):
    got = Fraction(float(np.frombuffer(passed("f32", value), np.float32)[0]))
    below, above = (
        Fraction(float(np.nextafter(np.float32(got), np.float32(end)))) for end in (-np.inf, np.inf)
    )
    assert abs(got - value) <= min(abs(below - value), abs(above - value))


@pytest.mark.parametrize("type_", TYPES)
def test_arrays_without_axes_are_numbers_where_no_pointer_fits(type_):
    number = np.array(3, np.float32 if type_[0] == "f" else np.uint8)
    if type_ in ("u64", "s64", "b64"):
        assert int.from_bytes(passed(type_, number), "little") >= GLOBAL
    else:
        assert passed(type_, number) == passed(type_, 3)
    for wrap in (np.int8, np.uint16, np.int64, ctypes.c_int):
        assert passed(type_, wrap(3)) == passed(type_, 3)
    assert passed(type_, True) == passed(type_, np.bool_(True)) == passed(type_, 1)


def test_structures_stand_for_their_bytes_in_the_order_of_the_device():
    record = np.zeros((), [("a", ">u4"), ("b", ">f4")])
    record["a"], record["b"] = 1, 1.5
    assert passed("bytes", record) == passed("bytes", record[()]) == bytes.fromhex("010000000000c03f")
    assert passed("bytes", np.complex64(1)) == np.complex64(1).tobytes()
    with pytest.raises(LaunchError, match="takes 2 bytes: bytes, a numpy scalar such as float16 or a ctypes"):
        bind(kernel(".b8 x[2]"), [0.5], DEVICE)


def test_null_pointers_of_ctypes():
    assert passed("u64", ctypes.c_void_p(0)) == bytes(8)


ADD = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
    .reg .b64 %rd<2>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [x];
    ld.global.f32 %f1, [%rd1+4];
    add.f32 %f1, %f1, 0f3f800000;
    st.global.f32 [%rd1+4], %f1;
    ret;
}
"""


MOVE = ADD.replace(".param .u64 x", ".param .u64 x, .param .u64 y").replace(
    "st.global", "ld.param.u64 %rd1, [y]; st.global"
)


def test_views_of_the_same_bytes_are_one_array_and_overlaps_are_refused():
    launch = openwmma.Module(MOVE).kernel().launch
    x = np.arange(6, dtype=np.float32)
    launch(1, 1, [x, x.reshape(2, 3).view(np.int32)])
    assert x.tolist() == [0, 2, 2, 3, 4, 5]
    launch(1, 1, [x[:3], x[3:]])
    assert x.tolist() == [0, 2, 2, 3, 3, 5]
    launch(1, 1, [x[::2], x[1::2]])  # as the parts of packed queries, keys and values
    assert x.tolist() == [0, 2, 2, 3, 3, 5]
    launch(1, 1, [x.reshape(3, 2)[:, 1], x.reshape(3, 2)[:, 0]])
    assert x.tolist() == [0, 2, 4, 3, 3, 5]
    for view in (x[1:], x[:4], x[::-1], x.reshape(2, 3).T):
        with pytest.raises(LaunchError, match=r"^the arrays for y and x overlap, and do not hold"):
            launch(1, 1, [x, view])
    wide = x.astype(">f4")
    with pytest.raises(LaunchError, match=r"^the arrays for y and x overlap"):
        launch(1, 1, [wide, wide.view(">f8")])


@pytest.mark.parametrize("dtype", [">f4", "<f4", [("a", ">f4"), ("b", ">f4")]], ids=str)
def test_arrays_of_any_byte_order_are_converted_and_written_back(dtype):
    launch = openwmma.Module(ADD).kernel().launch
    x = np.zeros(4 if isinstance(dtype, str) else 2, dtype)
    x[...] = 2.0
    launch(1, 1, [x])
    values = x if isinstance(dtype, str) else np.array(x.tolist()).reshape(-1)
    assert values.tolist() == [2, 3, 2, 2]
    buffer = openwmma.device(np.array([5, 6], ">f4"))
    launch(1, 1, [buffer])
    assert buffer.numpy().tolist() == [5, 7]
    buffer.write(np.array([8, 9], ">f4"))
    launch(1, 1, [buffer])
    assert buffer.numpy().tolist() == [8, 10]


@pytest.mark.parametrize(
    "shape",
    [(1 << 62, 4), 1 << 62, (1 << 31, 1 << 31), HUGE, (4, HUGE), -1, (4, -1), 4.0, (2.0,), True, (True,), "4",
     None, {}, np.array([1.0]), np.array([2, -1]), ((2, 2), 2), (1,) * 65, np.timedelta64(4)],
    ids=lambda shape: f"{type(shape).__name__}",
)  # fmt: skip
def test_sizes_of_buffers_are_checked_before_anything_is_allocated(shape):
    with pytest.raises(LaunchError) as caught:
        openwmma.empty(shape)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("shape", [4, np.int64(4), np.array(4), (4,), [4], np.array([4]), (np.uint8(4),)])
def test_every_kind_of_integer_is_a_size(shape):
    assert openwmma.empty(shape).shape == (4,)


def test_all_buffers_share_one_budget():
    kept = openwmma.empty(1 << 30, np.uint8, name="kept")
    with pytest.raises(LaunchError, match=r"more must have 0 to \d+ bytes, the rest of the 2147483648 bytes"):
        openwmma.empty(1 << 30, np.uint16, name="more")
    kept.free()
    openwmma.empty(3 << 29, np.uint8).free()


INTEGERS = {"grid": 2, "block": 2, "shared": 4, "limit": 1000, "jobs": 1}


@pytest.mark.parametrize("name", INTEGERS)
def test_every_number_of_a_launch_is_an_integer_or_refused(name):
    launch = openwmma.Module(ADD).kernel().launch
    x = np.zeros(2, np.float32)
    for wrap in (int, np.int16, np.uint64, np.array, lambda value: np.array(value, ">i4")):
        launch(**{"grid": 1, "block": 1, "arguments": [x], name: wrap(INTEGERS[name])})
    for value in (-1, 1.5, "2", None, True, np.float32(2), np.timedelta64(2), 1j, -HUGE, b"2", [[1]], {1: 2}):
        with pytest.raises(LaunchError) as caught:
            launch(**{"grid": 1, "block": 1, "arguments": [x], name: value})
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 200
