"""``mma.m8n8k4`` of f16: four products in the pairs of quads of a warp, as an H200 computes them."""

from contextlib import nullcontext
from functools import cache

import numpy as np
import pytest
from golden_captures import COMPACT

from golden import explain, fragment_layout, mma
from golden.fragments import collect
from golden.invalid_argument import InvalidArgument
from golden.memory import Memory
from golden.multiply import multiply_fragments
from golden.resolve import resolve_instruction
from golden.simt import Module
from golden.tables.commands import Mma
from golden.tables.faults import Fault
from golden.tables.instruction_set import CORE_FAMILIES
from golden.tables.matrix_instructions import IllegalInstruction
from golden.tables.profiles import HOPPER
from golden.warp import GoldenMachine
from hdl.config import PRESETS
from sim.replay.replay import Player

LAYOUTS = [(a, b) for a in ("row", "col") for b in ("row", "col")]
FORMS = [
    f"mma.sync.aligned.m8n8k4.{a}.{b}.{d}.f16.f16.{c}"
    for a, b in LAYOUTS
    for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32"))
]


@cache
def captured():
    with np.load(COMPACT / "language" / "quad_pairs.npz") as file:
        return dict(file)


def operands(form):
    return [captured()[f"{form}/{use}"] for use in "abcd"]


@pytest.mark.parametrize("form", FORMS)
def test_registers_are_those_of_the_chip(form):
    a, b, c, d = operands(form)
    found = multiply_fragments(resolve_instruction(form), a, b, c, HOPPER)
    assert np.count_nonzero(found != d) == 0
    assert len(d) >= 8


@pytest.mark.parametrize("form", FORMS[3:5])
def test_a_kernel_gives_what_the_chip_gave(form):
    a, b, c, d = operands(form)
    counts = {use: array.shape[1] for use, array in zip("abcd", (a, b, c, d), strict=True)}
    lists = {use: ", ".join(f"%{use}{i}" for i in range(count)) for use, count in counts.items()}
    places = {
        use: f"mad.lo.u32 %r2, %r0, {32 * count}, %r1; mul.wide.u32 %x, %r2, 4; ld.param.u64 %y, [p{use}]; "
        "add.u64 %x, %x, %y;"
        for use, count in counts.items()
    }
    loads = "".join(
        places[use] + "".join(f"ld.global.b32 %{use}{i}, [%x+{128 * i}];" for i in range(counts[use]))
        for use in "abc"
    )
    stores = places["d"] + "".join(f"st.global.b32 [%x+{128 * i}], %d{i};" for i in range(counts["d"]))
    text = f"""
    .version 8.0 .target sm_70 .address_size 64
    .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {{
    .reg .b32 %r<3>; .reg .b64 %x; .reg .b64 %y; .reg .b32 %a<2>; .reg .b32 %b<2>; .reg .b32 %c<8>;
    .reg .b32 %d<8>; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; {loads}
    {form} {{{lists["d"]}}}, {{{lists["a"]}}}, {{{lists["b"]}}}, {{{lists["c"]}}}; {stores} ret; }}"""
    out = np.zeros_like(d)
    Module(text).kernel().launch(len(d), 32, [a, b, c, out])
    assert np.array_equal(out, d)


def test_a_machine_of_one_warp_gives_what_the_chip_gave():
    a, b, c, d = operands(FORMS[7])
    machine = GoldenMachine(registers=20, memory=Memory(64))
    machine.write_registers(0, np.concatenate((a[3], b[3], c[3])))
    machine.execute(Mma(resolve_instruction(FORMS[7]), a=0, b=2, c=4, d=10))
    assert np.array_equal(machine.read_registers(10, len(d[3])), d[3])
    core = GoldenMachine(registers=20, memory=Memory(64), families=CORE_FAMILIES)
    with pytest.raises(Fault, match=r"no \.f16 multiply of m8n8k4, which runs on golden alone"):
        core.execute(Mma(resolve_instruction(FORMS[7]), a=0, b=2, c=4, d=10))


def test_a_core_refuses_it_by_name():
    small = Player(PRESETS["small"], lambda size: nullcontext(), name="the core")
    problem = small.missing(resolve_instruction(FORMS[0]))
    assert problem == f"the core does not execute {FORMS[0]}, which runs on golden alone"


@pytest.mark.parametrize("use", "abcd")
@pytest.mark.parametrize("layout", ["row", "col"])
@pytest.mark.parametrize("type_", ["f16", "f32"])
def test_a_fragment_holds_each_element_of_four_matrices_once(use, layout, type_):
    if use in "ab" and type_ == "f32":
        with pytest.raises(InvalidArgument):
            fragment_layout(use, type_, "m8n8k4", layout)
        return
    positions = fragment_layout(use, type_, "m8n8k4", layout).reshape(-1, 2)
    rows, columns = {"a": (32, 4), "b": (16, 8)}.get(use, (32, 8))
    assert sorted(map(tuple, positions.tolist())) == [(i, j) for i in range(rows) for j in range(columns)]


def test_results_of_other_generations():
    a = np.full((8, 4), 2.0**-12, np.float16)
    b, c = a.T.copy(), np.zeros((8, 8), np.float32)
    a[:, 3] = b[3] = 1  # 1 + 3 x 2**-24, the one last
    ulps = {
        profile: float((mma(FORMS[5], a, b, c, profile=profile)[0, 0] - 1) * 2**23)
        for profile in ("hopper", "blackwell", "ampere", "turing", "volta", "exact")
    }
    assert ulps == {"hopper": 2, "blackwell": 2, "ampere": 2, "turing": 1, "volta": 0, "exact": 2}


@pytest.mark.parametrize("profile", ["hopper", "volta"])
@pytest.mark.parametrize("form", FORMS[3:6])
def test_every_step_is_explained(form, profile):
    instruction = resolve_instruction(form)
    a, b, c, _ = operands(form)
    matrices = [
        collect(words[:8], use, instruction.types[use], "m8n8k4", instruction.layout(use)).reshape(
            8, 4, *extent
        )
        for use, words, extent in (("a", a, (8, 4)), ("b", b, (4, 8)), ("c", c, (8, 8)))
    ]
    expected = mma(form, *matrices, profile=profile)
    for warp in range(8):
        rows = matrices[0][warp, 1, 2].tolist(), matrices[1][warp, 1, :, 5].tolist()
        found = explain(form, *rows, int(matrices[2][warp, 1, 2, 5]), profile=profile)
        assert found.result == expected[warp, 1, 2, 5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32", "illegal qualifier .f16"),
        ("mma.sync.aligned.m8n8k4.row.col.satfinite.f32.f16.f16.f32", "illegal qualifier .satfinite"),
        ("mma.sync.aligned.m8n8k4.col.row.f64.f64.f64.f64", "illegal qualifier .col"),
        ("mma.sync.aligned.m8n8k4.row.col.f32.bf16.bf16.f32", "illegal qualifier"),
    ],
)
def test_what_there_is_not(text, message):
    with pytest.raises(IllegalInstruction, match=message):
        resolve_instruction(text)


@pytest.mark.parametrize("layout", ["diagonal", np.zeros(0), np.void(b"abcd"), np.array(["row", "col"])])
def test_layouts_that_do_not_exist_are_named(layout):
    with pytest.raises(InvalidArgument, match=r"layout: got .*; allowed: row, col"):
        fragment_layout("a", "f16", "m8n8k4", layout)
