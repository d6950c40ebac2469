"""2:4 sparse multiplies: the results of an NVIDIA H200, the helpers, and what is refused."""

import re

import numpy as np
import pytest
from fragment_kernels import fragment_kernel
from golden_captures import COMPACT, full_folder

import golden
from golden import sparsity
from golden.arguments import dtype_of
from golden.ptx.mnemonic import parse_instruction
from golden.simt.errors import KernelFault
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import SPARSE_FAMILIES
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import IllegalInstruction, multiplies_of

F16 = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
TF32 = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"
S4 = "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32"
INSTRUCTIONS = {
    str(each): each
    for family in SPARSE_FAMILIES
    if not family.formats & {"fp8"}
    for each in multiplies_of(family)
}


def captures():
    """Name, instruction, selector and registers (tiles, registers, 32) of every set; fp8 is emulated."""
    folder = full_folder()
    with np.load(folder / "public_sparse.npz" if folder else COMPACT / "sparse.npz") as loaded:
        names = sorted({key.rsplit("/", 1)[0] for key in loaded.files})
        for name in names:
            _, shape, d, a, b, selector = name.split("_")
            if a in ("e4m3", "e5m2"):
                continue
            clamped = ".satfinite" if d == "s32" else ""  # as the chip was asked to
            text = f"mma.sp::ordered_metadata.sync.aligned.{shape}.row.col{clamped}.{d}.{a}.{b}.{d}"
            words = {use: np.ascontiguousarray(loaded[f"{name}/{use}"].transpose(0, 2, 1)) for use in "abcd"}
            yield name, parse_instruction(text), int(selector), words, loaded[f"{name}/e"]


CAPTURES = {each[0]: each[1:] for each in captures()}


@pytest.mark.parametrize("name", CAPTURES)
def test_multiply_equals_the_chip(name):
    instruction, selector, words, registers = CAPTURES[name]
    a, b, c, d = (
        golden.collect(words[use], use, instruction.types[use], instruction.shape, sparse=True)
        for use in "abcd"
    )
    metadata = sparsity.unpack_metadata(instruction, registers, selector)
    np.testing.assert_array_equal(golden.mma(instruction, a, b, c, metadata=metadata), d)


@pytest.mark.parametrize("mnemonic", ["mma.sp::ordered_metadata", "mma.sp"])
@pytest.mark.parametrize("name", [name for name in CAPTURES if re.search(r"f16_f16_\d|tf32|s8|s4", name)])
def test_kernel_equals_the_chip(name, mnemonic):
    instruction, selector, words, registers = CAPTURES[name]
    d = np.zeros_like(words["d"])
    arguments = [d, *(words[use] for use in "abc"), registers]
    fragment_kernel(instruction, f"%e0, {selector}", mnemonic=mnemonic).launch(1, LANES * len(d), arguments)
    np.testing.assert_array_equal(d, words["d"])


def test_captures_have_every_form_but_fp8_and_every_selector():
    shapes = {(each.shape, each.a_type, each.d_type, selector) for each, selector, *_ in CAPTURES.values()}
    assert len(CAPTURES) == len(shapes) == 30


def random_metadata(random, instruction, leading=()):
    shape = (*leading, instruction.shape.m, instruction.sparsity.groups)
    return random.choice(np.array(instruction.sparsity.nibbles, np.uint8), shape)


def random_bits(random, type, shape):
    dtype = dtype_of(FORMATS[type])
    low, high = FORMATS[type].minimum, FORMATS[type].maximum
    return random.integers(low, high, shape, dtype, endpoint=True)


@pytest.mark.parametrize("text", [text for text in INSTRUCTIONS if "satfinite" not in text])
def test_stored_elements_and_metadata_come_back(text):
    """Registers, metadata for every selector, and the dense matrix, there and back."""
    instruction, random = INSTRUCTIONS[text], np.random.default_rng(3)
    metadata = random_metadata(random, instruction, (2,))
    for selector in instruction.sparsity.selectors:
        words = sparsity.pack_metadata(instruction, metadata, selector)
        assert words.shape == (2, 32)
        np.testing.assert_array_equal(sparsity.unpack_metadata(instruction, words, selector), metadata)
    stored = random_bits(random, instruction.a_type, (2, *instruction.extent("a")))
    stored[stored == 0] = 1
    words = golden.distribute(stored, "a", instruction.a_type, instruction.shape, sparse=True)
    back = golden.collect(words, "a", instruction.a_type, instruction.shape, sparse=True)
    np.testing.assert_array_equal(back, stored)
    dense = sparsity.expand(instruction, stored, metadata)
    assert dense.shape == (2, 16, instruction.shape.k)
    if instruction.a_type != "tf32":  # whose low bits are no part of a number
        for found in (sparsity.compress(instruction, dense), sparsity.prune(instruction, dense)):
            np.testing.assert_array_equal(found[0], stored)
            np.testing.assert_array_equal(found[1], metadata)


