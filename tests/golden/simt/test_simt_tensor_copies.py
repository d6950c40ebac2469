"""Tensor maps and bulk copies: every byte as an H200 moves it, and what is refused."""

import hashlib
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hopper_copies import map_of, text_of
from hopper_draws import IMAGE, draw_copy, draw_reduction, extent, received, tensor_bytes
from short_kernels import HEADER

from golden.invalid_argument import InvalidArgument
from golden.ptx.source import PtxError
from golden.simt import Deadlock, KernelFault, LaunchError, Module, device
from golden.simt.tensor_map import TensorMap, replaced, tensor_map

SEED = 31
DATA = Path(__file__).parents[2] / "data"
UNTOUCHED = 0xCD


@pytest.fixture(scope="module")
def captured():
    with np.load(DATA / "hopper.npz") as file:
        return [file[f"copy{part}"].tolist() for part in ("", "_number", "_size", "_digest")]


@cache
def kernel(kind, rank):
    return Module(text_of(kind, rank)).kernel()


def moved(kind, number, size):
    """What a captured copy leaves: bytes of shared memory, or places and values of changed bytes."""
    if number < 10000:
        drawn, at, offset, rng = draw_copy(SEED, number)
    else:
        _, drawn, at, offset, rng = draw_reduction(SEED, number)
    before = tensor_bytes(rng, drawn, extent(drawn) + 4096)
    loads = kind == "load"
    image = np.full(IMAGE, UNTOUCHED, np.uint8) if loads else tensor_bytes(rng, drawn, IMAGE)
    tensor = device(before)
    arguments = [map_of(drawn, tensor.address), image, np.uint32(offset), np.uint32(received(drawn))]
    name = "store" if kind.startswith("store") else kind.removeprefix("reduce_").rstrip("2")
    kernel(name, drawn["rank"]).launch(1, 1, [*arguments, *map(np.int32, at)])
    if loads:
        assert (image[:offset] == UNTOUCHED).all()
        assert (image[offset + size :] == UNTOUCHED).all()
        return [image[offset : offset + size]]
    after = tensor.numpy()
    changed = np.flatnonzero(after != before)
    return [changed.astype(np.int32), after[changed]]


def different(captured):
    """The numbers of the copies that golden makes otherwise than an H200."""
    wrong = []
    for kind, number, size, expected in zip(*captured, strict=True):
        content = b"".join(part.tobytes() for part in moved(kind, number, size))
        digest = hashlib.blake2b(content, digest_size=8).digest()
        if int.from_bytes(digest, "little") != expected:
            wrong.append(number)
    return wrong


def test_a_fifth_of_the_captured_copies_equals_the_chip(captured):
    assert different([part[2::5] for part in captured]) == []


@pytest.mark.long
def test_every_captured_copy_equals_the_chip(captured):
    assert different(captured) == []


def driver_maps():
    """The maps of a real driver: in the captured launches, without their addresses, and drawn ones."""
    drawn = [line for line in (DATA / "tensor_maps.txt").read_text().splitlines() if line[0] != "#"]
    cases = json.loads((DATA / "kernels" / "hopper.json").read_text())
    arguments = [item for case in cases for item in case["arguments"] if isinstance(item, dict)]
    launched = [item["hex"] for item in arguments if item.get("struct") == 128]
    return sorted({bytes.fromhex(text) for text in (*launched, *drawn)})


@pytest.mark.parametrize("content", driver_maps())
def test_a_map_of_the_driver_is_written_again_bit_by_bit(content):
    assert TensorMap.from_bytes(content).to_bytes() == content


def test_a_map_prints_one_line_a_field():
    array = np.zeros((20, 24), np.float16)
    found = tensor_map(array, (16, 8), swizzle="32B", fill="NAN_REQUEST_ZERO_FMA", element_strides=(1, 2))
    assert str(TensorMap.from_bytes(found.to_bytes())).splitlines() == [
        "address: 0x0, until a launch writes the array's",
        "type: FLOAT16",
        "sizes: 24, 20",
        "strides: 48",
        "box: 16, 8",
        "element strides: 1, 2",
        "interleave: NONE",
        "swizzle: 32B",
        "fill: NAN_REQUEST_ZERO_FMA",
        "promotion: NONE",
    ]


