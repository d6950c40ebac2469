"""The WMMA API: every type, shape and layout against golden.mma, on golden, in lockstep and on a board."""

from itertools import cycle, islice

import ml_dtypes
import numpy as np
import pytest
from bridged_core import BridgedCore
from wmma_tiles import MEMORY_LAYOUT, TYPES, fragments, in_memory, instructions, multiply, operands, raw

import golden
import openwmma
from golden.tables.instruction_set import FAMILIES
from golden.tables.layouts import fragment as fragment_layout
from hdl.config import PAGE_BYTES, PRESETS
from openwmma import wmma

CASES = [
    pytest.param(family, shape, element, id=f"{element}-{shape}")
    for family in FAMILIES
    if family.mnemonic == "wmma"
    for shape in family.shapes
    for element in family.multiplicands
]
ORDERS = [("row", "row"), ("col", "row"), ("row", "col"), ("col", "col")]


def rerun(warp):
    """What `ptx` leaves in the memory of each array on a fresh golden machine."""
    arguments = warp.arguments()
    openwmma.Module(warp.ptx()).kernel().launch(1, 32, arguments)
    return {name: array for name, array in arguments.items() if name.startswith("array")}


def require_same_memory(warp):
    """The program leaves the bytes that the host's arrays hold."""
    for name, found in rerun(warp).items():
        array = next(array for array in warp.memory.arrays if array.name == name)
        np.testing.assert_array_equal(found, array.bytes)


@pytest.mark.parametrize(("family", "shape", "element"), CASES)
def test_every_instruction_on_golden(family, shape, element):
    random = np.random.default_rng([shape.m, shape.n, shape.k, len(element)])
    with wmma.warp() as warp:
        for instruction, orders in zip(instructions(family, shape, element), cycle(ORDERS), strict=False):
            a, b, c = operands(instruction, random)
            d = multiply(instruction, a, b, c, orders)
            expected = golden.mma(instruction, a, b, c)
            np.testing.assert_array_equal(raw(d, instruction.d_type), expected, str(instruction))
            padding = d.base.view(np.uint8)[:, -32:]
            assert (padding == 0xFF).all()
    require_same_memory(warp)


@pytest.mark.parametrize(("family", "shape", "element"), CASES[::2])
def test_instructions_in_lockstep_on_small(family, shape, element):
    random = np.random.default_rng([shape.m, shape.n, shape.k, 7])
    chosen = list(instructions(family, shape, element))
    with wmma.warp(on="lockstep", preset="small") as warp:
        for instruction in (chosen[0], chosen[-1]):
            a, b, c = operands(instruction, random)
            d = multiply(instruction, a, b, c)
            np.testing.assert_array_equal(raw(d, instruction.d_type), golden.mma(instruction, a, b, c))
    assert warp.counters.cycles > 0


def test_more_fragments_than_registers_on_tiny_in_lockstep():
    """Eight accumulators, each used in turn, in a register file of 32."""
    random = np.random.default_rng(5)
    a, b = (random.standard_normal((8, 16, 16)).astype(np.float16) for _ in "ab")
    d = np.zeros((8, 16, 16), np.float32)
    with wmma.warp(on="lockstep", preset="tiny") as warp:
        held_a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
        held_b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.row_major)
        sums = [wmma.fragment(wmma.accumulator, 16, 16, 16, float) for _ in range(8)]
        for held in sums:
            wmma.fill_fragment(held, 1.0)
        for _ in range(2):
            for index, held in enumerate(sums):
                wmma.load_matrix_sync(held_a, a[index])
                wmma.load_matrix_sync(held_b, b[index])
                wmma.mma_sync(held, held_a, held_b, held)
        for index, held in enumerate(sums):
            wmma.store_matrix_sync(d[index], held, wmma.mem_row_major)
    text = "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32"
    c = np.ones((8, 16, 16), np.float32).view(np.uint32)
    for _ in range(2):
        c = golden.mma(text, a.view(np.uint16), b.view(np.uint16), c)
    np.testing.assert_array_equal(d.view(np.uint32), c)
    assert warp.spills > 8
    require_same_memory(warp)


