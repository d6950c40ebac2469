"""The model of functional coverage, its samples against cases worked out by hand, and its report."""

from collections import Counter
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from golden.tables.commands import Fill, Load, Mma, Move, Store
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.config import PRESETS
from regression.campaign.kind import Outcome, Task
from regression.campaign.kinds.functional_coverage import FunctionalCoverage, run_early_host, types_in
from regression.functional import hazards, instructions, values
from regression.functional.collector import MODEL, model_of, observe, sample_arithmetic
from regression.functional.directed import hazard_program
from regression.functional.model import bin_name, coverpoint, share, tables
from regression.random_programs.generator import make_program
from regression.random_programs.running import difference

SQUARE, TINY = Shape(16, 16, 16), Shape(8, 8, 4)


def multiply(a_type, c_type, d_type, shape=SQUARE, **modifiers):
    return MmaInstruction(
        shape=shape,
        a_layout="row",
        b_layout="col",
        a_type=a_type,
        b_type=a_type,
        c_type=c_type,
        d_type=d_type,
        **modifiers,
    )


def zeros(instruction, dtype, c_dtype):
    shape = instruction.shape
    return {
        "a": np.zeros(shape.extent("a"), dtype),
        "b": np.zeros(shape.extent("b"), dtype),
        "c": np.zeros(shape.extent("c"), c_dtype),
        "d": np.zeros(shape.extent("d"), c_dtype),
    }


def of(seen, point):
    """The bins of a coverpoint that were seen."""
    return {item: count for (name, item), count in seen.items() if name == point and count}


def test_a_cross_has_every_bin_but_those_excluded_and_knows_holes_and_contradictions():
    point = coverpoint(
        "p", "", {"x": "ab", "y": ("1", "2")}, lambda x, y: "never" if (x, y) == ("b", "2") else None
    )
    assert point.bins == ("a / 1", "a / 2", "b / 1")
    seen = Counter({("p", "a / 1"): 1, ("p", "b / 2"): 1, ("p", "c"): 1, ("q", "a / 2"): 1})
    assert point.holes(seen) == ["a / 2", "b / 1"]
    assert point.contradictions(seen) == ["b / 2 (never)", "c (no such bin)"]


def test_every_exclusion_has_a_reason_and_no_name_stands_twice():
    assert len({point.name for point in MODEL}) == len(MODEL)
    for point in MODEL:
        assert len(set(point.bins)) == len(point.bins)
        assert all(point.excluded.values())


def coverage():
    return FunctionalCoverage(1, FunctionalCoverage.options)


def outcome_of(seen):
    return Outcome(cases=(), data=[(point, item, count) for (point, item), count in seen.items()])


def test_runs_add_up_and_the_verdict_says_what_is_missing_and_what_is_seen_though_excluded():
    everything = Counter({(point.name, item): 1 for point in MODEL for item in point.bins})
    task = Task(key="a", arguments={})
    hole = (MODEL[0].name, MODEL[0].bins[5])
    kind = coverage()
    kind.add(task, outcome_of(Counter({key: count for key, count in everything.items() if key != hole})))
    assert kind.holes() == [" / ".join(hole)]
    (failure,) = kind.verdict(()).failures
    assert failure == f"bins seen must be {len(everything)}, not {len(everything) - 1}"
    kind.add(task, outcome_of(Counter({hole: 3})))
    assert (kind.holes(), kind.verdict(()).failures) == ([], [])
    assert kind.seen == everything + Counter({hole: 2})
    kind.add(task, outcome_of(Counter({("multiply", "nothing"): 1})))
    (failure,) = kind.verdict(()).failures
    assert failure == "seen, but excluded: multiply / nothing (no such bin)"


def test_the_tables_have_every_coverpoint_and_why_bins_are_excluded():
    seen = Counter({("cancellation", "f64"): 2})
    points, excluded = tables(MODEL, seen)
    assert [row[0] for row in points.rows] == [*(point.name for point in MODEL), "all"]
    assert "every zero of a fused dot-product-add is +0" in {row[2] for row in excluded.rows}
    assert share(MODEL, seen)[0] == 1


