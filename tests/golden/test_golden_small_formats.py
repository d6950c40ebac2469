"""8, 6 and 4 bits with block scales and without: words of MMA-Sim, facts of chips, operands, refusals."""

import os
import re
import subprocess
import sys
from fractions import Fraction
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from fragment_kernels import fragment_kernel
from golden_captures import COMPACT

import golden
from bench import mmasim
from bench.mmasim import forms
from golden.arguments import VALUES, dtype_of
from golden.arithmetic.byte_factors import table
from golden.arithmetic.decode import ZERO_EXPONENT
from golden.arithmetic.fdpa import INFINITE_EXPONENT, NAN_EXPONENT
from golden.arithmetic.fp4 import LARGEST, doubled
from golden.arithmetic.fp4_tiles import fp4_tiles
from golden.block_scales import pack_scales, unpack_scales
from golden.ptx.mnemonic import parse_instruction
from golden.ptx.source import PtxError
from golden.simt.errors import KernelFault, LaunchError
from golden.simt.grid import GoldenEngine
from golden.sparsity import pack_metadata, stored_places
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import NARROW_FAMILIES
from golden.tables.matrix_instructions import IllegalInstruction, multiplies_of
from golden.tables.profiles import PROFILES
from golden.tables.scales import BYTE_IDS, THREAD_IDS

sys.path.insert(0, str(COMPACT))
from small_formats import FIELDS, cases

SMALL = tuple(FIELDS)[:5]
MXF8 = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0"
MXF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
NVF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
NARROW = [each for family in NARROW_FAMILIES for each in multiplies_of(family)]
DIAGONAL = np.arange(8)


def computed(ptx, a, b, c, *scales):
    """The results of single dot products, eight in a tile."""
    tiles = -(-len(a) // 8)

    def grouped(x):
        return np.resize(x, (tiles * 8, *x.shape[1:])).reshape(tiles, 8, *x.shape[1:])

    addends = np.zeros((tiles, 16, 8), c.dtype)
    addends[:, 2 * DIAGONAL, DIAGONAL] = grouped(c)
    operands = np.repeat(grouped(a), 2, axis=1), grouped(b).swapaxes(1, 2), addends
    named = {}
    if scales:
        named["scale_a"] = np.repeat(grouped(scales[0]), 2, axis=1)
        named["scale_b"] = grouped(scales[1]).swapaxes(1, 2)
    found = golden.mma(f"mma.sync.aligned.{ptx}", *operands, profile="blackwell", **named)
    return found[:, 2 * DIAGONAL, DIAGONAL].reshape(-1)[: len(a)]


def test_elements_have_twice_the_values_of_ml_dtypes():
    values = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn)
    found = [doubled(bits) for bits in range(16)]
    np.testing.assert_array_equal(found, 2 * values.astype(float))
    assert max(found) == LARGEST


@pytest.mark.parametrize("name", SMALL)
def test_tables_of_factors_have_the_values_of_ml_dtypes(name):
    """The tables themselves: only processors with AVX-512 VBMI decode by them."""
    type, width = getattr(ml_dtypes, VALUES[name]), FORMATS[name].bits
    *of_bytes, unused = np.split(table(FORMATS[name]).astype(np.uint32), [128, 256, 384, 512])
    assert (unused == 255 - (1 << width) + 1).all()
    lower, upper, low, high = (part[: 1 << min(width, 7)] for part in of_bytes)
    exponents = (upper << 8 | lower).astype(np.uint16).view(np.int16)
    found = (high << 24 | low << 16).view(np.float32)
    values = np.arange(len(found), dtype=np.uint8).view(type).astype(np.float32)
    np.testing.assert_array_equal(found, values)
    _, powers = np.frexp(values)
    expected = np.maximum(powers - 1, int(ml_dtypes.finfo(type).minexp))
    kinds = [values == 0, np.isinf(values), np.isnan(values)]
    special = np.select(kinds, [ZERO_EXPONENT, INFINITE_EXPONENT, NAN_EXPONENT], expected)
    np.testing.assert_array_equal(exponents, special)


def scale_value(bits, name):
    """Numerator over 8, exponent, and whether it is NaN, by the definition of the type."""
    if name == "ue8m0":
        return 8, bits - 127, bits == 255
    bits &= 127
    return (bits & 7) + 8 * (bits > 7), max(bits >> 3, 1) - 7, bits == 127