def test_names_may_be_those_of_the_header():
    short = tensor_map(
        np.zeros((4, 16), np.float16), (16, 4), type="UINT16", swizzle="32B", promotion="L2_128B"
    )
    names = {"type": "DATA_TYPE_UINT16", "swizzle": "SWIZZLE_32B", "promotion": "L2_PROMOTION_L2_128B"}
    given = {name: f"CU_TENSOR_MAP_{value}" for name, value in names.items()}
    assert tensor_map(np.zeros((4, 16), np.float16), (16, 4), **given) == short


FIELDS = [
    ("rank", 0, 4, {}),
    ("global_address", 0, 0x123450, {"address": 0x123450}),
    ("global_dim", 1, 77, {"sizes": (64, 77)}),
    ("global_stride", 0, (3 << 36) + 32, {"strides": ((3 << 36) + 32,)}),
    ("box_dim", 0, 32, {"box": (32, 64)}),
    ("element_stride", 1, 3, {"element_strides": (1, 3)}),
    ("elemtype", 0, 12, {"type": "TFLOAT32_FTZ"}),
    ("elemtype", 0, 10, {"type": "BFLOAT16"}),
    ("interleave_layout", 0, 2, {"interleave": "32B"}),
    ("swizzle_mode", 0, 1, {"swizzle": "32B"}),
    ("fill_mode", 0, 1, {"fill": "NAN_REQUEST_ZERO_FMA"}),
]


@pytest.mark.parametrize(("name", "ordinal", "value", "expected"), FIELDS)
def test_tensormap_replace_changes_one_field(name, ordinal, value, expected):
    before = tensor_map(np.zeros((64, 64), np.float16), (64, 64), swizzle="128B")
    bits = replaced(int.from_bytes(before.to_bytes(), "little"), name, ordinal, value)
    found = TensorMap.from_bytes(bits.to_bytes(128, "little"))
    if name == "rank":
        assert found.rank == 5
        return
    names = ("address", "type", "sizes", "strides", "box", "element_strides", "interleave", "swizzle", "fill")
    assert {item: getattr(found, item) for item in names} == {
        item: expected.get(item, getattr(before, item)) for item in names
    }


GOOD = np.zeros((8, 32), np.float32)


@pytest.mark.parametrize(
    ("array", "options", "part"),
    [
        (GOOD, {"box": (32,)}, "box of a tensor map: got (32,); allowed: 2 integers, as the tensor has axes"),
        (GOOD, {"box": (32, 257)}, "box of a tensor map: got 257; allowed: 1 to 256"),
        (GOOD, {"box": (256, 256)}, "a box of 262144 bytes in shared memory, which has 232448 bytes"),
        (GOOD, {"box": (2, 8)}, "a box of 8 bytes along dimension 0, which is no multiple of 16"),
        (
            GOOD,
            {"box": (32, 8), "swizzle": "64B"},
            "128 bytes along dimension 0, more than the 64 of its swizzle",
        ),
        (
            GOOD,
            {"box": (32, 8), "swizzle": "96B"},
            "swizzle of a tensor map: got '96B'; allowed: NONE, 32B, 64B,",
        ),
        (GOOD, {"box": (32, 8), "interleave": "16B"}, "interleave of a tensor map: got '16B'; allowed: NONE"),
        (GOOD, {"box": (32, 8), "type": "INT64"}, "got INT64 for float32; allowed: types of 4 bytes"),
        (
            GOOD,
            {"box": (32, 8), "element_strides": (1, 9)},
            "element_strides of a tensor map: got 9; allowed: 1 to 8",
        ),
        (GOOD, {"box": (32, 8), "element_strides": 0}, "element_strides of a tensor map: got 0; allowed: 2"),
        (
            GOOD,
            {"box": (32, 8), "swizzle": np.ones(2)},
            "swizzle of a tensor map: got array([1., 1.]); allow",
        ),
        (GOOD.view(np.int32), {"box": (32, 8), "fill": "NAN_REQUEST_ZERO_FMA"}, "allowed: NONE for integers"),
        (GOOD[:, 1::2][:, :3], {"box": (4, 8)}, "strides of a tensor: got (12, 4); allowed: multiples of 16"),
        (GOOD[:, :3].copy(), {"box": (4, 8)}, "strides of a tensor: got (12, 4); allowed"),
        (
            np.zeros((1,) * 6),
            {"box": (2,) * 6},
            "the tensor of a map: got shape (1, 1, 1, 1, 1, 1); allowed: 1 to 5",
        ),
    ],
)
def test_a_map_that_the_driver_would_not_make_is_refused(array, options, part):
    with pytest.raises(InvalidArgument) as error:
        tensor_map(array, **options)
    assert part in str(error.value)