def test_commands_are_seen_with_place_stride_and_page():
    load = LoadInstruction(use="a", layout="row", shape=SQUARE, type="f16", space="generic")
    seen = Counter()
    for item in (
        Load(load, 0, 0x1FE0, 16),
        Load(replace(load, space="shared"), 0, 32, 32),
        Store(StoreInstruction(layout="col", shape=SQUARE, type="f32"), 0, 0xFF00_0FE0),
        Fill(0, 1, 0),
        Fill(0, 0, 0),
        Move(4, 0, 6),
        Move(0, 4, 4),
    ):
        instructions.sample_command(seen, item)
    assert of(seen, "access place") == {
        "load.a f16 m16n16k16 row / generic to global": 1,
        "load.a f16 m16n16k16 row / shared": 1,
        "store f32 m16n16k16 col / generic to shared": 1,
    }
    assert set(of(seen, "access stride")) == {
        "load.a f16 m16n16k16 row / default",
        "load.a f16 m16n16k16 row / wide",
        "store f32 m16n16k16 col / none",
    }
    assert of(seen, "page") == {
        "load / global / between lines": 1,
        "load / shared / none": 1,
        "store / shared / within a line": 1,
    }
    assert of(seen, "registers moved") == {
        "fill / one": 1,
        "fill / none": 1,
        "move / onto itself, up": 1,
        "move / several": 2,
    }


def test_values_are_classed():
    instruction = multiply("tf32", "f32", "f32", Shape(16, 16, 8))
    matrices = zeros(instruction, np.uint32, np.uint32)
    corners = [0x8000_0000, 0x1FFF, 0x2000, 0x8080_0000, 0x3F80_1234]
    corners += [0x7F7F_FFFF, 0xFF80_0000, 0x7F80_0001, 0x7FC0_0000, 0x7F80_2000]
    matrices["a"].reshape(-1)[: len(corners)] = corners
    seen = Counter()
    values.sample_values(seen, instruction, matrices)
    expected = {
        "-zero": 1, "+zero": 128 - 9, "+subnormal": 1, "-least normal": 1, "+normal": 1, "+largest": 1,
        "-infinity": 1, "infinity with ignored bits": 1, "quiet NaN": 1, "signalling NaN": 1,
    }  # fmt: skip
    found = {item: n for item, n in of(seen, "operand value").items() if item.startswith("a / ")}
    assert found == {f"a / tf32 / {name}": count for name, count in expected.items()}


@pytest.mark.parametrize(
    ("c", "product", "outcomes"),
    [
        (0x3C00, (0, 0), {"+ / exact, normal": 256}),
        (0x3C00, (2**-6, 2**-5), {"+ / tie towards zero, normal": 256}),
        (0x3C01, (2**-6, 2**-5), {"+ / tie away from zero, normal": 256}),
        (0xBC00, (-(2**-6), 2**-6), {"- / towards zero, normal": 256}),
        (0xBC00, (-(2**-6), 1.5 * 2**-5), {"- / away from zero, normal": 256}),
        (0x0001, (0, 0), {"+ / exact, subnormal": 256}),
        (0x0001, (2**-12, 2**-13), {"+ / tie away from zero, subnormal": 256}),
        (0, (2**-12, 2**-13), {"+ / tie towards zero, to zero": 256}),
        (0, (-(2**-14), 2**-14), {"- / towards zero, to zero": 256}),
        (0x7BFF, (2, 32), {"+ / overflow to infinity": 256}),
        (0xFC00, (2, 32), {}),
        (0x3C00, (-1, 1), {}),
    ],
)
def test_the_rounding_of_f16_is_told(c, product, outcomes):
    instruction = multiply("f16", "f16", "f16")
    matrices = zeros(instruction, np.uint16, np.uint16)
    matrices["a"][:, 3] = np.float16(product[0]).view(np.uint16)
    matrices["b"][3] = np.float16(product[1]).view(np.uint16)
    matrices["c"][:] = c
    seen = Counter()
    sample_arithmetic(seen, instruction, matrices)
    assert of(seen, "rounding") == {f"f16 to f16 / {item}": count for item, count in outcomes.items()}
    assert of(seen, "cancellation") == ({"f16 to f16": 256} if product == (-1, 1) else {})


