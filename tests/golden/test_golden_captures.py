"""Every captured result of the chip, bit by bit."""

import re
from dataclasses import replace

import numpy as np
import pytest
from golden_captures import COMPACT, Capture, captured_files, captures, full_folder, instruction_of

import golden
from golden.arithmetic.decode import decode
from golden.arithmetic.fdpa import dot_product
from golden.arithmetic.fma64 import matrix_multiply64
from golden.arithmetic.integer import bit_dot_product, integer_dot_product
from golden.arithmetic.round_pack import round_pack
from golden.fragments import collect
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.instruction_set import SHAPES, MmaInstruction, Shape
from golden.tables.layouts import LANES, fragment
from golden.tables.profiles import HOPPER

ALL = list(captures())
NARROWED_BY_TRUNCATION = "f16_f16_f32_satfinite_legacy"
MATRICES = [capture for capture in ALL if not capture.is_raw and NARROWED_BY_TRUNCATION not in capture.name]
LEGACY = [capture for capture in ALL if NARROWED_BY_TRUNCATION in capture.name]
EIGHT_BIT_FLOATS = ("e4m3", "e5m2")
RAW = [capture for capture in ALL if capture.is_raw and not any(f in capture.name for f in EIGHT_BIT_FLOATS)]

KINDS = {"float": 13, "integer": 3}


def assert_same(found, captured, capture):
    found = np.ascontiguousarray(found).view(captured.dtype)
    different = np.argwhere(found != captured)
    if len(different):
        where = tuple(int(i) for i in different[0])
        pytest.fail(
            f"{capture}: {len(different)} of {found.size} results differ, first at {where}: "
            f"golden {int(found[where]):#x}, chip {int(captured[where]):#x}"
        )


@pytest.mark.parametrize("capture", MATRICES, ids=str)
def test_multiply_equals_the_chip(capture):
    arrays = capture.arrays()
    found = golden.mma(instruction_of(capture.name), arrays["a"], arrays["b"], arrays["c"])
    assert_same(found, arrays["d"], capture)


@pytest.mark.parametrize("capture", LEGACY, ids=str)
def test_old_satfinite_truncates_on_the_way_to_f16(capture):
    """The one trace of the old modifier: an f16 result by way of f32 is truncated instead of rounded.

    No instruction of ours has that arithmetic; what is compared here is the f32 result underneath.
    """
    arrays = capture.arrays()
    instruction = replace(instruction_of(capture.name), d_type="f32")
    wide = decode(golden.mma(instruction, arrays["a"], arrays["b"], arrays["c"]), float_format("f32"))
    f16 = float_format("f16")
    significand = np.where(wide.special, 0, wide.significand.astype(np.int64))
    found = round_pack(wide.negative, significand, wide.exponent - wide.format.fraction_bits, f16, "rz")
    found[wide.infinite] |= f16.infinity
    found[wide.nan] = f16.canonical_nan
    assert_same(found, arrays["d"], capture)


def raw_matrix(registers, use, element, shape):
    """Registers of mma.sync, (tiles, lanes, registers), as matrices.

    Shapes that wmma does not have follow the same rule, with as many registers as were captured.
    """
    if registers.dtype == np.uint64:
        registers = np.ascontiguousarray(registers).view("<u4")
    if shape in SHAPES:
        return collect(registers.transpose(0, 2, 1).astype(np.uint32), use, element, shape)
    layout = replace(fragment(use, element, shape), registers=registers.shape[2])
    bits = layout.element_bits
    format = FORMATS[element]
    if bits == 64:
        values = np.ascontiguousarray(registers).view("<u8")
    elif bits >= 8:
        kind = "i" if getattr(format, "signed", False) else "u"
        values = np.ascontiguousarray(registers, "<u4").view(f"<{kind}{bits // 8}")
    else:
        fields = registers[..., None] >> np.arange(0, 32, bits, dtype=np.uint32) & (2**bits - 1)
        values = fields.reshape(*registers.shape[:2], -1).astype(np.int64)
        values -= (values > format.maximum) * 2**bits
    matrix = np.empty((len(registers), *shape.extent(use)), values.dtype)
    for lane in range(LANES):
        for i in range(layout.elements):
            matrix[(slice(None), *layout.position(lane, i))] = values[:, lane, i]
    return matrix