def test_prune_keeps_the_largest_magnitudes():
    a = np.zeros((3, 8), np.float16)
    a[0] = [1, -3, 2, 0.5, 0, 0, 0, -7]
    a[1] = [np.nan, 5, np.inf, -6, 2, 2, 2, 2]
    stored, metadata = sparsity.prune(F16, a)
    np.testing.assert_array_equal(stored.view(np.float16)[0], [-3, 2, 0, -7])
    np.testing.assert_array_equal(stored.view(np.float16)[1], [np.nan, np.inf, 2, 2])
    np.testing.assert_array_equal(metadata, [[0b1001, 0b1100], [0b1000, 0b0100], [0b0100, 0b0100]])
    pairs = np.array([[1, 1, -8, 0, 3, 3, 0, 7]])
    stored, metadata = sparsity.prune(S4, pairs)
    np.testing.assert_array_equal(stored, [[-8, 0, 0, 7]])
    np.testing.assert_array_equal(metadata, [[0b1101]])
    one = np.array([[1.0, -2.0, 0.0, 0.0]], np.float32)
    stored, metadata = sparsity.prune(TF32, one)
    np.testing.assert_array_equal(stored.view(np.float32), [[-2, 0]])
    np.testing.assert_array_equal(metadata, [[0b1110, 0b0100]])


@pytest.mark.parametrize("name", ["f32.f16.f16.f32", "s32.s8.s8.s32"])
def test_no_tiles_give_no_tiles(name):
    instruction = parse_instruction(f"mma.sp.sync.aligned.m16n8k32.row.col.{name}")
    dtype = np.float16 if "f16" in name else np.int8
    stored, metadata = sparsity.prune(instruction, np.zeros((0, 16, 32), dtype))
    assert sparsity.expand(instruction, stored, metadata).shape == (0, 16, 32)
    b, c = np.zeros((0, 32, 8), dtype), np.zeros((0, 16, 8), np.float32 if "f16" in name else np.int32)
    assert golden.mma(instruction, stored, b, c, metadata=metadata).shape == (0, 16, 8)


def test_what_is_not_stored_takes_no_part():
    """Not even as zero times infinity; a stored zero does."""
    stored = np.zeros((16, 16), np.float16)
    b = np.full((32, 8), np.inf, np.float16)
    b[0::4] = b[2::4] = 1
    c = np.ones((16, 8), np.float32)
    metadata = np.full((16, 8), 0b1000, np.uint8)
    np.testing.assert_array_equal(golden.mma(F16, stored, b, c, metadata=metadata), c)
    metadata[3, 2] = 0b1001
    found = golden.mma(F16, stored, b, c, metadata=metadata)
    assert np.isnan(found[3]).all()
    assert np.isnan(found).sum() == 8


@pytest.mark.parametrize("profile", ["exact", "ampere"])
def test_other_profiles_equal_the_dense_multiply(profile):
    """Small integers, whose sums no profile rounds."""
    random = np.random.default_rng(4)
    instruction = parse_instruction(F16)
    stored = random.integers(-9, 9, (5, 16, 16)).astype(np.float16)
    metadata = random_metadata(random, instruction, (5,))
    b, c = random.integers(-9, 9, (5, 32, 8)).astype(np.float16), np.ones((5, 16, 8), np.float32)
    dense = sparsity.expand(instruction, stored, metadata).view(np.float16)
    expected = dense.astype(np.float32) @ b.astype(np.float32) + c
    found = golden.mma(instruction, stored, b, c, metadata=metadata, profile=profile)
    np.testing.assert_array_equal(found, expected)


