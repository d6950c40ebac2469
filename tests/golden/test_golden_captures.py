"""Every captured result of the chip, bit by bit."""

import re
from dataclasses import replace

import numpy as np
import pytest
from golden_captures import COMPACT, TABLES, Capture, captured_files, captures, full_folder, instruction_of

import golden
from golden.arithmetic.arrays import convert
from golden.fragments import collect
from golden.tables.formats import float_format

ALL = list(captures())
NARROWED_BY_TRUNCATION = "f16_f16_f32_satfinite_legacy"
MATRICES = [capture for capture in ALL if not capture.is_raw and NARROWED_BY_TRUNCATION not in capture.name]
LEGACY = [capture for capture in ALL if NARROWED_BY_TRUNCATION in capture.name]
RAW = [capture for capture in ALL if capture.is_raw]

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
    f16, f32 = float_format("f16"), float_format("f32")
    wide = golden.mma(instruction, arrays["a"], arrays["b"], arrays["c"])
    assert_same(convert(wide, f32, f16, "rz"), arrays["d"], capture)


def matrix_of(registers, use, element, shape):
    """Registers of mma.sync, (tiles, lanes, registers), as matrices."""
    if registers.dtype == np.uint64:
        registers = np.ascontiguousarray(registers).view("<u4")
    return collect(registers.transpose(0, 2, 1).astype(np.uint32), use, element, shape)


@pytest.mark.parametrize("capture", RAW, ids=str)
def test_multiply_of_registers_equals_the_chip(capture):
    """mma.sync; this checks the layouts of its fragments as well."""
    instruction = instruction_of(capture.name)
    arrays = capture.arrays()
    types = (instruction.a_type, instruction.b_type, instruction.c_type, instruction.d_type)
    a, b, c, d = (
        matrix_of(arrays[use], use, element, instruction.shape)
        for use, element in zip("abcd", types, strict=True)
    )
    assert_same(golden.mma(instruction, a, b, c), d, capture)


def test_compact_copy_holds_every_name_and_kind():
    """The compact copy is not a selection of what passes: it has all NAMEs, and all kinds of each."""
    kinds = {}
    for file in sorted(path for path in COMPACT.glob("*.npz") if path.stem not in TABLES):
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
    assert len([name for name in names if name.startswith("mma_")]) == 97
    assert len([name for name in names if re.match(r"m\d.*_f16_", name)]) == 36
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