@pytest.mark.parametrize("capture", RAW, ids=str)
def test_raw_registers_equal_the_chip(capture):
    """mma.sync: `mma.m8n8k16` by `golden.mma`, the shapes we do not offer by the arithmetic beneath it."""
    match = re.fullmatch(
        r"mma_m(\d+)n(\d+)k(\d+)_([a-z0-9]+)_([a-z0-9]+)_([a-z0-9]+)_([a-z0-9]+)(_.*)?", capture.name
    )
    assert match
    shape = Shape(int(match[1]), int(match[2]), int(match[3]))
    d_type, a_type, b_type, c_type = match[4], match[5], match[6], match[7]
    modifiers = (match[8] or "").split("_")[1:]
    arrays = capture.arrays()
    a, b, c, d = (
        raw_matrix(arrays[use], use, element, shape)
        for use, element in (("a", a_type), ("b", b_type), ("c", c_type), ("d", d_type))
    )
    a_format = FORMATS[a_type]
    saturate = "satfinite" in modifiers
    if shape == Shape(8, 8, 16):
        instruction = MmaInstruction(
            mnemonic="mma",
            shape=shape,
            a_layout="row",
            b_layout="col",
            a_type=a_type,
            b_type=b_type,
            c_type=c_type,
            d_type=d_type,
            saturate=saturate,
        )
        found = golden.mma(instruction, a, b, c)
    elif a_type == "b1":
        found = bit_dot_product(a, b, c, "and" if "and" in modifiers else "xor")
    elif not isinstance(a_format, FloatFormat):
        found = integer_dot_product(a, b, c, saturate)
    else:
        k_first = (a.transpose(2, 1, 0), b.transpose(1, 2, 0), c.transpose(1, 2, 0))
        if a_type == "f64":
            found = matrix_multiply64(*k_first, *(modifiers or ["rn"]))
        else:
            found = dot_product(
                *k_first,
                multiplicand=a_format,
                c_format=float_format(c_type),
                d_format=float_format(d_type),
                profile=replace(HOPPER, tf32_block=shape.k),
            )
        found = found.transpose(2, 0, 1)
    assert_same(found, d, capture)


def test_compact_copy_holds_every_name_and_kind():
    """The compact copy is not a selection of what passes: it has all NAMEs, and all kinds of each."""
    kinds = {}
    for file in sorted(path for path in COMPACT.glob("*.npz") if path.stem != "layouts"):
        with np.load(file) as loaded:
            for key in loaded.files:
                prefix, part = key.rsplit("/", 1)
                here = kinds.setdefault(
                    prefix.rsplit("/", 1)[-1] if "window" not in prefix else prefix, set()
                )
                if part == "kind":
                    here |= {int(kind) for kind in loaded[key]}
    for name, found in kinds.items():
        if "/" not in name and not name.startswith("mma_"):
            family = "integer" if "s32" in name else "float"
            assert found == set(range(KINDS[family])), name
    names = {name for name in kinds if "/" not in name}
    assert len([name for name in names if name.startswith("mma_")]) == 42
    assert len([name for name in names if "f16" in name.split("_") and not name.startswith("mma_")]) == 36
    if full_folder() is not None:
        full: dict[str, set[int]] = {}
        for capture in ALL:
            name = (
                capture.name if "window" not in capture.file.stem else f"{capture.file.stem}/{capture.name}"
            )
            here = full.setdefault(name, set())
            here |= {int(kind) for kind in capture.arrays().get("kind", ())}
        assert kinds == full


def test_captures_are_at_hand():
    assert captured_files()
    assert {capture.name for capture in MATRICES} >= {"m16n16k16_f32_f16_f32", "m8n8k4_f64_f64_f64_rp"}
    assert isinstance(ALL[0], Capture)