def test_what_was_used_least_recently_is_spilled():
    with wmma.warp(preset="tiny") as warp:
        held = [wmma.fragment(wmma.accumulator, 16, 16, 16, float) for _ in range(5)]
        for index in (0, 1, 2, 3, 0, 2, 4):
            wmma.fill_fragment(held[index], index)
        assert [item.contents.resident is None for item in held] == [False, True, False, False, False]
        assert warp.spills == 1
        assert [int(item.matrix()[0, 0]) for item in held] == [0, 1, 2, 3, 4]


def test_a_profile_and_single_fields_of_a_preset():
    """Volta adds four products at a time; 128 registers hold 16 fragments of eight."""
    random = np.random.default_rng(14)
    family = next(family for family in FAMILIES if family.name == "f16")
    instruction = next(instructions(family, family.shapes[0], "f16"))
    a, b = random.standard_normal((2, 16, 16)).astype(np.float16).view(np.uint16)
    c = np.zeros((16, 16), np.uint16)
    found = {}
    for profile in ("volta", "hopper"):
        with wmma.warp(preset="tiny", profile=profile, config={"registers": 128}) as warp:
            found[profile] = raw(multiply(instruction, a, b, c), instruction.d_type)
            for held in [wmma.fragment(wmma.accumulator, 16, 16, 16, float) for _ in range(10)]:
                wmma.fill_fragment(held, 1.0)
        assert warp.spills == 0
        np.testing.assert_array_equal(found[profile], golden.mma(instruction, a, b, c, profile=profile))
    assert (found["volta"] != found["hopper"]).any()


def test_fragments_of_several_sizes_share_a_small_register_file():
    """f16 accumulators take four registers, everything else eight: places must be made next to each other."""
    random = np.random.default_rng(6)
    a, b = (random.standard_normal((16, 16)).astype(np.float16) for _ in "ab")
    with wmma.warp(preset="tiny"):
        held_a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
        held_b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.col_major)
        wmma.load_matrix_sync(held_a, a)
        wmma.load_matrix_sync(held_b, b.T)
        expected, held = [], []
        for index in range(24):
            c_type, d_type = random.choice(["f16", "f32"], 2)
            c = wmma.fragment(wmma.accumulator, 16, 16, 16, TYPES[c_type])
            d = wmma.fragment(wmma.accumulator, 16, 16, 16, TYPES[d_type])
            wmma.fill_fragment(c, index)
            wmma.mma_sync(d, held_a, held_b, c)
            held += [(c, c_type), (d, d_type)]
            text = f"wmma.mma.sync.aligned.row.row.m16n16k16.{d_type}.{c_type}"
            filled = np.full((16, 16), index, np.float16 if c_type == "f16" else np.float32)
            matrices = a.view(np.uint16), b.T.view(np.uint16), raw(filled, c_type)
            expected += [raw(filled, c_type), golden.mma(text, *matrices)]
        for (fragment, type_), matrix in zip(held, expected, strict=True):
            np.testing.assert_array_equal(raw(fragment.matrix(), type_), matrix)


def test_on_a_board(monkeypatch):
    board = BridgedCore(PRESETS["small"], 16 * PAGE_BYTES)
    monkeypatch.setattr("boards.host.board_machine.open_link", lambda port, baud: board.link())
    a = np.random.default_rng(8).standard_normal((16, 16)).astype(np.float16)
    d = np.zeros((16, 16), np.float32)
    with wmma.warp(on="board", port="/dev/ttyUSB0") as warp:
        held = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
        held_a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
        held_b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.col_major)
        wmma.fill_fragment(held, 0.5)
        wmma.load_matrix_sync(held_a, a)
        wmma.load_matrix_sync(held_b, a.T)
        wmma.mma_sync(held, held_a, held_b, held)
        held.x[:] *= 2
        wmma.store_matrix_sync(d, held, wmma.mem_row_major)
        assert warp.counters.instructions == 5
    c = np.full((16, 16), 0.5, np.float32).view(np.uint32)
    text = "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32"
    product = golden.mma(text, a.view(np.uint16), a.T.view(np.uint16), c).view(np.float32)
    np.testing.assert_array_equal(d, 2 * product)


