"""Collectives, masks and barriers of diverged warps: every word as an H200 left it."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from golden.simt import Deadlock, KernelFault, Module

DATA = Path(__file__).parents[2] / "data" / "collectives"
FULL = 0xFFFFFFFF
KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 o, .param .u64 i)
{{
.reg .b32 %r<64>; .reg .b64 %rd<16>; .reg .pred %p<16>; .shared .b32 s[32];
ld.param.u64 %rd1, [o]; ld.param.u64 %rd2, [i];
mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; mul.wide.u32 %rd3, %r0, 4;
add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3; ld.global.u32 %r2, [%rd2];
{}
ret;
}}
"""
"""%r0 is the thread, %r1 the lane, %r2 its mask, %rd1 the address of its word of `o`."""

OPERATIONS = {
    **{
        name: f"redux.sync.{name}.{type_} {{d}}, {{v}}, %r2;"
        for name, type_ in {
            "add": "u32",
            "min": "u32",
            "max": "s32",
            "and": "b32",
            "or": "b32",
            "xor": "b32",
        }.items()
    },
    "ballot": "and.b32 %r20, {v}, 3; setp.eq.u32 %p1, %r20, 0; vote.sync.ballot.b32 {d}, %p1, %r2;",
    **{
        name: f"setp.ge.u32 %p1, {{v}}, 16; vote.sync.{name}.pred %p2, %p1, %r2; selp.u32 {{d}}, 1, 0, %p2;"
        for name in ("all", "any", "uni")
    },
    "match_any": "and.b32 %r20, {v}, 3; match.any.sync.b32 {d}, %r20, %r2;",
    "match_all": "shr.u32 %r20, {v}, 4; match.all.sync.b32 {d}|%p2, %r20, %r2; "
    "selp.u32 %r20, 0x80000000, 0, %p2; xor.b32 {d}, {d}, %r20;",
    "elect": "elect.sync {d}|%p2, %r2; selp.u32 %r20, 100, 0, %p2; add.u32 {d}, {d}, %r20;",
    "bfly": "shfl.sync.bfly.b32 {d}, {v}, 1, 0x1f, %r2;",
    "idx": "xor.b32 %r20, {v}, 2; shfl.sync.idx.b32 {d}|%p2, {v}, %r20, 0x1f, %r2;",
    **{
        name: f"shfl.sync.{name}.b32 {{d}}|%p2, {{v}}, 1, {clamp}, %r2; selp.u32 %r20, 100, 0, %p2; "
        "add.u32 {d}, {d}, %r20;"
        for name, clamp in {"down": "0x1e03", "up": "0x1c00"}.items()
    },
    "barrier": "bar.warp.sync %r2; mov.u32 {d}, {v};",
}
ROWS = [name for name in OPERATIONS if name != "barrier"]
"""The collectives that the first kernels execute one after the other, each with a row of 32 words of `o`."""


@cache
def words():
    with np.load(DATA / "words.npz") as file:
        return dict(file)


@cache
def programs():
    return Module((DATA / "programs.ptx").read_text(), "programs.ptx")


def groups(label):
    """A mask for each lane: the lanes with the same label."""
    labels = [label(lane) for lane in range(32)]
    return [sum(1 << other for other in range(32) if labels[other] == labels[lane]) for lane in range(32)]


def launch(body, masks, threads=32, **options):
    """What a kernel leaves in `o`, and the reports; `masks` are of the lanes of every warp."""
    out = np.zeros(1024, np.uint32)
    table = np.array(masks * 4, np.uint32)
    module = Module(KERNEL.format(body), "masks.ptx")
    return out, module.kernel().launch(1, threads, [out, table], limit=10**6, **options).reports


def rows(value="%r1", result="%r10", after=""):
    """All collectives of `ROWS`, each with a store."""
    return "".join(
        f"{OPERATIONS[name].format(v=value, d=result)} {after} st.global.u32 [%rd1+{128 * i}], {result};\n"
        for i, name in enumerate(ROWS)
    )


def branches(condition, first, second):
    return f"{condition} @%p0 bra B;\n{first} bra.uni E;\nB: {second}\nE:"


def once(name):
    return OPERATIONS[name].format(v="%r1", d="%r10")


def expect(name, found):
    assert found[: words()[name].size].tolist() == words()[name].tolist()


