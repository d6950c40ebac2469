"""Coverpoints of 8, 6 and 4 bits and of block scales: samples against cases by hand, and golden's results."""

from collections import Counter

import numpy as np
import pytest

from golden.fragments import distribute
from golden.multiply import mma
from golden.ptx.mnemonic import parse_instruction
from golden.tables.commands import Fill, Mma, Move
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import SHAPES
from golden.tables.profiles import PROFILES
from regression.campaign.kinds.functional_coverage import ALL_SMALL_CORE, SCALED_CORE, SMALL_CORE
from regression.functional import hazards
from regression.functional.collector import model_of, observe
from regression.functional.directed import hazard_program
from regression.functional.narrow_sums import OUTCOMES, has_groups, outcomes, sample_sums, sum_name
from regression.functional.options import is_small, sample_scales, sample_small
from regression.random_programs.choices import multiplies_of
from regression.random_programs.faulting import FaultSession
from regression.random_programs.illegal_options import scale_ways
from regression.random_programs.operands import FLOAT_KINDS, TWO_PRODUCTS, draw_operands, scale_words
from regression.random_programs.program import config_named
from regression.random_programs.words import word_ways

BLACKWELL = PROFILES["blackwell"]
CONFIG = config_named(ALL_SMALL_CORE)
SMALL = [item for item in multiplies_of(CONFIG) if is_small(item, CONFIG)]
E2M1 = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32"
MXF8 = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e2m1.f32.ue8m0"
NVF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
ONE, HALF, MINUS_ONE = 0b0010, 0b0001, 0b1010


def of(seen, point):
    return {item: count for (name, item), count in seen.items() if name == point and count}


def zeros(instruction):
    return {
        use: np.zeros(instruction.extent(use), dtype)
        for use, dtype in zip("abc", ("u1", "u1", "u4"), strict=True)
    }


def outcome_of(instruction, matrices, scales=None, metadata=None):
    seen = Counter()
    sample_sums(seen, instruction, matrices, BLACKWELL, scales or {}, metadata)
    assert {name.partition(" / ")[0] for _, name in seen} == {sum_name(instruction)}
    return {name.partition(" / ")[2]: count for (_, name), count in seen.items()}