@pytest.mark.parametrize(
    ("mode", "c", "a", "outcome"),
    [
        ("rn", 1.0, 2.0**-53, "+ / tie towards zero, normal"),
        ("rz", 1.0, 2.0**-53, "+ / towards zero, normal"),
        ("rp", 1.0, 2.0**-53, "+ / away from zero, normal"),
        ("rm", -1.0, -(2.0**-60), "- / away from zero, normal"),
        ("rm", np.finfo(float).max, np.finfo(float).max, "+ / overflow to the largest"),
        ("rp", np.finfo(float).max, np.finfo(float).max, "+ / overflow to infinity"),
        ("rz", 0.0, 5e-324, "+ / exact, subnormal"),
    ],
)
def test_the_rounding_of_f64_is_told(mode, c, a, outcome):
    instruction = multiply("f64", "f64", "f64", TINY, rounding=mode)
    matrices = zeros(instruction, np.uint64, np.uint64)
    matrices["a"][:, 0] = np.float64(a).view(np.uint64)
    matrices["b"][0] = np.float64(1).view(np.uint64)
    matrices["c"][:] = np.float64(c).view(np.uint64)
    seen = Counter()
    sample_arithmetic(seen, instruction, matrices)
    assert of(seen, "rounding")[f"f64 .{mode} / {outcome}"] >= 8


def test_integer_sums_beyond_s32_are_told():
    instruction = multiply("s8", "s32", "s32", saturate=True)
    matrices = zeros(instruction, np.int8, np.int32)
    matrices["a"][:, 0] = matrices["b"][0] = 1
    matrices["c"][0], matrices["c"][1, 0] = 2**31 - 1, -(2**31)
    seen = Counter()
    sample_arithmetic(seen, instruction, matrices)
    assert of(seen, "integer sum") == {"s8 / saturated / above": 16, "s8 / saturated / in range": 240}


@pytest.mark.parametrize(
    ("distance", "bucket"),
    [
        (0, "0"),
        (1, "1"),
        (7, "2 to 7"),
        (16, "16 to 23"),
        (24, "24"),
        (25, "25"),
        (26, "26"),
        (27, "27 and more"),
        (90, "27 and more"),
    ],
)
def test_the_distance_of_a_product_from_the_largest_term_is_told(distance, bucket):
    instruction = multiply("bf16", "f32", "f32")
    matrices = zeros(instruction, np.uint16, np.uint32)
    matrices["a"][:, 0] = matrices["b"][0] = 127 << 7
    matrices["c"][:] = (127 + distance) << 23
    seen = Counter()
    sample_arithmetic(seen, instruction, matrices)
    assert of(seen, "alignment distance") == {
        "bf16 / addend f32 / 0": 256,
        f"bf16 / product / {bucket}": 256,
        "bf16 / product / zero": 15 * 256,
    }


@pytest.mark.parametrize(
    ("type", "k", "products"), [("f16", 8, 8), ("bf16", 8, 8), ("tf32", 4, 4), ("tf32", 8, 8)]
)
def test_the_first_sum_of_mma_sync_is_as_long_as_its_block(type, k, products):
    """Of tf32 all 8 products, where wmma has blocks of 4."""
    shape = Shape(16, 8, k)
    instruction = multiply(type, "f32", "f32", shape, mnemonic="mma")
    matrices = zeros(instruction, np.uint32 if type == "tf32" else np.uint16, np.uint32)
    matrices["a"][:, -1] = matrices["b"][-1] = {"f16": 0x3C00, "bf16": 0x3F80, "tf32": 0x3F80_0000}[type]
    seen = Counter()
    sample_arithmetic(seen, instruction, matrices)
    assert of(seen, "alignment distance") == {
        f"{type} / addend f32 / zero": 128,
        f"{type} / product / 0": 128,
        f"{type} / product / zero": (products - 1) * 128,
    }
    assert of(seen, "rounding") == {f"{type} to f32 / + / exact, normal": 128}