MASKS = {
    "halves": groups(lambda lane: lane // 16),
    "quarters": groups(lambda lane: lane // 8),
    "single": groups(lambda lane: lane),
    "odd": groups(lambda lane: lane % 2),
    "full": [FULL] * 32,
}


@pytest.mark.parametrize("name", MASKS)
def test_each_mask_is_a_collective_of_its_own(name):
    found, reports = launch(rows(), MASKS[name], check=True)
    expect(f"masks_{name}", found)
    assert not reports


def test_rows_of_two_masks():
    found, _ = launch(rows(), MASKS["halves"])
    chosen = [row for row, name in zip(found.reshape(-1, 32), ROWS, strict=False) if name in TWO_MASKS]
    expect("two_masks", np.concatenate(chosen))


TWO_MASKS = ("add", "min", "xor", "ballot", "all", "any", "uni", "match_any", "match_all", "elect", "bfly")
SIDES = {"half": "setp.ge.u32 %p0, %r1, 16;", "odd": "and.b32 %r30, %r1, 1; setp.ne.u32 %p0, %r30, 0;"}


@pytest.mark.parametrize("masks", ["full", "quarters"])
@pytest.mark.parametrize("side", SIDES)
def test_two_branches_reach_one_collective(side, masks):
    second = "mov.u32 %r40, %r1;" + rows("%r40", "%r11", "add.u32 %r11, %r11, 1000;")
    found, reports = launch(branches(SIDES[side], rows(), second), MASKS[masks], check=True)
    expect(f"branches_{side}_{masks}", found)
    assert not reports


def test_two_branches_reach_one_barrier_of_a_warp():
    body = """mov.u32 %r20, s; shl.b32 %r21, %r1, 2; add.u32 %r20, %r20, %r21; xor.b32 %r22, %r21, 64;
    mov.u32 %r23, s; add.u32 %r23, %r23, %r22; setp.ge.u32 %p0, %r1, 16; @%p0 bra B;
    st.shared.u32 [%r20], %r1; bar.warp.sync %r2; ld.shared.u32 %r10, [%r23];
    add.u32 %r10, %r10, 5; bra.uni E;
    B: add.u32 %r30, %r1, 100; st.shared.u32 [%r20], %r30; bar.warp.sync %r2; ld.shared.u32 %r10, [%r23];
    E: st.global.u32 [%rd1], %r10;"""
    expect("warp_barrier_branches", launch(body, MASKS["full"])[0])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *[("add", "min"), ("ballot", "any"), ("bfly", "idx"), ("add", "ballot"), ("match_any", "match_all")],
        *[("elect", "add"), ("barrier", "add")],
    ],
)
def test_different_collectives_do_not_meet(first, second):
    """The chip waits for ever."""
    body = branches(SIDES["half"], once(first), once(second))
    with pytest.raises(Deadlock, match="wait for others that never come: line 11"):
        launch(body, MASKS["full"])


HALF_NAMES_ALL = [0xFFFF] * 16 + [FULL] * 16


@pytest.mark.parametrize("name", ["add", "ballot", "bfly"])
def test_a_collective_waits_for_one_with_its_mask(name):
    """Half of the warp has a collective of its own first; then it joins the others, or ends."""
    stores = "st.global.u32 [%rd1], %r10;"
    body = branches(SIDES["half"], once(name), once(name))
    expect(f"half_names_all_{name}", launch(body + stores, HALF_NAMES_ALL)[0])
    twice = once(name) + "mov.u32 %r2, -1;" + once(name).replace("%r10", "%r11")
    body = branches(SIDES["half"], twice, once(name) + "mov.u32 %r11, 9;")
    found = launch(f"{body} {stores} st.global.u32 [%rd1+128], %r11;", HALF_NAMES_ALL)[0]
    expect(f"half_names_all_twice_{name}", found)


OVERLAPPING = {
    "twenty": [0xFFFFF] * 20 + [FULL] * 12,
    "chain": [3 << lane & FULL for lane in range(32)],
    "leader": [FULL, *(1 << lane for lane in range(1, 32))],
    "growing": [(2 << lane) - 1 for lane in range(32)],
    "shrinking": [FULL << lane & FULL for lane in range(32)],
}
"""Masks that are neither equal nor disjoint: each waits for its own lanes, or their end, as on the chip."""