@pytest.mark.parametrize(("family", "shape", "element"), CASES)
def test_elements_are_those_of_the_layout(family, shape, element):
    """Lane and element of `x`, and `matrix`, for every fragment of an instruction."""
    random = np.random.default_rng(9)
    instruction = next(instructions(family, shape, element))
    matrices = dict(zip("abc", operands(instruction, random), strict=True))
    with wmma.warp() as warp:
        result, *loaded = fragments(instruction)
        for held, use in zip(loaded, "abc", strict=True):
            type_, matrix = held.T.table, matrices[use]
            layout = getattr(instruction, f"{use}_layout", "row")
            view = in_memory(matrix, type_, layout)
            wmma.load_matrix_sync(held, view, layout=MEMORY_LAYOUT[layout] if use == "c" else None)
            np.testing.assert_array_equal(raw(held.matrix(), type_), matrix)
            positions = openwmma.fragment_layout(use, type_, shape)
            assert held.num_elements == positions.shape[1]
            assert held.x.shape == (32, held.num_storage_elements)
            if held.num_storage_elements == held.num_elements:
                expected = matrix[positions[..., 0], positions[..., 1]]
                np.testing.assert_array_equal(raw(held.x, type_), expected)
            else:
                registers = openwmma.distribute(matrix, use, type_, shape)
                np.testing.assert_array_equal(held.x.view(np.uint32), registers.T)
                assert held.num_storage_elements == fragment_layout(use, type_, shape).registers
            held.x = held.x.copy()
        (wmma.bmma_sync if family.operations else wmma.mma_sync)(result, *loaded)
        stored = in_memory(np.zeros_like(raw(result.matrix(), instruction.d_type)), instruction.d_type, "row")
        wmma.store_matrix_sync(stored, result, wmma.mem_row_major)
    assert len(warp.program.tiles) == 3
    np.testing.assert_array_equal(
        raw(stored, instruction.d_type), golden.mma(instruction, *matrices.values())
    )
    require_same_memory(warp)


def test_writes_into_x_reach_the_next_use():
    d = np.zeros((3, 16, 16), np.float32)
    with wmma.warp(on="lockstep") as warp:
        held = wmma.fragment(wmma.accumulator, 16, 16, 16, float)
        wmma.fill_fragment(held, 3.0)
        elements = held.x
        elements[:] *= 2
        wmma.store_matrix_sync(d[0], held, wmma.mem_row_major)
        elements += 1  # a store does not write the fragment
        wmma.store_matrix_sync(d[1], held, wmma.mem_row_major)
        held.x *= 2
        held.x[5, 3] = -1
        assert (held.matrix() == -1).sum() == 1
        wmma.store_matrix_sync(d[2], held, wmma.mem_row_major)
        wmma.fill_fragment(held, 0.0)
        with pytest.raises(ValueError, match="read-only"):
            elements += 1
        last = held.x
    with pytest.raises(ValueError, match="read-only"):
        last += 1
    assert (d[0] == 6).all()
    assert (d[1] == 7).all()
    row, column = openwmma.fragment_layout("d", "f32", "m16n16k16")[5, 3]
    assert d[2, row, column] == -1
    assert sorted(set(d[2].ravel())) == [-1, 14]
    require_same_memory(warp)