VIEWS = {
    "every second row": lambda array: array[::2],
    "part of each row": lambda array: array[:, 8:40],
    "columns": lambda array: array.T,
    "reversed": lambda array: array[::-1, ::-1],
    "one row, repeated": lambda array: np.broadcast_to(array[3], (16, 64)),
    "big-endian": lambda array: array.astype(">i4"),
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_map_of_an_array_moves_its_elements_whatever_its_strides(view):
    tensor = VIEWS[view](np.arange(64 * 64, dtype=np.int32).reshape(64, 64))
    image = np.zeros(1 << 16, np.uint8)
    arguments = [tensor_map(tensor, (8, 4)), image, np.uint32(0), np.uint32(128), np.int32(16), np.int32(9)]
    kernel("load", 2).launch(1, 1, arguments)
    assert image[:128].view(np.int32).reshape(4, 8).tolist() == tensor[9:13, 16:24].tolist()
    if view not in ("one row, repeated", "big-endian"):
        before = tensor.copy()
        image[:128].view(np.int32)[:] = range(32)
        kernel("store", 2).launch(1, 1, arguments)
        before[9:13, 16:24] = np.arange(32).reshape(4, 8)
        assert tensor.tolist() == before.tolist()


def test_bytes_that_are_no_map_are_refused():
    with pytest.raises(InvalidArgument, match="got an object of type str; allowed: 128 bytes"):
        TensorMap.from_bytes("map")
    with pytest.raises(InvalidArgument, match="got 127 bytes; allowed: 128 bytes"):
        TensorMap.from_bytes(bytes(127))
    for given in (128, None):
        with pytest.raises(InvalidArgument, match="allowed: 128 bytes"):
            TensorMap.from_bytes(given)
    for low, value, message in (
        (68, 5, "rank 6"),
        (71, 11, "type 11"),
        (80, 1, "type 0"),
        (75, 3, "interleave 3"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            TensorMap.from_bytes((value << low).to_bytes(128, "little"))


def test_a_map_of_an_array_is_an_argument():
    """Rows 2 to 5 of a matrix, columns 8 to 23, move to shared memory; beyond the matrix there are zeros."""
    matrix = np.arange(5 * 24, dtype=np.float16).reshape(5, 24)
    image = np.zeros(IMAGE, np.uint8)
    tile = tensor_map(matrix, (16, 4))
    kernel("load", 2).launch(1, 1, [tile, image, np.uint32(0), np.uint32(128), np.int32(8), np.int32(2)])
    expected = np.vstack([matrix[2:, 8:], np.zeros((1, 16), np.float16)])
    assert np.array_equal(image[:128].view(np.float16).reshape(4, 16), expected)
    stored = image.copy()
    stored[:128].view(np.float16)[:] = 7
    kernel("store", 2).launch(1, 1, [tile, stored, np.uint32(0), np.uint32(0), np.int32(8), np.int32(2)])
    assert (matrix[2:, 8:] == 7).all()
    assert matrix[:2].tolist() == np.arange(48).reshape(2, 24).tolist()


MOVED = """
    .shared .align 128 .b8 box[128]; .shared .align 8 .b64 bar;
    .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p;
    mbarrier.init.shared::cta.b64 [bar], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
    {address}
    cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [box], [%rd1, {{0, 0}}], [bar];
    W: mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0; @!%p bra W;
    ld.param.u64 %rd2, [out]; cp.async.bulk.global.shared::cta.bulk_group [%rd2], [box], 128;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;
"""
PLACES = {
    "constant": (".const .align 64 .b8 place[128];", "mov.b64 %rd1, place; cvta.const.u64 %rd1, %rd1;"),
    "global": (".global .align 64 .b8 place[128];", "mov.b64 %rd1, place; cvta.global.u64 %rd1, %rd1;"),
    "parameter": ("", "mov.b64 %rd1, map;"),
    "parameter of 32 bits": ("", "mov.b32 %r1, map; cvt.u64.u32 %rd1, %r1; cvta.param.u64 %rd1, %rd1;"),
}


@pytest.mark.parametrize("place", PLACES)
def test_where_a_map_may_lie(place):
    variable, address = PLACES[place]
    parameters = ".param .align 64 .b8 map[128], .param .u64 out"
    text = f"{HEADER}{variable} .entry k({parameters}) {{ {MOVED.format(address=address)} }}"
    matrix, out = np.arange(64, dtype=np.float16).reshape(4, 16), np.zeros((4, 16), np.float16)
    buffer, module = device(matrix), Module(text)
    tile = tensor_map(buffer, (16, 4))
    if variable:
        module["place"].write(np.frombuffer(tile.to_bytes(), np.uint8))
    module.kernel().launch(1, 1, [bytes(128) if variable else tile, out])
    assert np.array_equal(out, matrix)


def test_a_map_keeps_its_buffer():
    tile = tensor_map(device(np.ones((4, 16), np.float16)), (16, 4))
    image = np.zeros(IMAGE, np.uint8)
    kernel("load", 2).launch(1, 1, [tile, image, np.uint32(0), np.uint32(128), np.int32(0), np.int32(0)])
    assert (image[:128].view(np.float16) == 1).all()
    tile.tensor.free()
    with pytest.raises(LaunchError, match="has been freed"):
        kernel("load", 2).launch(1, 1, [tile, image, np.uint32(0), np.uint32(128), np.int32(0), np.int32(0)])


def refusal(kind, at, options=(), offset=0, content=None, count=512):
    options = {"box": (16, 8), **dict(options)}
    argument = tensor_map(np.zeros((16, 32), np.float32), **options) if content is None else content
    arguments = [argument, np.zeros(IMAGE, np.uint8), np.uint32(offset), np.uint32(count)]
    with pytest.raises((KernelFault, LaunchError)) as error:
        kernel(kind, len(at)).launch(1, 1, [*arguments, *map(np.int32, at)])
    return str(error.value)


@pytest.mark.parametrize(
    ("kind", "at", "more", "part"),
    [
        ("load", (1, 0), {}, "coordinate 1 of dimension 0, byte 4, which is no multiple of 16"),
        ("store", (6, 0), {}, "coordinate 6 of dimension 0, byte 24, which is no multiple of 16"),
        ("store", (0, -1), {}, "coordinate -1 of dimension 1, where stores take none below 0"),
        ("add", (-4, 0), {}, "coordinate -4 of dimension 0, where stores take none below 0"),
        ("load", (0, 0, 0), {}, "3 coordinates, but a map of rank 2"),
        ("load", (0, 0), {"offset": 64}, "a box at byte 0x40 of shared memory, which is no multiple of 128"),
        (
            "load",
            (0, 0),
            {"offset": 65408},
            "a box of 512 bytes at byte 65408 of shared memory, which has 65544",
        ),
        (
            "load",
            (0, 0),
            {"content": bytes(128)},
            "a box of 1 bytes along dimension 0, which is no multiple of 16",
        ),
        (
            "load",
            (0, 0),
            {"content": bytes([0] * 9 + [8] + [0] * 118)},
            "interleave 16B, and interleaved maps are not run",
        ),
        (
            "load",
            (0, 0),
            {"content": bytes([0] * 8 + [0x70] + [0] * 119)},
            "a tensor map: got rank 8; allowed",
        ),
    ],
)
def test_what_a_chip_refuses_is_a_fault_of_one_sentence(kind, at, more, part):
    message = refusal(kind, at, **more)
    assert part in message
    assert "\n" not in message


def test_a_tensor_beyond_its_buffer_is_a_fault():
    tensor = device(np.zeros((16, 32), np.float32), name="small")
    content = bytearray(tensor_map(tensor, (16, 8)).to_bytes())
    content[36:40] = (99).to_bytes(4, "little")  # rows
    assert "bytes past the end of small (2048 bytes)" in refusal("load", (0, 14), content=bytes(content))


@pytest.mark.parametrize(
    ("operation", "type_", "part"),
    [
        (
            "add",
            "UINT8",
            ".add of a tensor of UINT8; there are: UINT32, INT32, UINT64, FLOAT16, FLOAT32, ",
        ),
        (
            "max",
            "FLOAT32",
            ".max of a tensor of FLOAT32; there are: UINT32, INT32, UINT64, INT64, FLOAT16, BF",
        ),
        ("inc", "INT32", ".inc of a tensor of INT32; there are: UINT32"),
        ("xor", "FLOAT32", ".xor of a tensor of FLOAT32; there are: UINT32, INT32, UINT64 "),
        *(
            (name, "INT64", f".{name} of a tensor of INT64; there are: ")
            for name in ("add", "and", "or", "xor")
        ),
    ],
)
def test_a_reduction_of_a_type_without_one_is_a_fault(operation, type_, part):
    array = np.zeros((16, 32), {"UINT8": np.uint8, "INT64": np.int64}.get(type_, np.uint32))
    argument = tensor_map(array, (16, 8), type=type_).to_bytes()
    assert part in refusal(operation, (0, 0), content=argument)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (528, "0 of 1 arrivals and 16 transactions are missing"),
        (496, "0 of 1 arrivals are missing, and 16 transactions came that none expected"),
    ],
)
def test_a_deadlock_says_how_many_bytes_are_missing_or_too_many(expected, message):
    arguments = [tensor_map(np.zeros((16, 32), np.float32), (16, 8)), np.zeros(IMAGE, np.uint8)]
    with pytest.raises(Deadlock) as error:
        kernel("load", 2).launch(
            1, 1, [*arguments, np.uint32(0), np.uint32(expected), np.int32(0), np.int32(0)]
        )
    assert message in str(error.value)


LOAD = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        (f"{LOAD} [s], [%d1, {{%r1}}], [s]", "takes 2 coordinates, not 1"),
        (f"{LOAD} [s], [%d1], [s]", "expected a map and coordinates"),
        (f"{LOAD}.im2col [s], [%d1, {{%r1, %r1}}], [s], {{%h1}}", "copies with .im2col are not run"),
        (
            "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%d1, {%d1}], [s]",
            "expected an operand of 32 bits, but %d1 is .b64",
        ),
        (
            "cp.async.bulk.global.shared::cta.bulk_group [s], [s], 16",
            "s is in .shared, but the instruction accesses .global",
        ),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64 [%d1], [s], 16", "is not supported"),
        ("cp.async.bulk.wait_group %r1", "operand 1 must be a constant"),
        ("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [s], 5, %r1", "is 0 to 4, not 5"),
        ("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [s], %r1", "must be a constant"),
    ],
)
def test_what_is_no_copy_is_refused_before_anything_runs(statement, part):
    registers = ".shared .align 128 .b8 s[128]; .reg .b32 %r<2>; .reg .b64 %d<2>; .reg .b16 %h<2>;"
    with pytest.raises(PtxError) as error:
        Module(f"{HEADER}.entry k() {{ {registers} {statement}; ret; }}").kernel()
    assert part in str(error.value)