def call(**changes):
    operands = {
        "a": np.zeros((16, 16), np.float16),
        "b": np.zeros((32, 8), np.float16),
        "c": np.zeros((16, 8), np.float32),
        "metadata": np.full((16, 8), 0b0100, np.uint8),
    } | changes
    return golden.mma(
        changes.pop("instruction", F16),
        *(operands[use] for use in "abc"),
        **{"metadata": operands["metadata"]},
    )


UNDEFINED = np.full((16, 8), 0b1110, np.uint8)
UNDEFINED[5, 7] = 0b0101
ALLOWED = "0100, 1000, 1100, 1001, 1101, 1110"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metadata": None}, "metadata: got None; allowed: uint8 of shape (..., 16, 8)"),
        ({"metadata": UNDEFINED}, f"metadata: got 0101 in row 5, group 7; allowed: {ALLOWED}"),
        ({"metadata": UNDEFINED + 16}, f"metadata: got 11110 in row 0, group 0; allowed: {ALLOWED}"),
        (
            {"metadata": np.zeros((16, 4), np.uint8)},
            "shape (16, 4); allowed: shape (..., 16, 8): rows, groups",
        ),
        ({"metadata": np.zeros((16, 8), np.int32)}, "metadata: got dtype int32; allowed: uint8"),
        ({"metadata": np.full((2, 16, 8), 4, np.uint8)}, "leading axes (2,); allowed: (), as a has"),
        ({"a": np.zeros((16, 32), np.float16)}, "a: got shape (16, 32); allowed: shape (..., 16, 16)"),
        (
            {
                "instruction": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                "b": np.zeros((16, 8), "f2"),
            },
            "metadata: got an array; allowed: None for mma.sync.aligned.m16n8k16",
        ),
    ],
)
def test_bad_operands_are_named(changes, message):
    with pytest.raises(golden.InvalidArgument, match=re.escape(message)):
        call(**changes)


def test_helpers_name_row_and_group():
    dense = np.zeros((2, 16, 32), np.float16)
    dense[1, 9, 20:23] = 1
    with pytest.raises(golden.InvalidArgument, match="3 units that are not zero in row 9, group 5"):
        sparsity.compress(F16, dense)
    with pytest.raises(golden.InvalidArgument, match="2 units that are not zero in row 1, group 0"):
        sparsity.compress(TF32, np.array([[0, 0], [1, 2]], np.float32))
    with pytest.raises(golden.InvalidArgument, match=r"selector: got 2; allowed: 0 to 1 for mma\.sp"):
        sparsity.pack_metadata(F16, np.full((16, 8), 4, np.uint8), 2)
    with pytest.raises(golden.InvalidArgument, match=r"selector: got array\(\[0, 1\]\) of type ndarray"):
        sparsity.pack_metadata(F16, np.full((16, 8), 4, np.uint8), np.array([0, 1]))
    with pytest.raises(golden.InvalidArgument, match=r"a: got shape \(16, 30\); allowed: .*multiple of 4"):
        sparsity.prune(F16, np.zeros((16, 30), np.float16))
    with pytest.raises(golden.InvalidArgument, match="allowed: a sparse multiply"):
        sparsity.prune("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", dense)


def test_undefined_nibble_is_a_fault_of_its_warp():
    instruction, selector, words, registers = CAPTURES["mmasp_m16n8k32_f32_f16_f16_1"]
    registers = registers.copy()
    registers[1, 4 * 3 + 2] &= ~np.uint32(0xF00)
    arguments = [np.zeros_like(words["d"]), *(words[use] for use in "abc"), registers]
    with pytest.raises(KernelFault, match=r"0000 in row 3, group 2.*thread \(32, 0, 0\)"):
        fragment_kernel(instruction, f"%e0, {selector}").launch(1, LANES * len(registers), arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mma.sp.sync.aligned.m16n8k64.row.col.f16.e4m3.e4m3.f16", "illegal qualifier .sp "),
        (
            "mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
            "illegal qualifier .m16n8k8",
        ),
        ("mma.sp.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "qualifier .sp given twice"),
    ],
)
def test_forms_that_do_not_exist(text, message):
    with pytest.raises(IllegalInstruction, match=re.escape(message)):
        parse_instruction(text)