def test_x_sets_a_fragment_that_was_not_set():
    with wmma.warp() as warp:
        held = wmma.fragment(wmma.accumulator, 8, 8, 4, wmma.double)
        held.x = np.arange(64).reshape(32, 2)
        positions = openwmma.fragment_layout("d", "f64", "m8n8k4")
        matrix = held.matrix()
        held.x = 2.5
        d = np.zeros((8, 8))
        wmma.store_matrix_sync(d.T, held, wmma.mem_col_major)
    np.testing.assert_array_equal(
        matrix[positions[..., 0], positions[..., 1]], np.arange(64.0).reshape(32, 2)
    )
    assert (d == 2.5).all()
    require_same_memory(warp)


def test_a_fragment_can_be_read_after_the_end():
    with wmma.warp():
        held = wmma.fragment(wmma.accumulator, 16, 16, 16, int)
        wmma.fill_fragment(held, -7)
    assert (held.matrix() == -7).all()
    assert (held.x == -7).all()
    assert held.matrix().dtype == np.int32


@pytest.mark.parametrize(
    ("element", "shape", "use", "value", "expected"),
    [
        ("f16", (16, 16, 16), wmma.matrix_a, 0.1, 0x2E66),
        ("f16", (16, 16, 16), wmma.accumulator, 1e6, 0x7C00),
        ("bf16", (16, 16, 16), wmma.matrix_a, 1.00390625, 0x3F80),
        ("bf16", (16, 16, 16), wmma.matrix_b, 1.00390626, 0x3F81),
        ("bf16", (16, 16, 16), wmma.matrix_b, 1.01171875, 0x3F82),
        ("bf16", (16, 16, 16), wmma.matrix_b, float("-inf"), 0xFF80),
        ("bf16", (16, 16, 16), wmma.matrix_b, float("nan"), 0x7FFF),
        ("bf16", (16, 16, 16), wmma.matrix_b, -(2.0**-133), 0x8001),
        ("tf32", (16, 16, 8), wmma.matrix_a, 0.1, 0x3DCCCCCD),
        ("f32", (16, 16, 16), wmma.accumulator, np.float32(0.1), 0x3DCCCCCD),
        ("f64", (8, 8, 4), wmma.accumulator, 0.1, 0x3FB999999999999A),
        pytest.param("f64", (8, 8, 4), wmma.matrix_a, 10**400, 0x7FF0000000000000, id="f64-10**400"),
        ("s8", (16, 16, 16), wmma.matrix_a, -128, -128),
        ("u8", (16, 16, 16), wmma.matrix_b, np.uint8(200), 200),
        ("s4", (8, 8, 32), wmma.matrix_a, -8, -8),
        ("u4", (8, 8, 32), wmma.matrix_a, 15, 15),
        ("b1", (8, 8, 128), wmma.matrix_a, 1, 1),
        ("s32", (8, 8, 128), wmma.accumulator, -(2**31), -(2**31)),
    ],
)
def test_fill_rounds_once(element, shape, use, value, expected):
    layout = {wmma.matrix_a: wmma.row_major, wmma.matrix_b: wmma.col_major}.get(use)
    with wmma.warp(on="lockstep") as warp:
        held = wmma.fragment(use, *shape, TYPES[element], layout)
        wmma.fill_fragment(held, value)
        assert (raw(held.matrix(), element) == expected).all()
    openwmma.Module(warp.ptx()).kernel()


def test_bfloat16_keeps_the_dtype_of_its_array():
    values = np.arange(256).reshape(16, 16)
    with wmma.warp():
        held = wmma.fragment(wmma.matrix_a, 16, 16, 16, getattr(wmma, "__nv_bfloat16"), wmma.row_major)
        wmma.load_matrix_sync(held, values.astype(ml_dtypes.bfloat16))
        assert held.x.dtype == held.matrix().dtype == ml_dtypes.bfloat16
        held.x[:] *= 2
        np.testing.assert_array_equal(held.matrix().astype(float), 2 * values)
        wmma.load_matrix_sync(held, values.astype(ml_dtypes.bfloat16).view(np.uint16))
        assert held.x.dtype == held.matrix().dtype == np.uint16