def test_sums_below_the_floor_are_told():
    instruction = multiply("f16", "f16", "f16")
    matrices = zeros(instruction, np.uint16, np.uint16)
    matrices["a"][:, 0] = matrices["b"][0] = 1
    seen = Counter()
    sample_arithmetic(seen, instruction, matrices)
    assert of(seen, "exponent floor") == {"f16 to f16": 256}


LOAD = LoadInstruction(use="c", layout="row", shape=SQUARE, type="f32", space="shared")
STORE = StoreInstruction(layout="row", shape=SQUARE, type="f32", space="generic")


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ((Fill(0, 4, 0), Move(8, 0, 4)), {"read after write / fill / move / all"}),
        ((Fill(0, 4, 0), Move(8, 3, 4)), {"read after write / fill / move / part"}),
        ((Fill(0, 4, 0), Move(8, 4, 4)), set()),
        ((Store(STORE, 0, 0x1000), Load(LOAD, 0, 0)), {"write after read / store / load / all"}),
        (
            (Fill(0, 1, 0), Fill(1, 1, 0), Fill(2, 1, 0), Fill(3, 1, 0), Fill(0, 1, 0)),
            {"write after write / fill / fill / all"},
        ),
        ((Fill(0, 1, 0), *(Fill(9 + i, 1, 0) for i in range(4)), Fill(0, 1, 0)), set()),
        (
            (Fill(8, 8, 0), Mma(multiply("f16", "f32", "f32"), d=8, a=16, b=24, c=8)),
            {"read after write / fill / tile / all", "write after write / fill / tile / all"},
        ),
    ],
)
def test_register_hazards_are_told(commands, expected):
    seen = Counter()
    hazards.sample_hazards(seen, commands, {})
    assert set(of(seen, "register hazard")) == expected


@pytest.mark.parametrize(
    ("address", "stride", "extent"),
    [(0, None, "all"), (64, None, "part"), (1024, None, None), (64, 32, "between lines"), (128, 32, "part")],
)
def test_memory_hazards_are_told(address, stride, extent):
    seen = Counter()
    commands = (Store(STORE, 0, 0xFF00_0000, stride), Load(LOAD, 8, address, stride))
    hazards.sample_hazards(seen, commands, {})
    expected = set() if extent is None else {bin_name("load after store", "shared", "differently", extent)}
    assert set(of(seen, "memory hazard")) == expected


LONG_SEEDS = (pytest.param("small", seed, marks=pytest.mark.long) for seed in (1, 2))


@pytest.mark.parametrize(("preset", "seed"), [("small", 0), ("tiny", 0), *LONG_SEEDS])
def test_directed_programs_have_every_hazard_and_end_as_on_the_golden_machine(preset, seed):
    program = hazard_program(preset, seed)
    seen = observe(program, program.golden())
    names = {point.name for point in hazards.POINTS}
    points = [point for point in model_of(PRESETS[preset]) if point.name in names]
    assert [hole for point in points for hole in point.holes(seen)] == []
    assert difference(program) is None


@pytest.mark.parametrize(("preset", "accesses"), [("small", 5), ("tiny", 3)])
def test_a_host_that_is_too_early_is_refused_and_changes_nothing(preset, accesses):
    seen = Counter()
    assert run_early_host(seen, preset, 1) is None
    assert len(of(seen, "early host")) == accesses