@pytest.mark.parametrize("name", ["ballot", "add", "match_any", "bfly", "any", "elect", "barrier"])
@pytest.mark.parametrize("masks", OVERLAPPING)
def test_masks_that_overlap_are_reported(masks, name):
    found, reports = launch(f"{once(name)} st.global.u32 [%rd1], %r10;", OVERLAPPING[masks], check=True)
    expect(f"over_{masks}_{name}", found)
    (report,) = reports
    assert re.search(r"lane \d+ is in mask 0x\w{8} and in another", report.message)


def test_masks_that_wait_for_each_other():
    """The chip waits for ever."""
    masks = [7 << lane >> 1 & FULL for lane in range(32)]
    with pytest.raises(Deadlock, match="wait for others that never come: line 10"):
        launch(once("add"), masks)


OUTSIDE = {
    "twenty": ([0xFFFFF] * 32, "lane 20.* mask 0x000fffff"),
    "empty": ([0] * 32, "lane 0.* mask 0x00000000"),
    "others": ([0xFFFF0000] * 16 + [0xFFFF] * 16, "lane 0.* mask 0xffff0000"),
    "one": ([FULL] * 5 + [FULL ^ 32] + [FULL] * 26, "lane 5.* mask 0xffffffdf"),
}


@pytest.mark.parametrize(
    "name", ["ballot", "all", "add", "match_any", "match_all", "bfly", "elect", "barrier"]
)
@pytest.mark.parametrize("masks", OUTSIDE)
def test_a_lane_outside_of_its_mask_is_refused(masks, name):
    """The chip stops with an illegal instruction."""
    table, place = OUTSIDE[masks]
    with pytest.raises(KernelFault, match=rf"\.sync\S* in {place}.*thread \(\d+, 0, 0\)"):
        launch(once(name), table)


def bar(condition, first, second):
    add = "add.u32 %r10, %r0, {};"
    return branches(condition, first + add.format(2), second + add.format(1)) + " st.global.u32 [%rd1], %r10;"


LATE = "setp.ge.u32 %p0, %r0, 36;"


@pytest.mark.parametrize("barrier", ["bar.sync 0;", "barrier.sync 1, 64;", "bar.sync 1, 64;"])
def test_a_diverged_partial_warp_passes_a_barrier(barrier):
    found, _ = launch(bar(LATE, barrier, barrier), MASKS["full"], 40)
    expect("partial_barrier", found)


BARRIERS = {
    "exit_named": (64, "setp.lt.u32 %p0, %r0, 10; @%p0 exit; bar.sync 1, 64; st.global.u32 [%rd1], %r0;"),
    **{
        f"exit_{name}_red": (
            64,
            "setp.lt.u32 %p0, %r0, 10; @%p0 exit; setp.ge.u32 %p3, %r0, 0; "
            f"bar.red.popc.u32 %r10, {operands}, %p3; st.global.u32 [%rd1], %r10;",
        )
        for name, operands in {"named": "1, 64", "all": "0"}.items()
    },
    "two_barriers_of_a_warp": (
        64,
        branches(SIDES["half"], "bar.sync 1, 32; mov.u32 %r10, 1;", "bar.sync 2, 32; mov.u32 %r10, 2;")
        + "st.global.u32 [%rd1], %r10;",
    ),
    "half_barrier_32": (
        64,
        "setp.ge.u32 %p0, %r1, 16; mov.u32 %r10, 3; @%p0 bra E; bar.sync 1, 32; mov.u32 %r10, 1;\n"
        "E: st.global.u32 [%rd1], %r10;",
    ),
}
"""Lanes that end before a barrier, and halves of warps at barriers, each of which counts as a warp."""


@pytest.mark.parametrize("name", BARRIERS)
def test_barriers_of_parts_of_warps(name):
    threads, body = BARRIERS[name]
    expect(name, launch(body, MASKS["full"], threads)[0])


SIZES = dict.fromkeys(("partial_warp", "partial_named", "shfl_partial"), 45)
SIZES |= {"named_partial": 128, "early_exit_barrier": 96}


@pytest.mark.parametrize("name", re.findall(r"\.entry (\w+)\(", (DATA / "programs.ptx").read_text()))
def test_cuda_programs(name):
    values = [(7919 * i * i + 104729 * i + 12345) % 9973 for i in range(1024)]
    out = np.zeros(512, np.uint32)
    result = (
        programs().kernel(name).launch(1, SIZES.get(name, 64), [out, np.array(values, np.uint32)], check=True)
    )
    expect(name, out)
    found = {re.sub(r"\d+", "n", report.message) for report in result.reports}
    assert found <= {"n of n threads of the block ended without reaching this barrier"}