def exact_word(a, b, c, scale_a, scale_b, name, group):
    """The rule of sums of groups in Python's integers and fractions: a word of f32."""
    twice = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
    terms, exponents = [], [-139]
    scales = [(scale_value(x, name), scale_value(y, name)) for x, y in zip(scale_a, scale_b, strict=True)]
    if any(nan for pair in scales for *_, nan in pair) or (c >> 23 & 255 == 255 and c & 0x7FFFFF):
        return 0x7FFFFFFF
    if c >> 23 & 255 == 255:
        return c
    for start in range(0, len(a), group):
        (x, x_power, _), (y, y_power, _) = scales[start * len(scales) // len(a)]
        products = [twice[a[k]] * twice[b[k]] for k in range(start, start + group)]
        if any(products) and x and y:
            exponents.append(x_power + y_power)
        terms.append(sum(products) * x * y * Fraction(2) ** (x_power + y_power - 8))
    power = max(c >> 23 & 255, 1) - 127
    significand = (c & 0x7FFFFF) + (0x800000 if c >> 23 & 255 else 0)
    if significand:
        exponents.append(power)
    terms.append((-1) ** (c >> 31) * significand * Fraction(2) ** (power - 23))
    unit = Fraction(2) ** (max(exponents) - 35)
    total = sum(int(term / unit) for term in terms) * unit
    return truncated_word(total)


def truncated_word(value):
    """f32, towards zero; every zero is +0, and beyond the largest number there is an infinity."""
    magnitude = abs(value)
    power = -126
    while magnitude >= Fraction(2) ** (power + 1):
        power += 1
    if power > 127:
        return 0x7F800000 | (value < 0) << 31
    places = int(magnitude / Fraction(2) ** (power - 23))
    bits = places + (power + 126 << 23)
    return bits | (value < 0) << 31 if places else 0


RANGES = {
    "near": (0x38, 16, 112),
    "cancelling": (100, 27, 96),
    "zeros": (112, 16, 112),
    "subnormal": (44, 24, 0),
}
"""Of kinds: the first scale, how many there are, and the first of 32 exponent fields of C."""


def group_operands(random, kind, shape, scales):
    """Operands of some tiles, with what a kind of them is about."""
    tiles, m, n, k = shape
    a, b = random.integers(0, 16, (tiles, m, k), np.uint8), random.integers(0, 16, (tiles, k, n), np.uint8)
    c = random.integers(0, 1 << 32, (tiles, m, n), np.uint32)
    of_rows, of_columns = (random.integers(0, 256, extent, np.uint8) for extent in scales)
    if kind in RANGES:
        first, count, c_first = RANGES[kind]
        of_rows, of_columns = (first + x % count for x in (of_rows, of_columns))
        c = (c & 0x807FFFFF) | (c >> 8 & 31) + c_first << 23
    if kind == "cancelling":  # the second half of k is the first one with other signs, and so is half a group
        a[..., k // 2 :] = a[..., : k // 2] ^ 8
        b[:, k // 2 :] = b[:, : k // 2]
        a[:, ::2, 8:16], b[:, 8:16] = a[:, ::2, :8] ^ 8, b[:, :8]
    if kind == "zeros":
        a[random.random(a.shape) < 0.9] &= 8
        c[random.random(c.shape) < 0.5] = 0
    if kind == "largest":
        of_rows, of_columns = (np.where(x < 128, 254 - x % 2, x) for x in (of_rows, of_columns))
        c = np.where(random.random(c.shape) < 0.5, c & 0x807FFFFF, c | 0x7F000000).astype(np.uint32)
    return a, b, c, of_rows, of_columns


@pytest.mark.parametrize(
    ("name", "group", "parts", "extent"),
    [
        ("ue4m3", 16, 4, (16, 8)),
        ("ue8m0", 16, 2, (16, 8)),
        ("ue8m0", 16, 4, (3, 11)),
        ("ue4m3", 32, 4, (2, 8)),
        ("ue8m0", 64, 1, (5, 16)),
    ],
)
@pytest.mark.parametrize("kind", ["bits", "largest", *RANGES])
def test_sums_of_groups_equal_exact_integers(name, group, parts, extent, kind):
    """Also of odd numbers of rows and columns, and of groups of other lengths."""
    random = np.random.default_rng([group, parts, *extent, len(kind)])
    tiles, (m, n), k = 3, extent, max(64, 4 * group)
    operands = group_operands(random, kind, (tiles, m, n, k), ((tiles, m, parts), (tiles, parts, n)))
    a, b, c, of_rows, of_columns = operands
    found = fp4_tiles(*operands, scale_type=name, group=group, out=np.empty_like(c))
    for tile, i, j in np.ndindex(found.shape):
        lists = a[tile, i], b[tile, :, j], of_rows[tile, i], of_columns[tile, :, j]
        x, y, *scales = (line.tolist() for line in lists)
        assert int(found[tile, i, j]) == exact_word(x, y, int(c[tile, i, j]), *scales, name, group), (
            tile,
            i,
            j,
        )


@pytest.mark.long
@pytest.mark.parametrize("features", ["", "+avx2", "+avx512f,+avx512bw,+avx512dq,+avx512vl"])
def test_sums_of_groups_on_processors_with_other_instructions(features, tmp_path):
    """Those of this one's are compiled by the other tests."""
    chosen = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", __file__, "-q", "-k", "groups_equal"]
    subprocess.run(command, env={**os.environ, **chosen}, check=True)


def test_results_equal_the_recorded_words_of_mma_sim():
    with np.load(COMPACT / "small_formats.npz") as loaded:
        for key, _, ptx in forms():
            names = ["a", "b", "c", *(["scale_a", "scale_b"] if "block_scale" in ptx else [])]
            arrays = [loaded[f"{key}/{name}"] for name in names]
            np.testing.assert_array_equal(computed(ptx, *arrays), loaded[f"{key}/d"], err_msg=key)


@pytest.mark.mmasim
def test_results_equal_mma_sim_on_fresh_operands():
    """Ten million products of each form would take a day; 100 000 take minutes."""
    seed = int(np.random.SeedSequence().entropy % (1 << 32))
    for key, ptx, arrays, expected in cases(seed, 100_000 // 6 + 1):
        np.testing.assert_array_equal(computed(ptx, *arrays), expected, err_msg=f"{key}, seed {seed}")


@pytest.mark.mmasim
def test_the_comparison_of_rates_has_every_form(monkeypatch):
    """It ends where results differ."""
    written = {}
    for name, value in {"TILES": 3, "TOGETHER": 2, "CALLS": 1, "REPETITIONS": 1}.items():
        monkeypatch.setattr(mmasim, name, value)
    monkeypatch.setattr(mmasim, "write_results", lambda name, report: written.update(report))
    mmasim.main()
    assert list(written) == [key for key, *_ in forms()]


def test_fp8_without_a_kind_is_the_same_multiply():
    random = np.random.default_rng(5)
    a, b = (random.integers(0, 256, (3, *extent), np.uint8) for extent in ((16, 32), (32, 8)))
    c = random.integers(0, 1 << 32, (3, 16, 8), np.uint32)
    plain, kind = (
        golden.mma(f"mma.sync.aligned.m16n8k32.row.col.{kind}f32.e4m3.e5m2.f32", a, b, c, profile="blackwell")
        for kind in ("", "kind::f8f6f4.")
    )
    np.testing.assert_array_equal(plain, kind)
    half = golden.mma(
        "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32", a[..., :16], b[:, :16], c, profile="blackwell"
    )
    a[..., 16:] = 0
    b[:, 16:] = 0
    whole = golden.mma("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", a, b, c, profile="blackwell")
    np.testing.assert_array_equal(half, whole)


@pytest.mark.parametrize("side", ["scale_a", "scale_b"])
def test_every_byte_of_a_ue4m3_scale(side):
    """As measured on an RTX PRO 6000: 64 times the value, without bit 7, and NaN of 0x7f and 0xff."""
    bytes_ = np.arange(256, dtype=np.uint8)
    ones = {"scale_a": np.full((256, 16, 4), 0x38, np.uint8), "scale_b": np.full((256, 4, 8), 0x38, np.uint8)}
    ones[side][...] = bytes_[:, None, None]
    a, b = np.full((256, 16, 64), 2, np.uint8), np.full((256, 64, 8), 2, np.uint8)
    found = golden.mma(NVF4, a, b, np.zeros((256, 16, 8), np.uint32), profile="blackwell", **ones)
    values = (bytes_ & 0x7F).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    expected = np.where(np.isnan(values), np.uint32(0x7FFFFFFF), (64 * values).view(np.uint32))
    np.testing.assert_array_equal(found, np.broadcast_to(expected[:, None, None], found.shape))


def of_exponents(a, b, c, exponents):
    """The result of MXF4 where the two scales of every row have these exponents."""
    scale_a = np.tile(np.array(exponents, np.int64) + 127, (16, 1)).astype(np.uint8)
    addend, ones = np.full((16, 8), c, np.uint32), np.full((2, 8), 127, np.uint8)
    rows, columns = np.tile(a, (16, 1)), np.tile(b[:, None], (1, 8))
    found = golden.mma(MXF4, rows, columns, addend, profile="blackwell", scale_a=scale_a, scale_b=ones)
    assert (found == found[0, 0]).all()
    return int(found[0, 0])


def test_a_group_that_cancels_takes_part():
    """Its scales alone set the unit: 2**-24 is kept by an exponent of 11, and cut by one of 12."""
    a, b = np.zeros((2, 64), np.uint8)
    a[:2], b[:2] = (2, 10), 2
    assert of_exponents(a, b, 0x33800000, (11, 0)) == 0x33800000
    assert of_exponents(a, b, 0x33800000, (12, 0)) == 0


def test_groups_have_sixteen_products_where_two_share_a_scale():
    """Two sums of 0.75 units, each cut to 0; together they would be 1.5 units, cut to 2**-35."""
    a, b = np.zeros((2, 64), np.uint8)
    a[[0, 1, 2, 16, 17, 18]] = b[[0, 1, 2, 16, 17, 18]] = 1
    a[32:34], b[32:34] = (2, 10), 2
    assert of_exponents(a, b, 0, (-35, 0)) == 0
    assert of_exponents(a, b, 0, (-34, 0)) == 0x2E800000


def random_bits(random, type, shape):
    return random.integers(0, 1 << FORMATS[type].bits, shape, dtype_of(FORMATS[type]))


def random_operands(random, instruction):
    shape = instruction.shape
    a, b, c = (random_bits(random, instruction.types[use], (2, *instruction.extent(use))) for use in "abc")
    named = {}
    if instruction.scales:
        extents = {"scale_a": (2, shape.m, instruction.scales), "scale_b": (2, instruction.scales, shape.n)}
        named = {name: random.integers(60, 200, extent, np.uint8) for name, extent in extents.items()}
    if instruction.is_sparse:
        nibbles = np.array(instruction.sparsity.nibbles, np.uint8)
        named["metadata"] = random.choice(nibbles, (2, shape.m, instruction.sparsity.groups))
    return a, b, c, named


SMALLEST = [
    each for each in NARROW if each.a_type == each.b_type in ("e3m2", "e2m1") and each.c_type == "f32"
]


@pytest.mark.parametrize("instruction", SMALLEST, ids=str)
def test_an_unused_bit_of_one_element_is_found(instruction):
    """Wherever it is: decoding finds it."""
    random, width = np.random.default_rng(9), FORMATS[instruction.a_type].bits
    for use, bit in product("ab", range(width, 8)):
        *operands, named = random_operands(random, instruction)
        elements = operands["ab".index(use)]
        place = tuple(random.integers(elements.shape))
        elements[place] |= 1 << bit
        with pytest.raises(golden.InvalidArgument, match=f"^{use}: got the value {elements[place]}; "):
            golden.mma(instruction, *operands, profile="blackwell", **named)


SPARSE = [each for each in NARROW if each.is_sparse and each.a_type in ("e4m3", "e2m1")]


@pytest.mark.parametrize("instruction", SPARSE, ids=str)
def test_sparse_is_the_dense_multiply_of_what_is_stored(instruction):
    """On a chip: NVFP4 and MXFP4 and fp8, measured by others; the other pairs are inferred."""
    a, b, c, named = random_operands(np.random.default_rng(7), instruction)
    found = golden.mma(instruction, a, b, c, profile="blackwell", **named)
    places = stored_places(instruction.sparsity, named.pop("metadata"))
    dense = parse_instruction(
        str(instruction)
        .replace("mma.sp::ordered_metadata", "mma")
        .replace(str(instruction.shape), str(instruction.stored))
    )
    for tile, row in np.ndindex(2, 16):
        scales = {name: scale[tile] for name, scale in named.items()}
        gathered = b[tile][places[tile, row]]
        expected = golden.mma(dense, a[tile], gathered, c[tile], profile="blackwell", **scales)
        np.testing.assert_array_equal(found[tile, row], expected[row])


@pytest.mark.parametrize("text", [MXF8, MXF4, NVF4], ids=["1X", "2X", "4X"])
def test_scales_are_read_where_the_selectors_say(text):
    """The lanes of the PTX manual, written out."""
    instruction, random = parse_instruction(text), np.random.default_rng(8)
    words = random.integers(0, 1 << 32, 32, np.uint32)
    for use in "ab":
        for byte_id, thread_id in product(BYTE_IDS[instruction.scale_vec], THREAD_IDS[use]):
            found = unpack_scales(instruction, use, words, byte_id, thread_id)
            packed = pack_scales(instruction, use, found, byte_id, thread_id)
            np.testing.assert_array_equal(unpack_scales(instruction, use, packed, byte_id, thread_id), found)
            for line, part in np.ndindex(16 if use == "a" else 8, instruction.scales):
                lane = 4 * (line % 8) + (2 * thread_id + line // 8 if use == "a" else thread_id)
                scale = found[line, part] if use == "a" else found[part, line]
                assert scale == int(words[lane]) >> 8 * (byte_id + part) & 255


@pytest.mark.parametrize("name", ["e4m3", "e5m2", *VALUES])
def test_values_are_bit_patterns_of_ml_dtypes(name):
    """Every pattern has the value that ml_dtypes gives it."""
    if name not in SMALL:
        return
    bits = np.arange(1 << FORMATS[name].bits, dtype=np.uint8)
    values = bits.view(getattr(ml_dtypes, VALUES[name]))
    text = f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.{name}.e4m3.f32"
    tiles = len(bits) // 16
    a = np.zeros((tiles, 16, 32), values.dtype)
    a[:, :, 0] = values.reshape(tiles, 16)
    b = np.zeros((tiles, 32, 8), ml_dtypes.float8_e4m3fn)
    b[:, 0] = 1
    found = golden.mma(text, a, b, np.zeros((tiles, 16, 8), np.float32), profile="blackwell")
    expected = values.astype(np.float32).reshape(tiles, 16, 1).repeat(8, axis=2)
    np.testing.assert_array_equal(found, expected + 0.0)  # -0 becomes +0


@pytest.mark.parametrize("instruction", NARROW[::7], ids=str)
def test_registers_hold_elements_where_containers_have_them(instruction):
    """Six bits in the low bits of a byte, four bits in bits 5 to 2, or eight in a register from k 64 on."""
    a, b, *_ = random_operands(np.random.default_rng(9), instruction)
    for use, matrix in (("a", a), ("b", b)):
        name, sparse = instruction.types[use], instruction.is_sparse
        words = golden.distribute(matrix, use, name, instruction.shape, sparse=sparse)
        back = golden.collect(words, use, name, instruction.shape, sparse=sparse)
        np.testing.assert_array_equal(back, matrix)
        packed = name == "e2m1" and instruction.stored.k >= 64
        used = {"e3m2": 0x3F, "e2m3": 0x3F, "e2m1": 0xFF if packed else 0x3C}.get(name, 0xFF)
        assert not (words & np.uint32(~(used * 0x01010101) & 0xFFFFFFFF)).any()
        # row 0 (column 0) begins in lane 0, register 0, low bits first
        first = [matrix[(0, 0, i) if use == "a" else (0, i, 0)] for i in range(8 if packed else 4)]
        shift, step = (0, 4) if packed else (2 if name == "e2m1" else 0, 8)
        assert int(words[0, 0, 0]) == sum(int(x) << shift + step * i for i, x in enumerate(first))


ACCEPTED = {
    (*row.split()[:-1], a, b)
    for row in (COMPACT / "narrow_forms.txt").read_text().splitlines()
    for a, b in product(SMALL, SMALL)
    if row.endswith(" all")
    or (row.endswith(" fp8") and {a, b} <= {"e4m3", "e5m2"})
    or row.endswith(f" {a}.{b}")
}


def form_text(op, shape, kind, scaled, vec, d, scale, a, b, kind_first=False):
    """The PTX of a form of the assembler's table, in which - is nothing."""
    vec = f"scale_vec::{vec}" if vec != "-" else "-"
    kinds = [part for part in (kind, scaled, vec) if part != "-"]
    middle = [*kinds, shape, "row", "col"] if kind_first else [shape, "row", "col", *kinds]
    return ".".join([op, "sync", "aligned", *middle, d, a, b, d, *([scale] if scale != "-" else [])])


def test_the_forms_that_the_assembler_takes_for_sm_120a_are_taken():
    """ptxas 13.5 with PTX 9.1; the kind before the shape, as CUTLASS writes it, or behind the layouts."""
    assert len(ACCEPTED) == 318
    for form in ACCEPTED:
        first, second = (parse_instruction(form_text(*form, kind_first=order)) for order in (False, True))
        assert first == second == parse_instruction(str(first))


def test_no_other_form_is_taken():
    pairs = [("e4m3", "e4m3"), ("e3m2", "e5m2"), ("e4m3", "e2m1"), ("e2m1", "e2m1")]
    for pair in pairs:
        for form in product(
            ("mma", "mma.sp", "mma.sp::ordered_metadata"),
            ("m16n8k16", "m16n8k32", "m16n8k64", "m16n8k128"),
            ("-", "kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"),
            ("-", "block_scale"),
            ("-", "1X", "2X", "4X"),
            ("f16", "f32"),
            ("-", "ue8m0", "ue4m3"),
        ):
            if (*form, *pair) in ACCEPTED:
                continue
            with pytest.raises(IllegalInstruction):
                parse_instruction(form_text(*form, *pair))


def call(text=MXF8, **changes):
    shape = parse_instruction(text).shape
    operands = {
        "a": np.zeros((16, shape.k), np.uint8),
        "b": np.zeros((shape.k, 8), np.uint8),
        "c": np.zeros((16, 8), np.uint32),
        "scale_a": np.zeros((16, 1), np.uint8),
        "scale_b": np.zeros((1, 8), np.uint8),
        "profile": "blackwell",
    } | changes
    golden.mma(text, *(operands.pop(use) for use in "abc"), **operands)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale_a": None}, "scale_a: got None; allowed: an array of shape (..., 16, 1) for mma.sync"),
        ({"scale_b": np.zeros((8, 1), np.uint8)}, "scale_b: got shape (8, 1); allowed: shape (..., 1, 8)"),
        ({"scale_b": np.zeros((2, 1, 8), np.uint8)}, "scale_b: got leading axes (2,); allowed: (), as a has"),
        (
            {"scale_a": np.zeros((16, 1), np.float32)},
            "dtype float32; allowed: uint8 (raw bit patterns of ue8m0), or float8_e8m0fnu (values)",
        ),
        ({"b": np.full((32, 8), 16, np.uint8)}, "b: got the value 16; allowed: e2m1 from 0 to 15"),
        (
            {"profile": "hopper"},
            "profile: got hopper, which has no e4m3 in mma.kind::mxf8f6f4; allowed: blackwell, exact",
        ),
        (
            {"text": "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32"},
            "scale_a: got an array; allowed: None for mma.sync",
        ),
    ],
)
def test_bad_operands_are_named(changes, message):
    with pytest.raises(golden.InvalidArgument, match=re.escape(message)):
        call(**changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "mma.sync.aligned.m16n8k32.row.col.f32.e3m2.e3m2.f32",
            "illegal qualifier .e3m2 for mma; allowed: ",
        ),
        (NVF4.replace("4X", "1X"), "unknown qualifier .scale_vec::1X"),
        (MXF8.replace(".scale_vec::1X", "").replace("mxf8f6f4", "f8f6f4"), "illegal qualifier .block_scale"),
        (MXF4.replace("ue8m0", "ue4m3"), "illegal qualifier .ue4m3"),
    ],
)
def test_forms_that_do_not_exist(text, message):
    with pytest.raises(IllegalInstruction, match=re.escape(message)):
        parse_instruction(text)


def test_selectors_that_do_not_exist():
    scales = np.zeros((16, 2), np.uint8)
    with pytest.raises(
        golden.InvalidArgument, match=r"byte_id: got 1; allowed: 0, 2 for a with \.scale_vec::2X"
    ):
        pack_scales(MXF4, "a", scales, 1)
    with pytest.raises(golden.InvalidArgument, match="thread_id: got 2; allowed: 0, 1 for a"):
        pack_scales(MXF4, "a", scales, 0, 2)
    with pytest.raises(golden.InvalidArgument, match=r"byte_id: got bool of shape .*; allowed: an integer"):
        pack_scales(MXF4, "a", scales, True)
    with pytest.raises(golden.InvalidArgument, match=r"thread_id: .* of shape \(3,\); .* of shape \(2,\)"):
        unpack_scales(MXF4, "a", np.zeros((2, 32), np.uint32), 0, [0, 1, 0])
    with pytest.raises(golden.InvalidArgument, match=r"use: got array\(\['a'\].*; allowed: a, b"):
        pack_scales(MXF4, np.array(["a"]), scales)
    with pytest.raises(golden.InvalidArgument, match="allowed: a multiply with block scales"):
        pack_scales("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "a", scales)
    assert pack_metadata(SPARSE[-1], np.full((16, 16), 4, np.uint8)).shape == (32,)


@pytest.mark.parametrize("instruction", [*NARROW[::9], *map(parse_instruction, (MXF4, NVF4, MXF8))], ids=str)
@pytest.mark.parametrize("profile", ["blackwell", "exact"])
def test_explanations_have_the_result_of_the_multiply(instruction, profile):
    a, b, c, named = random_operands(np.random.default_rng(11), instruction)
    found = golden.mma(instruction, a, b, c, profile=profile, **named)
    for row, column in ((0, 0), (3, 5), (15, 7)):
        lines = {name: x[1, row] if name != "scale_b" else x[1, :, column] for name, x in named.items()}
        result = golden.explain(
            instruction, a[1, row], b[1, :, column], c[1, row, column], profile=profile, **lines
        ).result
        assert result == found[1, row, column]


def test_an_explanation_shows_groups_scales_and_the_cut():
    """-0.5 * 3 + 6 * 6 in group 1, times 2**-6 * 1.75: 60.375 * 2**-6 has its last bit at 2**-9."""
    a, b = [0] * 64, [0] * 64
    a[16], b[16], a[31], b[31] = 0x9, 0x5, 0x7, 0x7
    found = golden.explain(
        NVF4, a, b, 0x7F000000, scale_a=[0, 8, 8, 8], scale_b=[0x38, 0x3E, 0x38, 0x38], profile="blackwell"
    )
    (step,) = found.steps
    assert [term.kind for term in step.terms] == ["zero", "finite", "zero", "zero", "finite"]
    names = [factor.name for factor in step.terms[1].factors]
    assert names == ["sum[16..31]", "scale_a[1]", "scale_b[1]"]
    assert step.terms[1].significand == 138 * 8 * 14
    assert (step.largest_exponent, step.unit_exponent, step.terms[1].aligned) == (127, 92, 0)
    assert found.result == 0x7F000000


@pytest.mark.parametrize(
    ("scale_a", "message"),
    [
        (None, "got None; allowed: 4 bytes"),
        ([0x38], "got 1 bytes; allowed: 4 bytes"),
        (56, "got 56; allowed: 4 bytes"),
        ([0x38, 0x138, 0x38, 0x38], "got 312; allowed: integers from 0 to 255"),
        ([0x38, 0x38, True, 0x38], "got True; allowed: integers from 0 to 255"),
    ],
)
def test_an_explanation_counts_the_scales(scale_a, message):
    with pytest.raises(golden.InvalidArgument, match=f"^scale_a: {message}$"):
        golden.explain(NVF4, [0] * 64, [0] * 64, 0, scale_a=scale_a, scale_b=[0x38] * 4, profile="blackwell")


def launched(instruction, tail, seed=13):
    """The fragment that a kernel stores, its registers of scales and metadata random; and the operands."""
    random = np.random.default_rng(seed)
    a, b, c, named = random_operands(random, instruction)
    types = dict(zip("abc", (a, b, c), strict=True))
    sparse = instruction.is_sparse
    words = {
        use: golden.distribute(matrix, use, instruction.types[use], instruction.shape, sparse=sparse)
        for use, matrix in types.items()
    }
    registers = {"s": random.integers(0, 1 << 32, (2, 32), np.uint32) & np.uint32(0xBFBFBFBF)}
    registers["t"] = random.integers(0, 1 << 32, (2, 32), np.uint32) & np.uint32(0xBFBFBFBF)
    if sparse:
        registers["e"] = pack_metadata(instruction, named["metadata"])
    d = np.zeros((2, instruction.fragments["d"].registers, 32), np.uint32)
    kernel = fragment_kernel(instruction, tail, "".join(registers))
    engine = GoldenEngine(PROFILES["blackwell"])
    kernel.launch(1, 64, [d, *(words[use] for use in "abc"), *registers.values()], engine=engine)
    return (
        golden.collect(d, "d", instruction.d_type, instruction.shape, sparse=sparse),
        (a, b, c),
        named,
        registers,
    )


@pytest.mark.parametrize(
    ("instruction", "selectors"),
    [(parse_instruction(MXF8), ((3, 1), (2, 3))), (parse_instruction(MXF4), ((2, 0), (0, 1)))]
    + [(each, ((0, 1), (0, 2))) for each in SPARSE if each.scales == 4],
    ids=str,
)
def test_kernels_read_scales_by_their_selectors(instruction, selectors):
    (byte_a, thread_a), (byte_b, thread_b) = selectors
    tail = f"%s0, {{{byte_a}, {thread_a}}}, %t0, {{{byte_b}, {thread_b}}}"
    tail = f"%e0, 0, {tail}" if instruction.is_sparse else tail
    found, operands, named, registers = launched(instruction, tail)
    for use, name, (byte_id, thread_id) in zip("ab", "st", selectors, strict=True):
        named[f"scale_{use}"] = unpack_scales(instruction, use, registers[name], byte_id, thread_id)
    expected = golden.mma(instruction, *operands, profile="blackwell", **named)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("%s0, {1, 0}, %t0, {0, 0}", "byte-id 1 of scale a; allowed: 0, 2 for mma.sync"),
        ("%s0, {0, 2}, %t0, {0, 0}", "thread-id 2 of scale a; allowed: 0, 1 for mma.sync"),
        ("%s0, {0, 0}, %t0, 0", "expected {byte-id, thread-id} of scale b"),
        ("%s0, {0, 0}", "takes the fragments d, a, b and c, scale and selectors of a, scale and"),
        ("%s0, {%r0, 0}, %t0, {0, 0}", "expected an operand of 16 bits"),
    ],
)
def test_kernels_with_wrong_selectors_are_refused(tail, message):
    with pytest.raises(PtxError, match=re.escape(message)):
        fragment_kernel(parse_instruction(MXF4), tail, "st")


def test_selectors_in_registers_must_agree():
    instruction = parse_instruction(MXF4)
    kernel = fragment_kernel(instruction, "%s0, {%h, 0}, %t0, {0, %h}", "st", prologue=PROLOGUE)
    words = [np.zeros((1, layout.registers, 32), np.uint32) for layout in instruction.fragments.values()]
    scales = np.zeros((1, 32), np.uint32)
    engine = GoldenEngine(PROFILES["blackwell"])
    with pytest.raises(KernelFault, match=r"lanes with other selectors of scale a.*thread \(5, 0, 0\)"):
        kernel.launch(1, 32, [*words, scales, scales], engine=engine)


PROLOGUE = ".reg .b16 %h; .reg .pred %q; setp.ge.u32 %q, %r1, 5; selp.u16 %h, 2, 0, %q;"


def test_a_kernel_of_another_generation_is_refused_before_it_starts():
    kernel = fragment_kernel(parse_instruction(NVF4), "%s0, {0, 0}, %t0, {0, 0}", "st")
    with pytest.raises(LaunchError, match=r"hopper, which has no e2m1 in mma\.kind::mxf4nvf4"):
        kernel.launch(1, 32, [np.zeros(4096, np.uint32) for _ in range(6)])