@pytest.mark.parametrize("element", ["s4", "u4", "b1"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int64])
def test_packed_elements_lie_in_integers_of_any_size(element, dtype):
    shape = next(family.shapes[0] for family in FAMILIES if element in family.multiplicands)
    matrix = np.random.default_rng(13).integers(
        -8 if element == "s4" else 0, 1 + (element != "b1") * 7, shape.extent("b")
    )
    packed = np.ascontiguousarray(in_memory(matrix, element, "col").T)
    with wmma.warp():
        held = wmma.fragment(wmma.matrix_b, *shape, TYPES[element], wmma.col_major)
        wmma.load_matrix_sync(held, packed.view(dtype).T)
        np.testing.assert_array_equal(held.matrix(), matrix)


def test_float_to_tf32_rounds_to_nearest_ties_away():
    bits = [0x3F800FFF, 0x3F801000, 0xBF801000, 0x3F801001, 0x7F7FFFFF, 0xFF800000, 0x7F800001, 0xFFC00000]
    found = getattr(wmma, "__float_to_tf32")(np.array(bits, np.uint32).view(np.float32))
    expected = [
        *(0x3F800000, 0x3F802000, 0xBF802000, 0x3F802000, 0x7F800000, 0xFF800000, 0x7FFFFFFF, 0x7FFFFFFF)
    ]
    assert found.view(np.uint32).tolist() == expected
    assert wmma.float_to_tf32(1 + 2.0**-11) == np.float32(1 + 2.0**-10)


def test_what_the_host_changes_between_calls_is_seen():
    a = np.ones((16, 32), np.int32)
    d = np.zeros((5, 16, 16), np.int32)
    with wmma.warp() as warp:
        held = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.int32)
        for step, view in enumerate([a, a, a[:, 16:], d[0], a]):
            if step == 1:
                a[0, 0] = 5
            wmma.load_matrix_sync(held, view, layout=wmma.mem_row_major)
            wmma.store_matrix_sync(d[step], held, wmma.mem_row_major)
    assert d[1, 0, 0] == d[4, 0, 0] == 5
    assert d.sum() == 5 * 256 + 2 * 4
    found = rerun(warp)["array1"].view(np.int32).reshape(d.shape)
    np.testing.assert_array_equal(found, d)
    assert len(warp.program.tiles) == 2


def test_warps_may_be_nested_and_end_with_an_error():
    with wmma.warp() as outer:
        held = wmma.fragment(wmma.accumulator, 16, 16, 16, float)
        with pytest.raises(wmma.Misuse, match="of another warp"), wmma.warp():
            wmma.fill_fragment(held, 1.0)
        wmma.fill_fragment(held, 2.0)
        assert outer.counters.instructions == 1
    assert outer.counters.instructions == 1


def test_a_gemm_of_signed_char_steps_by_sixteen_bytes():
    """PTX takes tiles at multiples of what a lane holds; CUDA's documentation asks for 32 bytes."""
    random = np.random.default_rng(11)
    a = random.integers(-128, 128, (16, 64)).astype(np.int8)
    b = random.integers(-128, 128, (64, 16)).astype(np.int8)
    d = np.zeros((16, 16), np.int32)
    with wmma.warp(strict=False):
        held_a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.char, wmma.row_major)
        held_b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.char, wmma.row_major)
        acc = wmma.fragment(wmma.accumulator, 16, 16, 16, int)
        wmma.fill_fragment(acc, 0)
        for k in islice(range(0, 64, 16), 4):
            wmma.load_matrix_sync(held_a, a[:, k:])
            wmma.load_matrix_sync(held_b, b[k:])
            wmma.mma_sync(acc, held_a, held_b, acc, satf=True)
        wmma.store_matrix_sync(d, acc, wmma.mem_row_major)
    np.testing.assert_array_equal(d, a.astype(np.int32) @ b)