@pytest.mark.parametrize(
    ("b", "c", "outcome"),
    [
        ((ONE, 0), 0, "exact"),
        ((MINUS_ONE, ONE), 0, "cancelled"),
        ((HALF, 0), 0x4C80_0000, "cut"),
        ((ONE, 0), 0x4C80_0000, "exact"),
        ((ONE, 0), 0x7F80_0000, "special"),
    ],
)
@pytest.mark.parametrize("power", [None, 20, -140])
def test_fused_sums_are_told(b, c, outcome, power):
    """C of 2**26 keeps multiples of 2: one half twice is cut, one twice not; scales move all of them."""
    instruction = parse_instruction(E2M1 if power is None else MXF8)
    matrices = zeros(instruction)
    matrices["a"][:, 7:9], matrices["b"][7], matrices["b"][8] = 0b0100, *b
    matrices["c"][:], scales = c, None
    if power is not None:
        if 0 < c < 0x7F80_0000:
            matrices["c"][:] = np.ldexp(np.float32(2.0**26), power).view(np.uint32)
        scales = {"a": np.full((16, 1), 127 + power // 2, "u1"), "b": np.full((1, 8), 127 + power // 2, "u1")}
    assert outcome_of(instruction, matrices, scales) == {outcome: 128}


def test_a_scale_that_is_nan_makes_a_sum_special():
    matrices, scales = zeros(parse_instruction(MXF8)), {"a": np.full((16, 1), 127, "u1")}
    scales["a"][3], scales["b"] = 255, np.full((1, 8), 254, "u1")
    assert outcome_of(parse_instruction(MXF8), matrices, scales) == {"exact": 120, "special": 8}


def test_only_elements_that_metadata_chooses_take_part():
    """Stored ones of A meet B at the first and second place, or at the third and fourth one."""
    instruction = parse_instruction(
        "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32"
    )
    matrices = zeros(instruction)
    matrices["a"][:, :2] = ONE
    matrices["b"][:4] = np.array([[ONE], [MINUS_ONE], [ONE], [ONE]])
    metadata = np.full((16, 16), 0b1110, np.uint8)
    metadata[5, 0] = 0b0100
    assert outcome_of(instruction, matrices, metadata=metadata) == {"exact": 120, "cancelled": 8}


GROUP = "a group that cancels"


@pytest.mark.parametrize(
    ("places", "scale", "c", "expected"),
    [
        ({}, 0x38, 0, {"exact", "a group has no products"}),
        ({0: (ONE, MINUS_ONE)}, 0x38, 0, {"cancelled", "a group cancels", f"{GROUP} is the only", "none"}),
        # C has the exponent of the group, which is 0; then a greater one.
        ({0: (ONE, MINUS_ONE)}, 0x38, 1.0, {"exact", "a group cancels", "none"}),
        ({0: (ONE, MINUS_ONE)}, 0x38, 2.0, {"exact", "a group cancels", "none"}),
        ({0: (ONE, MINUS_ONE), 16: (ONE, ONE)}, 0x38, 0, {"exact", "a group cancels", "none"}),
        ({0: (ONE, ONE), 48: (MINUS_ONE, MINUS_ONE)}, 0x38, 0, {"cancelled", "none"}),
        ({0: (ONE, ONE)}, 0, 1.0, {"exact", "a scale is zero", "none"}),
        ({0: (HALF, 0)}, 0x38, 2.0**35, {"cut", "none"}),
        ({0: (ONE, 0)}, 0x38, 2.0**35, {"exact", "none"}),
        ({0: (ONE, ONE)}, 0xFF, 0, {"special", "none"}),
    ],
)
def test_sums_of_groups_are_told(places, scale, c, expected):
    """Two elements from a place on, times one; `scale` is A's in the first group, all others are one."""
    instruction = parse_instruction(NVF4)
    matrices = zeros(instruction)
    for place, pair in places.items():
        matrices["a"][:, place : place + 2], matrices["b"][place : place + 2] = pair, ONE
    matrices["c"][:] = np.float32(c).view(np.uint32)
    scales = {"a": np.full((16, 4), 0x38, "u1"), "b": np.full((4, 8), 0x38, "u1")}
    scales["a"][:, 0] = scale
    names = {f"{GROUP} is the only": f"{GROUP} is the only one of the greatest exponent"}
    names["none"] = "a group has no products"
    found = outcome_of(instruction, matrices, scales)
    assert found == dict.fromkeys((names.get(item, item) for item in expected), 128)


@pytest.mark.parametrize("instruction", SMALL[::5], ids=str)
def test_outcomes_are_those_of_the_results(instruction):
    """A sum of which all bits count is golden's result, one that cancels is zero, a special one no number."""
    random, total = np.random.default_rng(67), Counter()
    for kind in (*FLOAT_KINDS, *TWO_PRODUCTS):
        a, b, c, *metadata = draw_operands(random, instruction, kind)
        named = {"metadata": metadata[0]} if metadata else {}
        scales = {}
        if instruction.scales:
            extents = {use: instruction.scale_extent(use) for use in "ab"}
            drawn = scale_words(random).view("u1")
            scales = {use: drawn[: np.prod(shape)].reshape(shape) for use, shape in extents.items()}
            named |= {f"scale_{use}": scale for use, scale in scales.items()}
        d = mma(instruction, a, b, c, profile="blackwell", **named)
        values = d.view({"f16": np.float16, "f32": np.float32}[instruction.d_type])
        found = outcome_of(instruction, {"a": a, "b": b, "c": c}, scales, *metadata or [None])
        assert sum(found.get(item, 0) for item in OUTCOMES) == d.size
        # Others are rounded or cut to zero, or are beyond the greatest number.
        assert found.get("cancelled", 0) <= (values == 0).sum()
        assert found.get("special", 0) <= (~np.isfinite(values)).sum()
        if kind == "special alone" and instruction.d_type == "f32" and not scales:
            assert found.get("special", 0) == (~np.isfinite(values)).sum()
        total += found
    assert set(total) >= {"exact", "cut", "special"}


def test_outcomes_of_terms():
    """Of two terms and an addend, with a unit of 4."""
    terms = np.array([[4, -4], [4, 8], [4, 2], [np.inf, -4], [0, 0]], float)[:, :, None]
    addend, some = np.array([[0], [4], [4], [0], [0]], float), (terms != 0).any(axis=1)
    codes = outcomes(terms, addend, some, np.full((5, 1), 2))
    assert [OUTCOMES[code] for code in codes[:, 0]] == ["cancelled", "exact", "cut", "special", "exact"]


@pytest.mark.parametrize(
    ("type", "spare", "bits"),
    [
        ("e2m1", 0, ["all zero"]),
        ("e2m1", 0xC3, ["bit 0", "bit 1", "bit 6", "bit 7"]),
        ("e2m1", 0x42 << 16, ["bit 1", "bit 6"]),
        ("e3m2", 0x80 << 24, ["bit 7"]),
    ],
)
def test_bits_of_containers_are_told(type, spare, bits):
    instruction = parse_instruction(E2M1.replace("e2m1", type))
    matrices = zeros(instruction)
    matrices["a"][:, 7] = ONE
    words = {use: distribute(matrices[use], use, type, instruction.shape) for use in "ab"}
    words["a"][1, 3] |= np.uint32(spare)
    seen = Counter()
    sample_small(seen, instruction, matrices, words)
    assert of(seen, "container") == {
        **{f"a / dense f8f6f4 {type} / {bit}": 1 for bit in bits},
        f"b / dense f8f6f4 {type} / all zero": 1,
    }
    assert of(seen, "small operand value")[f"b / {type} / +zero"] == 256


def test_scales_are_told_by_byte_selector_and_nan():
    """One of mxf8f6f4: a byte for each row of A from lanes 2 or 3 of a quad, and of B from one lane."""
    registers = np.zeros((4, 32), np.uint32)
    registers[1] = 0x8011_2233
    registers[1, 3] = 0xFF11_2233
    registers[2] = 0x0011_2233
    places = {"d": 0, "a": 0, "b": 0, "c": 0, "scale_a": 1, "scale_b": 2}
    command = Mma(parse_instruction(MXF8), **places, byte_a=3, thread_a=1, byte_b=1, thread_b=3)
    seen, name = Counter(), "ue8m0 of fused sums"
    scales = sample_scales(seen, command, registers)
    expected = {f"a / {name} / 0x80": 15, f"a / {name} / 0xff": 1, f"b / {name} / 0x22": 8}
    assert of(seen, "scale byte") == expected
    assert {use: scale.shape for use, scale in scales.items()} == {"a": (16, 1), "b": (1, 8)}
    assert of(seen, "scale selector") == {"a / 1X / 3 / 1": 1, "b / 1X / 1 / 3": 1}
    assert of(seen, "NaN scale") == {f"{name} / A": 1}


def test_both_nan_of_ue4m3_are_told():
    registers = np.zeros((2, 32), np.uint32)
    registers[1, 0] = 0x00FF_0000
    seen = Counter()
    sample_scales(seen, Mma(parse_instruction(NVF4), 0, 0, 0, 0, scale_a=0, scale_b=1), registers)
    assert of(seen, "NaN scale") == {"ue4m3 of groups / B": 1}


def test_hazards_of_scales_are_told():
    multiply = Mma(parse_instruction(MXF8), d=0, a=8, b=16, c=24, scale_a=30, scale_b=28)
    seen = Counter()
    hazards.sample_hazards(seen, [Fill(30, 1, 0), multiply, Move(28, 40, 2)], {})
    assert set(of(seen, "scale hazard")) == {
        "scale_a / read after write / fill",
        "scale_b / write after read / move",
    }
    assert of(seen, "register hazard") == {}


def test_directed_programs_have_every_hazard_of_scales_and_metadata():
    program = hazard_program(ALL_SMALL_CORE, 0)
    seen = observe(program, program.golden())
    points = [point for point in model_of(CONFIG) if "hazard" in point.name]
    assert [hole for point in points for hole in point.holes(seen)] == []


def test_every_way_to_a_fault_by_scales_is_taken():
    """Each with one command at work and with several; the core is the one that other tests build."""
    ways = list(scale_ways(CONFIG))
    assert len(ways) == 3 + 2 * 2 + 2
    assert [way for *_, way in scale_ways(config_named(SMALL_CORE))] == []
    verdicts = list(FaultSession(SCALED_CORE, 1).run())
    assert [verdict for verdict in verdicts if verdict[2]] == []
    scaled = [(illegal.way, mode) for illegal, mode, _ in verdicts if illegal.kind == "scaled"]
    assert sorted(scaled) == sorted((way, mode) for *_, way in ways for mode in ("serial", "overlapped"))


def test_scale_bytes_are_drawn_without_repetition():
    """A register of any bytes has as many as it has room for."""
    most = max(len(np.unique(scale_words(np.random.default_rng(seed)).view("u1"))) for seed in range(20))
    assert most == 128


def test_forms_have_sums_of_one_kind():
    assert {sum_name(item) for item in SMALL if has_groups(item)} == {
        f"{sparse} {name}"
        for sparse in ("dense", "sparse")
        for name in ("mxf4 2X ue8m0", "mxf4nvf4 2X ue8m0", "mxf4nvf4 4X ue8m0", "mxf4nvf4 4X ue4m3")
    }
    assert all(item.c_type == item.d_type for item in SMALL if item.d_type == "f16")
    assert {FORMATS[item.a_type].bits for item in SMALL} == {8, 6, 4}


def test_broken_words_of_a_core_with_small_types_are_illegal():
    """The codes of its own types are none that it lacks; every code is used where it has all of them."""
    legal = {str(item.types) + str(item.shape) for item in multiplies_of(CONFIG) if not item.is_sparse}
    ways = word_ways(CONFIG, "multiply")
    assert ways["type code that no core has"] == []
    assert len(word_ways(config_named("tiny"), "multiply")["type code that no core has"]) == 4 * 3
    for way in ("combination in no table", "family that the core has not"):
        for fields in ways[way]:
            shape = list(SHAPES)[fields["tile_shape"]]
            types = {use: list(FORMATS)[fields[f"{use}_type"]] for use in "dabc"}
            assert str(types) + str(shape) not in legal, way