@pytest.mark.parametrize(("preset", "least"), [("small", 1000), ("tiny", 500)])
def test_nothing_is_seen_that_the_model_excludes(preset, least):
    seen, model = Counter(), model_of(PRESETS[preset])
    for number in range(2):
        program = make_program(preset, 9, number, multiplies=40)
        seen += observe(program, program.golden())
    assert [point.contradictions(seen) for point in model] == [[]] * len(MODEL)
    assert share(model, seen)[0] > least


def test_a_core_has_no_bin_of_what_it_lacks():
    """Of f16 alone, without on-chip memory."""
    assert model_of(PRESETS["small"]) == MODEL == model_of(PRESETS["standard"])
    found = {point.name: point for point in model_of(PRESETS["tiny"])}
    assert found["matrix move"].bins == found["row hazard"].bins == ()
    assert set(found["cancellation"].bins) == {"f16 to f16", "f16 to f32"}
    assert found["access place"].excluded["load.a s8 m16n16k16 row / global"] == "the core has no s8"
    assert "load.c f32 m16n16k16 row / generic to global" in found["access place"].bins
    assert found["access place"].excluded["load.c f32 m16n16k8 row / global"] == "the core has no such access"
    assert found["fault"] in MODEL


def test_a_core_without_fp8_has_no_directed_sums_of_it():
    kind = FunctionalCoverage(1, {"preset": "tiny"})
    outcome = kind.run(Task(key="fp8", arguments={"directed": "fp8"}))
    assert (outcome.failures, outcome.data) == ((), [])


@pytest.mark.parametrize(
    ("holes", "types"),
    [
        ([], []),
        (["wait / queue"], []),
        (
            ["result value / u8.s8 + s32 to s32 / least", *2 * ["operand value / b / tf32 / -largest"]],
            ["tf32", "u8.s8 + s32 to s32"],
        ),
        (["rounding / mma addition e4m3.e5m2 to f32 / + / x"], ["e4m3", "e5m2"]),
        (["rounding / f64 .rn / + / x"], ["f64"]),
        (["scale byte / a / ue4m3 of groups / 0x01"], ["ue4m3"]),
        (["rounding / f16 to f32 / + / x", "access place / load.a b1 m8n8k128 row / shared"], ["f16", "b1"]),
    ],
)
def test_programs_are_steered_to_the_types_that_are_missing(holes, types):
    assert types_in(holes) == types


def test_programs_are_steered_to_types_of_the_core_alone():
    """Holes of faults name tf32, which a core of f16 cannot multiply."""
    kind = FunctionalCoverage(1, {"preset": "tiny", "set": []})
    assert "tf32" in types_in(kind.holes())
    drawn = {task.arguments.get("type") for task in islice(kind.tasks(), 200)}
    assert drawn > {None, "f16"}
    assert all(type in (None, "f16") or type.startswith("f16.f16 + ") for type in drawn)


def test_programs_are_steered_while_bins_are_missing():
    """Every other round has multiplies of one type; when all is seen, of any."""
    kind = coverage()
    kind.holes = lambda: ["multiply / bf16"]
    directed = [f"directed {name}" for name in ("hazards", "fp8", "early host", "faults", "banks")]
    names = [task.key for task in islice(kind.tasks(), 5 + 4 * 12)]
    assert names[:5] == directed
    rounds = [[f"random {type} {number:06}" for number in range(12)] for type in ("any", "bf16")]
    assert names[5:29] == [*rounds[0], *rounds[1]]
    assert len(set(names)) == len(names)
    kind.holes = list
    assert all(task.key.startswith(("directed", "random any")) for task in islice(kind.tasks(), 60))


@pytest.mark.long
def test_everything_is_seen():
    kind = coverage()
    for task in kind.tasks():
        outcome = kind.run(task)
        assert outcome.failures == ()
        kind.add(task, outcome)
        if not kind.holes():
            break
    assert kind.verdict(()).failures == []
