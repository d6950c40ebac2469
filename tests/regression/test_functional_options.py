"""Coverpoints of sparse multiplies, small elements and `wgmma`: samples against cases by hand."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from golden.matrix_descriptors import SPANS, MatrixDescriptor
from golden.ptx.mnemonic import parse_instruction
from golden.tables.commands import Fill, Mma, Move, MoveMatrix, Store, StoreMatrix, Wgmma
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import StoreInstruction
from hdl.config import PRESETS
from regression.campaign.kinds.functional_coverage import (
    ALL_SMALL_CORE,
    SPARSE_CORE,
    WGMMA_CORE,
    FunctionalCoverage,
    run_banks,
)
from regression.functional import hazards
from regression.functional.collector import MODEL, model_of, observe
from regression.functional.directed import hazard_program
from regression.functional.model import share
from regression.functional.options import sample_sparse
from regression.functional.shares import packed_descriptor, sample_common, sample_share
from regression.random_programs.generator import make_program
from regression.random_programs.program import config_named
from regression.random_programs.running import difference
from regression.random_programs.shares import share_forms, share_name

sys.path.insert(0, str(Path(__file__).parents[1] / "sim"))
from rtl import OPTIONS

FORMATS = "f16,bf16,tf32,i8,i4,b1,fp8,fp6,fp4"
ALL_SMALL = f"small profile=blackwell formats={FORMATS} block_scale=true mxf4=true"
CORES = [SPARSE_CORE, WGMMA_CORE, ALL_SMALL]
WGMMA = config_named(WGMMA_CORE)
SPARSE_F16 = parse_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
ONE = 0x3C00


def of(seen, point):
    return {item: count for (name, item), count in seen.items() if name == point and count}


def matrices_of(instruction, dtypes):
    extents = {use: instruction.extent(use) for use in "abc"}
    return {use: np.zeros(extents[use], dtype) for use, dtype in zip("abc", dtypes, strict=True)}


@pytest.mark.parametrize(
    ("products", "c", "nibble", "outcome"),
    [
        ((1, 1), 0, 0b0100, "exact"),
        ((1, -1), 0, 0b0100, "cancelled"),
        ((0, 0), 0, 0b0100, "exact"),
        ((1, 1), 2.0**25, 0b0100, "exact"),
        ((1, 1), 2.0**26, 0b0100, "cut"),
        ((1, -1), np.inf, 0b0100, "special"),
        # B is infinite at k = 2 alone, and A zero: it takes part only if metadata chooses it.
        ((1, np.nan), 0, 0b0100, "exact"),
        ((1, np.nan), 0, 0b1000, "special"),
    ],
)
def test_the_outcome_of_a_sparse_sum_is_told(products, c, nibble, outcome):
    """Two products of the first group; `nan` stands for zero times infinity."""
    matrices = matrices_of(SPARSE_F16, ("u2", "u2", "u4"))
    values = np.nan_to_num(np.array(products, np.float16))
    matrices["a"][:, :2] = values.view(np.uint16)
    matrices["b"][:4] = ONE
    if np.isnan(products[1]):
        matrices["b"][2] = 0x7C00
    matrices["c"][:] = np.float32(c).view(np.uint32)
    seen = Counter()
    sample_sparse(seen, SPARSE_F16, matrices, np.full((16, 4), nibble, np.uint8), 3)
    assert of(seen, "sparse sum") == {f"f16 to f32 / {outcome}": 128}
    assert of(seen, "selector") == {"m16n8k16 f16 / 3": 1}


def test_nibbles_are_told_by_their_group():
    matrices = matrices_of(SPARSE_F16, ("u2", "u2", "u4"))
    metadata = np.full((16, 4), 0b1110, np.uint8)
    metadata[:3, 2] = 0b1001
    seen = Counter()
    sample_sparse(seen, SPARSE_F16, matrices, metadata, 0)
    assert of(seen, "metadata nibble") == {
        "m16n8k16 f16 / group 0 / 1110": 16,
        "m16n8k16 f16 / group 1 / 1110": 16,
        "m16n8k16 f16 / group 2 / 1001": 3,
        "m16n8k16 f16 / group 2 / 1110": 13,
        "m16n8k16 f16 / group 3 / 1110": 16,
    }


def a_share(warp=0, n=16, **changes):
    (instruction,) = [
        item
        for each in share_forms(WGMMA)
        for item in each
        if share_name(item) == "f32.bf16.bf16" and item.shape.n == n
    ]
    return Wgmma(
        **{"instruction": instruction, "d": 0, "a": 1 << 62, "b": 3 << 62 | 5 << 49, "warp": warp, **changes}
    )


def test_a_share_is_told_by_its_operands():
    seen = Counter()
    sample_share(seen, a_share(transposed=(False, True), negated=(False, True)))
    sample_share(seen, a_share(n=8, a=40, a_in_registers=True, negated=(True, True), scale_d=False))
    assert of(seen, "share") == {"f32.bf16.bf16": 2}
    assert set(of(seen, "share columns")) == {"an even number of tiles", "one tile"}
    assert of(seen, "descriptor") == {
        "A / 128 bytes / k contiguous / zero": 1,
        "B / 32 bytes / m or n contiguous / another": 1,
        "B / 32 bytes / k contiguous / another": 1,
    }
    assert set(of(seen, "share operands")) == {
        "in memory / B inverted / D",
        "in registers / both inverted / zero",
    }


@pytest.mark.parametrize(
    ("commands", "counts"),
    [
        ([a_share(0), Fill(0, 1, 0), a_share(2, d=8, a=0)], {"1": 1, "2": 1}),
        ([a_share(0), a_share(1, b=0)], {"1": 2}),
        ([a_share(0), a_share(0)], {"1": 2}),
        ([a_share(warp) for warp in (3, 1, 0, 2)], {"1": 1, "2": 1, "3": 1, "4": 1}),
        ([a_share(3), a_share(4)], {"1": 2}),
    ],
)
def test_shares_in_common_are_told(commands, counts):
    seen = Counter()
    sample_common(seen, commands)
    assert of(seen, "common share") == counts


STORE = StoreInstruction(layout="row", shape=Shape(16, 16, 16), type="f32", space="shared")


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ([Store(STORE, 40, 0), a_share(b=0)], {"share after store / store / some"}),
        ([Store(STORE, 40, 8192), a_share(b=0)], {"share after store / store / none"}),
        ([a_share(b=0), StoreMatrix(40, 48, 1)], {"store after share / stmatrix / some"}),
        ([Store(STORE, 40, 0), a_share(1, b=0)], set()),
    ],
)
def test_hazards_of_shares_are_told(commands, expected):
    seen = Counter()
    rows = {1: [PRESETS["small"].shared_base + 16 * row for row in range(8)]}
    hazards.sample_hazards(seen, commands, rows if isinstance(commands[1], StoreMatrix) else {})
    assert set(of(seen, "share hazard")) == expected


def test_hazards_of_metadata_are_told():
    multiply = Mma(SPARSE_F16, d=0, a=8, b=16, c=24, metadata=30)
    seen = Counter()
    hazards.sample_hazards(seen, [Fill(30, 1, 0), multiply, Move(30, 40, 2)], {})
    expected = {"read after write / fill", "write after read / move"}
    assert set(of(seen, "metadata hazard")) == expected
    assert of(seen, "option hazard") == {}


def test_the_first_register_of_a_is_a_part_of_it():
    seen = Counter()
    hazards.sample_hazards(seen, [MoveMatrix(8, 40), Mma(SPARSE_F16, d=0, a=8, b=16, c=24, metadata=30)], {})
    assert of(seen, "option hazard") == {"read after write / movmatrix / sparse / part": 1}


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("transposed", [False, True])
def test_packed_rows_have_no_gaps(span, transposed):
    """Every byte of the operand once, but that a swizzle wider than an operand of k leaves some out."""
    found = MatrixDescriptor.from_bits(packed_descriptor(64, span))
    places = found.chunks(64, transposed).reshape(-1)
    assert len(set(places.tolist())) == places.size == 128
    used = 64 * 32 if transposed or span <= 32 else 64 * span
    assert places.max() < used


@pytest.mark.parametrize("core", CORES)
def test_nothing_is_seen_that_the_model_excludes(core):
    seen, model = Counter(), model_of(config_named(core))
    program = make_program(core, 9, multiplies=40)
    seen += observe(program, program.golden())
    assert [point.contradictions(seen) for point in model] == [[]] * len(model)
    assert share(model, seen)[0] > 800


@pytest.mark.parametrize(
    ("core", "count"),
    [(OPTIONS, 6), *(pytest.param(core, 5, marks=pytest.mark.long) for core in (SPARSE_CORE, WGMMA_CORE))],
)
def test_directed_programs_have_every_hazard_and_end_as_on_the_golden_machine(core, count):
    program = hazard_program(core, 0)
    seen = observe(program, program.golden())
    points = [point for point in model_of(config_named(core)) if "hazard" in point.name]
    assert len(points) == count
    assert [hole for point in points for hole in (*point.holes(seen), *point.contradictions(seen))] == []
    assert difference(program) is None


def test_a_core_with_options_has_more_points():
    names = {point.name for point in MODEL}
    more = {
        core: [point.name for point in model_of(config_named(core)) if point.name not in names]
        for core in CORES
    }
    assert more[SPARSE_CORE] == [
        *("option hazard", "option multiply", "selector", "metadata nibble", "sparse sum", "metadata hazard"),
    ]
    assert more[ALL_SMALL] == [
        *("option multiply", "small sum", "group sum", "small operand value", "container"),
        *("scale byte", "scale selector", "NaN scale", "scale hazard", "scale fault"),
    ]
    assert {"share", "descriptor", "share operands", "common share", "bank conflict"} < set(more[WGMMA_CORE])
    nibbles = next(point for point in model_of(config_named(SPARSE_CORE)) if point.name == "metadata nibble")
    assert len(nibbles.bins) == 6 * 2 * (4 + 8) + 2 * (4 + 8) + 6 * 4 * (8 + 16)
    assert nibbles.excluded["m16n8k16 f16 / group 0 / 1111"] == "it is a fault"
    assert nibbles.excluded["m16n8k16 f16 / group 4 / 1110"] == "a row has fewer groups"


@pytest.mark.parametrize("core", [OPTIONS, pytest.param(WGMMA_CORE, marks=pytest.mark.long)])
def test_packed_rows_meet_where_two_banks_are_read_and_nothing_swizzles(core):
    seen = Counter()
    assert run_banks(seen, core, 1) is None
    met = {item for item in of(seen, "bank conflict") if item.endswith("seen")}
    assert len(of(seen, "bank conflict")) == 8
    assert len(met) == (2 if core == OPTIONS else 0)


TWO_BANKS = "small wgmma=true warps=4 dot_product_units=2 data_bits=256 shared_bytes=32768 f64_units=0"


@pytest.mark.long
@pytest.mark.parametrize("core", [SPARSE_CORE, TWO_BANKS, ALL_SMALL_CORE])
def test_everything_is_seen(core):
    preset, *settings = core.split()
    kind = FunctionalCoverage(1, {"preset": preset, "set": settings})
    for task in kind.tasks():
        outcome = kind.run(task)
        assert outcome.failures == ()
        kind.add(task, outcome)
        if not kind.holes():
            break
    assert kind.verdict(()).failures == []
